import { join } from 'node:path';
import type { Config } from '../config.ts';
import { maintainPartitions } from '../features/events/jobs.ts';
import { batchConnections, type MoneyDependencies } from '../features/orders/service.ts';
import type { Connections } from '../features/processors/connections.ts';
import { maintainRequestPartitions } from '../features/requests/jobs.ts';
import { markName, watchRestores } from '../features/restores/service.ts';
import { ensureRoles } from '../features/team/service.ts';
import type { ObservedShard } from '../observation/gauges.ts';
import { type ClockWatch, watchClocks } from '../platform/clock-watch.ts';
import { type ControlPool, controlPlaneOn, type DatabasePool } from '../platform/database.ts';
import { openDatabaseClock } from '../platform/database-clock.ts';
import type { Logger } from '../platform/log.ts';
import type { ServiceKeys } from '../platform/service-keys.ts';
import { openPayments } from '../payments.ts';
import { byKeySettings } from '../platform/database-settings.ts';
import type { AppShards, Shard } from '../shard.ts';
import type { Directory } from '../shards/directory.ts';
import { movedFrom } from '../shards/follow.ts';
import { announceUse } from '../shards/leases.ts';
import { openShards, type Shards } from '../shards/shards.ts';
import { alwaysUsed, openShardUse, type ShardUse } from '../shards/use.ts';
import type { Vault } from '../vault/vault.ts';
import type { ConfiguredShard, ConfiguredShards } from './configured-shard.ts';
import { openFurther } from './further-shards.ts';
import type { Resources } from './resources.ts';

/** Opens the shards of a process with the API or the worker, and follows which of them it uses. */

interface Opening {
  readonly config: Config;
  readonly log: Logger;
  readonly resources: Resources;
  readonly vault: Vault;
  readonly use: ShardUse;
  readonly keys: ServiceKeys;
  readonly confirmationUrl: MoneyDependencies['confirmationUrl'];
}

/** Which shards this process uses. One that rests has no open connection. */
export function shardUse(
  [first, ...others]: ConfiguredShards,
  control: ControlPool,
  { log, resources }: Pick<Opening, 'log' | 'resources'>,
): ShardUse {
  if (others.length === 0) return alwaysUsed;
  const use = openShardUse((shard) =>
    announceUse(control, shard).then(
      () => true,
      (error: unknown) => {
        log.debug({ err: error, shard }, 'the workers could not be informed that a shard is in use');
        return false;
      },
    ),
  );
  resources.onStop(async () => use.stop());
  // The control plane is always in use.
  use.hold(first.name);
  for (const { name, db } of others) {
    db.rest();
    use.watch(name, { begin: db.resume, end: db.rest });
  }
  return use;
}

export const inUse = (use: ShardUse, shards: readonly ConfiguredShard[]): readonly ConfiguredShard[] =>
  shards.filter(({ name }) => use.isUsed(name));

/** Opens the first shard, which must be there, and the others. */
export async function openAllShards(
  surroundings: Opening,
  connections: Connections,
  [main, ...others]: ConfiguredShards,
  directory: Directory,
): Promise<{ readonly first: StartedShard; readonly shards: Shards<StartedShard> }> {
  const names = others.map(({ name }) => name);
  const shards = openShards<StartedShard>(controlPlaneOn(main.db), [], directory, {
    further: [main.name, ...names],
    ...(names.length > 0 && { onUse: surroundings.use.note }),
  });
  const open = async (one: ConfiguredShard): Promise<StartedShard> => {
    const movedTo = names.length > 0 ? movedFrom(shards, one.name, ({ orders }) => orders.charging) : undefined;
    const opened = await openShard(surroundings, connections, one, movedTo);
    shards.add(opened);
    return opened;
  };
  const first = await open(main);
  await openFurther(others, surroundings, async (other) => {
    await prepareShard(other.db, first.clock.nowMs());
    await open(other);
    if (!surroundings.use.isUsed(other.name)) other.db.rest();
  });
  return { first, shards };
}

/** A shard for the metrics. It counts as away until it is open. One that rests is as it was when it was last asked. */
export function observedShard({ away }: AppShards, use: ShardUse, configured: ConfiguredShard): ObservedShard {
  const { name, db, seen } = configured;
  return {
    ...configured,
    isUsed: () => use.isUsed(name) && !away.has(name),
    async isUp(deadlineMs) {
      if (use.isUsed(name)) {
        seen.isUp = await db.ping(deadlineMs).then(
          () => true,
          () => false,
        );
      }
      return seen.isUp && !away.has(name);
    },
  };
}

export interface StartedShard extends Shard, ConfiguredShard {
  readonly clocks: ClockWatch;
}

/** Opens what works on one shard: its clock, the watch over restores, and the payments. */
async function openShard(
  { config, log, resources, vault, use, keys, confirmationUrl }: Opening,
  connections: Connections,
  configured: ConfiguredShard,
  movedTo: MoneyDependencies['movedTo'],
): Promise<StartedShard> {
  const { name, apiUrl, pooler, db } = configured;
  const onClockError = (error: unknown): void =>
    log.warn({ err: error, shard: name }, 'the database did not return its time');
  const isUsed = (): boolean => use.isUsed(name);
  const clock = await openDatabaseClock(db, onClockError, undefined, isUsed);
  resources.onStop(async () => clock.stop());
  const clocks = await watchClocks(
    clock,
    vault,
    (problem) => log.error({ problem, shard: name }, 'clocks differ'),
    isUsed,
  );
  resources.onStop(async () => clocks.stop());
  const restores = await watchRestores({ db, clock, log, file: join(config.dataDir, markName(name)), isUsed });
  resources.onStop(() => restores.stop());
  const batchDb = resources.openPool(apiUrl, 'money', {
    shard: name,
    pooler,
    poolSize: batchConnections,
    settings: byKeySettings,
  });
  use.watch(name, {
    begin() {
      clock.sync().catch(onClockError);
      void restores.look();
    },
    end: batchDb.rest,
  });
  const onExpired = (): void => clocks.noteExpired();
  const payments = openPayments({
    ...{ db, batchDb, vault, connections, clock, log, onExpired, restores, movedTo, confirmationUrl },
    stepKey: keys['page-links'],
  });
  return { ...configured, clock, clocks, restores, ...payments };
}

/** Creates what a shard must contain before the first request: partitions and roles. */
export async function prepareShard(db: DatabasePool, nowMs: number): Promise<void> {
  await maintainPartitions(db);
  await maintainRequestPartitions(db);
  await ensureRoles(db, nowMs);
}
