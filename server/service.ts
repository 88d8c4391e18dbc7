import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import type { FastifyInstance } from 'fastify';
import { buildApp, fileStore, usualReferences } from './app.ts';
import { baseUrlOf, type Config } from './config.ts';
import { type Demo, demoCheckout, ensureDemo } from './demo.ts';
import { maintainPartitions } from './features/events/jobs.ts';
import { maintainRequestPartitions } from './features/requests/jobs.ts';
import { batchConnections, openOrders, operationStatistics } from './features/orders/service.ts';
import { openSubscriptions, subscriptionBilling } from './features/subscriptions/service.ts';
import { watchRestores } from './features/restores/service.ts';
import { ensureRoles } from './features/team/service.ts';
import { dispatcherConnections } from './features/webhooks/jobs.ts';
import type { DemoCheckout } from './pages/card-fields.ts';
import { clockCheck, healthServer, migrationCheck, poolCheck } from './http/operations.ts';
import { startWorker } from './jobs/worker.ts';
import { createBackground } from './platform/background.ts';
import { systemClock } from './platform/clock.ts';
import { watchClocks } from './platform/clock-watch.ts';
import { openDatabaseClock } from './platform/database-clock.ts';
import {
  byKeySettings,
  queueSettings,
  type DatabaseOptions,
  type DatabasePool,
  openDatabase,
} from './platform/database.ts';
import { explainDatabase } from './platform/database-error.ts';
import { errorCode } from './platform/error-code.ts';
import { startEmbeddedPostgres } from './platform/embedded-postgres/embedded-postgres.ts';
import { acquireSingleInstanceLock } from './platform/embedded-postgres/instance-lock.ts';
import { openRoles } from './platform/database-roles.ts';
import { createDiskStore } from './platform/files/disk-store.ts';
import type { Logger } from './platform/log.ts';
import { loadMasterSecret, rememberMasterSecret } from './platform/master-secret.ts';
import type { Mailer } from './platform/mail/mailer.ts';
import { migrate } from './platform/migrations.ts';
import { addressCheck } from './platform/outbound/addresses.ts';
import { createOutbound } from './platform/outbound/outbound.ts';
import { createMemoryRateLimiter } from './platform/rate-limiter/memory.ts';
import { createPostgresRateLimiter } from './platform/rate-limiter/postgres.ts';
import type { RateLimiter } from './platform/rate-limiter/rate-limiter.ts';
import { createResilientRateLimiter } from './platform/rate-limiter/resilient.ts';
import { deriveKey, Secret } from './platform/secret.ts';
import { startTracing } from './platform/tracing.ts';
import { remoteVault } from './vault/client.ts';
import { openKeyStore } from './vault/open-key-store.ts';
import { buildVaultServer } from './vault/server.ts';
import { localVault, type Vault } from './vault/vault.ts';

/** Something about the surroundings that its reader can mend. */
export class StartError extends Error {}

export interface Service {
  readonly baseUrl: string;
  /** As host and port; undefined where there is no API. */
  readonly listensOn: string | undefined;
  readonly demo: Demo | undefined;
  stop(): Promise<void>;
}

/** Runs its steps in reverse when the service stops, or when a later step of the start fails. */
function cleanUpStack(): { push(step: () => Promise<unknown>): void; run(): Promise<void> } {
  const steps: (() => Promise<unknown>)[] = [];
  return {
    push: (step) => steps.push(step),
    async run() {
      for (const step of steps.splice(0).toReversed()) await step();
    },
  };
}

/** While the service stops: a database that does not answer must not hold up the end of what waits for it. */
function giveUpDeadDatabases(pools: readonly OpenPool[]): { stop(): void } {
  const timer = setInterval(() => {
    for (const { pool } of pools) pool.ping(stoppingPingMs).catch(() => pool.abort());
  }, stoppingPingMs / 2);
  return { stop: () => clearInterval(timer) };
}

const stoppingPingMs = 1_000;
const vaultPool = 'svc vault';

