import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { buildApp } from '../../server/app.ts';
import { usualReferences, type References } from '../../server/references.ts';
import { type Config, loadConfig } from '../../server/config.ts';
import { createApiKey, type NewKey, reserveApiKey } from '../../server/features/api-keys/service.ts';
import { createCompanies } from '../../server/features/companies/service.ts';
import { batchConnections, type MoneyDependencies, type Orders } from '../../server/features/orders/service.ts';
import type { Subscriptions } from '../../server/features/subscriptions/service.ts';
import { openConnections } from '../../server/features/processors/connections.ts';
import { openPayments } from '../../server/payments.ts';
import { pageParts } from './page-links.ts';
import { anyShard, clockCheck, databaseCheck, poolCheck } from '../../server/http/operations.ts';
import { type RestoreWatch, watchRestores } from '../../server/features/restores/service.ts';
import { type Background, createBackground } from '../../server/platform/background.ts';
import {
  type ControlPool,
  controlPlaneOn,
  type DatabaseOptions,
  type DatabasePool,
  openDatabase,
} from '../../server/platform/database.ts';
import { byKeySettings } from '../../server/platform/database-settings.ts';
import { onAccessChange, oneShard, openDirectory } from '../../server/shards/directory.ts';
import { insertShards } from '../../server/shards/queries.ts';
import { movedFrom } from '../../server/shards/follow.ts';
import { firstShard, openShards, type ShardDatabase, type Shards } from '../../server/shards/shards.ts';
import { shardedVault } from '../../server/vault/sharded.ts';
import { type Clock, systemClock } from '../../server/platform/clock.ts';
import { watchClocks } from '../../server/platform/clock-watch.ts';
import { type LocalClocks, openDatabaseClock } from '../../server/platform/database-clock.ts';
import { openComponents } from '../../server/platform/components.ts';
import { createLog } from '../../server/platform/log.ts';
import { createMemoryRateLimiter } from '../../server/platform/rate-limiter/memory.ts';
import type { RateLimiter } from '../../server/platform/rate-limiter/rate-limiter.ts';
import { addressCheck } from '../../server/platform/outbound/addresses.ts';
import { createOutbound, type Outbound } from '../../server/platform/outbound/outbound.ts';
import { Secret } from '../../server/platform/secret.ts';
import { originalKeys, type ServiceKey } from '../../server/platform/service-keys.ts';
import { observed } from './observed-shard.ts';
import { startTelemetry } from '../../server/platform/telemetry/telemetry.ts';
import { declineLimitsOf, originsOf, watchVault } from '../../server/start/vault.ts';
import { fileKeyStore, type KeyStore } from '../../server/vault/key-store.ts';
import { localVault, type Vault } from '../../server/vault/vault.ts';
import { openAccessChanges } from './access-changes.ts';
import { cloneDatabase, type TestDatabase } from './database.ts';
import { exchange, parseReply } from './exchange.ts';
import { guarded } from './statement-guard.ts';
import { testPoolerOf } from './test-pooler.ts';
import { checkAgainstDocument } from './openapi.ts';
import type { Company } from '../../server/company.ts';

/** The real service on a real socket with its own database. */

export interface CallOptions {
  readonly key?: string | null;
  readonly body?: unknown;
  /** Sent unchanged, instead of `body`. */
  readonly raw?: string | Buffer;
  readonly headers?: Record<string, string>;
  readonly idempotencyKey?: string;
}

export interface Reply<Body = Record<string, any>> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Body;
}

export interface Merchant {
  readonly sandbox: Company;
  readonly live: Company;
  readonly key: string;
}

