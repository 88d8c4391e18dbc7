import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import {
  addCard,
  cards,
  created,
  dayMs,
  everyDays,
  later,
  moveTo,
  openScene,
  operator,
  ordersOf,
  type Scene,
  typesOf,
} from '../../../tests/support/billing.ts';
import { approvedOutcome, unknownOutcome, useFaultyService } from '../../../tests/support/faulty-service.ts';
import { assertRefused, checkAllOpen, countOf, eventTypes, readOrder, until } from '../../../tests/support/orders.ts';
import type { Reply, TestService } from '../../../tests/support/service.ts';
import { advance, readSubscription, subscribe } from '../../../tests/support/subscriptions.ts';
import { setDunning } from '../companies/service.ts';
import { pauseSubscription } from './service.ts';

/** Policy, charges in doubt, and what may be deleted meanwhile. For dates that pass see `tests/scenarios/`. */

let service: TestService;
const faults = useFaultyService((started) => {
  service = started;
});

const hourMs = 3_600_000;
const every30 = { billing_cycle: everyDays(30) };
const daily = { billing_cycle: everyDays(1) };
const remove = ({ key }: Scene, path: string, body?: unknown): Promise<Reply> =>
  service.call('DELETE', path, { key, ...(body !== undefined && { body }) });
const customerPath = ({ customer_id }: Scene): string => `/v1/customers/${customer_id}`;
const repoint = async (at: Scene, id: string, number: string): Promise<string> => {
  const payment_method_id = await addCard(service, at, number);
  const path = `/v1/subscriptions/${id}`;
  const reply = await service.call('PATCH', path, { key: at.key, body: { payment_method_id } });
  assert.equal(reply.status, 200, reply.text);
  return payment_method_id;
};

describe('the dunning policy of the company', () => {
  it('sets the days, and cancels instead of failing', async () => {
    const at = await openScene(service, every30, cards.declinesAfterFirst);
    await setDunning(service.db, at.company.id, [2, 4], 'canceled');
    const { id, next_billing_at } = await created(service, at);
    await moveTo(service, at.key, later(next_billing_at, hourMs));
    const next_retry_at = later(next_billing_at, 2 * dayMs);
    assert.partialDeepStrictEqual(await readSubscription(service, id, at), { status: 'past_due', next_retry_at });
    await moveTo(service, at.key, later(next_billing_at, 10 * dayMs));
    const body = await readSubscription(service, id, at);
    assert.partialDeepStrictEqual(body, {
      status: 'canceled',
      attempt_count: 3,
      canceled_at: later(next_billing_at, 4 * dayMs),
      next_retry_at: null,
    });
    assert.equal((await readOrder(service, body.latest_order_id, at)).next_retry_at, null);
    assert.deepEqual((await eventTypes(service, id)).slice(1), ['subscription.past_due', 'subscription.canceled']);
    assertRefused(await remove(at, `/v1/subscriptions/${id}`), 409, 'already_canceled');
  });

  it('cancels also where there was nothing to try with', async () => {
    const at = await openScene(service, every30);
    await setDunning(service.db, at.company.id, [1, 6], 'canceled');
    const { id, next_billing_at } = await created(service, at);
    await repoint(at, id, cards.expired);
    await moveTo(service, at.key, later(next_billing_at, 20 * dayMs));
    assert.partialDeepStrictEqual(await readSubscription(service, id, at), {
      status: 'canceled',
      attempt_count: 1,
      canceled_at: later(next_billing_at, 6 * dayMs),
    });
  });

  it('is refused when it makes no sense', async () => {
    for (const days of [[], [0, 1], [3, 1], [1, 1], [1.5], [61]]) {
      await assert.rejects(setDunning(service.db, service.company.id, days, 'failed'), String(days));
    }
  });
});

it('two workers and a clock that is moved bill each cycle once', async () => {
  const at = await openScene(service, daily);
  await created(service, at);
  await Promise.all([
    advance(service, { by: { days: 5, hours: 1 } }, at),
    ...Array.from({ length: 5 }, () => service.subscriptions.billDue(100)),
  ]);
  const cycles = (await ordersOf(service, at)).map(({ subscription_cycle }) => subscription_cycle);
  assert.deepEqual(cycles, [1, 2, 3, 4, 5, 6]);
});

