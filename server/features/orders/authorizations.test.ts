import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { unknownOutcome, useFaultyService } from '../../../tests/support/faulty-service.ts';
import {
  approvedCard,
  assertInvalid,
  assertRefused,
  checkAllOpen,
  contextOf,
  countOf,
  eventTypes,
  openShop,
  order,
  readOrder,
  refund,
  retry,
  type Shop,
} from '../../../tests/support/orders.ts';
import { type CallOptions, type Reply, type TestService } from '../../../tests/support/service.ts';
import type { Database } from '../../platform/database.ts';
import { dayMs, hourMs } from '../../platform/durations.ts';
import { planOf } from '../../../tests/support/plans.ts';
import { getAttention } from '../figures/attention.ts';
import { listOrders } from './list-queries.ts';

/** An order whose funds are held first, and captured, released or given up later. */

let service: TestService;
let shop: Shop;
const faults = useFaultyService(async (started) => {
  service = started;
  shop = await openShop(service);
});

const total = 4900;

async function authorized(of = shop, body: object = {}, options: CallOptions = {}): Promise<Reply['body']> {
  const reply = await order(service, of, { capture: 'manual', ...body }, options);
  assert.deepEqual([reply.status, reply.body.status], [201, 'pending'], reply.text);
  return reply.body;
}
const capture = (id: string, amount?: number, options: CallOptions = {}): Promise<Reply> =>
  service.call('POST', `/v1/orders/${id}/capture`, { body: amount === undefined ? {} : { amount }, ...options });
const voidIt = (id: string, options: CallOptions = {}): Promise<Reply> =>
  service.call('POST', `/v1/orders/${id}/void`, options);
const statusesOf = ({ transactions }: Reply['body']): string[][] =>
  transactions.map(({ type, status }: Record<string, string>) => [type, status]);
/** The time until which it can be captured has passed. */
const passEnd = (id: string): Promise<unknown> =>
  service.db.query(`UPDATE orders SET capture_before = now() - interval '1 second' WHERE id = $1`, [id]);

describe('an order with capture: manual', () => {
  it('holds the funds: pending, with a succeeded auth, and no charge', async () => {
    const created = await authorized();
    assert.partialDeepStrictEqual(created, { authorized_amount: total, captured_amount: 0, total, failure_code: null });
    const holdsMs = Date.parse(created.capture_before) - Date.parse(created.created_at);
    assert.ok(Math.abs(holdsMs - 7 * dayMs) < 60_000, String(holdsMs));
    assert.deepEqual(statusesOf(created), [['auth', 'succeeded']]);
    assert.deepEqual(await eventTypes(service, created.id), ['order.created', 'order.authorized']);
    const { capture_before, ...read } = await readOrder(service, created.id);
    assert.equal(capture_before, created.capture_before);
    assert.equal(read.status, 'pending');
    const sale = await service.call('GET', '/v1/transactions?type=auth');
    assert.ok(sale.body.data.some(({ order_id }: Record<string, string>) => order_id === created.id));
  });

  it('is replayed as it was, also after the capture', async () => {
    const idempotencyKey = randomUUID();
    const first = await order(service, shop, { capture: 'manual' }, { idempotencyKey });
    assert.equal((await capture(first.body.id)).body.status, 'succeeded');
    const again = await order(service, shop, { capture: 'manual' }, { idempotencyKey });
    assert.deepEqual([again.status, again.text], [201, first.text]);
    const other = await order(service, shop, {}, { idempotencyKey });
    assertRefused(other, 422, 'idempotency_key_conflict');
  });

  it('fails if the card is declined, and a retry authorizes again', async () => {
    const declining = await openShop(service, '4000009999003220');
    const reply = await order(service, declining, { capture: 'manual' });
    assert.deepEqual([reply.body.status, reply.body.failure_code], ['failed', 'do_not_honor']);
    assert.partialDeepStrictEqual(reply.body, { authorized_amount: null, capture_before: null, captured_amount: 0 });
    const retried = await retry(service, reply.body.id);
    assert.deepEqual([retried.status, retried.body.status], [200, 'pending'], retried.text);
    assert.deepEqual(statusesOf(retried.body), [
      ['auth', 'failed'],
      ['auth', 'succeeded'],
    ]);
    // A charge without the customer is held for less time.
    const holdsMs = Date.parse(retried.body.capture_before) - Date.parse(retried.body.created_at);
    assert.ok(Math.abs(holdsMs - (4 * dayMs + 18 * hourMs)) < 60_000, String(holdsMs));
    assert.equal((await capture(reply.body.id)).body.status, 'succeeded');
  });

  it('succeeds at once if its total is zero', async () => {
    const { body: free } = await service.call('POST', '/v1/products', {
      body: {
        ...{ name: 'Free', description: null, requires_shipping: false, sku: randomUUID() },
        pricing: { amount: 0, currency: 'usd' },
      },
      idempotencyKey: randomUUID(),
    });
    const reply = await order(service, shop, { items: [{ product_id: free.id, quantity: 1 }], capture: 'manual' });
    assert.partialDeepStrictEqual(reply.body, { status: 'succeeded', authorized_amount: null, captured_amount: 0 });
  });

  it('is left alone by recovery and lookups while its funds are held', async () => {
    const { id } = await authorized();
    faults.capture = async () => assert.fail('captured');
    faults.void = async () => assert.fail('released');
    faults.lookup = async () => assert.fail('looked up');
    await checkAllOpen(service);
    await service.orders.reconcile(service.company.id, id);
    await service.orders.releaseEnded(100);
    assert.equal((await readOrder(service, id)).status, 'pending');
    assertRefused(await refund(service, id), 422, 'invalid_state_transition');
    assertRefused(await retry(service, id), 400, 'invalid_state_transition');
  });

  it('becomes authorized by a lookup after a lost answer', async () => {
    faults.authorize = unknownOutcome;
    const idempotencyKey = randomUUID();
    const lost = await order(service, shop, { capture: 'manual' }, { idempotencyKey });
    assertRefused(lost, 502, 'gateway_error');
    delete faults.authorize;
    const again = await order(service, shop, { capture: 'manual' }, { idempotencyKey });
    assert.deepEqual([again.status, again.body.status, again.body.authorized_amount], [201, 'pending', total]);
  });
});

