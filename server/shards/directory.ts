import { type ControlPool, type DatabasePool, isAway } from '../platform/database.ts';
import { findShard } from './queries.ts';
import { firstShard } from './shards.ts';

/** Knows which shard a company is on. */
export interface Directory {
  find(companyId: string): Promise<string>;
  /** Forgets where a company is, or where all are. */
  forget(companyId?: string): void;
}

/** A process that missed the notification of a move asks again after this time. */
const cacheMs = 5_000;
const cacheEntriesMax = 100_000;
/** A company in use does not wait longer for a control plane that does not respond. */
const patienceMs = 500;

interface Entry {
  readonly shard: string;
  /** In the past if it was forgotten: then it serves only while the control plane is away. */
  readonly untilMs: number;
}

/** For an installation with one database. */
export const oneShard: Directory = { find: async () => firstShard, forget: () => undefined };

export function openDirectory(control: ControlPool): Directory {
  const known = new Map<string, Entry>();

  /** Until then the control plane is not asked about companies in use, because it did not respond. */
  let silentUntilMs = 0;

  async function ask(companyId: string): Promise<string> {
    const shard = await findShard(control, companyId);
    if (known.size >= cacheEntriesMax) known.clear();
    known.set(companyId, { shard, untilMs: performance.now() + cacheMs });
    return shard;
  }

  async function find(companyId: string): Promise<string> {
    const entry = known.get(companyId);
    if (!entry) return ask(companyId);
    if (performance.now() < Math.max(entry.untilMs, silentUntilMs)) return entry.shard;
    try {
      return await inTime(ask(companyId));
    } catch (error) {
      if (!(isAway(error) || error === late)) throw error;
      // Companies in use go on without the control plane. If one has moved, its fence on the old shard refuses.
      silentUntilMs = performance.now() + cacheMs;
      return entry.shard;
    }
  }

  function forget(companyId?: string): void {
    silentUntilMs = 0;
    const entries = companyId === undefined ? [...known] : [[companyId, known.get(companyId)] as const];
    for (const [id, entry] of entries) if (entry) known.set(id, { ...entry, untilMs: 0 });
  }

  return { find, forget };
}

const late = new Error('the control plane does not respond');

async function inTime(work: Promise<string>): Promise<string> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late), patienceMs);
  // It may fail after the deadline.
  work.catch(() => undefined);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}

/**
 * Calls `forget` with the id of each company whose keys, settings or shard changed; without an id if messages may have
 * been missed.
 */
export async function onAccessChange(
  pool: Pick<DatabasePool, 'listen'>,
  forget: (companyId?: string) => void,
): Promise<void> {
  await pool.listen(
    'access_changed',
    (companyId) => forget(companyId || undefined),
    () => forget(),
  );
}
