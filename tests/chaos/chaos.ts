import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DatabasePool, openDatabase } from '../../server/platform/database.ts';
import type { KindName } from '../../server/vault/processors/kind.ts';
import { type Diary, newDiary, runClient } from './client.ts';
import { type DoubtWatch, watchDoubt } from './doubt.ts';
import { startKilling, type Victim } from './killer.ts';
import { chaosKinds, timing } from './kinds.ts';
import { type ChaosPostgres, openChaosPostgres } from './postgres.ts';
import { type ChaosProcessor, openChaosProcessor } from './processor.ts';
import { startPooler, throughPooler } from '../support/pooler.ts';
import { copyCluster } from '../support/migrated-cluster.ts';
import { type Random, seededRandom } from '../support/seeded-random.ts';
import {
  endWaiting,
  keepRenewing,
  refuseForAWhile,
  type RenewalTotals,
  settleRenewals,
  verifyRenewals,
} from './renewals.ts';
import { type Checkout, endVisits, runShopper, verifyCheckouts } from './shopper.ts';
import { openShops, prepareCompany, type Shops } from './shops.ts';
import { supervise, type Supervised } from './supervised.ts';
import { type Totals, verify } from './verify.ts';

/**
 * Clients order, refund and retry while the processes of the service, PostgreSQL and the processor are killed, and the
 * processor produces faults. Afterwards the database must agree with every response that a client got.
 */

export interface ChaosOptions {
  /** Each has a company of its own. */
  readonly processors: readonly KindName[];
  readonly seconds: number;
  readonly clients: number;
  readonly seed: number;
  /** The share of calls with a fault. */
  readonly faultRate: number;
  /** The longest pause between two requests of a client. */
  readonly thinkMs: number;
  readonly killEveryMs: readonly [number, number];
  /** API processes also stop for seconds and continue, as on a machine that was suspended. */
  readonly freeze?: boolean;
  /** Statements go through PgBouncer in transaction mode. */
  readonly pooler?: boolean;
  /**
   * At the end, what a dead process reserved is free at once, and notices are applied at once, as if time had passed.
   */
  readonly hurry?: boolean;
  readonly progress?: (line: string) => void;
}

export interface ChaosReport {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly kills: ReadonlyMap<string, number>;
  readonly faults: ReadonlyMap<string, number>;
  readonly diary: Diary;
  readonly totals: Totals;
  readonly renewals: RenewalTotals & { readonly waited: number };
  readonly checkouts: { readonly all: number; readonly paid: number };
  readonly doubtfulOrders: number;
  readonly longestDoubtMs: number;
  readonly drainMs: number;
  /** Logs, journal and database; kept if a guarantee was broken. */
  readonly folder: string;
}

interface Stage {
  readonly folder: string;
  readonly postgres: ChaosPostgres;
  readonly processors: readonly ChaosProcessor[];
  readonly services: readonly Supervised[];
  readonly urls: readonly string[];
  readonly shops: readonly Shops[];
}

export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-chaos-'));
  const ending: (() => void)[] = [];
  const endAll = (): void => {
    for (const end of ending) end();
  };
  const onSignal = (): void => process.exit(1);
  process.on('exit', endAll);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);
  let clean = false;
  try {
    const stage = await setUp(folder, options, ending);
    const report = await play(stage, options);
    clean = report.violations.length === 0;
    return report;
  } finally {
    endAll();
    process.off('exit', endAll);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal);
    await sleep(200);
    if (clean) await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

