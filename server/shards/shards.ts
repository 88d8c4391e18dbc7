import type { ControlPool, DatabasePool } from '../platform/database.ts';
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

/** `Part` is what a process has for each shard: at least its database. */
export interface Shards<Part extends ShardDatabase = ShardDatabase> {
  readonly control: ControlPool;
  readonly all: readonly Part[];
  of(company: { readonly shard: string }): Part;
  /** For callers that know only the id. */
  find(companyId: string): Promise<Part>;
}

/** A company is on a shard that this process does not know. */
export class UnknownShardError extends Error {}

export function openShards<Part extends ShardDatabase>(
  control: ControlPool,
  all: readonly Part[],
  directory: Pick<Directory, 'find'>,
): Shards<Part> {
  const byName = new Map(all.map((part) => [part.name, part]));
  const of = ({ shard }: { readonly shard: string }): Part => {
    const part = byName.get(shard);
    if (!part) throw new UnknownShardError(`SVC_SHARDS has no shard "${shard}", which a company is on.`);
    return part;
  };
  return { control, all, of, find: async (companyId) => of({ shard: await directory.find(companyId) }) };
}
