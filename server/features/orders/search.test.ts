import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { contextOf, type Shop } from '../../../tests/support/orders.ts';
import { colleague, companyOf, type Person, signUp } from '../../../tests/support/dashboard.ts';
import {
  type Reply,
  someCustomer,
  someProduct,
  startTestService,
  type TestService,
} from '../../../tests/support/service.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import { raw, sql, toStatement } from '../../platform/sql.ts';
import { findOwners } from '../customers/queries.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import { indexOrderObjects } from './jobs.ts';
import { listOrders } from './list-queries.ts';

/** Search and filters of the lists of orders, transactions and subscriptions. */

let service: TestService;
let owner: Person;
let companyId: string;
const made: Record<string, any>[] = [];
const products: Record<string, string> = {};
let couponId: string;

const call = (method: 'GET' | 'POST', path: string, body?: unknown, person = owner): Promise<Reply> =>
  person.in(method, path, body, { idempotencyKey: randomUUID() });

async function post(path: string, body: unknown): Promise<string> {
  const reply = await call('POST', path, body);
  assert.equal(reply.status, 201, reply.text);
  return reply.body.id;
}

async function buyer(first: string, last: string, email: string, card: string): Promise<Shop> {
  const customerId = await post('/v1/customers', { ...someCustomer(), first_name: first, last_name: last, email });
  const details = { number: card, exp_month: '12', exp_year: '2032', cvc: '999' };
  const paymentMethodId = await post('/capture', { customer_id: customerId, card: details });
  return { customerId, paymentMethodId, productId: '' };
}

async function buy(shop: Shop, product: string, quantity: number, more: object = {}): Promise<void> {
  const items = [{ product_id: products[product], quantity }];
  const reply = await call('POST', '/v1/orders', { customer_id: shop.customerId, items, ...more });
  assert.equal(reply.status, 201, reply.text);
  made.push(reply.body);
}

before(async () => {
  service = await startTestService();
  owner = await signUp(service);
  companyId = companyOf(owner, 'sandbox');
  const named = { mug: ['Stone mug', 1250, 'usd'], tea: ['Green tea', 4900, 'usd'], fan: ['Paper fan', 4900, 'jpy'] };
  for (const [key, [name, amount, currency]] of Object.entries(named)) {
    // A random SKU could match the texts that are searched.
    products[key] = await post('/v1/products', { ...someProduct(), sku: key, name, pricing: { amount, currency } });
  }
  couponId = await post('/v1/coupons', { name: 'TENOFF', kind: 'promo', percentage: 10, duration: 'once' });
  const ada = await buyer('Ada', 'Lovelace', 'ada@analytical.example', '4242424242424242');
  const grace = await buyer('Grace', 'Hopper', 'grace@navy.example', '378282246310005');
  const poor = await buyer('Karl', 'Poor', 'karl@broke.example', '4000000000009995');
  await buy(ada, 'mug', 1);
  await buy(ada, 'tea', 1);
  await buy(grace, 'tea', 2);
  await buy(grace, 'fan', 1);
  await buy(poor, 'mug', 4);
  await buy(ada, 'mug', 2, { coupon_code: 'TENOFF' });
  await call('POST', `/v1/orders/${made[0]?.id}/refund`, {});
});
after(() => service.stop());

/** The indexes of the orders in `made`, oldest first. */
async function found(query: string, path = '/v1/orders'): Promise<number[]> {
  const reply = await call('GET', `${path}?limit=100&sort=created_at&${query}`);
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.body.has_more, false);
  return reply.body.data.map((one: Record<string, any>) =>
    made.findIndex(({ id }) => id === (path === '/v1/orders' ? one.id : one.order_id)),
  );
}

