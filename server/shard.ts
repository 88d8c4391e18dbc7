import type { Payments } from './payments.ts';
import type { RestoreWatch } from './features/restores/service.ts';
import type { Clock } from './platform/clock.ts';
import type { Replica } from './platform/replica.ts';
import type { ShardDatabase, Shards } from './shards/shards.ts';

/** What a process with the API or the worker has for each shard. */
export interface Shard extends ShardDatabase, Payments {
  /** The time of its database. */
  readonly clock: Clock;
  readonly restores: RestoreWatch;
  /** A standby for reads, if there is one. */
  readonly replica?: Replica | undefined;
}

export type AppShards = Shards<Shard>;