interface OpenPool {
  readonly name: string;
  readonly pool: DatabasePool;
}

export async function startService(config: Config, log: Logger, onFatal: (error: Error) => void): Promise<Service> {
  const cleanUp = cleanUpStack();
  try {
    return await start(config, log, onFatal, cleanUp);
  } catch (error) {
    await cleanUp.run();
    throw error;
  }
}

async function start(
  config: Config,
  log: Logger,
  onFatal: (error: Error) => void,
  cleanUp: ReturnType<typeof cleanUpStack>,
): Promise<Service> {
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 }).catch((error: Error) => {
    throw new StartError(`The folder in SVC_DATA_DIR cannot be used: ${error.message}.`);
  });
  const pools: OpenPool[] = [];
  const openPool = (
    connectionString: string,
    applicationName: string,
    more: Partial<DatabaseOptions> = {},
  ): DatabasePool => {
    const onError = (error: Error): void => log.warn({ err: error }, 'a database connection was lost');
    const pool = openDatabase({
      connectionString,
      poolSize: config.SVC_DATABASE_POOL,
      applicationName,
      onError,
      statementTimeoutMs: config.SVC_DATABASE_TIMEOUT_MS,
      ...more,
    });
    pools.push({ name: applicationName, pool });
    cleanUp.push(() => pool.close());
    return pool;
  };
  const isVaultAlone = config.SVC_ROLES.every((role) => role === 'vault');
  const stop = (): Promise<void> => {
    const watch = giveUpDeadDatabases(pools);
    return cleanUp.run().finally(() => watch.stop());
  };
  // A process that is the vault and nothing else has no business with the rest of the database.
  if (isVaultAlone && config.SVC_VAULT_DATABASE_URL) {
    const vaultUrl = config.SVC_VAULT_DATABASE_URL.reveal();
    await openVault(config, () => openPool(vaultUrl, vaultPool), cleanUp).catch(
      explainDatabase('SVC_VAULT_DATABASE_URL'),
    );
    return { baseUrl: baseUrlOf(config, config.SVC_VAULT_PORT), listensOn: undefined, demo: undefined, stop };
  }
  const masterSecret = await loadMasterSecret(config);
  const ownerUrl = config.DATABASE_URL?.reveal() ?? (await embeddedDatabase(config, onFatal, cleanUp));
  await migrate(ownerUrl).catch(explainDatabase('DATABASE_URL'));

  const { apiUrl, vaultUrl } = config.DATABASE_URL
    ? { apiUrl: ownerUrl, vaultUrl: config.SVC_VAULT_DATABASE_URL?.reveal() ?? ownerUrl }
    : await openRoles(ownerUrl, masterSecret);
  const vault = await openVault(config, () => openPool(vaultUrl, vaultPool), cleanUp);
  if (isVaultAlone)
    return { baseUrl: baseUrlOf(config, config.SVC_VAULT_PORT), listensOn: undefined, demo: undefined, stop };
  const db = openPool(apiUrl, 'svc');
  await rememberMasterSecret(db, masterSecret);
  const tracing = await startTracing(process.env, (problem) => log.warn({ problem }, 'tracing'));
  cleanUp.push(() => tracing.shutdown());
  const limiter = await openRateLimiter(config, db, log);
  cleanUp.push(async () => limiter.close?.());

  const onClockError = (error: unknown): void => log.warn({ err: error }, 'the database did not return its time');
  const clock = await openDatabaseClock(db, onClockError);
  cleanUp.push(async () => clock.stop());
  const clocks = await watchClocks(clock, vault, (problem) => log.error({ problem }, 'clocks differ'));
  cleanUp.push(async () => clocks.stop());

  const restores = await watchRestores({ db, clock, log, file: join(config.dataDir, 'high-water.json') });
  cleanUp.push(() => restores.stop());

  const batchDb = openPool(apiUrl, 'svc money', { poolSize: batchConnections, settings: byKeySettings });
  const onExpired = (): void => clocks.noteExpired();
  const orders = openOrders({ db, batchDb, vault, clock, log, billing: subscriptionBilling, onExpired, restores });
  const subscriptions = openSubscriptions({ db, batchDb, orders, clock, log });

  const isAllowed = addressCheck(config.SVC_WEBHOOK_ALLOW);
  const certificates = config.SVC_WEBHOOK_CA ? [await readFile(config.SVC_WEBHOOK_CA, 'utf8')] : undefined;
  const outbound = createOutbound({
    isAllowed,
    ...(certificates && { certificates: [...rootCertificates, ...certificates] }),
  });
  cleanUp.push(() => outbound.close());
  const webhookSecretKey = deriveKey(masterSecret, 'webhook-secrets');

  // Links name the port, so it is chosen before anything that makes links.
  const port = config.PORT || (await freePort(config.HOST));
  const baseUrl = baseUrlOf(config, port);
  const cardFields: { demo?: DemoCheckout } = {};
  const mailer = config.SMTP_URL && (await openMailer(config.SMTP_URL.reveal(), config.SVC_MAIL_FROM));
  if (mailer) cleanUp.push(() => mailer.close());
  // What serves ends together: one after the other would take longer than a stop may.
  const serving: (() => Promise<unknown>)[] = [];
  cleanUp.push(() => Promise.all(serving.map((end) => end())));
  if (config.SVC_ROLES.includes('worker')) {
    const disk = createDiskStore({
      root: join(config.dataDir, 'files'),
      baseUrl,
      signingKey: deriveKey(masterSecret, 'file-urls'),
    });
    const dispatcherDb = openPool(apiUrl, 'svc webhooks', { poolSize: dispatcherConnections, settings: queueSettings });
    const worker = startWorker({
      db,
      batchDb: dispatcherDb,
      clock,
      files: fileStore(config) ?? disk,
      vault,
      orders,
      subscriptions,
      mailer,
      mailKey: deriveKey(masterSecret, 'mails'),
      outbound,
      webhookSecretKey,
      log,
    });
    serving.push(() => worker.stop());
  }
  const readiness = [
    migrationCheck(db),
    clockCheck(clocks),
    ...pools.map(({ name, pool }) => poolCheck(`the connections "${name}"`, pool)),
  ];
  if (config.SVC_ROLES.includes('api')) {
    const app = await buildApp({
      config,
      baseUrl,
      db,
      clock,
      clocks,
      restores,
      log,
      background: createBackground(),
      masterSecret,
      limiter,
      tracing,
      vault,
      orders,
      subscriptions,
      webhooks: { outbound, isAllowed, clock, secretKey: webhookSecretKey },
      references: usualReferences,
      readiness,
      cardFields,
    });
    serving.push(() => closeWithin(app, config.SVC_SHUTDOWN_SECONDS * 1000 * finishingShare));
    await listenOrExplain(app, config.HOST, port, 'PORT');
  } else if (config.SVC_HEALTH_PORT > 0) {
    const app = healthServer(db, readiness, vault, () => operationStatistics(db), clocks, restores);
    serving.push(() => app.close());
    await listenOrExplain(app, config.HOST, config.SVC_HEALTH_PORT, 'SVC_HEALTH_PORT');
  }
  await maintainPartitions(db);
  await maintainRequestPartitions(db);
  await ensureRoles(db, clock.nowMs());
  const wantsDemo = config.SVC_DEMO || !config.DATABASE_URL;
  const demoDependencies = { db, clock, masterSecret, dataDir: config.dataDir, baseUrl };
  const demo = wantsDemo ? await ensureDemo(demoDependencies) : undefined;
  if (demo) {
    const cards = { vault, clock, tokenHashKey: deriveKey(masterSecret, 'card-tokens') };
    cardFields.demo = await demoCheckout(demoDependencies, cards, demo);
  }
  return { baseUrl, listensOn: `${config.HOST}:${port}`, demo, stop };
}

