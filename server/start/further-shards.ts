import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { type DatabasePool, isAway } from '../platform/database.ts';
import { explainDatabase } from '../platform/database-error.ts';
import { inParallel } from '../platform/in-parallel.ts';
import type { Logger } from '../platform/log.ts';
import { readMigrations } from '../platform/migration-files.ts';
import { hasSchema, migrate } from '../platform/migrations.ts';
import { type Pooler, refusePoolerOf } from '../platform/pooler.ts';
import type { Resources } from './resources.ts';

/** A process that starts waits this long for the connection to a shard. */
const connectMs = 2_000;
const retryMs = 3_000;
/** More would only wait for each other, and need more connections. */
const openedAtOnce = 16;

interface FurtherShard {
  readonly name: string;
  readonly apiUrl: string;
  readonly db: Pick<DatabasePool, 'lend'>;
  readonly pooler?: Pooler | undefined;
}

/**
 * Migrates and opens the shards other than the first. One that is away does not keep the process from starting: it is
 * tried again in the background until it is open. One with a wrong schema or login is refused.
 */
export async function openFurther<Further extends FurtherShard>(
  shards: readonly Further[],
  { log, resources }: { readonly log: Logger; readonly resources: Pick<Resources, 'serves'> },
  open: (shard: Further) => Promise<void>,
): Promise<void> {
  const stopping = new AbortController();
  const migrations = await readMigrations();
  const waiting: Promise<void>[] = [];
  resources.serves(async () => {
    stopping.abort();
    await Promise.all(waiting);
  });

  async function attempt(shard: Further): Promise<void> {
    const address = {
      connectionString: shard.apiUrl,
      setting: `The shard "${shard.name}" of SVC_SHARDS`,
      poolSetting: 'SVC_POOL_SHARDS',
      connectMs,
    };
    const examine = (client: pg.ClientBase): Promise<void> => refusePoolerOf(client, address);
    const isReady = async (client: pg.ClientBase): Promise<boolean> => {
      await examine(client);
      return hasSchema(client, migrations);
    };
    // A connection costs the server more than what is asked here, so it is one that the pool keeps for what follows.
    if (shard.pooler || !(await shard.db.lend(isReady)))
      await migrate(shard.apiUrl, migrations, { connectMs, examine });
    await shard.pooler?.examine();
    if (!stopping.signal.aborted) await open(shard);
  }

  async function openLater(shard: Further, failure: Error): Promise<void> {
    let { message } = failure;
    const { name } = shard;
    log.error(
      { problem: message, shard: name },
      'the shard is away; its companies are answered with 503 until it is there',
    );
    while (!stopping.signal.aborted) {
      await sleep(retryMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      try {
        await attempt(shard);
        return log.info({ shard: name }, 'the shard is there; its companies are served');
      } catch (error) {
        // The same failure is not logged every few seconds.
        if (error instanceof Error && error.message !== message) {
          log.error({ err: error, shard: name }, 'the shard cannot be opened; it is tried again');
          ({ message } = error);
        }
      }
    }
  }

  async function openNow(shard: Further): Promise<void> {
    try {
      await attempt(shard);
    } catch (error) {
      if (!(error instanceof Error && isAway(error))) explainDatabase('SVC_SHARDS', shard.name)(error);
      else waiting.push(openLater(shard, error));
    }
  }

  await inParallel(shards, openedAtOnce, openNow);
}