async function setUp(folder: string, options: ChaosOptions, ending: (() => void)[]): Promise<Stage> {
  const { seed } = options;
  const random = seededRandom(seed);
  const [databasePort = 0, ...ports] = await freePorts(random, 3 + options.processors.length);
  const apiPorts = ports.splice(0, 2);
  const processors = options.processors.map((kind, index) =>
    openChaosProcessor(kind, { folder, port: ports[index] ?? 0, seed }),
  );
  ending.push(...processors.map((processor) => () => processor.killNow()));
  await copyCluster(join(folder, 'postgres'));
  const postgres = await openChaosPostgres(folder, databasePort);
  ending.push(() => postgres.killNow());
  await Promise.all([postgres.start(), ...processors.map((processor) => processor.start())]);
  const environment = {
    DATABASE_URL: postgres.connectionString,
    SVC_MASTER_SECRET: 'the master secret of a run of chaos',
    SVC_DATA_DIR: join(folder, 'data'),
    SVC_LOG_LEVEL: 'warn',
    SVC_PROCESSOR_ORIGINS: processors.map(({ url }) => url).join(),
    SVC_RATE_LIMIT_GLOBAL: 'off',
    SVC_RATE_LIMIT_READ: 'off',
    SVC_RATE_LIMIT_WRITE: 'off',
    SVC_RATE_LIMIT_CAPTURE: 'off',
  };
  const urls = apiPorts.map((port) => `http://127.0.0.1:${port}`);
  const companies: { readonly apiKey: string; readonly planId: string }[] = [];
  for (const [index, processor] of processors.entries()) {
    const { apiKey, connectionId, planId } = await prepareCompany(environment, processor);
    companies.push({ apiKey, planId });
    await processor.sendNoticesTo(`${urls[index % urls.length]}/processors/${connectionId}/notices`);
  }
  const pooled = options.pooler ? await throughOwnPooler(folder, postgres, ending) : {};
  const start = (name: string, more: NodeJS.ProcessEnv): Supervised => {
    const service = supervise(
      name,
      { ...environment, ...pooled, ...more },
      join(folder, `${name.replaceAll(' ', '-')}.log`),
    );
    ending.push(() => service.killNow());
    return service;
  };
  const services = [
    ...apiPorts.map((port, index) => start(`API ${index + 1}`, { SVC_ROLES: 'api,vault', PORT: String(port) })),
    start('worker', { SVC_ROLES: 'worker,vault' }),
  ];
  await Promise.all(services.map((service) => service.waitUntilReady()));
  const clients = Math.ceil(options.clients / processors.length);
  const shops = await Promise.all(
    companies.map(({ apiKey, planId }) => openShops(urls[0] ?? '', apiKey, clients, planId)),
  );
  return { folder, postgres, processors, services, urls, shops };
}

/** What the server loses when it is killed, the pooler loses too, and connects again. */
async function throughOwnPooler(
  folder: string,
  { connectionString: serverUrl }: ChaosPostgres,
  ending: (() => void)[],
): Promise<NodeJS.ProcessEnv> {
  await chmod(folder, 0o711);
  const pooler = await startPooler({ folder: join(folder, 'pooler'), serverUrl, mode: 'transaction' });
  ending.push(() => void pooler.stop());
  return { SVC_POOL_URL: throughPooler(serverUrl, pooler.port) };
}

