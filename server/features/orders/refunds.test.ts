import { openConnections } from '../processors/connections.ts';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import {
  approvedOutcome,
  declinedOutcome,
  unknownOutcome,
  useFaultyService,
} from '../../../tests/support/faulty-service.ts';
import {
  assertInvalid,
  assertRefused,
  checkAllOpen,
  contextOf,
  countOf,
  eventsOf,
  eventTypes,
  openShop,
  readOrder,
  refund,
  retry,
  type Shop,
  succeeded,
  until,
} from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import { subscriptionBilling } from '../subscriptions/service.ts';
import { findOpenOf } from './operations/open-queries.ts';
import { findOrder } from './queries.ts';
import { applyAnswer } from './recovery/apply-answer.ts';
import { openOrders } from './service.ts';

let service: TestService;
let shop: Shop;
const faults = useFaultyService(async (started) => {
  service = started;
  shop = await openShop(service);
});

const total = 4900;
const refundsOf = (order: Reply['body']): Record<string, any>[] =>
  order.transactions.filter(({ type }: { type: string }) => type === 'refund');
const statusesOf = (order: Reply['body']): [string, string][] =>
  order.transactions.map(({ type, status }: Record<string, string>) => [type, status]);

describe('POST /v1/orders/{id}/refund', () => {
  it('succeeded, amount omitted: refunded at once, the transaction in_progress until it settles', async () => {
    const { id } = await succeeded(service, shop);
    const reply = await refund(service, id);
    assert.equal(reply.status, 200, reply.text);
    assert.partialDeepStrictEqual(reply.body, { id, status: 'refunded', refunded_amount: total, total });
    assert.deepEqual(statusesOf(reply.body), [
      ['sale', 'succeeded'],
      ['refund', 'in_progress'],
    ]);
    const [open] = refundsOf(reply.body);
    assert.deepEqual([open?.amount, open?.currency], [total, 'usd']);
    assert.equal(typeof open?.processor_transaction_id, 'string');
    assert.deepEqual(await eventTypes(service, id), ['order.created', 'order.succeeded']);
    await checkAllOpen(service);
    const settled = await readOrder(service, id);
    assert.deepEqual(statusesOf(settled), [
      ['sale', 'succeeded'],
      ['refund', 'succeeded'],
    ]);
    assert.deepEqual(await eventTypes(service, id), ['order.created', 'order.succeeded', 'order.refunded']);
    assert.deepEqual((await eventsOf(service, id)).at(-1)?.object, settled);
  });

  it('refunds the whole if the body is missing, is empty or has the total', async () => {
    for (const body of [undefined, {}, { amount: total }]) {
      const { id } = await succeeded(service, shop);
      const reply = await service.call('POST', `/v1/orders/${id}/refund`, { body });
      assert.deepEqual([reply.status, reply.body.status], [200, 'refunded'], reply.text);
    }
  });

  it('succeeded, amount smaller than what is left: partially_refunded', async () => {
    const { id } = await succeeded(service, shop);
    const reply = await refund(service, id, 1000);
    assert.partialDeepStrictEqual(reply.body, { status: 'partially_refunded', refunded_amount: 1000 });
    await checkAllOpen(service);
    assert.deepEqual((await eventTypes(service, id)).at(-1), 'order.partially_refunded');
    assert.equal((await readOrder(service, id)).status, 'partially_refunded');
  });

  it('partially_refunded: the same rules on what is left', async () => {
    const { id } = await succeeded(service, shop);
    await refund(service, id, 1000);
    await checkAllOpen(service);
    const second = await refund(service, id, 900);
    assert.partialDeepStrictEqual(second.body, { status: 'partially_refunded', refunded_amount: 1900 });
    assertInvalid(await refund(service, id, 3001), 'amount');
    const rest = await refund(service, id, 3000);
    assert.partialDeepStrictEqual(rest.body, { status: 'refunded', refunded_amount: total });
    assert.equal(refundsOf(rest.body).length, 3);
    await checkAllOpen(service);
    await checkAllOpen(service);
    assert.deepEqual((await eventTypes(service, id)).slice(2).toSorted(), [
      'order.partially_refunded',
      'order.partially_refunded',
      'order.refunded',
    ]);
    assert.equal((await eventTypes(service, id)).at(-1), 'order.refunded');
  });

  it('partially_refunded, amount omitted: the whole rest', async () => {
    const { id } = await succeeded(service, shop);
    await refund(service, id, 1);
    const rest = await refund(service, id);
    assert.equal(rest.body.status, 'refunded');
    assert.deepEqual(
      refundsOf(rest.body).map(({ amount }) => amount),
      [1, 4899],
    );
  });

  it('does not wait for an accepted refund to settle before it takes the next', async () => {
    const { id } = await succeeded(service, shop);
    for (const amount of [100, 200, 300]) assert.equal((await refund(service, id, amount)).status, 200);
    // Not by reading the order: that would have them looked at.
    assert.equal(await countOf(service, 'open_transactions', 'order_id = $1', [id]), 3);
    assert.equal((await readOrder(service, id)).refunded_amount, 600);
  });

  it('declined by a notice that was read before the acceptance: nothing is refunded', async () => {
    const { id } = await succeeded(service, shop);
    assert.equal((await refund(service, id, 700)).body.refunded_amount, 700);
    const { charging } = service.orders;
    const [open] = await findOpenOf(service.db, service.company.id, id);
    const state = await findOrder(service.db, service.company.id, id);
    assert.ok(open?.state === 'accepted' && state);
    const declined = await declinedOutcome();
    await applyAnswer(charging, state, { open: { ...open, state: 'in_doubt' }, found: declined, isNotice: true });
    const { status, refunded_amount } = await readOrder(service, id);
    assert.deepEqual([status, refunded_amount], ['refund_failed', 0]);
  });

  it('answers with the refund in_progress, however fast it settles', async () => {
    const jobs = async <Result>(result: Result): Promise<Result> => {
      await service.orders.reconcileDue(100);
      return result;
    };
    const { db, vault, clock } = service;
    const overtaken = openOrders({
      billing: subscriptionBilling,
      connections: openConnections(async () => db),
      confirmationUrl: () => '',
      db: { ...db, transaction: async (work) => jobs(await db.transaction(work)) },
      batchDb: db,
      vault,
      clock,
      log: silentLog,
    });
    const { id } = await succeeded(service, shop);
    const { body } = await overtaken.refund(
      contextOf(service),
      id,
      {},
      {
        key: undefined,
        answer: (result) => ({ status: 200, body: JSON.stringify(result), apiVersion: '2026-02-11' }),
        refusal: () => undefined,
      },
    );
    const answered = JSON.parse(body);
    assert.equal(refundsOf(await readOrder(service, id))[0]?.status, 'succeeded');
    assert.deepEqual([answered.status, refundsOf(answered)[0]?.status], ['refunded', 'in_progress']);
    assert.equal(typeof refundsOf(answered)[0]?.processor_transaction_id, 'string');
  });

  it('refuses more than what is left: 400 validation_error, invalid_value on amount', async () => {
    const { id } = await succeeded(service, shop);
    assertInvalid(await refund(service, id, total + 1), 'amount');
    assertInvalid(await refund(service, id, 1_000_000_000_001), 'amount');
    for (const amount of [0, -1, 1.5]) {
      assertRefused(await refund(service, id, amount), 400, 'validation_error', 'amount');
    }
    const text = await service.call('POST', `/v1/orders/${id}/refund`, { body: { amount: '100' } });
    assertRefused(text, 400, 'validation_error', 'amount');
    const unknown = await service.call('POST', `/v1/orders/${id}/refund`, { body: { amount: 1, reason: 'x' } });
    assertRefused(unknown, 400, 'validation_error', 'reason');
    assert.equal((await readOrder(service, id)).refunded_amount, 0);
    assert.equal(await countOf(service, 'open_transactions', 'order_id = $1', [id]), 0);
  });

  it('refuses an order that is not refundable: 422, and 400 before 2026-02-11', async () => {
    const declined = await openShop(service, '4000000000000002');
    const reply = await service.call('POST', '/v1/orders', {
      body: { customer_id: declined.customerId, items: [{ product_id: declined.productId, quantity: 1 }] },
      idempotencyKey: randomUUID(),
    });
    const { id } = reply.body;
    assertRefused(await refund(service, id), 422, 'invalid_state_transition');
    const headers = { 'svc-version': '2025-11-04' };
    assertRefused(await refund(service, id, undefined, { headers }), 400, 'invalid_state_transition');
    const paid = await succeeded(service, shop);
    const old = await refund(service, paid.id, 100, { headers });
    assert.equal(old.body.data.status, 'partially_refunded');
    assertRefused(await refund(service, paid.id, 9999, { headers }), 400, 'validation_error', 'amount');
    await refund(service, paid.id);
    assertRefused(await refund(service, paid.id), 422, 'invalid_state_transition');
  });

  it('refunds a deleted customer and a deleted card', async () => {
    const own = await openShop(service);
    const { id } = await succeeded(service, own);
    await service.call('DELETE', `/v1/customers/${own.customerId}`);
    assert.equal((await refund(service, id)).body.status, 'refunded');
    await checkAllOpen(service);
    assert.equal(refundsOf(await readOrder(service, id))[0]?.status, 'succeeded');
  });

  it('of 30 at once never refund more than was paid', async () => {
    const second = await startTestService({ database: service.database, vault: service.vault });
    try {
      const { id } = await succeeded(service, shop);
      const amounts = Array.from({ length: 30 }, (_, index) => (index === 17 ? undefined : 500));
      const replies = await Promise.all(
        amounts.map((amount, index) => refund(index % 2 ? service : second, id, amount, { key: service.key })),
      );
      const expected = new Set(['200', '409 resource_in_use', '400 validation_error', '422 invalid_state_transition']);
      for (const { status, body, text } of replies) {
        assert.ok(expected.has(status === 200 ? '200' : `${status} ${body.error.code}`), text);
      }
      let order = await readOrder(service, id);
      while (order.status === 'partially_refunded' && order.refunded_amount + 500 <= total) {
        await Promise.all(Array.from({ length: 10 }, () => refund(service, id, 500)));
        order = await readOrder(service, id);
      }
      const sum = refundsOf(order).reduce((all, { amount }) => all + amount, 0);
      assert.ok(sum <= total, `${sum} was given back`);
      assert.equal(order.refunded_amount, sum);
      // Reading the order has started to reconcile them, too, and one of two at a time is put off.
      await until('no refund is open', async () => {
        await checkAllOpen(service);
        return refundsOf(await readOrder(service, id)).every(({ status }) => status !== 'in_progress');
      });
      const settled = await readOrder(service, id);
      assert.equal(
        refundsOf(settled)
          .filter(({ status }) => status === 'succeeded')
          .reduce((all, { amount }) => all + amount, 0),
        settled.refunded_amount,
      );
      await eventTypes(service, id);
    } finally {
      await second.stop();
    }
  });

  it('refuses another refund while it is unknown whether the first was accepted: 409 with Retry-After, not kept', async () => {
    const { id } = await succeeded(service, shop);
    const gate = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    faults.refund = async () => {
      entered.resolve();
      await gate.promise;
      return approvedOutcome();
    };
    const first = refund(service, id, 100);
    await entered.promise;
    const idempotencyKey = randomUUID();
    const second = await refund(service, id, 100, { idempotencyKey });
    assertRefused(second, 409, 'resource_in_use');
    assert.ok(second.headers.get('retry-after'));
    gate.resolve();
    assert.equal((await first).status, 200);
    const later = await refund(service, id, 100, { idempotencyKey });
    assert.deepEqual([later.status, later.body.refunded_amount], [200, 200], later.text);
  });
});

