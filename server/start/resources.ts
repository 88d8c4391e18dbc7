import type { Config } from '../config.ts';
import { type DatabaseOptions, type DatabasePool, openDatabase } from '../platform/database.ts';
import { type Components, openComponents } from '../platform/components.ts';
import type { Logger } from '../platform/log.ts';
import type { PoolName } from '../observation/gauges.ts';
import { connectionBudget } from '../platform/connection-budget.ts';
import { firstShard } from '../shards/shards.ts';
import { quietDuringOutages } from './outage-log.ts';
import { applicationName } from './application-name.ts';

/** The resources that a starting service has opened, and their shutdown. */
export interface Resources {
  readonly pools: readonly OpenPool[];
  readonly components: Components;
  readonly log: Logger;
  openPool(connectionString: string, name: PoolName, more?: Partial<DatabaseOptions> & OnShard): DatabasePool;
  /** Servers stop first, all in parallel: one after the other would exceed the shutdown time. */
  serves(end: () => Promise<unknown>): void;
  /** Steps run in reverse order when the service stops, or when a later step of the start fails. */
  onStop(step: () => Promise<unknown>): void;
  stop(): Promise<void>;
}

interface OnShard {
  readonly shard: string;
}

interface OpenPool extends OnShard {
  readonly name: PoolName;
  readonly pool: DatabasePool;
}

const stoppingPingMs = 1_000;

export function openResources(config: Config, log: Logger): Resources {
  const serving: (() => Promise<unknown>)[] = [];
  const steps: (() => Promise<unknown>)[] = [];
  const pools: OpenPool[] = [];
  const components = openComponents(log);
  // With one database, the sizes of its pools are the bound.
  const budget =
    config.SVC_SHARDS.size > 0 ? connectionBudget(config.SVC_DATABASE_CONNECTIONS, { control: firstShard }) : undefined;
  const outageLog = quietDuringOutages(log, components);
  return {
    pools,
    components,
    log,
    openPool(connectionString, name, { shard = firstShard, ...more } = { shard: firstShard }) {
      const pool = openDatabase({
        connectionString,
        poolSize: config.SVC_DATABASE_POOL,
        applicationName: applicationName(name, config.SVC_ROLES),
        onError: (error) => log.warn({ err: error, pool: name, shard }, 'a database connection was lost'),
        statementTimeoutMs: config.SVC_DATABASE_TIMEOUT_MS,
        budget: budget?.of(shard),
        ...more,
      });
      pools.push({ name, shard, pool });
      steps.push(() => pool.close());
      return pool;
    },
    serves: (end) => serving.push(end),
    onStop: (step) => steps.push(step),
    async stop() {
      outageLog.stop();
      components.stop();
      const watch = abortDeadPools(pools);
      try {
        await Promise.all(serving.splice(0).map((end) => end()));
        for (const step of steps.splice(0).toReversed()) await step();
      } finally {
        watch.stop();
      }
    },
  };
}

/** Without connections there is nothing to wait for. */
const isOpen = ({ pool }: OpenPool): boolean => pool.stats().total > 0;

/** A database that does not answer must not delay the shutdown. */
function abortDeadPools(pools: readonly OpenPool[]): { stop(): void } {
  const timer = setInterval(() => {
    for (const { pool } of pools.filter(isOpen)) pool.ping(stoppingPingMs).catch(() => pool.abort());
  }, stoppingPingMs / 2);
  return { stop: () => clearInterval(timer) };
}
