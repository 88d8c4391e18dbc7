import { type Client, type JobResult, startClient } from './client.ts';
import { median } from './compare.ts';
import { type Cores, describeCores, keepOn, splitCores } from './cores.ts';
import { seedCustomersOf } from './customer-data.ts';
import { defaultRateLimits, type ServerProcess } from './environment.ts';
import { type Kind, kinds, requests } from './hostile-requests.ts';
import { openShop, post } from './orders.ts';
import { watchOthers } from './processes.ts';
import { signUp } from './visitor.ts';
import type { Bench, Cell, Report, Target, Workload } from './workload.ts';

/**
 * `npm run bench fairness`: a company places orders and reads customers at a steady pace, while others send one kind of request from 20
 * connections. What counts is how much longer the company waits than beside as many connections that ask for `GET /healthz`.
 */

const victimPerSecond = 40;
const hostileConnections = 20;
/** Long enough that the requests with which a caller uses up its limit, at once, are not most of what is measured. */
const defaultSeconds = 5;
const ratioMax = 3;
const seededCustomers = 20_000;
const heavyCustomers = 300;
const shoppers = 60;
const products = 100;

/** Fewer than a tenth of its rate limit missing. */
const restedShare = 0.9;
const restMsMax = 60_000;

interface Hostile {
  readonly key: string;
  readonly data: Readonly<Record<string, readonly string[]>>;
}

interface Beside {
  readonly orders: JobResult;
  readonly reads: JobResult;
  readonly hostile: JobResult;
  /** Of the machine, to other programs. */
  readonly othersShare: number;
}

interface Round {
  readonly control: Beside;
  readonly kind: Beside;
}

const heavyRows = `
  UPDATE customers SET metadata = jsonb_build_object('text', repeat('Lorem ipsum ', 1350))
  WHERE company_id = $1 AND id IN (SELECT id FROM customers WHERE company_id = $1 ORDER BY id DESC LIMIT $2)`;

function chosenKinds(names: readonly string[]): [string, Kind][] {
  const unknown = names.filter((name) => !kinds[name]);
  if (unknown.length > 0) {
    throw new Error(`${unknown.join(', ')} is not a kind. There are: ${Object.keys(kinds).join(', ')}`);
  }
  return Object.entries(kinds).filter(([name]) => names.length === 0 || names.includes(name));
}

async function run(bench: Bench): Promise<Report> {
  const { environment, options, note } = bench;
  const chosen = chosenKinds(options.kinds);
  const cores = splitCores(note);
  const server = await environment.startService('ours', {
    settings: defaultRateLimits,
    ...(options.profile && { profileInto: 'bench/results/profiles' }),
  });
  if (cores) keepOn(cores.measured, server.pid, environment.postgresPid);
  const victim = await environment.createCompany('Victim');
  const shop = await openShop(server, victim.key, shoppers);
  const hostiles = await openHostiles(bench, server, victim.companyId);
  const clients = ['orders', 'reads', 'hostile'].map(() => startClient(cores?.generator));
  const measure = besides(bench, server, clients, { key: victim.key, data: shop });
  const control: Kind = { request: requests.healthz ?? (() => () => ({ method: 'GET', path: '/' })), by: 'stranger' };
  await measure('healthz', control, undefined);
  const measured: [string, Round[]][] = [];
  for (const [name, kind] of chosen) {
    const rounds: Round[] = [];
    for (let round = 0; round < options.rounds; round += 1) {
      const hostile = hostiles[round % hostiles.length];
      const beside = await measure('healthz', control, undefined);
      if (hostile) await rested(server, hostile);
      rounds.push({ control: beside, kind: await measure(name, kind, hostile) });
    }
    measured.push([name, rounds]);
    note(`${name}: orders × ${ratioOf(rounds, 'orders').toFixed(2)}, reads × ${ratioOf(rounds, 'reads').toFixed(2)}`);
  }
  for (const client of clients) client.stop();
  return report(measured, cores);
}

/** One for each round: what one has used up of its rate limits is back when its turn comes again. */
async function openHostiles(bench: Bench, server: ServerProcess, victim: string): Promise<Hostile[]> {
  const { environment, options } = bench;
  const hostiles: Hostile[] = [];
  for (let index = 0; index < options.rounds; index += 1) {
    const visitor = await signUp(server.baseUrl, `hostile-${index}@example.com`);
    const { companyId } = visitor;
    const { key } = (await visitor.post('/dashboard/api_keys', { name: 'bench', kind: 'secret' })) as { key: string };
    const shop = await openShop(server, key, shoppers);
    const stocked = await environment.sql.query<{ id: string }>(stock, [companyId, products]);
    const coupon = await post(server, key, '/v1/coupons', { name: 'Codes', percentage: 10 });
    hostiles.push({
      key,
      data: {
        customers: shop.customers,
        products: stocked.rows.map(({ id }) => id),
        coupons: [String(coupon.id)],
        companies: [companyId],
        cookies: [visitor.cookie],
        origins: [server.baseUrl],
        victim: [victim],
      },
    });
  }
  const companies = hostiles.flatMap(({ data }) => data.companies ?? []);
  await seedCustomersOf(environment, companies, Math.min(options.rows, seededCustomers));
  for (const id of companies) await environment.sql.query(heavyRows, [id, heavyCustomers]);
  await environment.sql.query('VACUUM ANALYZE');
  return hostiles;
}

