import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { colleague, companyOf, type Person, signUp } from '../../../tests/support/dashboard.ts';
import { type FaultyService, startFaultyService, unknownOutcome } from '../../../tests/support/faulty-service.ts';
import { assertRefused, checkAllOpen } from '../../../tests/support/orders.ts';
import { type Reply, someCustomer, someProduct, type TestService } from '../../../tests/support/service.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import { executeBulkRefunds, type RefundingOrders } from './jobs.ts';
import { claimDueRefunds } from './queries.ts';
import type { BulkRefund } from './schemas.ts';

/** Refunds of many orders at once: what was confirmed is refunded exactly once. */

let faulty: FaultyService;
let service: TestService;
let owner: Person;
let customerId: string;
let productId: string;

before(async () => {
  faulty = await startFaultyService();
  ({ service } = faulty);
  owner = await signUp(service);
  customerId = await post('/v1/customers', someCustomer());
  const card = { number: '4242424242424242', exp_month: '12', exp_year: '2032', cvc: '999' };
  await post('/capture', { customer_id: customerId, card });
  productId = await post('/v1/products', someProduct({ pricing: { amount: 1000, currency: 'usd' } }));
});
after(() => faulty.stop());

const call = (method: string, path: string, body?: unknown, person = owner): Promise<Reply> =>
  person.in(method, path, body, { idempotencyKey: randomUUID() });

async function post(path: string, body: unknown): Promise<string> {
  const reply = await call('POST', path, body);
  assert.equal(reply.status, 201, reply.text);
  return reply.body.id;
}

const paid = (quantity: number): Promise<string> =>
  post('/v1/orders', { customer_id: customerId, items: [{ product_id: productId, quantity }] });

interface Wanted {
  readonly order_id: string;
  readonly amount: number;
}

const bodyOf = (orders: readonly Wanted[]) => ({
  orders,
  totals: [{ currency: 'usd', amount: orders.reduce((sum, { amount }) => sum + amount, 0) }],
});

const create = (orders: readonly Wanted[], person = owner): Promise<Reply> =>
  call('POST', '/dashboard/bulk_refunds', bodyOf(orders), person);

async function created(orders: readonly Wanted[], person = owner): Promise<string> {
  const reply = await create(orders, person);
  assert.equal(reply.status, 201, reply.text);
  return reply.body.id;
}

/** Runs the job as if all of its refunds were due. */
async function execute(orders: RefundingOrders = service.orders): Promise<void> {
  await service.db.query(`UPDATE bulk_refund_orders SET check_at = now() WHERE state = 'waiting'`);
  const { db, clock } = service;
  await executeBulkRefunds({ name: service.company.shard, db, clock, orders, log: silentLog }, 100);
}

const dyingAfterRefund: RefundingOrders = {
  keyedRefund: (...request) => service.orders.keyedRefund(...request),
  stopRefund: (...request) => service.orders.stopRefund(...request),
  refund: async (...request) => {
    await service.orders.refund(...request);
    throw new Error('the worker died');
  },
};

const block = (member: Person): Promise<unknown> =>
  service.db.query(`UPDATE team_members SET status = 'blocked' WHERE company_id = $1 AND email_key = lower($2)`, [
    companyOf(owner, 'sandbox'),
    member.email,
  ]);

const read = async (id: string): Promise<Record<string, any>> =>
  (await call('GET', `/dashboard/bulk_refunds/${id}`)).body;

async function refundsOf(orderId: string): Promise<number[]> {
  const { body } = await call('GET', `/v1/orders/${orderId}`);
  const refunds = body.transactions.filter(
    ({ type, status }: Record<string, string>) => type === 'refund' && status !== 'failed',
  );
  return refunds.map(({ amount }: { amount: number }) => amount);
}