/** The vault in this process, and for others when there is a credential; or the one that runs elsewhere. */
async function openVault(
  config: Config,
  openVaultDatabase: () => DatabasePool,
  cleanUp: ReturnType<typeof cleanUpStack>,
): Promise<Vault> {
  const { SVC_VAULT_URL, SVC_VAULT_TOKEN } = config;
  if (!config.SVC_ROLES.includes('vault')) {
    const vault = remoteVault(SVC_VAULT_URL ?? '', SVC_VAULT_TOKEN ?? new Secret(''));
    cleanUp.push(async () => vault.close?.());
    return vault;
  }
  const db = openVaultDatabase();
  const vault = localVault(db, await openKeyStore(config, db), systemClock);
  if (SVC_VAULT_TOKEN) {
    const server = buildVaultServer(vault, SVC_VAULT_TOKEN);
    cleanUp.push(() => server.close());
    await listenOrExplain(server, config.HOST, config.SVC_VAULT_PORT, 'SVC_VAULT_PORT');
  }
  return vault;
}

async function listenOrExplain(app: FastifyInstance, host: string, port: number, setting: string): Promise<void> {
  await app.listen({ host, port }).catch((error: unknown) => explainListen(error, host, `${setting} ${port}`));
}

function explainListen(error: unknown, host: string, port: string): never {
  const code = errorCode(error) ?? '';
  if (!['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL', 'ENOTFOUND', 'EAFNOSUPPORT'].includes(code)) throw error;
  throw new StartError(`Cannot listen on HOST ${host}, ${port} (${code}). Choose another host or port.`);
}