describe('the search of orders', () => {
  it('finds an order by its number, by the beginning of it, and by its id', async () => {
    const { id, order_number: number } = made[2] ?? {};
    for (const q of [number, number.slice(0, 5), `%23${number.toLowerCase()}`, id]) {
      assert.deepEqual(await found(`q=${q}`), [2], q);
    }
  });

  it('finds orders by the name and the email of the customer', async () => {
    for (const q of ['ada', 'lovelace', 'ada@analytical.example', 'Ada Love']) {
      assert.deepEqual(await found(`q=${encodeURIComponent(q)}`), [0, 1, 5], q);
    }
    assert.deepEqual(await found('q=unknown@navy.example'), []);
  });

  it('finds orders by the amount, in the units of each currency', async () => {
    assert.deepEqual(await found('q=49.00'), [1]);
    assert.deepEqual(await found('q=49'), [1]);
    assert.deepEqual(await found('q=4,900'), [3]);
    assert.deepEqual(await found('q=%2412.50'), [0]);
    assert.deepEqual(await found('q=12,50'), [0]);
  });

  it('finds orders by the last four digits of the card', async () => {
    assert.deepEqual(await found('q=0005'), [2, 3]);
    assert.deepEqual(await found(`q=${encodeURIComponent('•••• 9995')}`), [4]);
  });

  it('finds orders by a product before and after they are indexed', async () => {
    const byProduct = async (): Promise<number[][]> => [
      await found('q=stone'),
      await found(`product_id=${products.tea}`),
      await found(`coupon_id=${couponId}`),
    ];
    const expected = [[0, 4, 5], [1, 2], [5]];
    assert.deepEqual(await byProduct(), expected);
    await indexOrderObjects(service.db, service.clock, silentLog);
    await service.db.query(`UPDATE order_index_cursors SET until_at = now() - interval '301 s'`);
    await indexOrderObjects(service.db, service.clock, silentLog);
    const [{ count } = { count: 0 }] = await service.db.query<{ count: number }>(
      'SELECT count(*)::integer AS count FROM orders_by_object WHERE company_id = $1',
      [companyId],
    );
    assert.equal(count, made.length + 1);
    assert.deepEqual(await byProduct(), expected);
  });

  it('combines a text with filters', async () => {
    assert.deepEqual(await found('q=ada&status=refunded'), [0]);
    assert.deepEqual(await found('q=ada&total[gte]=2000'), [1, 5]);
    assert.deepEqual(await found('q=ada&currency=jpy'), []);
  });
});

describe('the filters of orders', () => {
  it('narrow the list alone and together', async () => {
    assert.deepEqual(await found('card_brand=amex'), [2, 3]);
    assert.deepEqual(await found('currency=jpy'), [3]);
    assert.deepEqual(await found('currency=usd,jpy&card_brand=visa&status=succeeded'), [1, 5]);
    assert.deepEqual(await found('failure_code=insufficient_funds'), [4]);
    assert.deepEqual(await found('failure_code=expired_card'), []);
    assert.deepEqual(await found('status=refunded,failed'), [0, 4]);
    assert.deepEqual(await found('status=refunded,failed,succeeded&total[lt]=4900'), [0, 5]);
    assert.deepEqual(await found(`product_id=${products.mug}&status=failed`), [4]);
    assert.deepEqual(await found(`product_id=${products.mug}&coupon_id=${couponId}`), [5]);
    assert.deepEqual(await found('total[gte]=4900&total[lte]=4900'), [1, 3]);
    assert.deepEqual(await found(`created_at[gte]=${made[3]?.created_at}&card_brand=visa`), [4, 5]);
  });

  it('work with every sort', async () => {
    const reply = await call('GET', '/v1/orders?sort=-total&card_brand=visa&limit=2');
    assert.deepEqual(
      reply.body.data.map(({ total }: { total: number }) => total),
      [5000, 4900],
    );
    const next = await call(
      'GET',
      `/v1/orders?sort=-total&card_brand=visa&limit=2&starting_after=${reply.body.cursors.next}`,
    );
    assert.deepEqual(
      next.body.data.map(({ total }: { total: number }) => total),
      [2250, 1250],
    );
    assert.ok(next.body.cursors.previous);
    for (const query of ['q=ada', 'q=ada&created_at[gte]=2000-01-01', 'q=lovelace&status=succeeded,refunded']) {
      const { body } = await call('GET', `/v1/orders?sort=total&${query}`);
      assert.deepEqual(
        body.data.map(({ total }: { total: number }) => total),
        [1250, 2250, 4900],
        query,
      );
    }
    const dated = await call('GET', '/v1/orders?sort=-total&created_at[gte]=2000-01-01&limit=1');
    assert.equal(dated.body.data[0].total, 9800);
  });

  it('refuse values that do not exist', async () => {
    for (const query of ['currency=xxx', 'card_brand=visas', 'failure_code=poor', 'product_id=1']) {
      assert.equal((await call('GET', `/v1/orders?${query}`)).status, 400, query);
    }
  });
});

