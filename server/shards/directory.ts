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

interface Entry {
  readonly shard: string;
  readonly untilMs: number;
}

/** For an installation with one database. */
export const oneShard: Directory = { find: async () => firstShard, forget: () => undefined };

export function openDirectory(control: ControlPool): Directory {
  const known = new Map<string, Entry>();

  async function find(companyId: string): Promise<string> {
    const entry = known.get(companyId);
    if (entry && performance.now() < entry.untilMs) return entry.shard;
    try {
      const shard = await findShard(control, companyId);
      if (known.size >= cacheEntriesMax) known.clear();
      known.set(companyId, { shard, untilMs: performance.now() + cacheMs });
      return shard;
    } catch (error) {
      // Companies in use go on without the control plane. If one has moved, its fence on the old shard refuses.
      if (entry && isAway(error)) return entry.shard;
      throw error;
    }
  }

  return {
    find,
    forget: (companyId) => void (companyId ? known.delete(companyId) : known.clear()),
  };
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
