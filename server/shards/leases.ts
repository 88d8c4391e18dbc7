import type { ControlPool, ControlQueryable } from '../platform/database.ts';
import { usedMs } from './use.ts';

/**
 * Which workers do the jobs of which shards: the leases, in the control plane. They only save work. Every job may run in
 * any number of processes at once, so a worker that cannot read them works on every shard.
 */

/** The workers of a shard: if one ends, the other goes on. */
const places = 2;
/** A worker that was silent for this long has ended, and others take its shards. */
const silenceSeconds = 20;
/** How often a worker says that it is there, and takes or gives up shards. */
export const beatMs = 5_000;

const inUseChannel = 'shards_in_use';

export interface Lease {
  readonly shard: string;
  /** While the shard rests, one of its workers looks whether something is due. */
  readonly looks: boolean;
  /** How much longer the shard is in use; 0 if it rests. */
  readonly used_ms: number;
}

/** Takes or gives up shards, so that each worker has its share of those that it can reach. Returns what it has. */
export async function takeLeases(
  control: ControlPool,
  workerId: string,
  shards: readonly string[],
): Promise<readonly Lease[]> {
  return control.transaction(async (transaction) => {
    await transaction.query(`SELECT pg_advisory_xact_lock(hashtextextended('leases of shards', 0))`);
    await transaction.query(
      `INSERT INTO shard_workers (id, seen_at) VALUES ($1, now()) ON CONFLICT (id) DO UPDATE SET seen_at = now()`,
      [workerId],
    );
    await transaction.query(`DELETE FROM shard_workers WHERE seen_at < now() - $1 * interval '1 s'`, [silenceSeconds]);
    const [row] = await transaction.query<{ workers: number }>(
      'SELECT count(*)::integer AS workers FROM shard_workers',
    );
    const share = Math.ceil((shards.length * places) / (row?.workers ?? 1));
    await transaction.query(
      `DELETE FROM shard_leases WHERE worker_id = $1 AND (shard <> ALL ($2) OR shard IN (
         SELECT shard FROM shard_leases WHERE worker_id = $1 AND shard = ANY ($2) ORDER BY random() OFFSET $3))`,
      [workerId, shards, share],
    );
    await transaction.query(
      `INSERT INTO shard_leases (shard, place, worker_id)
       SELECT shard, place, $1 FROM (
         SELECT DISTINCT ON (shard) shard, place FROM unnest($2::text[]) AS shard, generate_series(1, ${places}) AS place
         WHERE NOT EXISTS (
           SELECT 1 FROM shard_leases l WHERE l.shard = shard.shard AND (l.place = place.place OR l.worker_id = $1))
         ORDER BY shard, place
       ) free ORDER BY place, random()
       LIMIT greatest(0, $3 - (SELECT count(*) FROM shard_leases WHERE worker_id = $1))`,
      [workerId, shards, share],
    );
    return readLeases(transaction, workerId);
  });
}

const readLeases = (control: ControlQueryable, workerId: string): Promise<Lease[]> =>
  control.query<Lease>(
    `SELECT shard,
       place = (SELECT min(place) FROM shard_leases o WHERE o.shard = l.shard) AS looks,
       coalesce((SELECT greatest(0, extract(epoch FROM used_until - now()) * 1000)::float8
                 FROM shard_uses u WHERE u.shard = l.shard), 0) AS used_ms
     FROM shard_leases l WHERE worker_id = $1`,
    [workerId],
  );

/** Another worker takes the shards at once. */
export async function endLeases(control: ControlQueryable, workerId: string): Promise<void> {
  await control.query('DELETE FROM shard_workers WHERE id = $1', [workerId]);
}

/** The workers of the shard do its jobs as soon as they are due, for at least this time. */
export async function announceUse(control: ControlQueryable, shard: string): Promise<void> {
  await control.query(
    `WITH used AS (
       INSERT INTO shard_uses (shard, used_until) VALUES ($1, now() + ${usedMs} * interval '1 ms')
       ON CONFLICT (shard) DO UPDATE SET used_until = greatest(shard_uses.used_until, excluded.used_until)
     ) SELECT pg_notify('${inUseChannel}', $1)`,
    [shard],
  );
}

/** Calls `onUse` with a shard that is in use, or without one if messages may have been missed, until the result is called. */
export const onShardUse = (
  control: Pick<ControlPool, 'listen'>,
  onUse: (shard?: string) => void,
): Promise<() => void> =>
  control.listen(
    inUseChannel,
    (shard) => onUse(shard),
    () => onUse(),
  );