describe('the search of transactions and subscriptions', () => {
  it('uses the number of the order, the customer, the amount and the card', async () => {
    const path = '/v1/transactions';
    assert.deepEqual(await found(`q=${made[0]?.order_number}`, path), [0, 0]);
    assert.deepEqual(await found('q=hopper', path), [2, 3]);
    assert.deepEqual(await found('q=12.50&type=refund', path), [0]);
    assert.deepEqual(await found('q=0005&currency=jpy', path), [3]);
    assert.deepEqual(await found('failure_code=insufficient_funds', path), [4]);
    const cycle = { interval: 'month', interval_count: 1, anchor_day: 1 };
    const plan = await post('/dashboard/plans', {
      name: 'Tea club',
      amount: 900,
      currency: 'usd',
      billing_cycle: cycle,
    });
    const { customer_id } = made[2] ?? {};
    const subscription = await post('/v1/subscriptions', { customer_id, plan_id: plan });
    const { body: bill } = await call('GET', `/v1/orders?plan_id=${plan}`);
    assert.equal(bill.data[0].subscription_id, subscription);
    for (const q of ['tea', 'hopper', '0005', subscription]) {
      const { body } = await call('GET', `/v1/subscriptions?q=${q}`);
      assert.deepEqual([body.data.length, body.data[0]?.id], [1, subscription], q);
    }
    assert.deepEqual((await call('GET', '/v1/subscriptions?q=lovelace')).body.data, []);
  });
});

