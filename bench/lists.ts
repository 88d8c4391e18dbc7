import { couponId, seedLists } from './list-data.ts';
import { signUp, type Visitor } from './visitor.ts';
import type { Bench, Report, Workload } from './workload.ts';

/**
 * `npm run bench lists`: how long each list, filter, search and count of the dashboard takes for a merchant with `--rows` orders in a
 * year. One request at a time, with 25 rows, over changing values.
 */

const targetMs = 150;
/** The lists without combined filters or words. They must stay this fast with ten million orders. */
const plainTargetMs = 20;
const plainLists: ReadonlySet<string> = new Set([
  'orders, page 1',
  'orders, any page',
  'orders by amount',
  'orders, one rare status',
  'orders, in progress',
  'orders of a customer',
  'search by number',
  'transactions',
  'subscriptions',
  'customers',
  'products',
  'count of orders',
]);
const repeats = 40;
const caseMs = 2_500;

type Values = Readonly<
  Record<'numbers' | 'emails' | 'lastFours' | 'products' | 'orders' | 'customers', readonly string[]>
>;

/** Some values of the data, spread over all of it. */
async function valuesOf({ environment: { sql } }: Bench, companyId: string): Promise<Values> {
  const some = async (text: string): Promise<string[]> => {
    const { rows } = await sql.query<{ value: string }>(text, [companyId]);
    return rows.map(({ value }) => value);
  };
  const spread = 'ORDER BY md5(id::text) LIMIT 40';
  const orders = await some(
    `SELECT id::text AS value FROM orders TABLESAMPLE system (0.01) WHERE company_id = $1 LIMIT 40`,
  );
  return {
    orders,
    numbers: await some(
      `SELECT order_number AS value FROM orders TABLESAMPLE system (0.01) WHERE company_id = $1 LIMIT 40`,
    ),
    emails: await some(`SELECT email AS value FROM customers WHERE company_id = $1 ${spread}`),
    customers: await some(`SELECT id::text AS value FROM customers WHERE company_id = $1 ${spread}`),
    lastFours: await some(`SELECT last4 AS value FROM payment_methods WHERE company_id = $1 ${spread}`),
    products: await some(`SELECT id::text AS value FROM products WHERE company_id = $1 ${spread}`),
  };
}

