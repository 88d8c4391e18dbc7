import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, loadConfig } from '../server/config.ts';
import { controlPlaneOn, type DatabasePool, openDatabase } from '../server/platform/database.ts';
import { type DatabaseClock, openDatabaseClock } from '../server/platform/database-clock.ts';
import { explainDatabase, UnusableDatabaseError } from '../server/platform/database-error.ts';
import { claimEmbeddedPostgres } from '../server/platform/embedded-postgres/claim.ts';
import { readKeys } from '../server/platform/key-ring.ts';
import { loadMasterSecrets } from '../server/platform/master-secret.ts';
import { inParallel, tryInParallel } from '../server/platform/in-parallel.ts';
import { type Migration, readMigrations } from '../server/platform/migration-files.ts';
import { requireMigrated } from '../server/platform/migrations.ts';
import { ownCommand } from '../server/platform/own-command.ts';
import type { ServiceKey, ServiceKeys } from '../server/platform/service-keys.ts';
import { oneShard, openDirectory } from '../server/shards/directory.ts';
import { firstShard, openShards, type ShardDatabase, type Shards } from '../server/shards/shards.ts';
import { CommandError } from './command-error.ts';

export interface Connected {
  readonly shards: OpenShards;
  readonly pepper: ServiceKey;
  /** Decrypts the links in emails that were not sent. */
  readonly mailKey: ServiceKey;
  readonly keys: ServiceKeys;
  readonly config: Config;
  /** The time of the database, which the service uses too. */
  readonly clock: DatabaseClock;
}

/** Works with and without a running service. If the embedded database is not running, it is started for the command. */
export async function withDatabase<Result>(work: (connected: Connected) => Promise<Result>): Promise<Result> {
  const config = loadConfig(process.env);
  return withShards(config, async (shards) => {
    const secrets = await loadMasterSecrets(config);
    const [first] = shards.all;
    const keys = await readKeys(shards.control, secrets);
    const clock = await openDatabaseClock(first.db, () => undefined);
    return work({ shards, pepper: keys['api-keys'], mailKey: keys.mails, keys, config, clock }).finally(() =>
      clock.stop(),
    );
  });
}

interface OpenShards extends Shards {
  readonly all: readonly [ShardDatabase, ...ShardDatabase[]];
}

/** Connects to every shard, after a check of its schema. */
export async function withShards<Result>(
  config: Config,
  work: (shards: OpenShards) => Promise<Result>,
): Promise<Result> {
  return withConnection(config, async (firstUrl) => {
    const databases = databasesOf(config, firstUrl);
    const migrations = await readMigrations();
    await onEachShard(databases, (database) => requireUsable(database, migrations));
    return withPools(databases, (all) => work(shardsOn(all)));
  });
}

interface ShardUrl {
  readonly name: string;
  readonly url: string;
}

export const databasesOf = ({ SVC_SHARDS }: Config, firstUrl: string): ShardUrl[] => [
  { name: firstShard, url: firstUrl },
  ...[...SVC_SHARDS].map(([name, url]) => ({ name, url: url.reveal() })),
];

/** Names the setting and the shard in an error that the operator can fix. */
export const explainShard = (name: string): ((error: unknown) => never) =>
  name === firstShard ? explainDatabase('DATABASE_URL') : explainDatabase('SVC_SHARDS', name);

async function requireUsable(
  { name, url }: ShardUrl,
  migrations: readonly Migration[],
  connectMs?: number,
): Promise<void> {
  await requireMigrated(url, connectMs, migrations).catch(explainShard(name));
}

/** How many shards a command works on at once: about as many connections it has, however many shards there are. */
const shardsAtOnce = 8;

/** Works on all shards, on a few at a time. Results are in their order. */
export const onEachShard = <Shard, Result>(
  shards: readonly Shard[],
  work: (shard: Shard) => Promise<Result>,
): Promise<Result[]> => inParallel(shards, shardsAtOnce, work);