describe('a search without the permission customers:read', () => {
  const paths = ['/v1/orders', '/v1/transactions', '/v1/subscriptions', '/dashboard/disputes'];

  it('finds nothing by the name or the email of a customer, and everything else', async () => {
    const permissions = owner.companies[0]?.permissions.filter((one) => !one.startsWith('customers:'));
    assert.equal((await call('POST', '/dashboard/roles', { name: 'No customers', permissions })).status, 201);
    const member = await colleague(service, owner, 'No customers');
    await service.db.query(
      `INSERT INTO disputes (company_id, id, order_id, transaction_id, processor_id, amount, currency, reason, state, state_at,
         created_at, updated_at)
       SELECT company_id, id, id, sale_id, 'dp_1', total, currency, 'general', 'needs_response', now(), now(), now()
       FROM orders WHERE id = $1`,
      [made[2]?.id],
    );
    for (const path of paths) {
      for (const q of ['hopper', 'grace@navy.example']) {
        const all = await call('GET', `${path}?q=${q}`);
        const none = await call('GET', `${path}?q=${q}`, undefined, member);
        assert.deepEqual([all.body.data.length > 0, none.body.data], [true, []], `${path} ${q}`);
        const count = path.replace(/^.*\//, '/dashboard/counts/');
        const counted = await call('GET', `${count}?q=${q}`, undefined, member);
        assert.equal(counted.body.count, 0, count);
      }
    }
    const byAmount = await call('GET', '/v1/orders?q=98.00', undefined, member);
    assert.deepEqual([byAmount.status, byAmount.body.data.length], [200, 1]);
  });
});

describe('a count', () => {
  it('by the last four digits includes a customer behind one with thousands of cards', async () => {
    await service.db.query(
      `INSERT INTO payment_methods (company_id, id, customer_id, card_id, brand, last4, exp_month, exp_year, fingerprint, deleted_at)
       SELECT company_id, gen_random_uuid(), customer_id, gen_random_uuid(), brand, '0005', exp_month, exp_year, fingerprint, now()
       FROM payment_methods, generate_series(1, 2001) WHERE company_id = $1 AND customer_id = $2`,
      [companyId, made[0]?.customer_id],
    );
    const { body } = await call('GET', '/dashboard/counts/orders?q=0005');
    assert.deepEqual(body, { count: 3, exact: true });
  });

  it('is not exact if only some of the products with this name were used', async () => {
    const counted = async (): Promise<unknown> => (await call('GET', '/dashboard/counts/orders?q=stone')).body.exact;
    assert.equal(await counted(), true);
    await service.db.query(
      `INSERT INTO products (company_id, id, name, amount, currency, requires_shipping, sku, availability, metadata, active, updated_at)
       SELECT company_id, gen_random_uuid(), 'Stone ' || n, amount, currency, false, 'STONE' || n, availability, '{}', true, now()
       FROM products, generate_series(1, 50) n WHERE company_id = $1 AND id = $2`,
      [companyId, products.mug],
    );
    assert.equal(await counted(), false);
  });

  it('is exact for any filter, and needs the permission of the list', async () => {
    const count = async (query: string): Promise<unknown> =>
      (await call('GET', `/dashboard/counts/orders?${query}`)).body;
    assert.deepEqual(await count('q=ada'), { count: 3, exact: true });
    assert.deepEqual(await count('card_brand=amex'), { count: 3, exact: true });
    assert.deepEqual(await count(`customer_id=${made[0]?.customer_id}`), { count: 3, exact: true });
    assert.deepEqual(await count(''), { count: 7, exact: true });
    assert.equal((await service.call('GET', '/dashboard/counts/orders')).status, 403);
  });
});

describe('a filter that few of many orders match', () => {
  const total = 12_000;
  before(async () => {
    // Newer than the others, all with one card.
    await service.db.query(
      `INSERT INTO orders (company_id, id, order_number, customer_id, payment_method_id, card_brand, card_last4, status, items,
         currency, subtotal, discount_amount, total, refunded_amount, metadata, attempt_count, sale_id, sequence, updated_at)
       SELECT company_id, made.id, 'X' || n, customer_id, payment_method_id, 'visa', '4242', 'succeeded', '[]', 'usd', n, 0, n, 0,
         '{}', 0, made.id, 1, now()
       FROM orders CROSS JOIN generate_series(1, $3) n
       CROSS JOIN LATERAL (SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint + n), 12, '0')
         || '70008' || substr(md5(n::text), 1, 15))::uuid AS id) made
       WHERE company_id = $1 AND orders.id = $2`,
      [companyId, made[1]?.id, total],
    );
    await service.db.query('ANALYZE orders');
  });

  it('is walked to the end in short pages, each of which reads a limited number of rows', async () => {
    const ids: string[] = [];
    let after = '';
    let pages = 0;
    do {
      const reply = await call('GET', `/v1/orders?card_brand=amex${after && `&starting_after=${after}`}`);
      ids.push(...reply.body.data.map(({ id }: { id: string }) => id));
      assert.equal(reply.body.has_more, reply.body.cursors.next !== null);
      after = reply.body.cursors.next ?? '';
      pages += 1;
    } while (after);
    assert.deepEqual(ids.slice(-2), [made[3]?.id, made[2]?.id]);
    assert.equal(pages, 2);
  });

  it('counts what it read and says that there may be more', async () => {
    await service.db.query(`UPDATE orders SET card_brand = 'jcb' WHERE id = $1`, [made[1]?.id]);
    const { body } = await call('GET', '/dashboard/counts/orders?card_brand=visa');
    assert.deepEqual(body, { count: 10_000, exact: false });
    assert.deepEqual((await call('GET', '/dashboard/counts/orders?card_brand=jcb')).body, { count: 1, exact: true });
  });

  it('are sorted by amount within a range of dates, however many there are', async () => {
    const { body } = await call('GET', '/v1/orders?sort=-total&created_at[gte]=2000-01-01&card_brand=visa&limit=2');
    assert.deepEqual(
      body.data.map(({ total: amount }: { total: number }) => amount),
      [total, total - 1],
    );
  });

  it('finds a rare amount, a customer and a status at once', async () => {
    for (const query of ['total[gte]=11999', 'q=grace', 'q=119.99', 'status=failed']) {
      const { body } = await call('GET', `/v1/orders?${query}`);
      assert.ok(body.data.length > 0, query);
      assert.equal(body.has_more, false, query);
    }
  });
});

describe('a name that hundreds of customers with many orders have', () => {
  const customers = 300;
  before(async () => {
    await service.db.query(
      `WITH smiths AS (
         INSERT INTO customers (company_id, id, email, email_key, first_name, last_name, phone, tags, metadata, search, updated_at)
         SELECT $1, gen_random_uuid(), n || '@smith.example', n || '@smith.example', 'S', 'Smith', '+14155550100', '{}', '{}',
           (SELECT search FROM customers WHERE company_id = $1 AND id = $2), now()
         FROM generate_series(1, $4) n RETURNING id)
       INSERT INTO orders (company_id, id, order_number, customer_id, payment_method_id, card_brand, card_last4, status, items,
         currency, subtotal, discount_amount, total, refunded_amount, metadata, attempt_count, sale_id, sequence, updated_at)
       SELECT company_id, made.id, 'S' || smiths.id || n, smiths.id, payment_method_id, 'visa', '4242', 'succeeded', '[]', 'usd', n, 0,
         n, 0, '{}', 0, made.id, 1, now()
       FROM smiths CROSS JOIN generate_series(1, 100) n JOIN orders ON company_id = $1 AND orders.id = $3
       CROSS JOIN LATERAL (SELECT gen_random_uuid() AS id, smiths.id AS smith, n AS place) made`,
      [companyId, made[2]?.customer_id, made[2]?.id, customers],
    );
    await service.db.query('ANALYZE orders');
  });

  const search = (more: Partial<PageRequest>): Promise<Page<{ id: string }>> => {
    const context = { ...contextOf(service), company: { ...service.company, id: companyId } };
    const sort = { field: 'created_at', descending: true };
    return listOrders(context, { q: 'hopper' }, { limit: 100, sort, cursor: null, ...more });
  };

  it('is counted and sorted without reading more rows than a request may read', async () => {
    // The limit, and in the last step two rows of each customer.
    const counted = await search({ counting: true });
    assert.ok((counted.scanned ?? Number.NaN) <= 16_000, `${counted.scanned} rows to count`);
    assert.equal(counted.count?.exact, false);
    const sorted = await search({ sort: { field: 'total', descending: false } });
    assert.ok((sorted.scanned ?? Number.NaN) <= 16_000, `${sorted.scanned} rows to sort`);
    assert.equal(sorted.items.length, 100);
  });

  it('is listed in full, in order, with few rows of each customer at a time', async () => {
    const ids: string[] = [];
    let cursor: PageRequest['cursor'] = null;
    while (ids.length < 300) {
      const page: Page<{ id: string }> = await search({ cursor });
      assert.ok((page.scanned ?? Number.NaN) <= 13_000, `${page.scanned} rows`);
      ids.push(...page.items.map(({ id }) => id));
      assert.ok(page.next);
      cursor = { id: page.next, parameter: 'starting_after' };
    }
    const expected = await service.db.query<{ id: string }>(
      `SELECT o.id FROM orders o JOIN customers c ON c.company_id = o.company_id AND c.id = o.customer_id
       WHERE o.company_id = $1 AND (c.last_name = 'Smith' OR c.id = $2) ORDER BY o.id DESC LIMIT $3`,
      [companyId, made[2]?.customer_id, ids.length],
    );
    assert.deepEqual(
      ids,
      expected.map(({ id }) => id),
    );
  });

  it('looks up only the customers of the rows it reads, if thousands have the name', async () => {
    await service.db.query(
      `INSERT INTO customers (company_id, id, email, email_key, first_name, last_name, phone, tags, metadata, search, updated_at)
       SELECT $1, gen_random_uuid(), n || '@more.example', n || '@more.example', 'M', 'More', '+14155550100', '{}', '{}',
         (SELECT search FROM customers WHERE company_id = $1 AND id = $2), now()
       FROM generate_series(1, 4000) n`,
      [companyId, made[2]?.customer_id],
    );
    await service.db.query('ANALYZE customers');
    const context = { ...contextOf(service), company: { ...service.company, id: companyId } };
    const owners = await findOwners(context, 'hopper', 500);
    assert.ok(owners && 'isOneOf' in owners);
    const { text, values } = toStatement(
      sql`EXPLAIN (ANALYZE, FORMAT JSON) SELECT ${owners.isOneOf(raw('o.customer_id'))} FROM (
        SELECT customer_id FROM orders WHERE company_id = ${companyId} ORDER BY id DESC LIMIT 50) AS o`,
    );
    const [plan] = await service.db.query<{ 'QUERY PLAN': [{ Plan: Record<string, any> }] }>(text, values);
    assert.ok(plan);
    const read = (node: Record<string, any>): number =>
      (node['Relation Name'] === 'customers' ? node['Actual Rows'] * node['Actual Loops'] : 0) +
      (node.Plans ?? []).reduce((sum: number, inner: Record<string, any>) => sum + read(inner), 0);
    const [{ Plan: top }] = plan['QUERY PLAN'];
    assert.ok(read(top) <= 50, `${read(top)} customers were read`);
    const page = await search({});
    assert.ok(page.items.length > 0);
  });
});
