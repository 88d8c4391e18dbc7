import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { buildApp, fileStore, usualReferences } from './app.ts';
import { baseUrlOf, type Config } from './config.ts';
import { type Demo, demoCheckout, ensureDemo } from './demo.ts';
import { maintainPartitions } from './features/events/jobs.ts';
import { batchConnections } from './features/orders/service.ts';
import { maintainRequestPartitions } from './features/requests/jobs.ts';
import { type RestoreWatch, watchRestores } from './features/restores/service.ts';
import { ensureRoles } from './features/team/service.ts';
import { dispatcherConnections } from './features/webhooks/jobs.ts';
import { clockCheck, healthServer, migrationCheck, poolCheck, type ReadinessCheck } from './http/operations.ts';
import { type GaugeSources, readGauges } from './gauges.ts';
import { startWorker } from './jobs/worker.ts';
import type { DemoCheckout } from './pages/card-fields.ts';
import { type Connections, openConnections } from './features/processors/connections.ts';
import { openPayments, type Payments } from './payments.ts';
import { createBackground } from './platform/background.ts';
import { type ClockWatch, watchClocks } from './platform/clock-watch.ts';
import { byKeySettings, type DatabasePool, queueSettings } from './platform/database.ts';
import { type DatabaseClock, openDatabaseClock } from './platform/database-clock.ts';
import { explainDatabase } from './platform/database-error.ts';
import { createDiskStore } from './platform/files/disk-store.ts';
import type { ObjectStore } from './platform/files/s3-store.ts';
import type { Logger } from './platform/log.ts';
import type { Mailer } from './platform/mail/mailer.ts';
import { openKeyRing } from './platform/key-ring.ts';
import { loadMasterSecrets, type MasterSecrets } from './platform/master-secret.ts';
import { createMetrics } from './platform/metrics.ts';
import { addressCheck } from './platform/outbound/addresses.ts';
import { createOutbound, type Outbound } from './platform/outbound/outbound.ts';
import type { ServiceKey, ServiceKeys } from './platform/service-keys.ts';
import { startTracing, type Tracing } from './platform/tracing.ts';
import { prepareDataFolder } from './start/data-folder.ts';
import { prepareDatabase } from './start/database.ts';
import { closeWithin, finishingShare, freePort, listenOrExplain } from './start/listen.ts';
import { openRateLimiter } from './start/rate-limiter.ts';
import { openResources, type Resources } from './start/resources.ts';
import { openVault } from './start/vault.ts';
import type { Vault } from './vault/vault.ts';

/** Starts the roles of a process (API, worker, vault) in the order in which they need each other. */

export interface Service {
  readonly baseUrl: string;
  /** Host and port; undefined without an API. */
  readonly listensOn: string | undefined;
  readonly demo: Demo | undefined;
  stop(): Promise<void>;
}

export async function startService(config: Config, log: Logger, onFatal: (error: Error) => void): Promise<Service> {
  const resources = openResources(config, log);
  try {
    return await start(config, log, onFatal, resources);
  } catch (error) {
    await resources.stop();
    throw error;
  }
}

async function start(
  config: Config,
  log: Logger,
  onFatal: (error: Error) => void,
  resources: Resources,
): Promise<Service> {
  await prepareDataFolder(config.dataDir);
  const tracing = await startTracing(process.env, (problem) => log.warn({ problem }, 'tracing'));
  resources.onStop(() => tracing.shutdown());
  const isVaultAlone = config.SVC_ROLES.every((role) => role === 'vault');
  const vaultService = {
    baseUrl: baseUrlOf(config, config.SVC_VAULT_PORT),
    listensOn: undefined,
    demo: undefined,
    stop: resources.stop,
  };
  // A process with only the vault role does not open the rest of the database.
  if (isVaultAlone && config.SVC_VAULT_DATABASE_URL) {
    const url = config.SVC_VAULT_DATABASE_URL.reveal();
    await openVault(config, url, resources, tracing).catch(explainDatabase('SVC_VAULT_DATABASE_URL'));
    return vaultService;
  }
  const secrets = await loadMasterSecrets(config);
  const { apiUrl, vaultUrl } = await prepareDatabase(config, secrets.current, onFatal, resources);
  const vault = await openVault(config, vaultUrl, resources, tracing);
  if (isVaultAlone) return vaultService;
  const parts = await openParts({ config, log, resources, secrets, apiUrl, vault, tracing });
  if (config.SVC_ROLES.includes('worker')) await startWorkerRole(parts);
  await (config.SVC_ROLES.includes('api') ? startApiRole(parts) : startHealthServer(parts));
  const demo = await prepareData(parts);
  return { baseUrl: parts.baseUrl, listensOn: `${config.HOST}:${parts.port}`, demo, stop: resources.stop };
}