describe('POST /v1/orders/{id}/capture', () => {
  it('takes all that is held: a sale, and the order has succeeded', async () => {
    const { id } = await authorized();
    const reply = await capture(id);
    assert.equal(reply.status, 200, reply.text);
    assert.partialDeepStrictEqual(reply.body, { status: 'succeeded', captured_amount: total, capture_before: null });
    assert.deepEqual(statusesOf(reply.body), [
      ['auth', 'succeeded'],
      ['sale', 'succeeded'],
    ]);
    assert.deepEqual(await eventTypes(service, id), ['order.created', 'order.authorized', 'order.succeeded']);
    assertRefused(await capture(id), 422, 'invalid_state_transition', 'id');
  });

  it('takes a part, which bounds the refunds', async () => {
    const { id } = await authorized();
    const reply = await capture(id, 3000);
    assert.partialDeepStrictEqual(reply.body, {
      status: 'succeeded',
      captured_amount: 3000,
      total,
      authorized_amount: total,
    });
    assertInvalid(await refund(service, id, 3001), 'amount');
    assert.equal((await refund(service, id, 1000)).body.status, 'partially_refunded');
    const rest = await refund(service, id);
    assert.deepEqual([rest.body.status, rest.body.refunded_amount], ['refunded', 3000], rest.text);
  });

  it('refuses more than is held, an order that holds nothing, and null', async () => {
    const { id } = await authorized();
    assertInvalid(await capture(id, total + 1), 'amount');
    assert.equal((await service.call('POST', `/v1/orders/${id}/capture`, { body: { amount: null } })).status, 400);
    const charged = await order(service, shop);
    assertRefused(await capture(charged.body.id), 422, 'invalid_state_transition', 'id');
    assertRefused(await capture(randomUUID()), 404, 'resource_not_found');
    assert.equal((await readOrder(service, id)).status, 'pending');
  });

  it('gives the same answer to a repeated key', async () => {
    const { id } = await authorized();
    const idempotencyKey = randomUUID();
    const first = await capture(id, 1000, { idempotencyKey });
    const again = await capture(id, 1000, { idempotencyKey });
    assert.deepEqual([again.status, again.text], [200, first.text]);
  });

  it('captures once, with ten requests at the same time', async () => {
    const { id } = await authorized();
    const captures = Promise.all(Array.from({ length: 8 }, () => capture(id)));
    const voids = Promise.all([voidIt(id), voidIt(id)]);
    const replies = [...(await captures), ...(await voids)].map(({ status }) => status);
    for (const status of replies) assert.ok([200, 409, 422].includes(status), replies.join());
    const captured = (await captures).filter(({ status }) => status === 200);
    assert.ok(captured.length <= 1, replies.join());
    const sales = await countOf(service, 'transactions', `order_id = $1 AND type = 'sale'`, [id]);
    assert.equal(sales, captured.length);
    // A capture can still be voided afterwards.
    const isVoided = (await voids).some(({ status }) => status === 200);
    assert.equal((await readOrder(service, id)).status, isVoided ? 'voided' : 'succeeded');
  });

  it('finds out after a lost answer, and never captures twice', async () => {
    const { id } = await authorized();
    faults.capture = unknownOutcome;
    const idempotencyKey = randomUUID();
    assertRefused(await capture(id, 1000, { idempotencyKey }), 502, 'gateway_error');
    assertRefused(await capture(id), 409, 'resource_in_use');
    assertRefused(await voidIt(id), 409, 'resource_in_use');
    await service.orders.releaseEnded(100);
    const reply = await capture(id, 1000, { idempotencyKey });
    assert.deepEqual([reply.status, reply.body.captured_amount], [200, 1000], reply.text);
  });

  it('a capture that never arrived leaves the funds held, and the repeated key sends it', async () => {
    const { id } = await authorized();
    faults.capture = async () => ({ outcome: 'not_sent', reason: 'no connection' });
    const idempotencyKey = randomUUID();
    assertRefused(await capture(id, undefined, { idempotencyKey }), 502, 'gateway_error');
    assert.equal((await readOrder(service, id)).status, 'pending');
    delete faults.capture;
    const reply = await capture(id, undefined, { idempotencyKey });
    assert.deepEqual([reply.status, reply.body.status], [200, 'succeeded'], reply.text);
  });

  const refusedWith = (isOver: boolean) => async () =>
    ({
      outcome: 'declined',
      response: {
        ...{ transaction_id: null, authorization_code: null, avs_result: null, cvv_result: null },
        ...{ response_code: '12', response_text: 'Invalid' },
      },
      failureCode: 'transaction_not_allowed',
      failureReason: 'No.',
      ...(isOver && { isOver }),
    }) as const;

  it('refused while the funds are held: pending, and it can be captured again', async () => {
    const { id } = await authorized();
    faults.capture = refusedWith(false);
    const refused = await capture(id);
    assert.deepEqual([refused.status, refused.body.status, refused.body.failure_code], [200, 'pending', null]);
    assert.deepEqual(statusesOf(refused.body), [
      ['auth', 'succeeded'],
      ['sale', 'failed'],
    ]);
    delete faults.capture;
    assert.equal((await capture(id, 100)).body.captured_amount, 100);
    assert.deepEqual(await eventTypes(service, id), ['order.created', 'order.authorized', 'order.succeeded']);
  });

  it('refused because the funds are not held any more: voided', async () => {
    const { id } = await authorized();
    faults.capture = refusedWith(true);
    const refused = await capture(id);
    assert.deepEqual([refused.body.status, refused.body.capture_before], ['voided', null], refused.text);
    assert.deepEqual(statusesOf(refused.body), [
      ['auth', 'voided'],
      ['sale', 'failed'],
    ]);
    assert.deepEqual(await eventTypes(service, id), ['order.created', 'order.authorized', 'order.voided']);
  });

  it('needs orders:write', async () => {
    const { id } = await authorized();
    const key = await service.createKey(service.company, { permissions: ['orders:read'] });
    for (const action of ['capture', 'void']) {
      const reply = await service.call('POST', `/v1/orders/${id}/${action}`, { key });
      assertRefused(reply, 403, 'insufficient_permissions');
    }
  });

  it('is disputed after the capture and not before, with the test card for that', async () => {
    const disputing = await openShop(service, '4000000000000259');
    const { id } = await authorized(disputing);
    assert.equal(await countOf(service, 'scheduled_chargebacks', 'order_id = $1', [id]), 0);
    assert.equal((await capture(id, 500)).body.status, 'succeeded');
    assert.equal(await countOf(service, 'scheduled_chargebacks', 'order_id = $1', [id]), 1);
  });
});