/** The name of each case and its paths, which are asked for in turn. */
function casesOf(values: Values): Record<string, readonly string[]> {
  const orders = (queries: readonly string[]): string[] =>
    queries.map((query) => `/v1/orders?expand=customer&${query}`);
  const each = (known: readonly string[], query: (value: string) => string): string[] =>
    orders(known.map((value) => query(encodeURIComponent(value))));
  const list = (path: string, query = ''): string[] => [`/v1/${path}?${query}`];
  return {
    'orders, page 1': orders(['']),
    'orders, any page': each(values.orders, (id) => `starting_after=${id}`),
    'orders by amount': orders(['sort=-total', 'sort=total']),
    'orders, one rare status': orders(['status=refunded', 'status=chargeback', 'status=failed']),
    'orders, several statuses': orders(['status=refunded,failed,chargeback', 'status=succeeded,failed']),
    'orders, in progress': orders(['status=pending']),
    'orders, failure reason': orders(['failure_code=expired_card', 'failure_code=fraud_suspected']),
    'orders, card brand': orders(['card_brand=visa', 'card_brand=discover']),
    'orders, card brand that none has': orders(['card_brand=jcb']),
    'orders, currency': orders(['currency=jpy', 'currency=eur']),
    'orders, currency that none has': orders(['currency=gbp']),
    'orders, amount range': orders(['total[gte]=89000', 'total[gte]=5000&total[lte]=5100', 'total[gte]=90090']),
    'orders, date and status': orders(['created_at[gte]=2026-09-01&created_at[lt]=2026-10-01&status=failed']),
    'orders, date by amount': orders(['created_at[gte]=2026-09-01&created_at[lt]=2026-10-01&sort=-total']),
    'orders, four filters': orders(['status=failed&card_brand=amex&currency=eur&total[gte]=50000']),
    'orders, filters that none matches': orders(['status=succeeded&card_brand=jcb&currency=gbp']),
    'orders of a product': each(values.products, (id) => `product_id=${id}`),
    'orders of a product and status': each(values.products, (id) => `product_id=${id}&status=refunded`),
    'orders with a coupon': orders([`coupon_id=${couponId}`]),
    'orders of a customer': each(values.customers, (id) => `customer_id=${id}`),
    'search by number': each(values.numbers, (number) => `q=${number}`),
    'search by beginning of number': each(values.numbers, (number) => `q=${number.slice(0, 4)}`),
    'search by email': each(values.emails, (email) => `q=${email}`),
    'search by first name': orders(['q=ada', 'q=hugo', 'q=ines', 'q=paula']),
    'search by name': orders(['q=ada+baker', 'q=hugo+kim', 'q=ines+rossi']),
    'search by last four': each(values.lastFours, (lastFour) => `q=${lastFour}`),
    'search by amount': orders(['q=49.00', 'q=123.45', 'q=900.99']),
    'search by product': orders(['q=product+17', 'q=product+250']),
    'search for nothing': orders(['q=zzzzzz', 'q=unknown@example.org']),
    'search and filter': orders(['q=ada&status=failed', 'q=hugo&card_brand=amex&currency=jpy']),
    transactions: list('transactions', 'expand=customer'),
    'transactions, filters': [
      ...list('transactions', 'status=failed&card_brand=amex'),
      ...list('transactions', 'type=refund'),
      ...list('transactions', 'currency=gbp'),
      ...list('transactions', 'q=hugo'),
    ],
    subscriptions: list('subscriptions', 'expand=customer'),
    'subscriptions, filters': [
      ...list('subscriptions', 'status=past_due'),
      ...list('subscriptions', 'status=active,past_due&card_brand=amex'),
      ...list('subscriptions', 'q=ada'),
      ...list('subscriptions', 'q=plan'),
    ],
    'subscriptions, expiring cards': [
      ...list('subscriptions', 'card_expires=2027-11,2027-12'),
      ...list('subscriptions', 'card_expires=2029-02&status=active,past_due'),
      ...list('subscriptions', 'card_expires=2020-01'),
    ],
    customers: list('customers'),
    'customers, orders and spend': [0, 10].map(
      (from) => `/dashboard/customer_summaries?customer_id=${values.customers.slice(from, from + 25).join()}`,
    ),
    'customers, search': [...list('customers', 'q=ada'), ...list('customers', 'q=ada+baker')],
    products: [...list('products'), ...list('products', 'q=product+17'), ...list('products', 'sort=name')],
    'count of orders': ['/dashboard/counts/orders'],
    'count, filters': [
      '/dashboard/counts/orders?status=refunded',
      '/dashboard/counts/orders?card_brand=amex',
      '/dashboard/counts/orders?currency=gbp',
      '/dashboard/counts/orders?q=ada',
    ],
  };
}

async function timesOf(visitor: Visitor, paths: readonly string[]): Promise<number[]> {
  const times: number[] = [];
  const endMs = performance.now() + caseMs;
  for (let round = 0; round < repeats && (round < 10 || performance.now() < endMs); round += 1) {
    const path = paths[round % paths.length] ?? '';
    const startMs = performance.now();
    await visitor.get(path.startsWith('/dashboard/') ? path : `${path}&limit=25`.replace('?&', '?'));
    times.push(performance.now() - startMs);
  }
  return times.toSorted((one, other) => one - other);
}

const at = (sorted: readonly number[], share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;

async function run(bench: Bench): Promise<Report> {
  const { environment, options, note } = bench;
  const server = await environment.startService('api', { settings: { SVC_ROLES: 'api,vault' } });
  const visitor = await signUp(server.baseUrl);
  await seedLists({ ...environment, companyId: visitor.companyId }, options.rows, note);
  const cases = Object.entries(casesOf(await valuesOf(bench, visitor.companyId)));
  const measured: { readonly name: string; readonly sorted: readonly number[] }[] = [];
  for (const [name, paths] of cases) {
    if (!options.only.test(name)) continue;
    await visitor.get(paths[0] ?? '');
    measured.push({ name, sorted: await timesOf(visitor, paths) });
  }
  await server.stop();
  const rows = measured.map(({ name, sorted }) => [
    name,
    ...[at(sorted, 0.5), at(sorted, 0.95), sorted.at(-1) ?? 0].map((ms) => ms.toFixed(1)),
  ]);
  return {
    tables: [{ title: `Lists with ${options.rows} orders`, columns: ['list', 'p50 ms', 'p95 ms', 'slowest ms'], rows }],
    targets: measured.map(({ name, sorted }) => {
      const wantedMs = plainLists.has(name) ? plainTargetMs : targetMs;
      const p95Ms = at(sorted, 0.95);
      return {
        name: `${name}, p95`,
        wanted: `< ${wantedMs} ms`,
        measured: `${p95Ms.toFixed(0)} ms`,
        met: p95Ms < wantedMs,
      };
    }),
  };
}

export const workload: Workload = { module: import.meta.url, requests: {}, run };
