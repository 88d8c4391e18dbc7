import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DatabasePool, openDatabase } from '../../server/platform/database.ts';
import { type ChaosAcquirer, openChaosAcquirer } from './acquirer.ts';
import { type Diary, newDiary, runClient } from './client.ts';
import { type DoubtWatch, watchDoubt } from './doubt.ts';
import { startKilling, type Victim } from './killer.ts';
import { type ChaosPostgres, openChaosPostgres } from './postgres.ts';
import { type Random, seededRandom } from '../support/seeded-random.ts';
import { openShops, prepareCompany, type Shops } from './shops.ts';
import { supervise, type Supervised } from './supervised.ts';
import { type Totals, verify } from './verify.ts';

/**
 * Clients order, refund and retry while the processes of the service, PostgreSQL and the acquirer are killed, and the
 * acquirer produces faults. Afterwards the database must agree with every response that a client got.
 */

export interface ChaosOptions {
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
  readonly progress?: (line: string) => void;
}

export interface ChaosReport {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly kills: ReadonlyMap<string, number>;
  readonly faults: ReadonlyMap<string, number>;
  readonly diary: Diary;
  readonly totals: Totals;
  readonly doubtfulOrders: number;
  readonly longestDoubtMs: number;
  readonly drainMs: number;
  /** Logs, journal and database; kept if a guarantee was broken. */
  readonly folder: string;
}

export const timing = { timeoutMs: 1_000, requestLifeMs: 4_000, settleAfterMs: 500 };
const drainMaxMs = 60_000;

/**
 * Applies this share to operations, for every kind of fault, and to lookups; the same share of charges is declined,
 * and of refunds rejected at settlement.
 */
function faultRates(rate: number): Record<string, number> {
  const ways = ['timeout', 'error', 'reset'].flatMap((way) => [`${way}_before`, `${way}_after`]);
  const operations = [...ways, 'late', 'duplicate'];
  const declines = ['decline:05', 'decline:51', 'decline:54', 'decline:41', 'decline:62', 'decline:91'];
  return {
    ...Object.fromEntries(operations.map((kind) => [kind, rate / operations.length])),
    ...Object.fromEntries(declines.map((kind) => [kind, rate / declines.length])),
    reject_refund: rate,
    lookup_timeout: rate / 2,
    lookup_error: rate / 2,
  };
}

interface Stage {
  readonly folder: string;
  readonly postgres: ChaosPostgres;
  readonly acquirer: ChaosAcquirer;
  readonly services: readonly Supervised[];
  readonly urls: readonly string[];
  readonly shops: Shops;
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
  const random = seededRandom(options.seed);
  const [databasePort = 0, acquirerPort = 0, ...apiPorts] = await freePorts(random, 4);
  const acquirer = openChaosAcquirer(folder, acquirerPort, timing, options.seed);
  ending.push(() => acquirer.killNow());
  const postgres = await openChaosPostgres(folder, databasePort);
  ending.push(() => postgres.killNow());
  await Promise.all([postgres.start(), acquirer.start()]);
  const environment = {
    DATABASE_URL: postgres.connectionString,
    SVC_MASTER_SECRET: 'the master secret of a run of chaos',
    SVC_DATA_DIR: join(folder, 'data'),
    SVC_LOG_LEVEL: 'warn',
    SVC_RATE_LIMIT_GLOBAL: 'off',
    SVC_RATE_LIMIT_READ: 'off',
    SVC_RATE_LIMIT_WRITE: 'off',
    SVC_RATE_LIMIT_CAPTURE: 'off',
  };
  const apiKey = await prepareCompany(environment, { url: acquirer.url, secret: acquirer.secret, ...timing });
  const start = (name: string, more: NodeJS.ProcessEnv): Supervised => {
    const service = supervise(name, { ...environment, ...more }, join(folder, `${name.replaceAll(' ', '-')}.log`));
    ending.push(() => service.killNow());
    return service;
  };
  const services = [
    ...apiPorts.map((port, index) => start(`API ${index + 1}`, { SVC_ROLES: 'api,vault', PORT: String(port) })),
    start('worker', { SVC_ROLES: 'worker,vault' }),
  ];
  await Promise.all(services.map((service) => service.waitUntilReady()));
  const urls = apiPorts.map((port) => `http://127.0.0.1:${port}`);
  const shops = await openShops(urls[0] ?? '', apiKey, options.clients);
  return { folder, postgres, acquirer, services, urls, shops };
}