describe('a refund that the processor rejects', () => {
  it('refund requested: refund_failed, the amount goes back, order.refund_failed', async () => {
    const own = await openShop(service, '4000009999005126');
    const { id } = await succeeded(service, own);
    assert.partialDeepStrictEqual((await refund(service, id)).body, { status: 'refunded', refunded_amount: total });
    await checkAllOpen(service);
    const rejected = await readOrder(service, id);
    assert.partialDeepStrictEqual(rejected, { status: 'refund_failed', refunded_amount: 0, failure_code: null });
    const [failed] = refundsOf(rejected);
    assert.deepEqual([failed?.status, failed?.failure_code], ['failed', 'processor_declined']);
    assert.equal(typeof failed?.failure_reason, 'string');
    assert.equal((await eventTypes(service, id)).at(-1), 'order.refund_failed');
    assertRefused(await refund(service, id), 422, 'invalid_state_transition');
  });

  it('rejected at once is refund_failed in the answer itself', async () => {
    const { id } = await succeeded(service, shop);
    faults.refund = declinedOutcome;
    const reply = await refund(service, id, 100);
    assert.equal(reply.status, 200, reply.text);
    assert.partialDeepStrictEqual(reply.body, { status: 'refund_failed', refunded_amount: 0 });
    assert.deepEqual((await eventTypes(service, id)).at(-1), 'order.refund_failed');
  });

  it('leaves the other refunds of the order as they are', async () => {
    const { id } = await succeeded(service, shop);
    await refund(service, id, 1000);
    await checkAllOpen(service);
    await refund(service, id, 500);
    faults.lookup = declinedOutcome;
    await checkAllOpen(service);
    const order = await readOrder(service, id);
    assert.partialDeepStrictEqual(order, { status: 'refund_failed', refunded_amount: 1000 });
    assert.deepEqual(
      refundsOf(order).map(({ status }) => status),
      ['succeeded', 'failed'],
    );
    delete faults.lookup;
    const again = await retry(service, id);
    assert.partialDeepStrictEqual(again.body, { status: 'partially_refunded', refunded_amount: 1500 });
  });
});