/** Running requests may use most of the time a stop has; what is left belongs to the rest of the clean-up. */
const finishingShare = 0.7;

async function closeWithin(app: FastifyInstance, ms: number): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), ms);
  await app.close();
  clearTimeout(timer);
}

async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening').catch((error: unknown) => explainListen(error, host, 'PORT 0'));
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function embeddedDatabase(
  config: Config,
  onFatal: (error: Error) => void,
  cleanUp: ReturnType<typeof cleanUpStack>,
): Promise<string> {
  const postgres = await startEmbeddedPostgres({
    dataDirectory: join(config.dataDir, 'postgres'),
    onUnexpectedExit: (code) => onFatal(new Error(`The embedded PostgreSQL exited unexpectedly (code ${code}).`)),
  });
  const lock = await acquireSingleInstanceLock(postgres.connectionString, onFatal);
  if (!lock)
    throw new StartError(
      `Another process already uses the data folder ${config.dataDir}. Stop it, or set another SVC_DATA_DIR.`,
    );
  cleanUp.push(() => postgres.stop());
  cleanUp.push(() => lock.release());
  return postgres.connectionString;
}

/** Loaded only where mails are sent. */
async function openMailer(url: string, from: string): Promise<Mailer> {
  const { smtpMailer } = await import('./platform/mail/smtp.ts');
  return smtpMailer(url, from);
}

/** Loaded only where it is used. */
async function redisRateLimiter(config: Config, onFailure: (error: unknown) => void): Promise<RateLimiter> {
  const { createRedisRateLimiter, openRedis } = await import('./platform/rate-limiter/redis.ts');
  return createRedisRateLimiter(openRedis(config.REDIS_URL?.reveal() ?? '', onFailure));
}

async function openRateLimiter(config: Config, db: DatabasePool, log: Logger): Promise<RateLimiter> {
  const store = config.SVC_RATE_LIMIT_STORE ?? (config.REDIS_URL ? 'redis' : 'memory');
  if (store === 'memory') return createMemoryRateLimiter();
  const onFailure = (error: unknown): void =>
    log.warn({ err: error }, 'the shared rate-limit store does not respond; counting in this process');
  const shared =
    store === 'redis'
      ? await redisRateLimiter(config, onFailure)
      : createPostgresRateLimiter(async (text, values) => ({ rows: await db.query(text, values) }));
  return createResilientRateLimiter(shared, onFailure);
}