export interface TestService {
  readonly app: FastifyInstance;
  readonly baseUrl: string;
  /** The shard with the companies of the service. */
  readonly db: DatabasePool;
  readonly control: ControlPool;
  readonly shards: Shards;
  /** The URLs of the shard with the companies of the service. */
  readonly companyUrls: Pick<TestDatabase, 'connectionString' | 'apiUrl' | 'vaultUrl'>;
  readonly database: TestDatabase;
  readonly clock: { nowMs(): number; advance(ms: number): void; sync(): Promise<void> };
  readonly background: Background;
  readonly logLines: string[];
  readonly config: Config;
  readonly vault: Vault;
  readonly vaultDb: DatabasePool;
  readonly orders: Orders;
  readonly subscriptions: Subscriptions;
  /** The same on any shard. */
  paymentsOn(shard: string): { readonly orders: Orders; readonly subscriptions: Subscriptions };
  readonly outbound: Outbound;
  readonly webhookSecretKey: ServiceKey;
  readonly keys: KeyStore;
  readonly pepper: ServiceKey;
  readonly mailKey: ServiceKey;
  readonly linkKey: ServiceKey;
  /** A secret key of the service's sandbox company, used if a call names no other. */
  readonly key: string;
  readonly company: Company;
  /** Lets the next request see what a test has changed of a company in the database. */
  forgetAccess(companyId: string): void;
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  createMerchant(): Promise<Merchant>;
  createKey(company: Company, options?: Partial<NewKey>): Promise<string>;
  stop(): Promise<void>;
}

export interface TestOptions {
  readonly settings?: Record<string, string>;
  /** The base of its links. */
  readonly baseUrl?: string;
  /** Where it listens; any free port by default. */
  readonly port?: number;
  readonly database?: TestDatabase;
  readonly dataDir?: string;
  readonly references?: Partial<References>;
  readonly vault?: Vault;
  readonly limiter?: RateLimiter;
  /** The certificates of webhook receivers. */
  readonly certificates?: readonly string[];
  /** The clocks of its process. With them the service uses the time of its database, as `npm start` does. */
  readonly local?: LocalClocks;
  /** Replaces real time. */
  readonly clock?: Clock;
  /** Replaces the watch that notices a restored database. */
  readonly restores?: RestoreWatch;
  /** No name resolves, and no address may be connected to. */
  readonly offline?: boolean;
}

/** Commands and processes of a test use the same secret. */
const serviceKeys = originalKeys(new Secret(Buffer.alloc(32, 7)));