const stock = `
  INSERT INTO products (company_id, id, name, amount, currency, requires_shipping, sku, availability, metadata, active, updated_at)
  SELECT $1, gen_random_uuid(), 'Cup', 1, 'usd', false, 'CUP-' || n, 'in_stock', '{}', true, now()
  FROM generate_series(1, $2::integer) n RETURNING id`;

/** Waits until the company has its rate limits back. */
async function rested({ baseUrl }: ServerProcess, { key }: Hostile): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  for (const untilMs = Date.now() + restMsMax; Date.now() < untilMs; ) {
    // A write that is refused, because the bucket of writes is the smallest.
    const { headers: answered } = await fetch(`${baseUrl}/v1/customers`, { method: 'POST', headers, body: '{}' });
    const [limit, remaining] = ['ratelimit-limit', 'ratelimit-remaining'].map((name) => Number(answered.get(name)));
    if ((remaining ?? 0) >= (limit ?? 0) * restedShare) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

type Measure = (name: string, kind: Kind, hostile: Hostile | undefined) => Promise<Beside>;

function besides(
  bench: Bench,
  { baseUrl }: ServerProcess,
  clients: readonly Client[],
  victim: { key: string; data: object },
): Measure {
  const seconds = bench.options.seconds ?? defaultSeconds;
  const [ordering, reading, flooding] = clients as [Client, Client, Client];
  const common = { module: import.meta.url, baseUrl, seconds };
  const ofVictim = { ...common, ...victim, connections: victimPerSecond, perSecond: victimPerSecond } as const;
  let networks = 0;
  return async (name, { by }, hostile) => {
    networks += 1;
    const others = watchOthers(bench.environment.postgresPid);
    const flood = flooding.run({
      ...common,
      request: name,
      key: by === 'key' ? hostile?.key : undefined,
      connections: hostileConnections,
      seconds: seconds + 1,
      // Another network each time, so that no address is known from an earlier round.
      ...(by === 'strangers' && { from: `127.${100 + (networks >> 8)}.${networks & 255}` }),
      data: { origins: [baseUrl], ...hostile?.data },
    });
    const data = victim.data as Hostile['data'];
    const [orders, reads] = await Promise.all([
      ordering.run({ ...ofVictim, data, request: 'order' }),
      reading.run({ ...ofVictim, data, request: 'read' }),
    ]);
    return { orders, reads, hostile: await flood, othersShare: others() ?? 0 };
  };
}

const ms = (value: number): number => Number(value.toFixed(1));
const fixed = (value: number): number => Number(value.toFixed(2));
type Answers = 'orders' | 'reads';

const ratioOf = (rounds: readonly Round[], answers: Answers): number =>
  median(rounds.map(({ kind, control }) => kind[answers].p50Ms / control[answers].p50Ms));

function report(measured: readonly (readonly [string, readonly Round[]])[], cores: Cores | undefined): Report {
  const rows: Cell[][] = [];
  const targets: Target[] = [];
  for (const [name, rounds] of measured) {
    const of = (pick: (one: Round) => number): number => median(rounds.map(pick));
    const ratios = { orders: ratioOf(rounds, 'orders'), reads: ratioOf(rounds, 'reads') };
    rows.push([
      name,
      ...(['orders', 'reads'] as const).flatMap((answers) => [
        ms(of(({ control }) => control[answers].p50Ms)),
        ms(of(({ kind }) => kind[answers].p50Ms)),
        fixed(ratios[answers]),
      ]),
      Math.round(of(({ kind }) => kind.hostile.perSecond)),
      describeStatuses(rounds.at(-1)?.kind.hostile.statuses ?? {}),
      Math.round(of(({ kind, control }) => Math.max(kind.othersShare, control.othersShare)) * 100),
    ]);
    const refused = rounds.flatMap(({ kind }) =>
      [kind.orders, kind.reads].flatMap(({ statuses }) => Object.keys(statuses)),
    );
    const unexpected = [...new Set(refused)].filter((status) => !/^20[01]$/.test(status));
    targets.push({
      name: `beside ${name}`,
      wanted: `≤ ${ratioMax} × the p50 beside healthz`,
      measured: `orders ${ratios.orders.toFixed(2)}, reads ${ratios.reads.toFixed(2)}${unexpected.length > 0 ? `, but also ${unexpected.join(', ')}` : ''}`,
      met: Math.max(ratios.orders, ratios.reads) <= ratioMax && unexpected.length === 0,
    });
  }
  const title = `Orders and reads of a company, ${victimPerSecond}/s each, p50 in ms, beside ${hostileConnections} connections; ${describeCores(cores)}`;
  return { tables: [{ title, columns, rows }], targets };
}

const columns = [
  'beside',
  'orders, healthz',
  'orders',
  'ratio',
  'reads, healthz',
  'reads',
  'ratio',
  'hostile/s',
  'hostile answers',
  'CPU % others',
];

const describeStatuses = (statuses: JobResult['statuses']): string =>
  Object.entries(statuses)
    .map(([status, count]) => `${count} × ${status}`)
    .join(', ');

const makers = Object.fromEntries(Object.entries(kinds).map(([name, { request }]) => [name, request]));

export const workload: Workload = { module: import.meta.url, requests: { ...makers, ...requests }, rounds: 5, run };