describe('POST /v1/orders/{id}/void', () => {
  it('releases what is held: the customer pays nothing', async () => {
    const { id } = await authorized();
    const reply = await voidIt(id);
    assert.equal(reply.status, 200, reply.text);
    assert.partialDeepStrictEqual(reply.body, { status: 'voided', capture_before: null, captured_amount: 0 });
    assert.deepEqual(statusesOf(reply.body), [['auth', 'voided']]);
    assert.deepEqual(await eventTypes(service, id), ['order.created', 'order.authorized', 'order.voided']);
    assertRefused(await capture(id), 422, 'invalid_state_transition');
    assertRefused(await voidIt(id), 422, 'invalid_state_transition');
  });

  it('cancels a charge that has not settled, and a captured one', async () => {
    const charged = await order(service, shop);
    assert.equal((await voidIt(charged.body.id)).body.status, 'voided');
    const { id } = await authorized();
    await capture(id, 100);
    const reply = await voidIt(id);
    assert.deepEqual([reply.body.status, reply.body.captured_amount], ['voided', 0], reply.text);
  });

  it('finds out after a lost answer', async () => {
    const { id } = await authorized();
    faults.void = unknownOutcome;
    const idempotencyKey = randomUUID();
    assertRefused(await voidIt(id, { idempotencyKey }), 502, 'gateway_error');
    assertRefused(await capture(id), 409, 'resource_in_use');
    assert.equal((await voidIt(id, { idempotencyKey })).body.status, 'voided');
  });
});

