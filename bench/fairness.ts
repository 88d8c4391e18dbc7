import { randomUUID } from 'node:crypto';
import { type JobResult, startClient } from './client.ts';
import { median } from './compare.ts';
import { seedCustomers } from './customer-data.ts';
import { defaultRateLimits } from './environment.ts';
import { openShop } from './orders.ts';
import { undisturbed } from './undisturbed.ts';
import { watchOthers } from './processes.ts';
import type { Bench, BenchRequest, Cell, Report, RequestMaker, Target, Workload } from './workload.ts';

/**
 * `npm run bench fairness`: one tenant places orders at a steady pace while another caller does its worst: a stranger on each
 * public route, or a hostile key at its limit with each kind of expensive request. What counts is the tenant's p99 to its p99 alone.
 */

const victimPerSecond = 40;
const hostileConnections = 20;
/** 400 orders a round: of fewer, the p99 is one or two of them. */
const defaultSeconds = 10;
const ratioMax = 3;
const seededCustomers = 100_000;
const heavyCustomers = 300;

const mebibyte = 1024 * 1024;
const always =
  (request: BenchRequest): RequestMaker =>
  () =>
  () =>
    request;
const get = (path: string): RequestMaker => always({ method: 'GET', path });
const post = (path: string, raw: string, headers: Readonly<Record<string, string>> = {}): RequestMaker =>
  always({ method: 'POST', path, raw, headers });

/** As many fields as fit, none of which exists. */
function unknownFields(bytes: number): string {
  const fields: string[] = [];
  for (let length = 2, index = 0; length < bytes - 20 && index < 19_000; index += 1) {
    const field = `"k${index}":1`;
    fields.push(field);
    length += field.length + 1;
  }
  return `{${fields.join(',')}}`;
}

const digits = JSON.stringify({ note: '1234567890 '.repeat(mebibyte / 11 - 100) });
const text = JSON.stringify({ first_name: 'x'.repeat(mebibyte - 100) });
/** The pages of the dashboard say where they come from. */
const fromDashboard =
  (path: string, raw: string): RequestMaker =>
  ({ origins = [] }) =>
  () => ({ method: 'POST', path, raw, headers: { Origin: origins[0] ?? '', 'Sec-Fetch-Site': 'same-origin' } });

const strangers: Readonly<Record<string, RequestMaker>> = {
  'sign-in, 16 KiB of unknown fields': fromDashboard('/dashboard/session', unknownFields(16 * 1024)),
  'sign-in, 193 KiB of unknown fields': fromDashboard('/dashboard/session', unknownFields(193 * 1024)),
  'sign-in, wrong passwords': fromDashboard(
    '/dashboard/session',
    JSON.stringify({ email: 'ada@example.com', password: 'not the password' }),
  ),
  'sign-up, 16 KiB of unknown fields': fromDashboard('/dashboard/sign_up', unknownFields(16 * 1024)),
  'password reset': fromDashboard('/dashboard/password_resets', JSON.stringify({ email: 'ada@example.com' })),
  'an invitation': get(`/dashboard/invitations/${'A'.repeat(64)}`),
  'the session': get('/dashboard/session'),
  'a wrong key, 1 MiB': post('/v1/customers', text, { Authorization: 'Bearer wrong' }),
  'an unknown path, 1 MiB': post('/v1/nothing', text),
  'a guide': get('/docs/quickstart'),
  'the reference': get('/docs/api/'),
  'the API document': get('/openapi.json'),
  'the dashboard': always({ method: 'GET', path: '/login', headers: { Accept: 'text/html' } }),
  readiness: get('/readyz'),
  metrics: get('/metrics'),
};

const keyHolders: Readonly<Record<string, RequestMaker>> = {
  'lists of 100 rows with 16 KiB each': get('/v1/customers?limit=100'),
  searches: get('/v1/customers?q=a'),
  'searches of 100 rows': get('/v1/customers?limit=100&q=a'),
  'refused 1 MiB of text': post('/v1/customers', text),
  'refused 1 MiB of digits': post('/v1/customers', digits),
  'refused 19,000 fields': post('/v1/customers', unknownFields(mebibyte)),
  'bodies over the limit': post('/v1/customers', `${text}${' '.repeat(mebibyte)}`),
  'small reads': get('/v1/customers?limit=1'),
  'new customers': () => () => {
    const unique = randomUUID();
    const phone = `+1555${String(Math.floor(Math.random() * 1e7)).padStart(7, '0')}`;
    return {
      method: 'POST',
      path: '/v1/customers',
      body: { email: `${unique}@example.com`, first_name: 'Ada', last_name: 'Lovelace', phone },
    };
  },
};

const order: RequestMaker = ({ customers = [], products = [] }) => {
  let sent = 0;
  return () => ({
    method: 'POST',
    path: '/v1/orders',
    headers: { 'X-SVC-Idempotency-Key': randomUUID() },
    body: { customer_id: customers[sent++ % customers.length], items: [{ product_id: products[0], quantity: 1 }] },
  });
};

const requests = { order, ...strangers, ...keyHolders };

