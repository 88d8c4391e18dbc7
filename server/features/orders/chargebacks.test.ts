import { openConnections } from '../processors/connections.ts';
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  approvedOutcome,
  declinedOutcome,
  unknownOutcome,
  useFaultyService,
} from '../../../tests/support/faulty-service.ts';
import {
  assertRefused,
  checkAllOpen,
  countOf,
  eventsOf,
  eventTypes,
  openShop,
  readOrder,
  refund,
  retry,
  type Shop,
  succeeded,
  voidOrder,
} from '../../../tests/support/orders.ts';
import type { CallOptions, Reply, TestService } from '../../../tests/support/service.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import { subscriptionBilling } from '../subscriptions/service.ts';
import { openOrders } from './service.ts';

let service: TestService;
let shop: Shop;
const faults = useFaultyService(async (started) => {
  service = started;
  shop = await openShop(service);
});

const dispute = (id: string, options: CallOptions = {}): Promise<Reply> =>
  service.call('POST', `/v1/sandbox/orders/${id}/chargeback`, options);
const resolve = (id: string, outcome: unknown, options: CallOptions = {}): Promise<Reply> =>
  service.call('POST', `/v1/sandbox/orders/${id}/chargeback/resolve`, { body: { outcome }, ...options });
const saleOf = (body: Reply['body']): Record<string, any> =>
  body.transactions.find(({ type }: { type: string }) => type === 'sale');
const allDue = (): Promise<unknown> =>
  service.db.query(`UPDATE scheduled_chargebacks SET due_at = now() - interval '1 second'`);

describe('an order whose refund failed', () => {
  it('can be disputed, since the money was not returned', async () => {
    const own = await openShop(service, '4000009999005126');
    const { id } = await succeeded(service, own);
    await refund(service, id, 1000);
    await checkAllOpen(service);
    assert.equal((await readOrder(service, id)).status, 'refund_failed');
    const { status, body } = await dispute(id);
    assert.deepEqual([status, body.status, body.refunded_amount], [200, 'chargeback', 0]);
    assert.equal((await resolve(id, 'dismissed')).body.status, 'chargeback_dismissed');
  });
});

describe('the card 0259', () => {
  it('is charged, and disputed about a second later, not before', async () => {
    const own = await openShop(service, '4000000000000259');
    const paid = await succeeded(service, own);
    assert.equal(await service.orders.raiseDueChargebacks(100), 0);
    const [planned] = await service.db.query<{ due_at: Date }>(
      'SELECT due_at FROM scheduled_chargebacks WHERE order_id = $1',
      [paid.id],
    );
    const delayMs = (planned?.due_at.getTime() ?? 0) - Date.parse(paid.created_at);
    assert.ok(delayMs >= 1000 && delayMs < 2000, `${delayMs} ms`);
    await allDue();
    assert.equal(await service.orders.raiseDueChargebacks(100), 1);
    const disputed = await readOrder(service, paid.id);
    assert.deepEqual([disputed.status, saleOf(disputed).status], ['chargeback', 'chargeback']);
    assert.deepEqual(await eventTypes(service, paid.id), ['order.created', 'order.succeeded', 'order.chargeback']);
    assert.deepEqual((await eventsOf(service, paid.id)).at(-1)?.object, disputed);
    assert.equal(await service.orders.raiseDueChargebacks(100), 0);
  });

  it('is disputed by the clock of the company: an advance of it brings the chargeback', async () => {
    const merchant = await service.createMerchant();
    const options = { key: merchant.key };
    const own = await openShop(service, '5100000000000259', options);
    const { id } = await succeeded(service, own, options);
    await service.db.query('UPDATE companies SET clock_offset_ms = 3600000 WHERE id = $1', [merchant.sandbox.id]);
    assert.equal(await service.orders.raiseDueChargebacks(100), 1);
    assert.equal((await readOrder(service, id, options)).status, 'chargeback');
  });

  it('refunded in full in the meantime: the chargeback is ignored', async () => {
    const own = await openShop(service, '4000000000000259');
    const { id } = await succeeded(service, own);
    await refund(service, id);
    await allDue();
    await service.orders.raiseDueChargebacks(100);
    const order = await readOrder(service, id);
    assert.deepEqual([order.status, saleOf(order).status], ['refunded', 'succeeded']);
    assert.equal(await countOf(service, 'scheduled_chargebacks', 'order_id = $1', [id]), 0);
    assert.equal((await eventTypes(service, id)).includes('order.chargeback'), false);
  });

  it('refunded in part in the meantime: the rest is disputed', async () => {
    const own = await openShop(service, '4000000000000259');
    const { id } = await succeeded(service, own);
    await refund(service, id, 1000);
    await checkAllOpen(service);
    await allDue();
    await service.orders.raiseDueChargebacks(100);
    assert.partialDeepStrictEqual(await readOrder(service, id), { status: 'chargeback', refunded_amount: 1000 });
  });

  it('many due at once are each raised once by several workers', async () => {
    const own = await openShop(service, '4000000000000259');
    const ids = await Promise.all(Array.from({ length: 12 }, async () => (await succeeded(service, own)).id));
    await allDue();
    const raised = await Promise.all(Array.from({ length: 4 }, () => service.orders.raiseDueChargebacks(5)));
    assert.equal(
      raised.reduce((sum, count) => sum + count, 0),
      12,
    );
    for (const id of ids) assert.equal((await eventTypes(service, id)).at(-1), 'order.chargeback');
  });
});

