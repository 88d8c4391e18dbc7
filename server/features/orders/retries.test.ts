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
  assertRefused,
  capture,
  checkAllOpen,
  countOf,
  eventTypes,
  openShop,
  order,
  readOrder,
  refund,
  retry,
  type Shop,
  succeeded,
  until,
} from '../../../tests/support/orders.ts';
import type { CallOptions, Reply, TestService } from '../../../tests/support/service.ts';

let service: TestService;
const faults = useFaultyService((started) => {
  service = started;
});

const salesOf = (body: Reply['body']): string[] =>
  body.transactions
    .filter(({ type }: { type: string }) => type === 'sale')
    .map(({ status }: { status: string }) => status);

async function failed(shop?: Shop, options: CallOptions = {}): Promise<Reply['body']> {
  const reply = await order(service, shop ?? (await openShop(service, '4000000000000002', options)), {}, options);
  assert.deepEqual([reply.status, reply.body.status], [201, 'failed'], reply.text);
  return reply.body;
}

describe('POST /v1/orders/{id}/retry', () => {
  it('failed, charge succeeds: succeeded, with a new transaction and no failure (card 3220)', async () => {
    const shop = await openShop(service, '4000009999003220');
    const first = await failed(shop);
    assert.deepEqual([first.failure_code, first.attempt_count], ['do_not_honor', 1]);
    const reply = await retry(service, first.id);
    assert.equal(reply.status, 200, reply.text);
    assert.partialDeepStrictEqual(reply.body, {
      id: first.id,
      status: 'succeeded',
      attempt_count: 1,
      failure_code: null,
      failure_reason: null,
    });
    assert.deepEqual(salesOf(reply.body), ['failed', 'succeeded']);
    assert.deepEqual(await eventTypes(service, first.id), ['order.created', 'order.failed', 'order.succeeded']);
    assert.deepEqual(await readOrder(service, first.id), reply.body);
    assert.equal((await refund(service, first.id)).body.status, 'refunded');
  });

  it('failed, charge declines again: failed, a new failed transaction, attempt_count one more', async () => {
    const first = await failed();
    for (const attempt of [2, 3]) {
      const reply = await retry(service, first.id);
      assert.equal(reply.status, 200, reply.text);
      assert.partialDeepStrictEqual(reply.body, {
        status: 'failed',
        attempt_count: attempt,
        failure_code: 'processor_declined',
      });
      assert.deepEqual(
        salesOf(reply.body),
        Array.from({ length: attempt }, () => 'failed'),
      );
    }
    assert.deepEqual(await eventTypes(service, first.id), [
      'order.created',
      'order.failed',
      'order.failed',
      'order.failed',
    ]);
  });

  for (const [amount, status] of [
    [4900, 'refunded'],
    [1500, 'partially_refunded'],
  ] as const) {
    it(`refund_failed, refund of ${amount} of 4900 succeeds: ${status}, with the amount of the rejected refund`, async () => {
      const { id } = await succeeded(service, await openShop(service, '4000009999005126'));
      await refund(service, id, amount);
      await checkAllOpen(service);
      assert.partialDeepStrictEqual(await readOrder(service, id), { status: 'refund_failed', refunded_amount: 0 });
      const reply = await retry(service, id);
      assert.equal(reply.status, 200, reply.text);
      assert.partialDeepStrictEqual(reply.body, { status, refunded_amount: amount, attempt_count: 0 });
      assert.deepEqual(
        reply.body.transactions.map((one: Record<string, string>) => `${one.type} ${one.status}`),
        ['sale succeeded', 'refund failed', 'refund in_progress'],
      );
      await checkAllOpen(service);
      assert.equal((await readOrder(service, id)).transactions.at(-1).status, 'succeeded');
      assert.deepEqual((await eventTypes(service, id)).slice(2), ['order.refund_failed', `order.${status}`]);
    });
  }

  it('refund_failed, refund is rejected again: refund_failed still', async () => {
    const shop = await openShop(service);
    const { id } = await succeeded(service, shop);
    faults.refund = declinedOutcome;
    await refund(service, id, 100);
    const reply = await retry(service, id);
    assert.partialDeepStrictEqual(reply.body, { status: 'refund_failed', refunded_amount: 0 });
    assert.deepEqual((await eventTypes(service, id)).slice(2), ['order.refund_failed', 'order.refund_failed']);
  });

  it('charges the original card, also when the customer has another default by now', async () => {
    const shop = await openShop(service, '4000000000000002');
    const first = await failed(shop);
    const better = await capture(service, shop.customerId);
    const path = `/v1/customers/${shop.customerId}/payment_methods/${shop.paymentMethodId}`;
    const reply = await retry(service, first.id);
    assert.deepEqual([reply.body.status, reply.body.payment_method.id], ['failed', shop.paymentMethodId]);
    await service.call('DELETE', path, { body: { replacement_payment_method_id: better } });
    assertRefused(await retry(service, first.id), 400, 'invalid_request', 'payment_method_id');
  });

  it('takes no body: another card is refused', async () => {
    const { id } = await failed();
    const body = { payment_method_id: randomUUID() };
    assertRefused(await retry(service, id, { body }), 400, 'validation_error', 'payment_method_id');
    assert.equal((await retry(service, id, { body: {} })).status, 200);
  });

  it('refuses the order of a deleted customer', async () => {
    const shop = await openShop(service, '4000000000000002');
    const { id } = await failed(shop);
    await service.call('DELETE', `/v1/customers/${shop.customerId}`);
    assertRefused(await retry(service, id), 400, 'invalid_request', 'customer_id');
  });

  it('refuses any other status: 400 invalid_state_transition, in both versions', async () => {
    const shop = await openShop(service);
    const { id } = await succeeded(service, shop);
    assertRefused(await retry(service, id), 400, 'invalid_state_transition');
    const headers = { 'svc-version': '2025-11-04' };
    assertRefused(await retry(service, id, { headers }), 400, 'invalid_state_transition');
    await refund(service, id, 100);
    assertRefused(await retry(service, id), 400, 'invalid_state_transition');
    await refund(service, id);
    assertRefused(await retry(service, id), 400, 'invalid_state_transition');
  });

  it('wraps the order in data before 2026-02-11', async () => {
    const { id } = await failed();
    const reply = await retry(service, id, { headers: { 'svc-version': '2025-11-04' } });
    assert.deepEqual([reply.status, reply.body.data?.attempt_count], [200, 2], reply.text);
  });

  it('of 20 at once charges one after the other, never two at a time', async () => {
    const { id } = await failed();
    const gate = Promise.withResolvers<void>();
    let [running, most] = [0, 0];
    faults.charge = async () => {
      running += 1;
      most = Math.max(most, running);
      await gate.promise;
      running -= 1;
      return declinedOutcome();
    };
    const begun = Array.from({ length: 20 }, () => retry(service, id));
    await until('one is charging', async () => running === 1);
    const others = begun.map((reply) => reply.then(({ status }) => status));
    await until('nineteen are refused', async () => {
      const settled = await Promise.all(others.map((one) => Promise.race([one, Promise.resolve(0)])));
      return settled.filter((status) => status === 409).length === 19;
    });
    gate.resolve();
    const replies = await Promise.all(begun);
    for (const reply of replies) if (reply.status !== 200) assertRefused(reply, 409, 'resource_in_use');
    assert.equal(most, 1);
    assert.equal((await readOrder(service, id)).attempt_count, 2);
  });

  it('of 20 at once on a card that is good by now takes the money once', async () => {
    const shop = await openShop(service, '4000009999003220');
    const { id } = await failed(shop);
    const replies = await Promise.all(Array.from({ length: 20 }, () => retry(service, id)));
    assert.equal(replies.filter(({ status }) => status === 200).length, 1);
    for (const { status, body } of replies) {
      if (status !== 200) assert.match(`${status} ${body.error.code}`, /409 resource_in_use|400 invalid_state/);
    }
    assert.deepEqual(salesOf(await readOrder(service, id)), ['failed', 'succeeded']);
  });
});

