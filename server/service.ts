import { hostname } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import type { FastifyInstance } from 'fastify';
import { buildApp } from './app.ts';
import { deliveryOf } from './email-delivery.ts';
import { usualReferences } from './references.ts';
import { baseUrlOf, type Config } from './config.ts';
import { openOneTimeSignIn } from './features/users/service.ts';
import { isLocalName } from './http/session-cookie.ts';
import { type DemoAtStart, type KnownDemo, prepareDemo } from './demo.ts';
import { emailsOf } from './customer-pages.ts';
import { confirmationUrl } from './features/confirmations/token.ts';
import { allRestores, type RestoreWatch } from './features/restores/service.ts';
import { dispatcherConnections } from './features/webhooks/jobs.ts';
import { anyShard, clockCheck, healthServer, type ReadinessCheck } from './http/operations.ts';
import { type GaugeSources, readGauges, shardsToShow } from './observation/gauges.ts';
import { startWorker } from './jobs/worker.ts';
import { type Connections, openConnections } from './features/processors/connections.ts';
import { createBackground } from './platform/background.ts';
import type { Clock } from './platform/clock.ts';
import { type ClockWatch, combinedClocks } from './platform/clock-watch.ts';
import { controlPlaneOn, type DatabasePool } from './platform/database.ts';
import { queueSettings } from './platform/database-settings.ts';
import { explainDatabase } from './platform/database-error.ts';
import { createDiskStore } from './platform/files/disk-store.ts';
import type { ObjectStore } from './platform/files/s3-store.ts';
import type { Logger } from './platform/log.ts';
import { openRenderer } from './features/receipts/service.ts';
import type { Mailer } from './platform/mail/mailer.ts';
import { openKeyRing } from './platform/key-ring.ts';
import { loadMasterSecrets, type MasterSecrets } from './platform/master-secret.ts';
import { createMetrics } from './platform/metrics.ts';
import { answersItself } from './platform/service-manager.ts';
import { addressCheck } from './platform/outbound/addresses.ts';
import { createOutbound, type Outbound } from './platform/outbound/outbound.ts';
import type { ServiceKey, ServiceKeys } from './platform/service-keys.ts';
import type { Telemetry } from './platform/telemetry/telemetry.ts';
import { prepareDataFolder } from './start/data-folder.ts';
import { type Directory, onAccessChange, oneShard, openDirectory } from './shards/directory.ts';
import { openShards, type Shards } from './shards/shards.ts';
import { alwaysUsed, type ShardUse } from './shards/use.ts';
import { type DatabaseUrls, prepareDatabases, vaultDatabases } from './start/database.ts';
import { closeWithin, finishingShare, freePort, listenOrExplain } from './start/listen.ts';
import { fileStore } from './start/file-store.ts';
import { inUse, observedShard, openAllShards, prepareShard, shardUse, type StartedShard } from './start/open-shards.ts';
import { checksOf, openConfigured } from './start/configured-shard.ts';
import { checkMachine, webhookAuthorities } from './start/preflight.ts';
import { openRateLimiter } from './start/rate-limiter.ts';
import { openResources, type Resources } from './start/resources.ts';
import { openTelemetry } from './start/open-telemetry.ts';
import { openVault } from './start/vault.ts';
import { watchDatabases, watchMail, watchObjectStore, watchReplicas } from './start/watch-parts.ts';
import type { Vault } from './vault/vault.ts';

/** Starts the roles of a process (API, worker, vault) in the order in which they need each other. */