describe('a chargeback that is due', () => {
  it('is not lost when the process dies before it is raised', async () => {
    const { id } = await succeeded(service, await openShop(service, '4000000000000259'));
    await allDue();
    const { db, vault, clock } = service;
    const dying = openOrders({
      billing: subscriptionBilling,
      connections: openConnections(async () => db),
      confirmationUrl: () => '',
      db: {
        ...db,
        transaction: (work) =>
          db.transaction(async (transaction) => {
            await work(transaction);
            throw new Error('killed');
          }),
      },
      batchDb: db,
      vault,
      clock,
      log: silentLog,
    });
    await assert.rejects(dying.raiseDueChargebacks(100), /killed/);
    assert.equal(await service.orders.raiseDueChargebacks(100), 1);
    assert.equal((await readOrder(service, id)).status, 'chargeback');
  });
});

describe('POST /v1/sandbox/orders/{id}/chargeback', () => {
  it('succeeded → chargeback', async () => {
    const { id } = await succeeded(service, shop);
    const reply = await dispute(id);
    assert.deepEqual([reply.status, reply.body.status], [200, 'chargeback'], reply.text);
    assert.equal(saleOf(reply.body).status, 'chargeback');
    assert.deepEqual(await readOrder(service, id), reply.body);
    const sale = await service.call('GET', `/v1/transactions/${saleOf(reply.body).id}`);
    assert.equal(sale.body.status, 'chargeback');
    assert.equal((await eventTypes(service, id)).at(-1), 'order.chargeback');
  });

  it('partially_refunded → chargeback, and what was refunded stays refunded', async () => {
    const { id } = await succeeded(service, shop);
    await refund(service, id, 1000);
    await checkAllOpen(service);
    const reply = await dispute(id);
    assert.partialDeepStrictEqual(reply.body, { status: 'chargeback', refunded_amount: 1000 });
  });

  it('of 10 at once raises one', async () => {
    const { id } = await succeeded(service, shop);
    const replies = await Promise.all(Array.from({ length: 10 }, () => dispute(id)));
    assert.equal(replies.filter(({ status }) => status === 200).length, 1);
    assert.deepEqual((await eventTypes(service, id)).slice(2), ['order.chargeback']);
  });
});

