import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { companyOf, signUp } from '../../tests/support/dashboard.ts';
import { routes } from '../../tests/support/openapi.ts';
import { openShop, type Shop } from '../../tests/support/orders.ts';
import { type CallOptions, type Reply, startTestService, type TestService } from '../../tests/support/service.ts';
import { limits } from '../limits.ts';
import { costOf, newWork } from './work.ts';

/** What requests that write many rows cost, and that they stop at the rate limit. */

let service: TestService;
let shop: Shop;
let products: string[];

before(async () => {
  // Nothing flows back while the tests run: one request returns every 1,000 seconds.
  const settings = { SVC_RATE_LIMIT_GLOBAL: 'off', SVC_RATE_LIMIT_READ: 'off', SVC_RATE_LIMIT_WRITE: '900/900000' };
  service = await startTestService({ settings });
  shop = await openShop(service);
  products = await someProducts(service.company.id, 100);
});
after(() => service.stop());

async function someProducts(companyId: string, count: number): Promise<string[]> {
  const rows = await service.db.query<{ id: string }>(
    `INSERT INTO products (company_id, id, name, amount, currency, requires_shipping, sku, availability, metadata, active, updated_at)
     SELECT $1, uuidv7(), 'Cup', 1, 'usd', false, 'CUP' || n, 'in_stock', '{}', true, now()
     FROM generate_series(1, $2) n RETURNING id`,
    [companyId, count],
  );
  return rows.map(({ id }) => id);
}

/** The writes that a company has left, after a write of cost 1 that shows them. */
async function remaining(options: CallOptions = {}): Promise<number> {
  const reply = await service.call('PATCH', `/v1/customers/${shop.customerId}`, { body: {}, ...options });
  return Number(reply.headers.get('ratelimit-remaining'));
}

async function costOfCall(path: string, body: object): Promise<number> {
  const before = await remaining();
  const reply = await service.call('POST', path, { body, idempotencyKey: randomUUID() });
  assert.equal(reply.status, 201, reply.text);
  // The rest is taken when the answer is out.
  await new Promise((resolve) => setTimeout(resolve, 20));
  return before - (await remaining()) - 1;
}

const orderOf = (count: number): object => ({
  customer_id: shop.customerId,
  items: products.slice(0, count).map((product_id) => ({ product_id, quantity: 1 })),
});

describe('rows that a request writes', () => {
  test('cost nothing up to 25', async () => {
    assert.equal(await costOfCall('/v1/orders', orderOf(1)), 1);
    assert.equal(await costOfCall('/v1/orders', orderOf(25)), 1);
    assert.equal(await costOfCall('/v1/coupons', { name: 'Few', percentage: 10, codes: { count: 15 } }), 1);
  });

  test('cost more in an order of 100 items', async () => {
    assert.equal(await costOfCall('/v1/orders', orderOf(100)), costOf({ ...newWork(), rowsWritten: 100 }));
  });

  test('cost as much as they are for coupon codes, with the coupon and later', async () => {
    const { body } = await service.call('POST', '/v1/coupons', {
      body: { name: 'Later', percentage: 10 },
      idempotencyKey: randomUUID(),
    });
    const cost = costOf({ ...newWork(), rowsWritten: limits.couponCodesPerCall });
    const codes = { count: limits.couponCodesPerCall };
    for (const measured of [
      await costOfCall(`/v1/coupons/${body.id}/codes`, codes),
      await costOfCall('/v1/coupons', { name: 'Many', percentage: 10, codes }),
    ]) {
      assert.ok(measured >= cost && measured <= cost + 1, `${measured} instead of ${cost}`);
    }
  });

  test('of orders in one batch count for each order, not for the first', async () => {
    const before = await remaining();
    const orders = Array.from({ length: 40 }, () =>
      service.call('POST', '/v1/orders', { body: orderOf(1), idempotencyKey: randomUUID() }),
    );
    for (const reply of await Promise.all(orders)) assert.equal(reply.status, 201, reply.text);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(before - (await remaining()) - 1, 40);
  });

  test('are counted by the statements of a route whose body does not tell', async () => {
    const owner = await signUp(service);
    const live = companyOf(owner, 'live');
    await someProducts(companyOf(owner, 'sandbox'), 200);
    const call = (method: string, path: string, body: object): Promise<Reply> =>
      owner.in(method, path, body, { company: live, idempotencyKey: randomUUID() });
    const left = async (): Promise<number> =>
      Number((await call('POST', '/v1/products', { nothing: true })).headers.get('ratelimit-remaining'));
    const before = await left();
    const copied = await call('POST', '/dashboard/copy_from_sandbox', { include: ['products'] });
    assert.equal(copied.body.products?.copied, 200, copied.text);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const cost = before - (await left()) - 1;
    assert.ok(cost >= costOf({ ...newWork(), rowsWritten: 200 }), `it cost ${cost}`);
  });
});

test('a company that asks for codes from 20 connections meets the limit after a few requests', async () => {
  const { key } = await service.createMerchant();
  const coupon = await service.call('POST', '/v1/coupons', {
    key,
    body: { name: 'Hostile', percentage: 10 },
    idempotencyKey: randomUUID(),
  });
  const asked = Array.from({ length: 20 }, () =>
    service.call('POST', `/v1/coupons/${coupon.body.id}/codes`, { key, body: { count: 1_000 } }),
  );
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  const made = statuses.filter((status) => status === 201).length;
  // 900 writes pay for nine of them; two run at once, so one more can begin before the others have paid.
  assert.ok(made >= 5 && made <= 11, `${made} of 20 ran`);
  assert.ok(
    statuses.every((status) => [201, 429, 503].includes(status)),
    statuses.join(),
  );
  assert.ok(statuses.includes(429));
  const [{ count } = { count: 0 }] = await service.db.query<{ count: number }>(
    'SELECT code_count AS count FROM coupons WHERE id = $1',
    [coupon.body.id],
  );
  assert.equal(count, made * 1_000);
});

test('a route whose body has a number of rows declares it', () => {
  const numbered = routes.filter(({ body }) => JSON.stringify(body ?? {}).includes('"count":{'));
  assert.deepEqual(numbered.map(({ operationId }) => operationId).toSorted(), ['createCoupon', 'mintCouponCodes']);
  assert.ok(numbered.every(({ rowsFor }) => rowsFor !== undefined));
});