describe('a refund in doubt', () => {
  it('is 502; the order stays as it was, no other operation can start, and the repeated key records the outcome', async () => {
    const { id } = await succeeded(service, shop);
    faults.refund = unknownOutcome;
    faults.lookup = unknownOutcome;
    const idempotencyKey = randomUUID();
    const lost = await refund(service, id, 1000, { idempotencyKey });
    assertRefused(lost, 502, 'gateway_error');
    assert.equal(lost.body.error.type, 'processing_error');
    const order = await readOrder(service, id);
    assert.partialDeepStrictEqual(order, { status: 'succeeded', refunded_amount: 0 });
    assert.equal(refundsOf(order)[0]?.status, 'in_progress');
    assertRefused(await refund(service, id, 1000), 409, 'resource_in_use');
    assertRefused(await retry(service, id), 400, 'invalid_state_transition');
    assertRefused(await refund(service, id, 1000, { idempotencyKey }), 502, 'gateway_error');
    const other = await refund(service, id, 2000, { idempotencyKey });
    assertRefused(other, 422, 'idempotency_key_conflict');
    faults.lookup = approvedOutcome;
    const known = await refund(service, id, 1000, { idempotencyKey });
    assert.equal(known.status, 200, known.text);
    assert.partialDeepStrictEqual(known.body, { status: 'partially_refunded', refunded_amount: 1000 });
    assert.equal(refundsOf(known.body).length, 1);
    const replayed = await refund(service, id, 1000, { idempotencyKey });
    assert.deepEqual([replayed.status, replayed.text], [200, known.text]);
    assert.equal(replayed.headers.get('svc-idempotent-replayed'), 'true');
  });

  it('that never arrived still works as a pagination cursor', async () => {
    const { id } = await succeeded(service, shop);
    faults.refund = unknownOutcome;
    faults.lookup = unknownOutcome;
    await refund(service, id, 1000);
    const [open] = refundsOf(await readOrder(service, id));
    const pages = ['sort=amount', 'sort=-amount', 'sort=created_at'].map(
      (sort) => `/v1/transactions?order_id=${id}&${sort}&starting_after=${open?.id}`,
    );
    const before = await Promise.all(pages.map((page) => service.call('GET', page)));
    faults.lookup = async () => ({ outcome: 'not_found' });
    await checkAllOpen(service);
    assert.deepEqual(refundsOf(await readOrder(service, id)), []);
    for (const [index, page] of pages.entries()) {
      const reply = await service.call('GET', page);
      assert.equal(reply.status, 200, reply.text);
      assert.deepEqual(reply.body.data, before[index]?.body.data);
    }
  });

  it('that never arrived is made once by 20 repetitions of its key at once', async () => {
    for (let round = 0; round < 8; round += 1) {
      const { id } = await succeeded(service, shop);
      faults.refund = async () => ({ outcome: 'not_sent', reason: 'down' });
      const idempotencyKey = randomUUID();
      assertRefused(await refund(service, id, 100, { idempotencyKey }), 502, 'gateway_error');
      delete faults.refund;
      const replies = await Promise.all(Array.from({ length: 20 }, () => refund(service, id, 100, { idempotencyKey })));
      for (const reply of replies) {
        assert.ok(reply.status === 200 || reply.status === 409, `${reply.status} ${reply.text}`);
      }
      assert.equal((await readOrder(service, id)).refunded_amount, 100, 'one key, one refund');
    }
  });
});