describe('POST /v1/sandbox/orders/{id}/chargeback/resolve', () => {
  for (const outcome of ['accepted', 'dismissed']) {
    it(`chargeback → chargeback_${outcome}`, async () => {
      const { id } = await succeeded(service, shop);
      await dispute(id);
      const reply = await resolve(id, outcome);
      assert.deepEqual([reply.status, reply.body.status], [200, `chargeback_${outcome}`], reply.text);
      assert.equal((await eventTypes(service, id)).at(-1), `order.chargeback_${outcome}`);
    });
  }

  it('needs an outcome that there is', async () => {
    const { id } = await succeeded(service, shop);
    await dispute(id);
    for (const outcome of ['won', undefined, null]) {
      assertRefused(await resolve(id, outcome), 400, 'validation_error', 'outcome');
    }
  });
});

describe('a refund in progress when the chargeback arrives', () => {
  async function underWay(): Promise<string> {
    const { id } = await succeeded(service, shop);
    assert.equal((await refund(service, id, 1000)).status, 200);
    assert.equal((await dispute(id)).body.status, 'chargeback');
    return id;
  }
  const refundOf = (body: Reply['body']): Record<string, any> =>
    body.transactions.find(({ type }: { type: string }) => type === 'refund');

  it('that settles changes only its transaction', async () => {
    const id = await underWay();
    await checkAllOpen(service);
    const order = await readOrder(service, id);
    assert.partialDeepStrictEqual(order, { status: 'chargeback', refunded_amount: 1000 });
    assert.deepEqual([refundOf(order).status, saleOf(order).status], ['succeeded', 'chargeback']);
  });

  it('that is rejected restores the refundable amount and keeps the status', async () => {
    const id = await underWay();
    faults.lookup = declinedOutcome;
    await checkAllOpen(service);
    const order = await readOrder(service, id);
    assert.partialDeepStrictEqual(order, { status: 'chargeback', refunded_amount: 0 });
    assert.equal(refundOf(order).status, 'failed');
    assertRefused(await retry(service, id), 400, 'invalid_state_transition');
  });

  it('that was in doubt and turns out accepted counts, and leaves the status', async () => {
    const { id } = await succeeded(service, shop);
    faults.refund = unknownOutcome;
    assertRefused(await refund(service, id), 502, 'gateway_error');
    await dispute(id);
    faults.lookup = approvedOutcome;
    await checkAllOpen(service);
    assert.partialDeepStrictEqual(await readOrder(service, id), { status: 'chargeback', refunded_amount: 4900 });
    await checkAllOpen(service);
    await resolve(id, 'accepted');
    assert.equal((await readOrder(service, id)).status, 'chargeback_accepted');
  });
});

describe('voiding a charge that has not settled', () => {
  it('succeeded → voided, the sale voided, order.voided', async () => {
    const { id } = await succeeded(service, shop);
    const voided = await voidOrder(service, id);
    assert.equal(voided.status, 'voided');
    const order = await readOrder(service, id);
    assert.deepEqual(order, JSON.parse(JSON.stringify(voided)));
    assert.deepEqual([order.transactions.length, saleOf(order).status], [1, 'voided']);
    assert.deepEqual((await eventTypes(service, id)).slice(2), ['order.voided']);
    assert.equal(await countOf(service, 'open_transactions', 'order_id = $1', [id]), 0);
  });

  it('that the processor refuses changes nothing', async () => {
    const paid = await succeeded(service, shop);
    faults.void = declinedOutcome;
    await assert.rejects(voidOrder(service, paid.id), { code: 'invalid_state_transition' });
    faults.void = async () => ({ outcome: 'not_sent', reason: 'down' });
    await assert.rejects(voidOrder(service, paid.id), { code: 'gateway_error' });
    assert.deepEqual(await readOrder(service, paid.id), paid);
    assert.equal((await refund(service, paid.id)).body.status, 'refunded');
  });

  it('of a card that is to be disputed: the chargeback is ignored', async () => {
    const { id } = await succeeded(service, await openShop(service, '4000000000000259'));
    await voidOrder(service, id);
    await allDue();
    await service.orders.raiseDueChargebacks(100);
    assert.equal((await readOrder(service, id)).status, 'voided');
  });
});