async function play(stage: Stage, options: ChaosOptions): Promise<ChaosReport> {
  const { postgres, processors, services } = stage;
  const { seed, progress = () => undefined } = options;
  const diary = newDiary();
  const stopped = new AbortController();
  const abandoned = new AbortController();
  await Promise.all(
    processors.map((processor) => processor.setFaults(chaosKinds[processor.kind].faults(options.faultRate))),
  );
  const doubt = watchDoubt(postgres.connectionString);
  const renewing = keepRenewing(postgres.connectionString, stopped.signal);
  const refusing = refuseForAWhile(processors, options.seconds * 1_000, stopped.signal);
  const kills = startKilling(
    victims(stage, seededRandom(seed + 1), options),
    seededRandom(seed),
    options.killEveryMs,
    stopped.signal,
  );
  const checkouts: Checkout[] = [];
  const ends = { stopped: stopped.signal, abandoned: abandoned.signal };
  const clients = startClients(stage, options, diary, ends);
  const shoppers = startShoppers(stage, options, { diary, checkouts }, ends);

  const endAtMs = performance.now() + options.seconds * 1_000;
  while (performance.now() < endAtMs) {
    await sleep(Math.min(10_000, Math.max(0, endAtMs - performance.now())));
    const killed = [...kills.counts].map(([name, count]) => `${name} ${count}`).join(', ');
    progress(`${diary.answers.length} answers, killed: ${killed}, wrong: ${diary.wrong.length}`);
  }

  stopped.abort();
  const drainStartMs = performance.now();
  const drainMaxMs = Math.max(...processors.map(({ kind }) => chaosKinds[kind].drainMaxMs));
  const giveUp = setTimeout(() => abandoned.abort(), drainMaxMs);
  await Promise.all([kills.done, renewing, refusing]);
  await Promise.all(processors.map((processor) => processor.setFaults({})));
  await Promise.all(services.map((service) => service.waitUntilReady()));
  const db = openDatabase({
    connectionString: postgres.connectionString,
    poolSize: 2,
    applicationName: 'chaos',
    onError: () => undefined,
  });
  const endingVisits = setInterval(() => void endVisits(db).catch(() => undefined), 1_000);
  const hurrying = options.hurry ? setInterval(() => void hurry(db), 500) : undefined;
  try {
    await Promise.all([...clients, ...shoppers]);
    clearTimeout(giveUp);
    // What the last request began has as much time as what was open before.
    const waited = await endWaiting(db);
    await settleRenewals(db, performance.now() + drainMaxMs);
    await drain(db, stage, performance.now() + drainMaxMs);
    const drainMs = performance.now() - drainStartMs;
    const journals = await Promise.all(processors.map((processor) => processor.journal()));
    const { violations, totals } = await verify(db, journals.flat(), diary);
    const renewals = await verifyRenewals(db);
    const visited = await verifyCheckouts(db, checkouts);
    await doubt.stop();
    return {
      seed,
      violations: [
        ...services.flatMap(({ ownEnds }) => ownEnds),
        ...[violations, renewals.violations, visited.violations].flat(),
      ],
      kills: kills.counts,
      faults: await faultsMet(processors),
      diary,
      totals,
      renewals: { ...renewals.totals, waited },
      checkouts: { all: checkouts.length, paid: visited.paid },
      ...summary(doubt),
      drainMs,
      folder: stage.folder,
    };
  } finally {
    clearInterval(endingVisits);
    clearInterval(hurrying);
    await db.close();
    await doubt.stop();
  }
}

interface Ends {
  readonly stopped: AbortSignal;
  readonly abandoned: AbortSignal;
}

function startClients(
  { shops, urls }: Stage,
  { seed, thinkMs }: ChaosOptions,
  diary: Diary,
  ends: Ends,
): Promise<void>[] {
  return shops.flatMap(({ apiKey, customerIds, goods }, shop) =>
    customerIds.map((customerId, index) =>
      runClient({
        ...{ urls, apiKey, customerId, goods, diary, thinkMs, manualShare: 0.2 },
        random: seededRandom(seed + 1_000 * (shop + 1) + index),
        ...ends,
      }),
    ),
  );
}

/** One for every five clients, where a bank can ask the customer. */
function startShoppers(
  { shops, urls, processors }: Stage,
  { seed, thinkMs }: ChaosOptions,
  seen: { readonly diary: Diary; readonly checkouts: Checkout[] },
  ends: Ends,
): Promise<void>[] {
  return shops.flatMap(({ apiKey, goods, customerIds }, shop) => {
    const { askingCard: cardNumber } = chaosKinds[processors[shop]?.kind ?? 'nmi'];
    if (cardNumber === undefined) return [];
    return Array.from({ length: Math.ceil(customerIds.length / 5) }, (_, index) =>
      runShopper({
        ...{ urls, apiKey, goods, cardNumber, thinkMs },
        random: seededRandom(seed + 1_000_000 * (shop + 1) + index),
        ...seen,
        ...ends,
      }),
    );
  });
}

