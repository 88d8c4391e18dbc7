import type { Config } from '../config.ts';
import { databaseCheck, poolCheck, type ReadinessCheck } from '../http/operations.ts';
import { openReplica, type Replica } from '../platform/replica.ts';
import { type StandbyWatch, watchStandby } from '../platform/synchronous-standby.ts';
import type { Pooler } from '../platform/pooler.ts';
import type { ShardDatabase } from '../shards/shards.ts';
import type { DatabaseUrls } from './database.ts';
import type { Resources } from './resources.ts';

/** A shard that the settings name. Its database may be away. */
export interface ConfiguredShard extends ShardDatabase {
  readonly apiUrl: string;
  readonly pooler?: Pooler | undefined;
  readonly replica?: Replica | undefined;
  readonly standby: StandbyWatch;
  /** What the last question to the shard showed; for one that rests. */
  readonly seen: { isUp: boolean };
}

/** A read on a replica that hangs is repeated on the primary after this time. */
const replicaTimeoutMs = 5_000;

function open({ name, apiUrl, pooler, readUrl }: DatabaseUrls, config: Config, resources: Resources): ConfiguredShard {
  const primary = resources.openPool(apiUrl, 'requests', { shard: name, pooler });
  const statementTimeoutMs = Math.min(replicaTimeoutMs, config.SVC_DATABASE_TIMEOUT_MS);
  const options = { shard: name, isReplica: true, statementTimeoutMs };
  const standby = readUrl && resources.openPool(readUrl, 'replica', options);
  const replica = standby ? openReplica({ primary, standby }, { waitMs: config.SVC_READ_WAIT_MS }) : undefined;
  return { name, apiUrl, pooler, db: primary, replica, standby: watchStandby(primary), seen: { isUp: true } };
}

/** The first shard, which must be there, and the others. */
export type ConfiguredShards = readonly [ConfiguredShard, ...ConfiguredShard[]];

export const openConfigured = (
  databases: readonly DatabaseUrls[],
  config: Config,
  resources: Resources,
): ConfiguredShards =>
  databases.map((urls) => open(urls, config, resources)) as [ConfiguredShard, ...ConfiguredShard[]];

export function checksOf({ name, db }: ConfiguredShard, { pools }: Resources): ReadinessCheck[] {
  // Without its replica, a shard is as ready as before.
  const own = pools.filter((one) => one.shard === name && one.name !== 'replica');
  return [databaseCheck(db), ...own.map((one) => poolCheck(one.name, one.pool))];
}
