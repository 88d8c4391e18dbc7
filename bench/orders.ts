import { randomUUID } from 'node:crypto';
import { type Acquirers, openAcquirers } from './acquirer.ts';
import { compareCpu } from './against.ts';
import { median } from './compare.ts';
import type { JobResult } from './client.ts';
import { cpuSeconds, familyCpuSeconds, watchOthers } from './processes.ts';
import { seedOrdersTo } from './order-data.ts';
import { hasPgbench, prepareRawOrders, writeRawOrders } from './raw-orders.ts';
import type { ServerProcess } from './environment.ts';
import { undisturbed, warmUpSeconds } from './undisturbed.ts';
import type { Bench, Cell, OtherTree, Report, RequestMaker, Table, Target, Workload } from './workload.ts';

/** `npm run bench orders`: orders over HTTP, compared with a raw writer of the same rows with the same two commits. */

export const connections = 32;
const shopperCount = 500;

const requests: Record<string, RequestMaker> = {
  order: ({ customers = [], products = [] }) => {
    let sent = 0;
    return () => {
      sent += 1;
      return {
        method: 'POST',
        path: '/v1/orders',
        headers: { 'X-SVC-Idempotency-Key': randomUUID() },
        body: {
          customer_id: customers[sent % customers.length],
          items: [
            { product_id: products[0], quantity: 1 },
            { product_id: products[1], quantity: 2 },
          ],
        },
      };
    };
  },
};