const databaseMs = 2_000;
const watchDatabaseMs = 5_000;
const watchStoreMs = 15_000;
const watchMailMs = 60_000;

interface Surroundings {
  readonly config: Config;
  readonly log: Logger;
  readonly resources: Resources;
  readonly secrets: MasterSecrets;
  readonly apiUrl: string;
  readonly vault: Vault;
  readonly tracing: Tracing;
}

/** How `svc secrets status` names this process. */
const readerName = ({ SVC_ROLES }: Config): string => `${SVC_ROLES.join(',')} ${hostname()} ${process.pid}`;

/** The parts that API and worker share. */
interface Parts extends Surroundings, Payments {
  readonly db: DatabasePool;
  readonly connections: Connections;
  readonly clock: DatabaseClock;
  readonly clocks: ClockWatch;
  readonly restores: RestoreWatch;
  readonly outbound: Outbound;
  readonly isAllowed: ReturnType<typeof addressCheck>;
  readonly keys: ServiceKeys;
  readonly webhookSecretKey: ServiceKey;
  readonly port: number;
  readonly baseUrl: string;
  readonly readiness: () => ReadinessCheck[];
  readonly gauges: GaugeSources;
  /** Undefined if files are stored in the data folder. */
  readonly objectStore: ObjectStore | undefined;
  /** Set after the API has started. */
  readonly cardFields: { demo?: DemoCheckout };
}

async function openParts(surroundings: Surroundings): Promise<Parts> {
  const { config, log, resources, secrets, apiUrl, vault } = surroundings;
  const db = resources.openPool(apiUrl, 'requests');
  resources.components.watch('database', () => db.ping(databaseMs), watchDatabaseMs);
  const ring = await openKeyRing(db, secrets, readerName(config), log);
  resources.onStop(() => ring.stop());
  const { keys } = ring;
  const onClockError = (error: unknown): void => log.warn({ err: error }, 'the database did not return its time');
  const clock = await openDatabaseClock(db, onClockError);
  resources.onStop(async () => clock.stop());
  const clocks = await watchClocks(clock, vault, (problem) => log.error({ problem }, 'clocks differ'));
  resources.onStop(async () => clocks.stop());
  const restores = await watchRestores({ db, clock, log, file: join(config.dataDir, 'high-water.json') });
  resources.onStop(() => restores.stop());
  const batchDb = resources.openPool(apiUrl, 'money', { poolSize: batchConnections, settings: byKeySettings });
  const onExpired = (): void => clocks.noteExpired();
  const connections = openConnections(db);
  const isAllowed = addressCheck(config.SVC_WEBHOOK_ALLOW);
  const certificates = config.SVC_WEBHOOK_CA ? [await readFile(config.SVC_WEBHOOK_CA, 'utf8')] : undefined;
  const outbound = createOutbound({
    isAllowed,
    ...(certificates && { certificates: [...rootCertificates, ...certificates] }),
  });
  resources.onStop(() => outbound.close());
  const objectStore = fileStore(config);
  if (objectStore) resources.components.watch('object_store', () => objectStore.check(), watchStoreMs);
  // Links contain the port, so it is chosen before any link is created.
  const port = config.PORT || (await freePort(config.HOST));
  return {
    ...surroundings,
    ...openPayments({ db, batchDb, vault, connections, clock, log, onExpired, restores }),
    connections,
    db,
    clock,
    clocks,
    restores,
    outbound,
    isAllowed,
    objectStore,
    keys,
    webhookSecretKey: keys['webhook-secrets'],
    port,
    baseUrl: baseUrlOf(config, port),
    readiness: () => [
      migrationCheck(db),
      clockCheck(clocks),
      ...resources.pools.map(({ name, pool }) => poolCheck(`the connections "${name}"`, pool)),
    ],
    gauges: {
      roles: config.SVC_ROLES,
      pools: resources.pools,
      components: resources.components,
      serving: {
        db,
        clocks,
        restores,
        connections: connections.health,
        sendsMail: config.SMTP_URL !== undefined,
        backupPath: config.SVC_BACKUP_PATH,
      },
    },
    cardFields: {},
  };
}