describe('the idempotency key of a retry', () => {
  it('replays byte for byte, and refuses another order', async () => {
    const shop = await openShop(service, '4000009999003220');
    const { id } = await failed(shop);
    const idempotencyKey = randomUUID();
    const first = await retry(service, id, { idempotencyKey });
    assert.equal(first.body.status, 'succeeded');
    await refund(service, id);
    const again = await retry(service, id, { idempotencyKey });
    assert.deepEqual([again.status, again.text], [200, first.text]);
    assert.equal(again.headers.get('svc-idempotent-replayed'), 'true');
    const other = await failed();
    assertRefused(await retry(service, other.id, { idempotencyKey }), 422, 'idempotency_key_conflict');
  });

  it('keeps a declined retry and a refusal alike: a fresh key is a fresh attempt', async () => {
    const { id } = await failed();
    const idempotencyKey = randomUUID();
    for (let round = 0; round < 3; round += 1) {
      assert.equal((await retry(service, id, { idempotencyKey })).body.attempt_count, 2);
    }
    assert.equal((await retry(service, id, { idempotencyKey: randomUUID() })).body.attempt_count, 3);
    const paid = await succeeded(service, await openShop(service));
    const refused = await retry(service, paid.id, { idempotencyKey: paid.id });
    assertRefused(refused, 400, 'invalid_state_transition');
    assert.equal((await retry(service, paid.id, { idempotencyKey: paid.id })).text, refused.text);
  });

  it('of 20 at once charges once', async () => {
    const { id } = await failed();
    const idempotencyKey = randomUUID();
    const replies = await Promise.all(Array.from({ length: 20 }, () => retry(service, id, { idempotencyKey })));
    for (const reply of replies) if (reply.status !== 200) assertRefused(reply, 409, 'request_in_progress');
    const last = await retry(service, id, { idempotencyKey });
    assert.deepEqual([last.status, last.body.attempt_count], [200, 2], last.text);
    assert.equal((await readOrder(service, id)).attempt_count, 2);
  });
});