async function play(stage: Stage, options: ChaosOptions): Promise<ChaosReport> {
  const { postgres, acquirer, services } = stage;
  const { seed, progress = () => undefined } = options;
  const diary = newDiary();
  const stopped = new AbortController();
  const abandoned = new AbortController();
  await acquirer.setFaults(faultRates(options.faultRate));
  const doubt = watchDoubt(postgres.connectionString);
  const kills = startKilling(
    victims(stage, seededRandom(seed + 1), options),
    seededRandom(seed),
    options.killEveryMs,
    stopped.signal,
  );
  const clients = stage.shops.customerIds.map((customerId, index) =>
    runClient({
      urls: stage.urls,
      apiKey: stage.shops.apiKey,
      customerId,
      goods: stage.shops.goods,
      random: seededRandom(seed + 1_000 + index),
      diary,
      thinkMs: options.thinkMs,
      stopped: stopped.signal,
      abandoned: abandoned.signal,
    }),
  );

  const endAtMs = performance.now() + options.seconds * 1_000;
  while (performance.now() < endAtMs) {
    await sleep(Math.min(10_000, Math.max(0, endAtMs - performance.now())));
    const killed = [...kills.counts].map(([name, count]) => `${name} ${count}`).join(', ');
    progress(`${diary.answers.length} answers, killed: ${killed}, wrong: ${diary.wrong.length}`);
  }

  stopped.abort();
  const drainStartMs = performance.now();
  const giveUp = setTimeout(() => abandoned.abort(), drainMaxMs);
  await kills.done;
  await acquirer.setFaults({});
  await Promise.all([...services.map((service) => service.waitUntilReady()), ...clients]);
  clearTimeout(giveUp);
  const db = openDatabase({
    connectionString: postgres.connectionString,
    poolSize: 2,
    applicationName: 'chaos',
    onError: () => undefined,
  });
  try {
    await drain(db, stage, drainStartMs + drainMaxMs);
    const drainMs = performance.now() - drainStartMs;
    const { violations, totals } = await verify(db, await acquirer.journal(), diary);
    await doubt.stop();
    return {
      seed,
      violations: [...services.flatMap(({ ownEnds }) => ownEnds), ...violations],
      kills: kills.counts,
      faults: await acquirer.faultsMet(),
      diary,
      totals,
      ...summary(doubt),
      drainMs,
      folder: stage.folder,
    };
  } finally {
    await db.close();
    await doubt.stop();
  }
}

function victims({ services, postgres, acquirer }: Stage, random: Random, { freeze }: ChaosOptions): Victim[] {
  const weights: Readonly<Record<string, number>> = { worker: 2 };
  return [
    ...services.map((service) => ({
      name: service.name,
      weight: weights[service.name] ?? 3,
      isAlive: service.isAlive,
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
      { name: 'acquirer', weight: 1, server: acquirer },
    ].map(({ name, weight, server }) => ({
      name,
      weight,
      isAlive: server.isAlive,
      async strike() {
        await server.kill();
        await sleep(random.between(0, 1_000));
        await server.start();
      },
    })),
  ];
}

/** Waits until no operation is open. Reading an order reconciles its open operations. */
export async function drain(
  db: DatabasePool,
  { urls, shops }: Pick<Stage, 'urls' | 'shops'>,
  untilMs: number,
): Promise<void> {
  // A request whose answer was lost could still arrive.
  await sleep(timing.requestLifeMs);
  for (;;) {
    const open = await db.query<{ order_id: string }>('SELECT DISTINCT order_id FROM open_transactions LIMIT 20');
    if (open.length === 0 || performance.now() > untilMs) return;
    await Promise.all(
      open.map(({ order_id }) =>
        fetch(`${urls[0]}/v1/orders/${order_id}`, { headers: { authorization: `Bearer ${shops.apiKey}` } })
          .then((response) => response.text())
          .catch(() => undefined),
      ),
    );
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