describe('a renewal in doubt', () => {
  it('whose answer was lost is found out to be paid (card 7070), and it stays active', async () => {
    const at = await openScene(service, every30);
    const { id, next_billing_at } = await created(service, at);
    await repoint(at, id, cards.answerLost);
    await moveTo(service, at.key, later(next_billing_at, hourMs));
    await checkAllOpen(service);
    assert.partialDeepStrictEqual(await readSubscription(service, id, at), { status: 'active', completed_cycles: 2 });
    assert.deepEqual((await typesOf(service, id)).slice(-3), [
      'order.created',
      'order.succeeded',
      'subscription.charged',
    ]);
  });

  it('that never arrived (card 7071) is a soft decline: past due, issuer_unavailable, tried again', async () => {
    const at = await openScene(service, every30);
    const { id, next_billing_at } = await created(service, at);
    await repoint(at, id, cards.neverArrives);
    await moveTo(service, at.key, later(next_billing_at, hourMs));
    await checkAllOpen(service);
    const body = await readSubscription(service, id, at);
    assert.partialDeepStrictEqual(body, { status: 'past_due', attempt_count: 1 });
    assert.ok(body.next_retry_at);
    const order = await readOrder(service, body.latest_order_id, at);
    assert.partialDeepStrictEqual(order, { failure_code: 'issuer_unavailable', next_retry_at: body.next_retry_at });
  });

  it('stays active while nothing is known, and no further cycle is billed meanwhile', async () => {
    const at = await openScene(service, daily);
    const { id, next_billing_at } = await created(service, at);
    [faults.charge, faults.lookup] = [unknownOutcome, unknownOutcome];
    await moveTo(service, at.key, later(next_billing_at, 3.5 * dayMs));
    assert.partialDeepStrictEqual(await readSubscription(service, id, at), { status: 'active', attempt_count: 0 });
    const orders = await ordersOf(service, at);
    assert.deepEqual(
      orders.map(({ status }) => status),
      ['succeeded', 'pending'],
    );
    const paused = await operator(service, at);
    await assert.rejects(pauseSubscription(paused, id), /in progress/);
    [faults.charge, faults.lookup] = [approvedOutcome, approvedOutcome];
    await checkAllOpen(service);
    assert.equal((await readOrder(service, orders[1]?.id, at)).status, 'succeeded');
    await moveTo(service, at.key, later(next_billing_at, 4.5 * dayMs));
    const paid = (await ordersOf(service, at)).map(({ subscription_cycle }) => subscription_cycle);
    assert.deepEqual(paid, [...new Set(paid)], 'each cycle once');
    assert.equal((await readSubscription(service, id, at)).status, 'active');
  });

  it('that a dunning retry leaves keeps it past due, and is not charged again', async () => {
    const at = await openScene(service, every30, cards.declinesAfterFirst);
    const { id, next_billing_at } = await created(service, at);
    await moveTo(service, at.key, later(next_billing_at, hourMs));
    [faults.charge, faults.lookup] = [unknownOutcome, unknownOutcome];
    await moveTo(service, at.key, later(next_billing_at, 10 * dayMs));
    const body = await readSubscription(service, id, at);
    assert.partialDeepStrictEqual(body, { status: 'past_due', attempt_count: 1 });
    assert.equal((await ordersOf(service, at)).at(-1)?.transactions.length, 2);
    faults.lookup = approvedOutcome;
    await checkAllOpen(service);
    assert.partialDeepStrictEqual(await readSubscription(service, id, at), { status: 'active', completed_cycles: 2 });
  });

  it('is found out although several ask about it at the same moment', async () => {
    const at = await openScene(service, every30);
    const { id, next_billing_at } = await created(service, at);
    [faults.charge, faults.lookup] = [unknownOutcome, unknownOutcome];
    await moveTo(service, at.key, later(next_billing_at, hourMs));
    const { latest_order_id } = await readSubscription(service, id, at);
    const gate = Promise.withResolvers<void>();
    let asked = 0;
    faults.lookup = async () => {
      asked += 1;
      await gate.promise;
      return approvedOutcome();
    };
    // Reading an order in doubt asks the processor, as the job does.
    for (let reader = 0; reader < 3; reader += 1) await readOrder(service, latest_order_id, at);
    await until('three ask', async () => asked === 3);
    const job = checkAllOpen(service);
    await until('four ask', async () => asked === 4);
    gate.resolve();
    await job;
    await until('it is paid', async () => (await readSubscription(service, id, at)).completed_cycles === 2);
    assert.deepEqual((await typesOf(service, id)).slice(-2), ['order.succeeded', 'subscription.charged']);
  });
});