describe('the idempotency key of a refund', () => {
  it('is optional, replays byte for byte after the refund settled, and conflicts on another amount', async () => {
    const { id } = await succeeded(service, shop);
    const idempotencyKey = randomUUID();
    const first = await refund(service, id, 1000, { idempotencyKey });
    await checkAllOpen(service);
    await refund(service, id);
    const again = await refund(service, id, 1000, { idempotencyKey });
    assert.deepEqual([again.status, again.text], [200, first.text]);
    assert.equal(again.headers.get('svc-idempotent-replayed'), 'true');
    const other = await refund(service, id, 1001, { idempotencyKey });
    assertRefused(other, 422, 'idempotency_key_conflict');
    assert.match(other.body.error.message, /amount/);
    const without = await refund(service, id, undefined, { idempotencyKey });
    assertRefused(without, 422, 'idempotency_key_conflict');
    assert.equal(refundsOf(await readOrder(service, id)).length, 2);
  });

  it('keeps a refusal by the rules, in the version of the first request', async () => {
    const { id } = await succeeded(service, shop);
    const idempotencyKey = randomUUID();
    const over = await refund(service, id, total + 1, { idempotencyKey });
    assertInvalid(over, 'amount');
    assert.equal((await refund(service, id, total + 1, { idempotencyKey })).text, over.text);
    await refund(service, id);
    const [key, headers] = [randomUUID(), { 'svc-version': '2025-11-04' }];
    const old = await refund(service, id, 1, { idempotencyKey: key, headers });
    assertRefused(old, 400, 'invalid_state_transition');
    const replayed = await refund(service, id, 1, { idempotencyKey: key, headers });
    assert.deepEqual([replayed.status, replayed.text], [400, old.text]);
    const missing = randomUUID();
    const gone = await refund(service, missing, 1, { idempotencyKey: missing });
    assertRefused(gone, 404, 'resource_not_found');
    assert.equal((await refund(service, missing, 1, { idempotencyKey: missing })).text, gone.text);
  });

  it('of 30 at once makes one refund', async () => {
    const { id } = await succeeded(service, shop);
    const idempotencyKey = randomUUID();
    const replies = await Promise.all(Array.from({ length: 30 }, () => refund(service, id, 100, { idempotencyKey })));
    const made = replies.filter(({ status }) => status === 200);
    assert.ok(made.length > 0);
    for (const reply of replies) if (reply.status !== 200) assertRefused(reply, 409, 'request_in_progress');
    assert.equal((await readOrder(service, id)).refunded_amount, 100);
    const settled = await refund(service, id, 100, { idempotencyKey });
    assert.equal(settled.status, 200, settled.text);
  });
});