describe('an authorization that is not captured in time', () => {
  it('is released by the worker, and only then voided', async () => {
    const { id } = await authorized();
    await passEnd(id);
    assertRefused(await capture(id), 422, 'invalid_state_transition');
    assert.equal((await readOrder(service, id)).status, 'pending');
    await service.orders.releaseEnded(100);
    const { status, request_id, transactions } = await readOrder(service, id);
    assert.deepEqual([status, statusesOf({ transactions })], ['voided', [['auth', 'voided']]]);
    assert.ok(request_id);
    assert.deepEqual(await eventTypes(service, id), ['order.created', 'order.authorized', 'order.voided']);
  });

  it('stays as it is while the processor does not answer, and is released once', async () => {
    const { id } = await authorized();
    await passEnd(id);
    faults.void = async () => ({ outcome: 'not_sent', reason: 'no connection' });
    await service.orders.releaseEnded(100);
    assert.equal((await readOrder(service, id)).status, 'pending');
    delete faults.void;
    await Promise.all(Array.from({ length: 4 }, () => service.orders.releaseEnded(100)));
    assert.equal((await readOrder(service, id)).status, 'voided');
    assert.equal(await countOf(service, 'voids', 'order_id = $1', [id]), 1);
  });

  it('is not asked for again at once if the processor refused to release it', async () => {
    const { id } = await authorized();
    await passEnd(id);
    let asked = 0;
    faults.void = async () => {
      asked += 1;
      return { outcome: 'declined', response, failureCode: 'duplicate_transaction', failureReason: 'No.' };
    };
    for (let round = 0; round < 3; round += 1) await service.orders.releaseEnded(100);
    assert.deepEqual([asked, (await readOrder(service, id)).status], [1, 'pending']);
  });

  it('ends when the clock of a sandbox is advanced, in its place', async () => {
    const merchant = await service.createMerchant();
    const key = await service.createKey(merchant.sandbox);
    const own = await openShop(service, approvedCard, { key });
    const { id, capture_before } = await authorized(own, {}, { key });
    const advanced = await service.call('POST', '/v1/sandbox/clock/advance', { body: { by: { days: 8 } }, key });
    assert.equal(advanced.status, 200, advanced.text);
    const ended = advanced.body.happened.find(({ type }: Record<string, string>) => type === 'order.voided');
    assert.deepEqual([ended?.object_id, ended?.at], [id, capture_before]);
    assertRefused(await capture(id, undefined, { key }), 422, 'invalid_state_transition');
  });
});

const response = {
  transaction_id: null,
  authorization_code: null,
  avs_result: null,
  cvv_result: null,
  response_code: null,
  response_text: null,
};

describe('a coupon on an authorized order', () => {
  const coupon = async (): Promise<string> => {
    const name = `ONCE${randomUUID().slice(0, 6).toUpperCase()}`;
    const body = { kind: 'promo', name, percentage: 10, duration: 'once', max_redemptions: 1 };
    const reply = await service.call('POST', '/v1/coupons', { body, idempotencyKey: randomUUID() });
    assert.equal(reply.status, 201, reply.text);
    return name;
  };

  it('is reserved at the authorization and counts at the capture', async () => {
    const coupon_code = await coupon();
    const { id } = await authorized(shop, { coupon_code });
    assert.equal((await order(service, shop, { coupon_code })).status, 400, 'none is left');
    assert.equal(await countOf(service, 'coupons', 'name = $1 AND total_redemptions = 0', [coupon_code]), 1);
    assert.equal((await capture(id)).body.status, 'succeeded');
    assert.equal(await countOf(service, 'coupons', 'name = $1 AND total_redemptions = 1', [coupon_code]), 1);
  });

  it('is given back if nothing is captured', async () => {
    const coupon_code = await coupon();
    const { id } = await authorized(shop, { coupon_code });
    assert.equal((await voidIt(id)).body.status, 'voided');
    assert.equal((await order(service, shop, { coupon_code })).body.status, 'succeeded');
  });
});