describe('a first charge in doubt', () => {
  const subscriptionsOf = async ({ key }: Scene): Promise<Reply['body'][]> =>
    (await service.call('GET', '/v1/subscriptions', { key })).body.data;

  it('is 502, and the subscription is hidden until the same key learns the outcome', async () => {
    const at = await openScene(service);
    const body = { plan_id: at.plan_id, customer_id: at.customer_id };
    const request = { key: at.key, idempotencyKey: randomUUID() };
    [faults.charge, faults.lookup] = [unknownOutcome, unknownOutcome];
    assertRefused(await subscribe(service, body, request), 502, 'gateway_error');
    assert.deepEqual(await subscriptionsOf(at), []);
    const [order] = await ordersOf(service, at);
    assert.equal(order?.status, 'pending');
    assertRefused(
      await service.call('GET', `/v1/subscriptions/${order?.subscription_id}`, { key: at.key }),
      404,
      'resource_not_found',
    );
    assertRefused(await remove(at, `/v1/subscriptions/${order?.subscription_id}`), 404, 'resource_not_found');
    assertRefused(await subscribe(service, body, request), 502, 'gateway_error');
    assert.deepEqual(await eventTypes(service, order?.subscription_id), []);
    faults.lookup = approvedOutcome;
    const known = await subscribe(service, body, request);
    assert.deepEqual([known.status, known.body.status], [201, 'active'], known.text);
    assert.equal((await subscribe(service, body, request)).text, known.text);
    assert.deepEqual(await typesOf(service, known.body.id), [
      'order.created',
      'order.succeeded',
      'subscription.created',
    ]);
    assert.equal((await ordersOf(service, at)).length, 1);
  });

  for (const [number, status, card] of [
    [cards.answerLost, 'active', '7070'],
    [cards.neverArrives, 'failed', '7071'],
  ] as const) {
    it(`appears ${status} by recovery, with subscription.created once (card ${card})`, async () => {
      const at = await openScene(service, {}, number);
      const body = { plan_id: at.plan_id, customer_id: at.customer_id };
      const request = { key: at.key, idempotencyKey: randomUUID() };
      assertRefused(await subscribe(service, body, request), 502, 'gateway_error');
      await checkAllOpen(service);
      const [found] = await subscriptionsOf(at);
      assert.equal(found?.status, status);
      assert.deepEqual(await eventTypes(service, found?.id), ['subscription.created']);
      const again = await subscribe(service, body, request);
      assert.deepEqual([again.status, again.body.id, again.body.status], [201, found?.id, status], again.text);
      const [order] = await ordersOf(service, at);
      assert.equal(order?.subscription_cycle, status === 'active' ? 1 : null);
      if (status === 'failed')
        assert.deepEqual([order?.failure_code, order?.next_retry_at], ['issuer_unavailable', null]);
    });
  }
});

describe('what may be deleted', () => {
  it('no customer with an active, a paused or a subscription to come', async () => {
    const at = await openScene(service);
    const { id } = await created(service, at);
    assertRefused(await remove(at, customerPath(at)), 400, 'customer_has_active_subscriptions');
    await pauseSubscription(await operator(service, at), id);
    assertRefused(await remove(at, customerPath(at)), 400, 'customer_has_active_subscriptions');
    await remove(at, `/v1/subscriptions/${id}`);
    assert.equal((await remove(at, customerPath(at))).status, 200);
    const future = await openScene(service);
    await created(service, future, { start_date: '2034-01-01' });
    assertRefused(await remove(future, customerPath(future)), 400, 'customer_has_active_subscriptions');
  });

  it('a customer whose subscriptions are past due and failed: both are canceled, and nothing is charged', async () => {
    const at = await openScene(service, every30, cards.declinesAfterFirst);
    const { id, next_billing_at } = await created(service, at);
    const payment_method_id = await addCard(service, at, cards.declined);
    const failed = await created(service, at, { payment_method_id }, 'failed');
    await moveTo(service, at.key, later(next_billing_at, hourMs));
    const reply = await remove(at, customerPath(at));
    assert.equal(reply.status, 200, reply.text);
    for (const one of [id, failed.id]) {
      const body = await readSubscription(service, one, at);
      assert.partialDeepStrictEqual(body, { status: 'canceled', next_retry_at: null });
      assert.ok(body.canceled_at);
      assert.equal((await eventTypes(service, one)).at(-1), 'subscription.canceled');
    }
    await moveTo(service, at.key, later(next_billing_at, 60 * dayMs));
    assert.equal(await countOf(service, 'orders', 'customer_id = $1', [at.customer_id]), 3);
    const customer = await service.call('GET', customerPath(at), { key: at.key });
    assert.equal(customer.body.deleted, true, 'it has orders');
  });

  it('no card that an active, paused or past due subscription uses, without a replacement that takes over', async () => {
    const at = await openScene(service);
    const old = await addCard(service, at, '4000000000001111');
    const path = `${customerPath(at)}/payment_methods/${old}`;
    const { id } = await created(service, at, { payment_method_id: old });
    assertRefused(await remove(at, path), 400, 'replacement_required');
    await pauseSubscription(await operator(service, at), id);
    assertRefused(await remove(at, path), 400, 'replacement_required');
    const replacement_payment_method_id = await addCard(service, at, cards.good);
    const reply = await remove(at, path, { replacement_payment_method_id });
    assert.equal(reply.status, 200, reply.text);
    const body = await readSubscription(service, id, at);
    assert.partialDeepStrictEqual(body, { status: 'paused', payment_method: { id: replacement_payment_method_id } });
    const { default_payment_method_id } = (await service.call('GET', customerPath(at), { key: at.key })).body;
    assert.equal(default_payment_method_id, replacement_payment_method_id);
  });

  it('not the only card while a subscription uses it; afterwards it may go', async () => {
    const at = await openScene(service);
    const { id, payment_method } = await created(service, at);
    const path = `${customerPath(at)}/payment_methods/${payment_method.id}`;
    assertRefused(await remove(at, path), 400, 'replacement_required');
    await remove(at, `/v1/subscriptions/${id}`);
    assert.equal((await remove(at, path)).status, 200);
  });
});