const heavyRows = `
  UPDATE customers SET metadata = jsonb_build_object('text', repeat('Lorem ipsum ', 1350))
  WHERE company_id = $1 AND id IN (SELECT id FROM customers WHERE company_id = $1 ORDER BY id DESC LIMIT $2)`;

interface Round {
  readonly beside: JobResult;
  readonly hostile: JobResult;
  /** Of the machine, to other programs. */
  readonly othersShare: number;
}

interface Measured {
  readonly name: string;
  /** Just before the rounds. */
  readonly alone: JobResult;
  readonly rounds: readonly Round[];
}

async function run(bench: Bench): Promise<Report> {
  const { environment, options, client, note } = bench;
  const seconds = options.seconds ?? defaultSeconds;
  await seedCustomers(environment, Math.min(options.rows, seededCustomers));
  await environment.sql.query(heavyRows, [environment.companyId, heavyCustomers]);
  await environment.sql.query('VACUUM ANALYZE customers');
  const victim = await environment.createCompany('Victim');
  const { baseUrl, ...server } = await environment.startService('ours', {
    settings: defaultRateLimits,
    ...(options.profile && { profileInto: 'bench/results/profiles' }),
  });
  const { customers, products } = await openShop({ ...server, baseUrl }, victim.key, 100);
  const hostileClient = startClient();
  const common = { module: import.meta.url, baseUrl, seconds };
  const orders = (): Promise<JobResult> =>
    client.run({
      ...common,
      request: 'order',
      key: victim.key,
      connections: victimPerSecond,
      perSecond: victimPerSecond,
      data: { customers, products },
    });
  const flood = (request: string, key: string | undefined): Promise<JobResult> =>
    hostileClient.run({
      ...common,
      request,
      key,
      connections: hostileConnections,
      seconds: seconds + 1,
      data: { origins: [baseUrl] },
    });

  async function measure(name: string, key: string | undefined): Promise<Round> {
    const others = watchOthers(environment.postgresPid);
    const flooding = flood(name, key);
    const beside = await orders();
    return { beside, hostile: await flooding, othersShare: others() ?? 0 };
  }

  const cases = [
    ...Object.keys(strangers).map((name) => ({ name, key: undefined })),
    ...Object.keys(keyHolders).map((name) => ({ name, key: environment.key })),
  ].filter(({ name }) => options.only.test(name));
  await orders();
  const measured: Measured[] = [];
  for (const { name, key } of cases) {
    const alone = await orders();
    const rounds: Round[] = [];
    for (let round = 0; round < options.rounds; round += 1) rounds.push(await undisturbed(() => measure(name, key)));
    measured.push({ name, alone, rounds });
    note(`${name}: p99 alone ${ms(alone.p99Ms)}, beside ${rounds.map(({ beside }) => ms(beside.p99Ms)).join(', ')}`);
  }
  hostileClient.stop();
  return report(measured);
}

const ms = (value: number): number => Number(value.toFixed(1));

function report(measured: readonly Measured[]): Report {
  // Of all cases together: alone is alone, and the more is measured of it, the less chance decides.
  const aloneP99Ms = median(measured.map(({ alone }) => alone.p99Ms));
  const rows: Cell[][] = [];
  const targets: Target[] = [];
  for (const { name, alone, rounds } of measured) {
    const of = (pick: (one: Round) => number): number => median(rounds.map(pick));
    const ratio = of(({ beside }) => beside.p99Ms) / aloneP99Ms;
    const refused = rounds.flatMap(({ beside }) => Object.keys(beside.statuses)).filter((status) => status !== '201');
    rows.push([
      name,
      ms(alone.p50Ms),
      ms(of(({ beside }) => beside.p50Ms)),
      ms(alone.p99Ms),
      ms(of(({ beside }) => beside.p99Ms)),
      Number(ratio.toFixed(2)),
      Math.round(of(({ hostile }) => hostile.perSecond)),
      describeStatuses(rounds.at(-1)?.hostile.statuses ?? {}),
      Math.round(of(({ othersShare }) => othersShare) * 100),
    ]);
    targets.push({
      name: `p99 beside: ${name}`,
      wanted: `≤ ${ratioMax} × alone`,
      measured: `${ratio.toFixed(2)}${refused.length > 0 ? `, but also ${[...new Set(refused)].join(', ')}` : ''}`,
      met: ratio <= ratioMax && refused.length === 0,
    });
  }
  const title = `Orders of a tenant, ${victimPerSecond}/s, ms; p99 alone, of all cases: ${ms(aloneP99Ms)}`;
  return { tables: [{ title, columns, rows }], targets };
}

const columns = [
  'beside',
  'p50 alone',
  'p50 beside',
  'p99 alone',
  'p99 beside',
  'ratio',
  'hostile/s',
  'hostile answers',
  'CPU % others',
];

const describeStatuses = (statuses: JobResult['statuses']): string =>
  Object.entries(statuses)
    .map(([status, count]) => `${count} × ${status}`)
    .join(', ');

export const workload: Workload = { module: import.meta.url, requests, run };