describe('a retry in doubt', () => {
  it('is 502; the order stays failed, and refund and retry are refused by status first, then 409', async () => {
    const { id } = await failed();
    faults.charge = unknownOutcome;
    faults.lookup = unknownOutcome;
    const idempotencyKey = randomUUID();
    assertRefused(await retry(service, id, { idempotencyKey }), 502, 'gateway_error');
    const open = await readOrder(service, id);
    assert.deepEqual([open.status, salesOf(open)], ['failed', ['failed', 'in_progress']]);
    assertRefused(await refund(service, id), 422, 'invalid_state_transition');
    assertRefused(await retry(service, id), 409, 'resource_in_use');
    assertRefused(await retry(service, id, { idempotencyKey }), 502, 'gateway_error');
    faults.lookup = approvedOutcome;
    const known = await retry(service, id, { idempotencyKey });
    assert.deepEqual([known.status, known.body.status], [200, 'succeeded'], known.text);
    assert.deepEqual(salesOf(known.body), ['failed', 'succeeded']);
    const replayed = await retry(service, id, { idempotencyKey });
    assert.equal(replayed.text, known.text);
    assert.deepEqual(await eventTypes(service, id), ['order.created', 'order.failed', 'order.succeeded']);
  });

  it('does not change the answer of the order’s own key', async () => {
    const shop = await openShop(service, '4000009999003220');
    const idempotencyKey = randomUUID();
    const first = await order(service, shop, {}, { idempotencyKey });
    assert.equal(first.body.status, 'failed');
    await retry(service, first.body.id);
    assert.equal((await order(service, shop, {}, { idempotencyKey })).text, first.text);
  });

  it('is taken up by recovery when the process that began it died', async () => {
    await checkAllOpen(service);
    const { id } = await failed();
    const never = Promise.withResolvers<never>();
    faults.charge = () => never.promise;
    void retry(service, id).catch(() => undefined);
    await until('it is open', async () => (await countOf(service, 'open_transactions', 'order_id = $1', [id])) === 1);
    assert.equal(await service.orders.reconcileDue(100), 0, 'it is left to its process for a while');
    assertRefused(await retry(service, id), 409, 'resource_in_use');
    faults.lookup = approvedOutcome;
    await checkAllOpen(service);
    assert.equal((await readOrder(service, id)).status, 'succeeded');
    never.reject(new Error('the test is over'));
  });
});