async function faultsMet(processors: readonly ChaosProcessor[]): Promise<Map<string, number>> {
  const met = new Map<string, number>();
  for (const processor of processors) {
    for (const [fault, count] of await processor.faultsMet()) met.set(fault, (met.get(fault) ?? 0) + count);
  }
  return met;
}

/** Nothing that a living process sends takes longer than this. */
const sendingMaxMs = 5 * timing.timeoutMs;

async function hurry(db: DatabasePool): Promise<void> {
  await Promise.all([
    db.query(
      `UPDATE open_transactions SET locked_until = now()
       WHERE locked_until > now() AND now() - uuid_extract_timestamp(id) > $1 * interval '1 ms'`,
      [sendingMaxMs],
    ),
    db.query('UPDATE processor_notices SET next_try_at = now() WHERE applied_at IS NULL AND next_try_at > now()'),
  ]).catch(() => undefined);
}

function victims({ services, postgres, processors }: Stage, random: Random, { freeze }: ChaosOptions): Victim[] {
  const weights: Readonly<Record<string, number>> = { worker: 2 };
  // On a slow machine processes take long to start. While none of them serves, another kill would test nothing.
  const isServing = (): boolean => services.some((service) => service.name !== 'worker' && service.isReady());
  return [
    ...services.map((service) => ({
      name: service.name,
      weight: weights[service.name] ?? 3,
      isAlive: () => service.isReady() || (service.isAlive() && isServing()),
      strike: () => service.kill(random.between(0, 1_000)),
    })),
    ...services
      .filter(({ name }) => freeze && name !== 'worker')
      .map((service) => ({
        name: `${service.name}, frozen`,
        weight: 3,
        isAlive: service.isAlive,
        strike: () => service.freeze(random.between(1_000, 8_000)),
      })),
    ...[
      { name: 'PostgreSQL', weight: 3, server: postgres },
      ...processors.map((processor) => ({ name: processor.kind, weight: 1, server: processor })),
    ].map(({ name, weight, server }) => ({
      name,
      weight,
      isAlive: () => server.isAlive() && isServing(),
      async strike() {
        await server.kill();
        await sleep(random.between(0, 1_000));
        await server.start();
      },
    })),
  ];
}

/** Waits until no operation is open and every notice is applied. Reading an order reconciles its open operations. */
export async function drain(
  db: DatabasePool,
  { urls, shops }: Pick<Stage, 'urls' | 'shops'>,
  untilMs: number,
): Promise<void> {
  // A request whose answer was lost could still arrive.
  await sleep(timing.requestLifeMs);
  const read = (orderId: string, apiKey: string): Promise<unknown> =>
    fetch(`${urls[0]}/v1/orders/${orderId}`, { headers: { authorization: `Bearer ${apiKey}` } })
      .then((response) => response.text())
      .catch(() => undefined);
  for (;;) {
    const open = await db.query<{ order_id: string }>('SELECT DISTINCT order_id FROM open_transactions LIMIT 20');
    const waiting = await db.query('SELECT id FROM processor_notices WHERE applied_at IS NULL LIMIT 1');
    if ((open.length === 0 && waiting.length === 0) || performance.now() > untilMs) return;
    await Promise.all(open.flatMap(({ order_id }) => shops.map(({ apiKey }) => read(order_id, apiKey))));
    await sleep(250);
  }
}

function summary({ operations }: DoubtWatch): { doubtfulOrders: number; longestDoubtMs: number } {
  const all = [...operations.values()];
  return {
    doubtfulOrders: new Set(all.map(({ orderId }) => orderId)).size,
    longestDoubtMs: all.reduce((longest, { ageMs }) => Math.max(longest, ageMs), 0),
  };
}

/** Below the ephemeral port range, so that no other process takes a port while its owner is down. */
export async function freePorts(random: Random, count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = random.between(20_000, 31_999);
    if (!(await isListening(port))) ports.add(port);
  }
  return [...ports];
}

function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return new Promise((resolve) => {
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
  }).finally(() => socket.destroy()) as Promise<boolean>;
}