export async function post(
  server: ServerProcess,
  key: string,
  path: string,
  body: object,
): Promise<Record<string, unknown>> {
  const response = await fetch(server.baseUrl + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-svc-idempotency-key': randomUUID(),
    },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as Record<string, unknown>;
  if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`);
  return answer;
}

export async function openShop(
  server: ServerProcess,
  key: string,
  shoppers: number = shopperCount,
  /** The number of the first shopper. Another one opens a second shop of the same company. */
  first = 0,
): Promise<{ customers: string[]; products: string[]; sample: object }> {
  const customers: string[] = [];
  for (let n = first; n < first + shoppers; n += 1) {
    const phone = `+1555${String(n).padStart(7, '0')}`;
    const person = { email: `shopper-${n}@example.com`, first_name: 'Ada', last_name: 'Lovelace', phone };
    const { id } = await post(server, key, '/v1/customers', person);
    const card = { number: '4242424242424242', exp_month: '12', exp_year: '2032', cvc: '999' };
    await post(server, key, '/capture', { customer_id: id, card });
    customers.push(String(id));
  }
  const products: string[] = [];
  for (const name of ['tea-pot', 'tea-cup']) {
    const sku = first === 0 ? name : `${name}-${first}`;
    const pricing = { amount: 4900, currency: 'usd' };
    const body = { name, description: 'A thing.', pricing, requires_shipping: true, sku };
    products.push(String((await post(server, key, '/v1/products', body)).id));
  }
  const items = products.map((product_id) => ({ product_id, quantity: 1 }));
  const sample = await post(server, key, '/v1/orders', { customer_id: customers[0], items });
  return { customers, products, sample };
}

interface Counters {
  readonly walBytes: number;
  readonly transactions: number;
}

async function counters({ environment }: Bench): Promise<Counters> {
  await environment.sql.query('SELECT pg_stat_clear_snapshot()');
  const { rows } = await environment.sql.query<{ wal: string; xacts: string }>(
    `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text AS wal,
       (SELECT sum(xact_commit)::text FROM pg_stat_database) AS xacts`,
  );
  return { walBytes: Number(rows[0]?.wal), transactions: Number(rows[0]?.xacts) };
}

interface Measured {
  readonly perSecond: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly walBytes: number;
  readonly roundTrips: number | null;
  readonly serverCpuUs: number | null;
  readonly postgresCpuUs: number | null;
  readonly othersShare: number;
  readonly statuses: Readonly<Record<string, number>>;
}

async function observed(
  bench: Bench,
  server: ServerProcess | undefined,
  work: () => Promise<Pick<JobResult, 'perSecond' | 'count'> & Partial<JobResult>>,
): Promise<Measured> {
  const { postgresPid } = bench.environment;
  const before = await counters(bench);
  const cpuBefore = { server: server && cpuSeconds(server.pid), postgres: familyCpuSeconds(postgresPid) };
  const others = watchOthers(postgresPid);
  const result = await work();
  const othersShare = others() ?? 0;
  const each = (from: number | null | undefined, to: number | null | undefined): number | null =>
    from === null || from === undefined || to === null || to === undefined ? null : ((to - from) * 1e6) / result.count;
  const cpuAfter = { server: server && cpuSeconds(server.pid), postgres: familyCpuSeconds(postgresPid) };
  // PostgreSQL sessions report their statistics up to a second later.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const after = await counters(bench);
  return {
    perSecond: result.perSecond,
    p50Ms: result.p50Ms ?? null,
    p99Ms: result.p99Ms ?? null,
    walBytes: (after.walBytes - before.walBytes) / result.count,
    roundTrips: server ? (after.transactions - before.transactions) / result.count : null,
    serverCpuUs: each(cpuBefore.server, cpuAfter.server),
    postgresCpuUs: each(cpuBefore.postgres, cpuAfter.postgres),
    othersShare,
    statuses: result.statuses ?? {},
  };
}

async function runAgainst(bench: Bench, against: OtherTree): Promise<Report> {
  if (bench.options.processor === 'sandbox') return compareOrders(bench, against);
  const acquirers = openAcquirers();
  try {
    return await compareOrders(bench, against, acquirers);
  } finally {
    await acquirers.stop();
  }
}

function compareOrders(bench: Bench, against: OtherTree, acquirers?: Acquirers): Promise<Report> {
  return compareCpu(bench, against, {
    unit: 'order',
    seconds: bench.options.seconds ?? 4,
    ...(acquirers && { service: { settings: acquirers.settings } }),
    async prepare({ environment, service, root }) {
      const key = acquirers ? await acquirers.connect({ environment, root }) : environment.key;
      const { customers, products } = await openShop(service, key);
      const job = {
        module: import.meta.url,
        request: 'order',
        baseUrl: service.baseUrl,
        key,
        connections,
        data: { customers, products },
      };
      return async (seconds) => {
        const { count, statuses, samples } = await bench.client.run({ ...job, seconds });
        if (statuses['201'] !== count) throw new Error(`not all are 201: ${JSON.stringify({ statuses, samples })}`);
        return count;
      };
    },
  });
}

interface Round {
  readonly ours: Measured;
  readonly raw: Measured;
}

interface SizeRate {
  readonly size: number;
  readonly ours: number;
  readonly raw: number;
  readonly ratio: number;
  readonly p99Ms: number;
  readonly nodeUs: number;
  readonly postgresUs: number;
}

function medianOf(rounds: readonly Round[], pick: (one: Round) => number | null): number {
  return median(rounds.map(pick).filter((value) => value !== null));
}

function rateOf(size: number, rounds: readonly Round[]): SizeRate {
  return {
    size,
    ours: medianOf(rounds, (one) => one.ours.perSecond),
    raw: medianOf(rounds, (one) => one.raw.perSecond),
    ratio: medianOf(rounds, ({ ours, raw }) => ours.perSecond / raw.perSecond),
    p99Ms: medianOf(rounds, (one) => one.ours.p99Ms),
    nodeUs: medianOf(rounds, (one) => one.ours.serverCpuUs),
    postgresUs: medianOf(rounds, (one) => one.ours.postgresCpuUs),
  };
}

function rowsOf({ size, ratio }: SizeRate, rounds: readonly Round[]): Cell[][] {
  return (['raw', 'ours'] as const).map((name) => {
    const value = (pick: (one: Measured) => number | null, digits = 0): Cell => {
      const number = medianOf(rounds, (one) => pick(one[name]));
      return Number.isNaN(number) ? null : Number(number.toFixed(digits));
    };
    return [
      size,
      name === 'raw' ? (hasPgbench() ? 'raw (pgbench)' : 'raw (program)') : name,
      value((one) => one.perSecond),
      name === 'ours' ? Number(ratio.toFixed(2)) : 1,
      value((one) => one.p50Ms, 1),
      value((one) => one.p99Ms, 1),
      value((one) => one.walBytes),
      value((one) => one.roundTrips, 2),
      value((one) => one.serverCpuUs),
      value((one) => one.postgresCpuUs),
      value((one) => one.othersShare * 100),
    ];
  });
}

const p99MsMax = 60;
const nodeUsMax = 250;
const postgresUsMax = 450;
const growthMax = 1.1;

const cpuOf = (rate: SizeRate | undefined): number => (rate ? rate.nodeUs + rate.postgresUs : Number.NaN);

const atMost = (name: string, measured: number, most: number): Target => ({
  name,
  wanted: `≤ ${most}`,
  measured: measured.toFixed(most < 10 ? 2 : 0),
  met: measured <= most,
});

function reportOf(rates: readonly SizeRate[], rows: Cell[][], statuses: Readonly<Record<string, number>>): Report {
  const [small, large] = [rates[0], rates.at(-1)];
  const table: Table = {
    title: `Orders, ${connections} connections`,
    columns: [
      'orders there',
      'writer',
      'orders/s',
      'ratio',
      'p50 ms',
      'p99 ms',
      'WAL B',
      'round trips',
      'CPU µs node',
      'CPU µs postgres',
      'CPU % others',
    ],
    rows,
  };
  const growth = cpuOf(large) / cpuOf(small);
  const errors = Object.entries(statuses).filter(([status]) => status !== '201');
  return {
    tables: [table],
    targets: [
      ...rates.map(({ size, ratio }) => ({
        name: `ratio to raw writes at ${size} orders`,
        wanted: '≥ 0.6',
        measured: ratio.toFixed(2),
        met: ratio >= 0.6,
      })),
      ...rates.map(({ size, p99Ms }) => atMost(`p99 at ${size} orders, ms`, p99Ms, p99MsMax)),
      ...rates.flatMap(({ size, nodeUs, postgresUs }) => [
        atMost(`CPU µs node at ${size} orders`, nodeUs, nodeUsMax),
        atMost(`CPU µs postgres at ${size} orders`, postgresUs, postgresUsMax),
      ]),
      atMost(`CPU at ${large?.size} orders to CPU at ${small?.size}`, growth, growthMax),
      {
        name: 'answers other than 201',
        wanted: '0',
        measured: errors.length === 0 ? '0' : JSON.stringify(Object.fromEntries(errors)),
        met: errors.length === 0,
      },
    ],
  };
}

async function run(bench: Bench): Promise<Report> {
  const { environment, options, note, client, against } = bench;
  if (against) return runAgainst(bench, against);
  if (options.processor !== 'sandbox') throw new Error('--processor acquirer needs --against COMMIT');
  const seconds = options.seconds ?? 8;
  const service = await environment.startService(
    'ours',
    options.profile ? { profileInto: 'bench/results/profiles' } : {},
  );
  const { customers, products, sample } = await openShop(service, environment.key);
  const shoppers = await prepareRawOrders(environment, sample, environment.companyId);

  const ours = (forSeconds: number): Promise<JobResult> =>
    client.run({
      module: import.meta.url,
      request: 'order',
      baseUrl: service.baseUrl,
      key: environment.key,
      connections,
      seconds: forSeconds,
      data: { customers, products },
    });
  const raw = (forSeconds: number) => writeRawOrders(environment.connectionString, shoppers, connections, forSeconds);

  const sizes = [10_000, options.rows].filter((size, index, all) => all.indexOf(size) === index);
  const rows: Cell[][] = [];
  const rates: SizeRate[] = [];
  const statuses: Record<string, number> = {};
  for (const size of sizes) {
    await seedOrdersTo(environment, size, shoppers, note);
    await ours(rates.length === 0 ? warmUpSeconds : 3);
    await raw(3);
    const rounds: Round[] = [];
    for (let round = 1; round <= options.rounds; round += 1) {
      await environment.sql.query('CHECKPOINT');
      const rawResult = await undisturbed(() => observed(bench, undefined, () => raw(seconds)));
      await environment.sql.query('CHECKPOINT');
      const oursResult = await undisturbed(() => observed(bench, service, () => ours(seconds)));
      rounds.push({ ours: oursResult, raw: rawResult });
      for (const [status, count] of Object.entries(oursResult.statuses))
        statuses[status] = (statuses[status] ?? 0) + count;
      note(
        `${size} orders, round ${round}: raw ${Math.round(rawResult.perSecond)}/s, ours ${Math.round(oursResult.perSecond)}/s`,
      );
    }
    const rate = rateOf(size, rounds);
    rates.push(rate);
    rows.push(...rowsOf(rate, rounds));
  }
  return reportOf(rates, rows, statuses);
}

export const workload: Workload = { module: import.meta.url, requests, run };
