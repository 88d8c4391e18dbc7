import type { Payments } from './payments.ts';
import type { RestoreWatch } from './features/restores/service.ts';
import type { Replica } from './platform/replica.ts';
import type { OpenShard, Shards } from './shards/shards.ts';

/** What a process with the API or the worker has for each shard. */
export interface Shard extends OpenShard, Payments {
  readonly restores: RestoreWatch;
  readonly replica?: Replica | undefined;
}

export type AppShards = Shards<Shard>;
