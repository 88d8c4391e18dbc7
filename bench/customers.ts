import { join } from 'node:path';
import { type Candidate, compare, type Compared, comparisonTable, type Comparison } from './compare.ts';
import { seedCustomers, someIds } from './customer-data.ts';
import type { Environment, ServerProcess } from './environment.ts';
import type { Bench, BenchRequest, Report, RequestMaker, Target, Workload } from './workload.ts';

/** `npm run bench customers`: creates, reads and lists, compared with a bare server, and measures a far page. */

let created = 0;

// Multiplication by an odd number modulo 2^32 is one-to-one: values are unique and spread over the indexes, like real data.
const scattered = (number: number): number => Math.imul(number, 2_654_435_761) >>> 0;

/** Unique within a run: there is one client process, and seeded rows have another phone prefix. */
export function newCustomer(): Record<string, unknown> {
  created += 1;
  const unique = scattered(created);
  return {
    email: `${unique.toString(16)}.ada@example.net`,
    first_name: 'Ada',
    last_name: 'Lovelace',
    phone: `+2${String(unique).padStart(10, '0')}`,
    tags: ['vip'],
    metadata: { crm_id: `c-${unique}`, source: 'bench' },
  };
}

const path = '/v1/customers';

export const createCustomer = (): BenchRequest => ({ method: 'POST', path, body: newCustomer() });

/** Cycles through the values of the parent process. */
export function inTurn(values: readonly string[] = []): () => string {
  let index = 0;
  return () => values[index++ % values.length] ?? '';
}

const requests: Record<string, RequestMaker> = {
  create: () => createCustomer,
  createWithKey: () => () => {
    const request = createCustomer();
    return { ...request, headers: { 'X-SVC-Idempotency-Key': `bench-${created}` } };
  },
  read: ({ ids }) => {
    const nextId = inTurn(ids);
    return () => ({ method: 'GET', path: `${path}/${nextId()}` });
  },
  list: ({ queries }) => {
    const nextQuery = inTurn(queries ?? ['']);
    return () => ({ method: 'GET', path: `${path}${nextQuery()}` });
  },
};

const seconds = 4;
const warmUpSeconds = 3;
const connections = 32;
const farPage = 10_000;
const pageSize = 10;

interface Case {
  readonly title: string;
  readonly bare: string;
  readonly ours: string;
  readonly target?: number;
}

const cases: readonly Case[] = [
  { title: 'create', bare: 'create', ours: 'create', target: 0.4 },
  { title: 'create with idempotency key', bare: 'create', ours: 'createWithKey' },
  { title: 'read', bare: 'read', ours: 'read', target: 0.5 },
  { title: 'list, page 1', bare: 'list', ours: 'list' },
];

async function run(bench: Bench): Promise<Report> {
  const { environment, options } = bench;
  const tookMs = await seedCustomers(environment, options.rows);
  bench.note(`seeded ${options.rows} customers in ${(tookMs / 1000).toFixed(1)} s, and as many bare ones`);
  const bare = await environment.startBareServer();
  const services = await startServices(bench);

  const compared = await compareWithBare(bench, bare, services);
  const [ours] = services;
  const paged = ours ? await comparePages(bench, ours) : [];
  return {
    tables: [
      comparisonTable(`Customers, ${options.rows} rows, ${connections} connections`, compared),
      comparisonTable(`Paging, ${options.rows} rows, 1 connection`, paged),
    ],
    targets: [...rateTargets(compared), ...pageTargets(paged), ...errorTargets([...compared, ...paged])],
  };
}

async function startServices({ environment, options, against }: Bench): Promise<ServerProcess[]> {
  const profile = options.profile && { profileInto: join(import.meta.dirname, 'results', 'profiles') };
  const ours = await environment.startService('ours', { ...profile });
  if (!against) return [ours];
  return [ours, await environment.startService('against', { root: against.root })];
}

async function compareWithBare(bench: Bench, bare: ServerProcess, services: ServerProcess[]): Promise<Compared[]> {
  const ids = await someIds(bench.environment, 'customers', 20_000);
  const bareIds = await someIds(bench.environment, 'bare_customers', 20_000);
  const compared: Compared[] = [];
  for (const { title, bare: bareRequest, ours: request } of cases) {
    const candidates: Candidate[] = [
      { name: 'bare', server: bare, request: bareRequest, data: { ids: bareIds } },
      ...services.map((server) => ({ name: server.name, server, request, data: { ids } })),
    ];
    compared.push(await compare(bench, { ...common(bench), title, candidates, connections }));
  }
  return compared;
}

function common({ options }: Bench): Pick<Comparison, 'module' | 'seconds' | 'warmUpSeconds'> {
  return { module: import.meta.url, seconds: options.seconds ?? seconds, warmUpSeconds };
}

async function cursorsFrom({ sql, companyId }: Environment, page: number): Promise<string[]> {
  const { rows } = await sql.query<{ id: string }>(
    'SELECT id FROM customers WHERE company_id = $1 ORDER BY id DESC OFFSET $2 LIMIT 1000',
    [companyId, (page - 1) * pageSize - 1],
  );
  return rows.map(({ id }) => id);
}

async function comparePages(bench: Bench, server: ServerProcess): Promise<Compared[]> {
  const page = Math.min(farPage, Math.floor(bench.options.rows / pageSize / 2));
  const far = await cursorsFrom(bench.environment, page);
  // Spread over the table, to detect a plan that scans from the start to the position.
  const anywhere = await someIds(bench.environment, 'customers', 5_000);
  const compared: Compared[] = [];
  for (const sort of ['-created_at', '-updated_at']) {
    const after = (ids: readonly string[]): string[] => ids.map((id) => `?sort=${sort}&starting_after=${id}`);
    const candidates: Candidate[] = [
      { name: 'page 1', server, request: 'list', data: { queries: [`?sort=${sort}`] } },
      { name: `page ${page} on`, server, request: 'list', data: { queries: after(far) } },
      { name: 'any page', server, request: 'list', data: { queries: after(anywhere) } },
    ];
    const title = `list by ${sort}`;
    compared.push(await compare(bench, { ...common(bench), title, candidates, connections: 1 }));
  }
  return compared;
}

function rateTargets(compared: readonly Compared[]): Target[] {
  return cases.flatMap(({ title, target }) => {
    const ratio = compared.find((one) => one.title === title)?.measured[1]?.ratio ?? 0;
    if (target === undefined) return [];
    return [
      { name: `${title}, ratio to bare`, wanted: `≥ ${target}`, measured: ratio.toFixed(2), met: ratio >= target },
    ];
  });
}

const pageRatioMax = 1.5;

function pageTargets(paged: readonly Compared[]): Target[] {
  // In other orders, the position of the cursor is read first: one more round trip for every page but the first.
  const byPosition = paged.filter(({ title }) => title.endsWith('-created_at'));
  return byPosition.flatMap(({ title, measured }) =>
    measured.slice(1).map(({ name, latencyRatio }) => ({
      name: `${title}, p50 of ${name} to that of page 1`,
      wanted: `< ${pageRatioMax}`,
      measured: latencyRatio.toFixed(2),
      met: latencyRatio < pageRatioMax,
    })),
  );
}

export function errorTargets(compared: readonly Compared[]): Target[] {
  const errors = Object.assign({}, ...compared.map((one) => one.errors)) as Record<string, number>;
  const count = Object.values(errors).reduce((sum, one) => sum + one, 0);
  return [{ name: 'answers other than 2xx', wanted: '0', measured: String(count), met: count === 0 }];
}

export const workload: Workload = { module: import.meta.url, requests, run };