describe('what merchants and customers read', () => {
  it('names authorizations that end within a day', async () => {
    const merchant = await service.createMerchant();
    const key = await service.createKey(merchant.sandbox);
    const own = await openShop(service, approvedCard, { key });
    const { id } = await authorized(own, {}, { key });
    const kinds = async (): Promise<unknown[]> => {
      const context = contextOf(service, merchant.sandbox);
      const { data } = await getAttention(context, () => []);
      return data.filter(({ kind }) => kind === 'authorizations_ending').map(({ object_id }) => object_id);
    };
    assert.deepEqual(await kinds(), []);
    await service.db.query(`UPDATE orders SET capture_before = now() + interval '23 hours' WHERE id = $1`, [id]);
    assert.deepEqual(await kinds(), [id]);
  });

  it('counts what was captured, and no authorization, as revenue', async () => {
    const { id, customer_id } = await authorized();
    const gross = async (): Promise<number> => {
      const [row] = await service.db.query<{ gross: number }>(
        `SELECT coalesce((figures_between(company_id, now() - interval '1 day', now() + interval '1 day')->'usd'->>'gross')::bigint, 0)
           AS gross FROM orders WHERE id = $1`,
        [id],
      );
      return row?.gross ?? 0;
    };
    const before = await gross();
    assert.ok(customer_id);
    await capture(id, 1234);
    assert.equal((await gross()) - before, 1234);
  });

  it('are in the list of pending orders while their funds are held', async () => {
    const { id } = await authorized();
    const pending = async (): Promise<boolean> =>
      (await service.call('GET', '/v1/orders?status=pending&limit=100')).body.data.some(
        (one: { id: string }) => one.id === id,
      );
    assert.ok(await pending());
    await capture(id);
    assert.ok(!(await pending()));
  });

  it('are found by a filter of their own, in the order of ids and of totals, by their index', async () => {
    const merchant = await service.createMerchant();
    const key = await service.createKey(merchant.sandbox);
    const own = await openShop(service, approvedCard, { key });
    const held = [await authorized(own, {}, { key }), await authorized(own, {}, { key })].map(({ id }) => id);
    const plain = (await order(service, own, {}, { key })).body.id;
    const found = async (query: string): Promise<string[]> => {
      const reply = await service.call('GET', `/v1/orders?${query}`, { key });
      assert.equal(reply.status, 200, reply.text);
      return reply.body.data.map(({ id }: { id: string }) => id);
    };
    for (const sort of ['created_at', 'total']) {
      assert.deepEqual(await found(`authorized=true&sort=${sort}`), held);
      assert.deepEqual(await found(`authorized=false&sort=${sort}`), [plain]);
      assert.deepEqual(await found(`authorized=true&status=succeeded&sort=${sort}`), []);
      assert.deepEqual(await found(`authorized=true&customer_id=${own.customerId}&sort=${sort}`), held);
    }
    const page = { limit: 10, sort: { field: 'created_at', descending: true }, cursor: null };
    const plan = await planOf(service.db, async (db) => {
      await listOrders({ ...contextOf(service, merchant.sandbox), db: db as Database }, { authorized: true }, page);
    });
    assert.match(plan, /orders_held_by_id/, plan);
  });
});

describe('the rules of the database', () => {
  it('allow one capture of an order, and no more than was authorized', async () => {
    const { id } = await authorized();
    await capture(id, 1000);
    const again = service.db.query(
      `INSERT INTO transactions (company_id, id, order_id, customer_id, payment_method_id, type, status, amount, currency,
         card_brand, card_last4, updated_at)
       SELECT company_id, uuidv7(), order_id, customer_id, payment_method_id, type, status, amount, currency,
         card_brand, card_last4, updated_at FROM transactions WHERE order_id = $1 AND type = 'sale'`,
      [id],
    );
    await assert.rejects(again, /transactions_one_successful_sale/);
    const more = (columns: string) => service.db.query(`UPDATE orders SET ${columns} WHERE id = $1`, [id]);
    await assert.rejects(more('captured_amount = authorized_amount + 1'), /orders_captured_at_most_authorized/);
    await assert.rejects(more('refunded_amount = captured_amount + 1'), /orders_refunded_at_most_captured/);
    await assert.rejects(more('capture_before = now()'), /orders_held_while_pending/);
  });
});