/** The same where one shard that fails does not keep the command from the others. */
export const tryEachShard = <Shard, Result>(
  shards: readonly Shard[],
  work: (shard: Shard) => Promise<Result>,
): Promise<PromiseSettledResult<Result>[]> => tryInParallel(shards, shardsAtOnce, work);

function shardsOn(all: OpenShards['all']): OpenShards {
  const control = controlPlaneOn(all[0].db);
  return { ...openShards(control, all, all.length === 1 ? oneShard : openDirectory(control)), all };
}

/** The shards that respond, and why the others cannot be used, by name. */
export interface Reached {
  readonly config: Config;
  readonly all: OpenShards['all'];
  readonly away: ReadonlyMap<string, string>;
  /** Undefined if the first shard, which has the control plane, is away. */
  readonly shards: OpenShards | undefined;
}

const reachMs = 5_000;

/** For a command that shows what it can reach. Fails only if no shard can be used, or one has another schema. */
export async function withReachable<Result>(work: (reached: Reached) => Promise<Result>): Promise<Result> {
  const config = loadConfig(process.env);
  return withConnection(config, async (firstUrl) => {
    const databases = databasesOf(config, firstUrl);
    const failures = new Map<string, UnusableDatabaseError>();
    const migrations = await readMigrations();
    await onEachShard(databases, async (database) => {
      try {
        await requireUsable(database, migrations, reachMs);
      } catch (error) {
        if (!(error instanceof UnusableDatabaseError)) throw error;
        failures.set(database.name, error);
      }
    });
    if (failures.size === databases.length) throw [...failures.values()][0] as Error;
    const reachable = databases.filter(({ name }) => !failures.has(name));
    const away = new Map([...failures].map(([name, { message }]) => [name, message]));
    return withPools(reachable, async (all) => {
      if (away.has(firstShard)) return work({ config, all, away, shards: undefined });
      return work({ config, all, away, shards: shardsOn(all) });
    });
  });
}

/** Opens a pool for each database, and closes all of them afterwards. */
export async function withPools<Result>(
  databases: readonly ShardUrl[],
  work: (all: readonly [ShardDatabase, ...ShardDatabase[]]) => Promise<Result>,
): Promise<Result> {
  // A lock of the command needs its connection to the first shard. Those to the others are closed after each use.
  const [first, ...others] = databases.map(({ name, url }, index) => ({ name, db: openPool(url, index > 0) }));
  if (!first) throw new Error('there is no database to open');
  try {
    return await work([first, ...others]);
  } finally {
    await Promise.all([first, ...others].map(({ db }) => db.close()));
  }
}

/** Connects as the owner of the database, without a check of its schema. */
export async function withConnection<Result>(
  config: Config,
  work: (connectionString: string) => Promise<Result>,
): Promise<Result> {
  const url = config.DATABASE_URL?.reveal();
  if (url) return work(url);
  if (!existsSync(join(config.dataDir, 'postgres'))) {
    throw new CommandError(`${config.dataDir} has no data yet. Run ${ownCommand.start} first, or set DATABASE_URL.`);
  }
  // If a service is running, it has the server and keeps it.
  const postgres = await claimEmbeddedPostgres({ dataDirectory: join(config.dataDir, 'postgres') });
  try {
    return await work(postgres.connectionString);
  } finally {
    await postgres.stop();
  }
}

const brieflyMs = 20;

function openPool(connectionString: string, isBrief: boolean): DatabasePool {
  return openDatabase({
    connectionString,
    poolSize: 1,
    applicationName: 'svc command',
    onError: () => undefined,
    ...(isBrief ? { idleMs: brieflyMs } : {}),
  });
}

export async function withPool<Result>(
  connectionString: string,
  work: (db: DatabasePool) => Promise<Result>,
): Promise<Result> {
  const db = openPool(connectionString, false);
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}