export async function startTestService(options: TestOptions = {}): Promise<TestService> {
  const database = options.database ?? (await cloneDatabase());
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'svc-data-')));
  const config = loadConfig({
    SVC_DATA_DIR: dataDir,
    SVC_RATE_LIMIT_GLOBAL: 'off',
    SVC_RATE_LIMIT_READ: 'off',
    SVC_RATE_LIMIT_WRITE: 'off',
    SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
    ...options.settings,
  });
  const logLines: string[] = [];
  const openPool = (connectionString: string, more: Partial<DatabaseOptions> = {}): DatabasePool =>
    openDatabase({
      connectionString,
      poolSize: config.SVC_DATABASE_POOL,
      applicationName: 'svc tests',
      onError: () => undefined,
      statementTimeoutMs: config.SVC_DATABASE_TIMEOUT_MS,
      ...more,
    });
  const urls = [{ ...database, name: firstShard }, ...database.others];
  // The service has the privileges of its role; a test has those of the owner.
  const apiPools = urls.map(({ apiUrl }) => openPool(apiUrl, { pooler: testPoolerOf(apiUrl) }));
  const ofApi = urls.map(({ name, apiUrl }, index) => ({
    ...{ name, apiUrl },
    db: guarded('shard', apiPools[index] as DatabasePool),
  }));
  const owned = urls.map(({ name, connectionString }) => ({ name, db: openPool(connectionString) }));
  const [{ db: apiDb }, last, { db: ownedFirst }, { db }] = [ofApi[0], ofApi.at(-1), owned[0], owned.at(-1)] as [
    (typeof ofApi)[number],
    (typeof ofApi)[number],
    ShardDatabase,
    ShardDatabase,
  ];
  const access = openAccessChanges();
  const apiControl = controlPlaneOn(access.through(guarded('control', apiPools[0] as DatabasePool)));
  const directory = ofApi.length === 1 ? oneShard : openDirectory(apiControl);
  await onAccessChange(apiControl, directory.forget);
  const control = controlPlaneOn(ownedFirst);
  const shards = openShards(control, owned, directory);
  let offsetMs = 0;
  const ofDatabase = options.local && (await openDatabaseClock(apiDb, () => undefined, options.local));
  const clock = {
    nowMs: () => (ofDatabase ?? options.clock ?? systemClock).nowMs() + offsetMs,
    advance: (ms: number): void => void (offsetMs += ms),
    sync: async () => ofDatabase?.sync(),
  };
  const openBatchPool = (url: string): DatabasePool =>
    openPool(url, { pooler: testPoolerOf(url), poolSize: batchConnections, settings: byKeySettings });
  const vaultDbs = urls.map(({ name, vaultUrl }) => ({ name, db: openPool(vaultUrl) }));
  const { db: vaultDb } = vaultDbs.at(-1) as ShardDatabase;
  const keys = await fileKeyStore(join(dataDir, 'vault.keys'), { create: true });
  const terms = [originsOf(config), declineLimitsOf(config)] as const;
  const vaults = vaultDbs.map((shard) => ({ ...shard, vault: localVault(shard.db, keys, clock, ...terms) }));
  const ofCompany = openShards(apiControl, vaults, directory);
  const ownVault =
    vaults.length === 1
      ? (vaults[0] as (typeof vaults)[number]).vault
      : shardedVault(
          async (companyId) => (await ofCompany.find(companyId)).vault,
          () => vaults.map((one) => one.vault),
        );
  const vault = options.vault ?? ownVault;
  const pepper = serviceKeys['api-keys'];
  const log = createLog('trace', { write: (line) => logLines.push(line) });
  const isAllowed = options.offline ? () => false : addressCheck(config.SVC_WEBHOOK_ALLOW);
  const outbound = createOutbound({
    isAllowed,
    ...(options.certificates && { certificates: options.certificates }),
    ...(options.offline && { resolve: async () => [] }),
  });
  const webhookSecretKey = serviceKeys['webhook-secrets'];
  const skewless = { ...clock, skewMs: () => 0, stop: () => undefined };
  const clocks = await watchClocks(ofDatabase ?? skewless, vault, () => undefined);
  const onExpired = (): void => clocks.noteExpired();
  const connections = openConnections(
    async (companyId) => (await openShards(apiControl, ofApi, directory).find(companyId)).db,
  );
  const restores =
    options.restores ?? (await watchRestores({ db: last.db, clock, log, file: join(dataDir, 'high-water.json') }));
  const opened = ofApi.map((one) => {
    const batchDb = openBatchPool(one.apiUrl);
    const movedTo: MoneyDependencies['movedTo'] =
      ofApi.length > 1
        ? (companyId) => movedFrom(apiShards, one.name, ({ orders: { charging } }) => charging)(companyId)
        : undefined;
    const parts = { db: one.db, batchDb, vault, connections, clock, log, onExpired, restores, movedTo };
    const payments = openPayments({ ...parts, ...pageParts(serviceKeys, options) });
    return { ...one, batchDb, clock, restores, ...payments };
  });
  const { orders, subscriptions } = opened.at(-1) as (typeof opened)[number];
  const apiShards: Shards<(typeof opened)[number]> = openShards(apiControl, opened, directory);
  const background = createBackground();
  const components = openComponents(log);
  components.watch('database', () => apiDb.ping(1_000), 5_000);
  watchVault(vault, components);
  const publicUrl = options.baseUrl ?? 'http://service.test'; // The port is not known yet.
  const app = await buildApp({
    config,
    baseUrl: publicUrl,
    shards: apiShards,
    clock,
    clocks,
    restores,
    log,
    background,
    keys: serviceKeys,
    limiter: options.limiter ?? createMemoryRateLimiter(),
    telemetry: await startTelemetry({}, log),
    vault,
    connections,
    webhooks: { outbound, isAllowed, clock, secretKey: webhookSecretKey, baseUrl: publicUrl },
    readiness: () => [
      clockCheck(clocks),
      ...anyShard(
        opened.map((one) => () => [
          databaseCheck(one.db),
          poolCheck('requests', one.db),
          poolCheck('lanes', one.batchDb),
        ]),
      ),
    ],
    components,
    gauges: {
      roles: config.SVC_ROLES,
      pools: [{ name: 'requests', pool: apiDb }],
      components,
      serving: {
        shards: ofApi.map((one) => ({ ...one, ...observed(one.db) })),
        clocks,
        restores,
        connections: connections.health,
        sendsMail: true,
        backupPath: config.SVC_BACKUP_PATH,
      },
    },
    references: { ...usualReferences, ...options.references },
  });
  await app.listen({ host: '127.0.0.1', port: options.port ?? 0 });
  const baseUrl = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;

  const createKey = async (company: Company, key: Partial<NewKey> = {}): Promise<string> => {
    const reserved = await reserveApiKey(control, pepper, company, clock.nowMs(), key.kind ?? 'secret');
    const made = await createApiKey(shards.of(company).db, reserved, clock.nowMs(), { name: 'test', ...key });
    return made.text.reveal();
  };
  const createMerchant = async (): Promise<Merchant> => {
    const companies = await createCompanies({ name: last.name, db }, clock.nowMs(), `Merchant ${randomUUID()}`);
    await insertShards(control, last.name, [companies.live.id, companies.sandbox.id]);
    return { ...companies, key: await createKey(companies.sandbox) };
  };
  const merchant = await createMerchant();

  return {
    app,
    baseUrl,
    db,
    control,
    shards,
    companyUrls: urls.at(-1) ?? database,
    database,
    clock,
    background,
    logLines,
    config,
    vault,
    vaultDb,
    orders,
    subscriptions,
    paymentsOn: (shard) => apiShards.of({ shard }),
    outbound,
    webhookSecretKey,
    keys,
    pepper,
    linkKey: serviceKeys['customer-links'],
    mailKey: serviceKeys.mails,
    key: merchant.key,
    company: merchant.sandbox,
    forgetAccess: access.forget,
    createKey,
    createMerchant,
    call: (method, path, callOptions = {}) => callAt(baseUrl, merchant.key, method, path, callOptions, logLines),
    async stop() {
      clocks.stop();
      components.stop();
      await restores.stop();
      ofDatabase?.stop();
      await app.close();
      await outbound.close();
      const pools = [...ofApi, ...owned, ...vaultDbs].map((one) => one.db);
      await Promise.all([...pools, ...opened.map((one) => one.batchDb)].map((pool) => pool.close()));
      if (!options.database) await database.drop();
      if (!options.dataDir) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Sends one request and checks the response against the OpenAPI document. */
export async function callAt(
  baseUrl: string,
  defaultKey: string,
  method: string,
  path: string,
  { key = defaultKey, body, raw, headers = {}, idempotencyKey }: CallOptions,
  logLines: readonly string[] = [],
): Promise<Reply> {
  const payload = body === undefined ? raw : JSON.stringify(body);
  const answer = await exchange(baseUrl + path, method, payload, {
    ...(key !== null && { authorization: `Bearer ${key}` }),
    ...(payload !== undefined && { 'content-type': 'application/json' }),
    ...(idempotencyKey && { 'x-svc-idempotency-key': idempotencyKey }),
    ...headers,
  });
  const reply = { ...answer, body: parseReply(answer.text) };
  if (reply.status === 500) explain(`${method} ${path}`, reply.headers.get('svc-request-id'), logLines);
  if (reply.status >= 400 && path !== '/readyz')
    assert.match(reply.headers.get('svc-version') ?? '', /^\d{4}-\d\d-\d\d$/, `${method} ${path}`);
  checkAgainstDocument(method, path, reply);
  return reply;
}

/** The response of a rare 500 does not contain its cause, but the log does. */
function explain(call: string, requestId: string | null, logLines: readonly string[]): void {
  const lines = logLines.filter((line) => requestId !== null && line.includes(requestId));
  process.stderr.write(`${call} was answered with 500:\n${lines.join('')}`);
}

let counter = 0;

/** Returns customer fields that no other test uses. */
export function someCustomer(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  counter += 1;
  const number = String(counter).padStart(7, '0');
  const unique = `${process.pid}-${number}`;
  return {
    email: `customer-${unique}@example.com`,
    first_name: 'Ada',
    last_name: 'Lovelace',
    phone: `+1555${number}`,
    ...overrides,
  };
}

export function someProduct(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  counter += 1;
  return {
    name: 'Tea pot',
    description: 'Holds six cups.',
    pricing: { amount: 4900, currency: 'usd' },
    requires_shipping: true,
    sku: `sku-${process.pid}-${counter}`,
    ...overrides,
  };
}