export interface Service {
  readonly baseUrl: string;
  /** Host and port of the API, or of the health checks of a worker; undefined if the process serves neither. */
  readonly listensOn: string | undefined;
  readonly demo: DemoAtStart | undefined;
  /** An address that signs in to the demo company once. It is for the terminal, and for no log. */
  readonly signInUrl?: string | undefined;
  /** Whether the process answers on its port; true if it has none. */
  isWell(): Promise<boolean>;
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
  await checkMachine(config);
  await prepareDataFolder(config.dataDir);
  const telemetry = await openTelemetry(log, resources);
  const isVaultAlone = config.SVC_ROLES.every((role) => role === 'vault');
  const vaultService = {
    baseUrl: baseUrlOf(config, config.SVC_VAULT_PORT),
    listensOn: undefined,
    demo: undefined,
    isWell: answersItself(config.HOST, config.SVC_VAULT_PORT),
    stop: resources.stop,
  };
  // A process with only the vault role does not open the rest of the database.
  if (isVaultAlone && config.SVC_VAULT_DATABASE_URL) {
    const own = vaultDatabases(config);
    await openVault(config, own, resources, telemetry).catch(explainDatabase('SVC_VAULT_DATABASE_URL'));
    return vaultService;
  }
  const secrets = await loadMasterSecrets(config);
  const databases = await prepareDatabases(config, secrets, onFatal, resources);
  const vault = await openVault(config, databases, resources, telemetry);
  if (isVaultAlone) return vaultService;
  const parts = await openParts({ config, log, resources, secrets, databases, vault, telemetry });
  // The database works on the first while this process builds the second. No request arrives before both are done.
  // An address that signs in is for people at this machine, so it exists only where nothing else reaches the service.
  const isLocal = isLocalName(config.HOST) && isLocalName(new URL(parts.baseUrl).hostname);
  const known: KnownDemo = { signIn: isLocal ? openOneTimeSignIn() : undefined };
  const [app] = await Promise.all([
    config.SVC_ROLES.includes('api') ? buildApiRole(parts, known) : undefined,
    prepareShard(parts.first.db, parts.clock.nowMs()),
  ]);
  if (config.SVC_ROLES.includes('worker')) await startWorkerRole(parts);
  const { first, ...shared } = parts;
  // Who waits for `/readyz` reads `demo.json` next.
  const demo = await prepareDemo({ ...shared, controlUrl: first.apiUrl });
  if (demo) known.checkoutUrl = demo.checkout_url;
  await (app ? listenOrExplain(app, config.HOST, parts.port, 'PORT') : startHealthServer(parts));
  const port = app ? parts.port : config.SVC_HEALTH_PORT;
  const listensOn = port === 0 ? undefined : `${config.HOST}:${port}`;
  const isWell = answersItself(config.HOST, port);
  const token = app && demo && known.signIn?.offer(demo, parts.clock.nowMs());
  const signInUrl = token && `${parts.baseUrl}/login#once=${token}`;
  return { baseUrl: parts.baseUrl, listensOn, demo, signInUrl, isWell, stop: resources.stop };
}

interface Surroundings {
  readonly config: Config;
  readonly log: Logger;
  readonly resources: Resources;
  readonly secrets: MasterSecrets;
  readonly databases: readonly DatabaseUrls[];
  readonly vault: Vault;
  readonly telemetry: Telemetry;
}

/** How `svc secrets status` names this process. */
const readerName = ({ SVC_ROLES }: Config): string => `${SVC_ROLES.join(',')} ${hostname()} ${process.pid}`;

/** The parts that API and worker share. */
interface Parts extends Surroundings {
  readonly shards: Shards<StartedShard>;
  readonly first: StartedShard;
  readonly directory: Directory;
  readonly connections: Connections;
  readonly use: ShardUse;
  readonly clock: Clock;
  readonly clocks: ClockWatch;
  readonly restores: Pick<RestoreWatch, 'isRestored' | 'waiting'>;
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
}

async function openParts(surroundings: Surroundings): Promise<Parts> {
  const { config, log, resources, secrets, databases } = surroundings;
  const configured = openConfigured(databases, config, resources);
  const [{ db: firstDb }] = configured;
  const control = controlPlaneOn(firstDb);
  const use = shardUse(configured, control, surroundings);
  watchDatabases(resources.components, configured, use);
  watchReplicas(resources.components, configured, use);
  const ring = await openKeyRing(control, secrets, readerName(config), log);
  resources.onStop(() => ring.stop());
  const { keys } = ring;
  const directory = configured.length === 1 ? oneShard : openDirectory(control);
  if (configured.length > 1) await onAccessChange(control, directory.forget);
  const everywhere = openShards(control, configured, directory);
  const connections = openConnections(async (companyId) => (await everywhere.find(companyId)).db);
  // Links contain the port, so it is chosen before any link is created.
  const port = config.PORT || (await freePort(config.HOST));
  const baseUrl = baseUrlOf(config, port);
  const opening = { ...surroundings, use, keys, confirmationUrl: confirmationUrl(keys['page-links'], baseUrl) };
  const { first, shards } = await openAllShards(opening, connections, configured, directory);
  // The time of a shard that rests is read when it is used again.
  const clocks = combinedClocks(() => shards.all.flatMap((shard) => (use.isUsed(shard.name) ? [shard.clocks] : [])));
  const restores = allRestores(() => shards.all.map((shard) => shard.restores));
  const isAllowed = addressCheck(config.SVC_WEBHOOK_ALLOW);
  const authorities = await webhookAuthorities(config);
  const outbound = createOutbound({
    isAllowed,
    ...(authorities && { certificates: [...rootCertificates, authorities] }),
  });
  resources.onStop(() => outbound.close());
  const objectStore = fileStore(config);
  if (objectStore) watchObjectStore(resources.components, objectStore);
  return {
    ...surroundings,
    shards,
    first,
    directory,
    connections,
    clock: first.clock,
    clocks,
    restores,
    outbound,
    isAllowed,
    objectStore,
    keys,
    webhookSecretKey: keys['webhook-secrets'],
    port,
    baseUrl,
    use,
    readiness: () => [
      clockCheck(clocks),
      ...anyShard(inUse(use, configured).map((one) => () => checksOf(one, resources))),
    ],
    gauges: {
      roles: config.SVC_ROLES,
      pools: resources.pools,
      components: resources.components,
      serving: {
        shards: configured.map((one) => observedShard(shards, use, one)),
        clocks,
        restores,
        connections: connections.health,
        sendsMail: config.SMTP_URL !== undefined,
        backupPath: config.SVC_BACKUP_PATH,
      },
    },
  };
}