describe('a bulk refund', () => {
  it('refunds the confirmed amounts and has a result for each order and each currency', async () => {
    const [one, two] = [await paid(1), await paid(3)];
    assert.equal((await call('POST', `/v1/orders/${two}/refund`, { amount: 500 })).status, 200);
    await checkAllOpen(service);
    const id = await created([
      { order_id: one, amount: 1000 },
      { order_id: two, amount: 2500 },
    ]);
    assert.equal((await read(id)).status, 'in_progress');
    await execute();
    const { status, totals, orders } = await read(id);
    assert.equal(status, 'completed');
    assert.deepEqual(totals, [{ currency: 'usd', amount: 3500, refunded: 3500, refused: 0 }]);
    assert.ok(orders.every((order: Record<string, unknown>) => order.status === 'refunded' && order.order_number));
    assert.deepEqual([await refundsOf(one), await refundsOf(two)], [[1000], [500, 2500]]);
    await execute();
    assert.deepEqual([await refundsOf(one), await refundsOf(two)], [[1000], [500, 2500]]);
  });

  it('is rejected as a whole if an amount or a sum is not what was confirmed', async () => {
    const [one, two] = [await paid(1), await paid(2)];
    const right = [
      { order_id: one, amount: 1000 },
      { order_id: two, amount: 2000 },
    ];
    await call('POST', `/v1/orders/${two}/refund`, { amount: 300 });
    assertRefused(await create(right), 400, 'validation_error', 'orders');
    const now = [right[0] ?? right, { order_id: two, amount: 1700 }] as Wanted[];
    const wrongSum = { orders: now, totals: [{ currency: 'usd', amount: 3000 }] };
    assertRefused(await call('POST', '/dashboard/bulk_refunds', wrongSum), 400, 'validation_error', 'totals');
    const otherCurrency = { orders: now, totals: [{ currency: 'eur', amount: 2700 }] };
    assertRefused(await call('POST', '/dashboard/bulk_refunds', otherCurrency), 400, 'validation_error', 'totals');
    assertRefused(await create([...now, ...now]), 400, 'validation_error', 'orders');
    assertRefused(await create([{ order_id: randomUUID(), amount: 1 }]), 404, 'resource_not_found');
    await call('POST', `/v1/orders/${one}/refund`, {});
    assertRefused(await create([{ order_id: one, amount: 1000 }]), 400, 'validation_error', 'orders');
    assert.deepEqual(await refundsOf(one), [1000]);
  });

  it('refuses an order that was refunded meanwhile, and refunds the others', async () => {
    const [one, two] = [await paid(1), await paid(1)];
    const id = await created([
      { order_id: one, amount: 1000 },
      { order_id: two, amount: 1000 },
    ]);
    assert.equal((await call('POST', `/v1/orders/${one}/refund`, { amount: 400 })).status, 200);
    await execute();
    const { orders, totals } = await read(id);
    const resultOf = (id: string): BulkRefund['orders'][number] | undefined =>
      (orders as BulkRefund['orders']).find(({ order_id }) => order_id === id);
    assert.match(resultOf(one)?.reason ?? '', /at most 600/);
    assert.equal(resultOf(two)?.status, 'refunded');
    assert.deepEqual(totals, [{ currency: 'usd', amount: 2000, refunded: 1000, refused: 1000 }]);
    assert.deepEqual([await refundsOf(one), await refundsOf(two)], [[400], [1000]]);
  });

  it('continues after the worker died between a refund and its result, and refunds once', async () => {
    const order = await paid(2);
    const id = await created([{ order_id: order, amount: 2000 }]);
    await execute(dyingAfterRefund);
    assert.equal((await read(id)).status, 'in_progress');
    await execute();
    assert.deepEqual([(await read(id)).orders[0].status, await refundsOf(order)], ['refunded', [2000]]);
  });

  it('waits while the outcome of a refund is unknown, and refunds once', async () => {
    const order = await paid(1);
    const id = await created([{ order_id: order, amount: 1000 }]);
    let sent = 0;
    faulty.faults.refund = async () => {
      sent += 1;
      return unknownOutcome();
    };
    await execute();
    delete faulty.faults.refund;
    assert.equal((await read(id)).orders[0].status, 'waiting');
    await checkAllOpen(service);
    await execute();
    await checkAllOpen(service);
    await execute();
    assert.equal((await read(id)).status, 'completed');
    assert.deepEqual([sent, await refundsOf(order)], [1, [1000]]);
  });

  it('never waits for an order of another bulk refund', async () => {
    const [one, two] = [await paid(1), await paid(1)];
    const wanted = [one, two].map((order_id) => ({ order_id, amount: 1000 }));
    await created(wanted.slice(0, 1));
    assertRefused(await create(wanted), 409, 'resource_in_use');
    const [row] = await service.db.query<{ count: number }>(
      'SELECT count(*)::integer AS count FROM bulk_refund_orders WHERE order_id = $1',
      [two],
    );
    assert.equal(row?.count, 0);
    await execute();
    await created(wanted.slice(1));
    await execute();
    assert.deepEqual([await refundsOf(one), await refundsOf(two)], [[1000], [1000]]);
  });

  it('stops if the member loses the permission before it is executed', async () => {
    const admin = await colleague(service, owner, 'Admin');
    const order = await paid(1);
    const id = await created([{ order_id: order, amount: 1000 }], admin);
    await block(admin);
    await execute();
    const [result] = (await read(id)).orders;
    assert.equal(result.status, 'refused');
    assert.match(result.reason, /can no longer refund/);
    assert.deepEqual(await refundsOf(order), []);
  });

  it('has the result of a refund that was sent before the member lost the permission', async () => {
    const admin = await colleague(service, owner, 'Admin');
    const [unknown, died] = [await paid(1), await paid(2)];
    const first = await created([{ order_id: unknown, amount: 1000 }], admin);
    faulty.faults.refund = unknownOutcome;
    await execute();
    delete faulty.faults.refund;
    const second = await created([{ order_id: died, amount: 2000 }], admin);
    await execute(dyingAfterRefund);
    await block(admin);
    // The keys may have expired meanwhile.
    await service.db.query(`DELETE FROM idempotency_keys WHERE key LIKE $1`, [`bulk:${second}:%`]);
    await execute();
    assert.equal((await read(first)).orders[0].status, 'waiting');
    await checkAllOpen(service);
    await execute();
    for (const [id, order, amount] of [
      [first, unknown, 1000],
      [second, died, 2000],
    ] as const) {
      assert.deepEqual((await read(id)).totals, [{ currency: 'usd', amount, refunded: amount, refused: 0 }]);
      assert.deepEqual(await refundsOf(order), [amount]);
    }
  });

  it('never begins a refund that it has reported as stopped', async () => {
    const admin = await colleague(service, owner, 'Admin');
    const order = await paid(1);
    const id = await created([{ order_id: order, amount: 1000 }], admin);
    const slow: RefundingOrders = {
      ...dyingAfterRefund,
      refund: async (...request) => {
        await block(admin);
        await execute();
        return service.orders.refund(...request);
      },
    };
    await execute(slow);
    assert.equal((await read(id)).orders[0].status, 'refused');
    assert.deepEqual(await refundsOf(order), []);
  });

  it('shows a refund that the processor accepts and rejects later as refused, with the reason', async () => {
    const customer_id = await post('/v1/customers', someCustomer());
    const card = { number: '4000009999005126', exp_month: '12', exp_year: '2032', cvc: '999' };
    await post('/capture', { customer_id, card });
    const order = await post('/v1/orders', { customer_id, items: [{ product_id: productId, quantity: 1 }] });
    const id = await created([{ order_id: order, amount: 1000 }]);
    await execute();
    await checkAllOpen(service);
    const { orders, totals, status } = await read(id);
    assert.deepEqual(totals, [{ currency: 'usd', amount: 1000, refunded: 0, refused: 1000 }]);
    assert.deepEqual([status, orders[0].status, typeof orders[0].reason], ['completed', 'refused', 'string']);
    assert.equal((await call('GET', `/v1/orders/${order}`)).body.status, 'refund_failed');
  });

  it('is executed a few orders of a company at a time, side by side, and no order waits for another', async () => {
    const orders = [await paid(1), await paid(1), await paid(1), await paid(1), await paid(1)];
    const id = await created(orders.map((order_id) => ({ order_id, amount: 1000 })));
    let begun = 0;
    const all = Promise.withResolvers<void>();
    const slow: RefundingOrders = {
      ...dyingAfterRefund,
      refund: async (...request) => {
        begun += 1;
        if (begun === 4) all.resolve();
        await all.promise;
        const [lease] = await service.db.query<{ seconds: number }>(
          `SELECT min(extract(epoch FROM check_at - now()))::integer AS seconds FROM bulk_refund_orders
           WHERE bulk_id = $1 AND check_at > now()`,
          [id],
        );
        assert.ok((lease?.seconds ?? 0) > 240, 'another worker does not begin it meanwhile');
        return service.orders.refund(...request);
      },
    };
    await execute(slow);
    const waiting = async (): Promise<number> =>
      (await read(id)).orders.filter(({ status }: { status: string }) => status === 'waiting').length;
    assert.deepEqual([begun, await waiting()], [4, 1]);
    await execute();
    assert.equal(await waiting(), 0);
  });

  it('of one company does not hold up that of another', async () => {
    const orders = [await paid(1), await paid(1), await paid(1), await paid(1), await paid(1), await paid(1)];
    await created(orders.map((order_id) => ({ order_id, amount: 1000 })));
    const other = await signUp(service);
    const [mine, theirs] = [companyOf(owner, 'sandbox'), companyOf(other, 'sandbox')];
    const { db } = service;
    await db.query(
      `INSERT INTO customers (company_id, id, email, email_key, first_name, last_name, phone, tags, metadata, search, updated_at)
       SELECT $2, id, email, email_key, first_name, last_name, phone, tags, metadata, search, now()
       FROM customers WHERE company_id = $1 AND id = $3`,
      [mine, theirs, customerId],
    );
    await db.query(
      `INSERT INTO payment_methods (company_id, id, customer_id, card_id, brand, last4, exp_month, exp_year, fingerprint)
       SELECT $2, id, customer_id, card_id, brand, last4, exp_month, exp_year, fingerprint
       FROM payment_methods WHERE company_id = $1 AND customer_id = $3`,
      [mine, theirs, customerId],
    );
    await db.query(
      `INSERT INTO orders (company_id, id, order_number, customer_id, payment_method_id, card_brand, card_last4, status, items,
         currency, subtotal, discount_amount, total, refunded_amount, metadata, attempt_count, sale_id, sequence, updated_at)
       SELECT $2, id, order_number, customer_id, payment_method_id, card_brand, card_last4, status, items, currency, subtotal,
         discount_amount, total, 0, '{}', 0, sale_id, 1, now() FROM orders WHERE company_id = $1 AND id = $3`,
      [mine, theirs, orders[0]],
    );
    await db.query(`INSERT INTO bulk_refunds (company_id, id, member_id, request_id) VALUES ($1, $1, $1, 'req')`, [
      theirs,
    ]);
    await db.query(
      `INSERT INTO bulk_refund_orders (company_id, bulk_id, order_id, amount, currency) VALUES ($1, $1, $2, 1000, 'usd')`,
      [theirs, orders[0]],
    );
    const claimed = await claimDueRefunds(db, 10);
    const of = (company: string): number => claimed.filter(({ company_id }) => company_id === company).length;
    assert.deepEqual([of(mine), of(theirs)], [4, 1]);
    await db.query(`DELETE FROM bulk_refund_orders WHERE state = 'waiting'`);
  });
});