async function startWorkerRole(parts: Parts): Promise<void> {
  const { config, resources, keys, apiUrl, baseUrl } = parts;
  const mailer = config.SMTP_URL && (await openMailer(config.SMTP_URL.reveal(), config.SVC_MAIL_FROM));
  if (mailer) {
    resources.onStop(() => mailer.close());
    resources.components.watch('mail', () => mailer.check(), watchMailMs);
  }
  const root = join(config.dataDir, 'files');
  const disk = createDiskStore({ root, baseUrl, signingKey: keys['file-urls'] });
  const worker = startWorker({
    db: parts.db,
    batchDb: resources.openPool(apiUrl, 'webhooks', { poolSize: dispatcherConnections, settings: queueSettings }),
    clock: parts.clock,
    files: parts.objectStore ?? disk,
    vault: parts.vault,
    orders: parts.orders,
    subscriptions: parts.subscriptions,
    mailer,
    mailKey: keys.mails,
    outbound: parts.outbound,
    webhookSecretKey: parts.webhookSecretKey,
    log: parts.log,
  });
  resources.serves(() => worker.stop());
}

async function startApiRole(parts: Parts): Promise<void> {
  const { config, db, clock, log, resources, outbound, isAllowed } = parts;
  const limiter = await openRateLimiter(config, db, log, resources.components);
  resources.onStop(async () => limiter.close?.());
  const app = await buildApp({
    config,
    baseUrl: parts.baseUrl,
    db,
    clock,
    clocks: parts.clocks,
    restores: parts.restores,
    log,
    background: createBackground(),
    keys: parts.keys,
    limiter,
    tracing: parts.tracing,
    vault: parts.vault,
    connections: parts.connections,
    orders: parts.orders,
    subscriptions: parts.subscriptions,
    webhooks: { outbound, isAllowed, clock, secretKey: parts.webhookSecretKey },
    references: usualReferences,
    readiness: parts.readiness(),
    components: resources.components,
    gauges: parts.gauges,
    cardFields: parts.cardFields,
  });
  resources.serves(() => closeWithin(app, config.SVC_SHUTDOWN_SECONDS * 1000 * finishingShare));
  await listenOrExplain(app, config.HOST, parts.port, 'PORT');
}

/** For a worker without an API. */
async function startHealthServer(parts: Parts): Promise<void> {
  const { config, clocks, restores, resources } = parts;
  if (config.SVC_HEALTH_PORT === 0) return;
  const metrics = createMetrics(config.SVC_ROLES, () => readGauges(parts.gauges));
  const { components } = resources;
  const app = healthServer({ checks: parts.readiness(), components, metrics, clocks, restores });
  resources.serves(() => app.close());
  await listenOrExplain(app, config.HOST, config.SVC_HEALTH_PORT, 'SVC_HEALTH_PORT');
}

/**
 * Creates what the database must contain before the first request: partitions, roles and, if enabled, the demo
 * company.
 */
async function prepareData(parts: Parts): Promise<Demo | undefined> {
  const { config, db, clock, keys, baseUrl, vault } = parts;
  await maintainPartitions(db);
  await maintainRequestPartitions(db);
  await ensureRoles(db, clock.nowMs());
  if (!config.SVC_DEMO && config.DATABASE_URL) return undefined;
  const demoDependencies = { db, clock, keys, dataDir: config.dataDir, baseUrl };
  const demo = await ensureDemo(demoDependencies);
  const { verifierOf } = parts.connections;
  const cards = { vault, clock, tokenHashKey: keys['card-tokens'], verifierOf };
  parts.cardFields.demo = await demoCheckout(demoDependencies, cards, demo);
  return demo;
}

/** Loaded only if mails are sent. */
async function openMailer(url: string, from: string): Promise<Mailer> {
  const { smtpMailer } = await import('./platform/mail/smtp.ts');
  return smtpMailer(url, from);
}