/** In a process with an API, requests come first: the jobs open many connections at once, and delay the first answers. */
const workerDelayMs = 300;

async function startWorkerRole(parts: Parts): Promise<void> {
  const { config, resources, keys, shards, use, baseUrl } = parts;
  const mailer = config.SMTP_URL && (await openMailer(config.SMTP_URL.reveal(), config.SVC_MAIL_FROM));
  if (mailer) {
    resources.onStop(() => mailer.close());
    watchMail(resources.components, mailer);
  }
  const renderer = openRenderer(config.SVC_RECEIPT_FONT);
  resources.onStop(() => renderer.stop());
  const root = join(config.dataDir, 'files');
  const disk = createDiskStore({ root, baseUrl, signingKey: keys['file-urls'] });
  let worker: ReturnType<typeof startWorker> | undefined;
  const begin = (): void => {
    const working = openShards<StartedShard & { readonly batchDb: DatabasePool }>(shards.control, [], parts.directory);
    shards.each((shard) => {
      const { name, apiUrl, pooler } = shard;
      const options = { shard: name, pooler, poolSize: dispatcherConnections, settings: queueSettings };
      const batchDb = resources.openPool(apiUrl, 'webhooks', options);
      use.watch(name, { begin: batchDb.resume, end: batchDb.rest });
      working.add({ ...shard, batchDb });
    });
    const dependencies = {
      shards: working,
      clock: parts.clock,
      files: parts.objectStore ?? disk,
      vault: parts.vault,
      mailer,
      renderer,
      mailKey: keys.mails,
      emails: mailer || deliveryOf(config) === 'mailbox' ? emailsOf(parts) : undefined,
      outbound: parts.outbound,
      webhookSecretKey: parts.webhookSecretKey,
      retention: {
        audit: { people: config.SVC_AUDIT_DAYS, keys: config.SVC_AUDIT_KEY_DAYS },
        mailDays: config.SVC_MAIL_DAYS,
      },
      log: parts.log,
    };
    worker = startWorker(dependencies, use === alwaysUsed ? undefined : { use });
  };
  const timer = setTimeout(begin, config.SVC_ROLES.includes('api') ? workerDelayMs : 0);
  resources.serves(async () => {
    clearTimeout(timer);
    await worker?.stop();
  });
}

async function buildApiRole(parts: Parts, demo: KnownDemo): Promise<FastifyInstance> {
  const { config, shards, clock, log, resources, outbound, isAllowed } = parts;
  const limiter = await openRateLimiter(config, shards.control, resources.components);
  resources.onStop(async () => limiter.close?.());
  const app = await buildApp({
    config,
    baseUrl: parts.baseUrl,
    shards,
    clock,
    clocks: parts.clocks,
    restores: parts.restores,
    log,
    background: createBackground(),
    keys: parts.keys,
    limiter,
    telemetry: parts.telemetry,
    vault: parts.vault,
    connections: parts.connections,
    webhooks: { outbound, isAllowed, clock, secretKey: parts.webhookSecretKey, baseUrl: parts.baseUrl },
    references: usualReferences,
    readiness: parts.readiness,
    components: resources.components,
    gauges: parts.gauges,
    demo,
  });
  resources.serves(() => closeWithin(app, config.SVC_SHUTDOWN_SECONDS * 1000 * finishingShare));
  return app;
}

/** For a worker without an API. */
async function startHealthServer(parts: Parts): Promise<void> {
  const { config, clocks, restores, resources } = parts;
  const metrics = createMetrics(config.SVC_ROLES, () => readGauges(parts.gauges));
  parts.telemetry.exportMetrics(metrics);
  if (config.SVC_HEALTH_PORT === 0) return;
  const { components } = resources;
  const checks = parts.readiness;
  const app = healthServer({ checks, components, metrics, clocks, restores, ...shardsToShow(parts.gauges) });
  resources.serves(() => app.close());
  await listenOrExplain(app, config.HOST, config.SVC_HEALTH_PORT, 'SVC_HEALTH_PORT');
}

/** Loaded only if mails are sent. */
async function openMailer(url: string, from: string): Promise<Mailer> {
  const { smtpMailer } = await import('./platform/mail/smtp.ts');
  return smtpMailer(url, from);
}
