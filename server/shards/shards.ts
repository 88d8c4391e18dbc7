import type { Clock } from '../platform/clock.ts';
import type { ControlPool, DatabasePool } from '../platform/database.ts';
import type { Replica } from '../platform/replica.ts';
import type { Directory } from './directory.ts';

/**
 * Companies are spread over PostgreSQL servers, the shards. All data of a company is on one shard; no statement uses
 * two. The first shard also has the control plane: users, and the directory of companies.
 */

/** The name of the server of DATABASE_URL. Without SVC_SHARDS it is the only shard. */
export const firstShard = 'a';

export interface ShardDatabase {
  readonly name: string;
  readonly db: DatabasePool;
}

/** A shard as requests and jobs use it. */
export interface OpenShard extends ShardDatabase {
  /** The time of its database. */
  readonly clock: Clock;
  /** A standby for reads, if there is one. */
  readonly replica?: Pick<Replica, 'read'> | undefined;
}

/** `Part` is what a process has for each shard: at least its database. */
export interface Shards<Part extends ShardDatabase = ShardDatabase> {
  readonly control: ControlPool;
  /** The shards that are open. One that was away when the process started is added once it is there. */
  readonly all: readonly Part[];
  /** The names of the shards that have been away since the process started. */
  readonly away: ReadonlySet<string>;
  /** Calls `use` with each shard that is open, and later with each one that is added. */
  each(use: (part: Part) => void): void;
  of(company: { readonly shard: string }): Part;
  /** For callers that know only the id. */
  find(companyId: string): Promise<Part>;
}

export interface GrowingShards<Part extends ShardDatabase> extends Shards<Part> {
  add(part: Part): void;
}

/** A company is on a shard that this process does not know, or has not reached since it started. */
export class UnknownShardError extends Error {}

interface OpenOptions {
  /** The shards that are added later. */
  readonly further?: readonly string[];
  /** Called with each shard that a request uses. */
  readonly onUse?: (shard: string) => void;
}

export function openShards<Part extends ShardDatabase>(
  control: ControlPool,
  initial: readonly Part[],
  directory: Pick<Directory, 'find'>,
  { further = [], onUse }: OpenOptions = {},
): GrowingShards<Part> {
  const all: Part[] = [];
  const away = new Set(further);
  const byName = new Map<string, Part>();
  const users: ((part: Part) => void)[] = [];
  const add = (part: Part): void => {
    all.push(part);
    byName.set(part.name, part);
    away.delete(part.name);
    for (const use of users) use(part);
  };
  for (const part of initial) add(part);
  const of = ({ shard }: { readonly shard: string }): Part => {
    const part = byName.get(shard);
    if (!part) throw new UnknownShardError(`The shard "${shard}" is away, or SVC_SHARDS does not name it.`);
    onUse?.(shard);
    return part;
  };
  return {
    control,
    all,
    away,
    each(use) {
      users.push(use);
      for (const part of all) use(part);
    },
    add,
    of,
    find: async (companyId) => of({ shard: await directory.find(companyId) }),
  };
}
