import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  addCard,
  cards,
  clockOf,
  created,
  day,
  dayMs,
  everyDays,
  later,
  moveTo,
  openScene,
  ordersOf,
  type Scene,
  typesOf,
} from '../../../tests/support/billing.ts';
import { approvedOutcome, declinedOutcome, useFaultyService } from '../../../tests/support/faulty-service.ts';
import { assertRefused, checkAllOpen, countOf, readOrder, refund, retry } from '../../../tests/support/orders.ts';
import { readProbe } from '../../../tests/support/probes.ts';
import type { Reply, TestService } from '../../../tests/support/service.ts';
import { advance, allEventsOf, readSubscription, somePlan } from '../../../tests/support/subscriptions.ts';
import { failureGroups, failureReasons } from '../../vault/processors/processor.ts';
import type { PlanCreate } from '../plans/schemas.ts';

/** Renewals that are declined, and renewals whose outcome is unknown. */

let service: TestService;
const faults = useFaultyService((started) => {
  service = started;
});

const hourMs = 3_600_000;
const monthly30 = { billing_cycle: everyDays(30) };

/** A series that was never counted is not in the text. */
async function counted(name: string): Promise<number> {
  const { text } = await readProbe(service.baseUrl, '/metrics');
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.split(' ').at(-1) ?? 0);
}

it('counts renewals that were declined, and subscriptions whose retries were all declined', async () => {
  const names = [
    'svc_renewals_total{mode="sandbox",attempt="first",outcome="declined"}',
    'svc_renewals_total{mode="sandbox",attempt="retry",outcome="declined"}',
    'svc_dunning_ended_total{mode="sandbox"}',
  ];
  const figures = async (): Promise<number[]> => {
    const values: number[] = [];
    for (const name of names) values.push(await counted(name));
    return values;
  };
  const before = await figures();
  const due = await pastDue({ billing_cycle: everyDays(90) });
  await moveTo(service, due.key, later(due.declinedAt, 60 * dayMs));
  const [first, retries, ended] = (await figures()).map((value, index) => value - (before[index] ?? 0));
  assert.deepEqual([first, ended], [1, 1]);
  assert.ok((retries ?? 0) > 0);
});

interface Due extends Scene {
  readonly id: string;
  /** When the renewal was declined. */
  readonly declinedAt: string;
  readonly orderId: string;
}

/** Its second cycle was declined an hour ago. */
async function pastDue(plan: Partial<PlanCreate> = monthly30, number: string = cards.declinesAfterFirst): Promise<Due> {
  const at = await openScene(service, plan, number);
  const { id, next_billing_at } = await created(service, at);
  await moveTo(service, at.key, later(next_billing_at, hourMs));
  const body = await readSubscription(service, id, at);
  assert.equal(body.status, 'past_due');
  return { ...at, id, declinedAt: next_billing_at, orderId: body.latest_order_id };
}

const read = ({ id, key }: Due): Promise<Reply['body']> => readSubscription(service, id, { key });
const orderOf = ({ orderId, key }: Due): Promise<Reply['body']> => readOrder(service, orderId, { key });
const movePast = ({ key, declinedAt }: Due, days: number): Promise<unknown> =>
  moveTo(service, key, later(declinedAt, days * dayMs + hourMs));
const retryOf = ({ orderId, key }: Due): Promise<Reply> => retry(service, orderId, { key });
const saleTimes = (order: Reply['body']): string[] =>
  order.transactions.map(({ created_at }: { created_at: string }) => created_at);

describe('a renewal that is declined softly', () => {
  it('is past due, with order.failed that has the cycle and the next retry', async () => {
    const due = await pastDue();
    assert.partialDeepStrictEqual(await read(due), {
      status: 'past_due',
      attempt_count: 1,
      next_retry_at: later(due.declinedAt, dayMs),
      current_cycle: 2,
      completed_cycles: 1,
    });
    assert.ok((await read(due)).last_failure_message);
    const failed = (await allEventsOf(service, due.id)).find(({ type }) => type === 'order.failed');
    assert.partialDeepStrictEqual(failed?.object, {
      status: 'failed',
      subscription_id: due.id,
      subscription_cycle: 2,
      attempt_count: 1,
      next_retry_at: later(due.declinedAt, dayMs),
      failure_code: 'insufficient_funds',
    });
  });

  it('is tried again 1, 3, 5 and 7 days after the first decline, to the millisecond, and then failed', async () => {
    const due = await pastDue();
    for (const [passed, next, attempts] of [
      [1, 3, 2],
      [3, 5, 3],
      [5, 7, 4],
    ] as const) {
      await movePast(due, passed);
      const next_retry_at = later(due.declinedAt, next * dayMs);
      assert.partialDeepStrictEqual(await read(due), { status: 'past_due', attempt_count: attempts, next_retry_at });
      assert.partialDeepStrictEqual(await orderOf(due), { attempt_count: attempts, next_retry_at });
    }
    await movePast(due, 7);
    const body = await read(due);
    assert.partialDeepStrictEqual(body, {
      status: 'failed',
      attempt_count: 5,
      next_retry_at: null,
      next_billing_at: null,
      canceled_at: null,
    });
    assert.equal(body.updated_at, later(due.declinedAt, 7 * dayMs));
    const order = await orderOf(due);
    assert.partialDeepStrictEqual(order, { status: 'failed', attempt_count: 5, next_retry_at: null });
    assert.deepEqual(
      saleTimes(order),
      [0, 1, 3, 5, 7].map((days) => later(due.declinedAt, days * dayMs)),
    );
    assert.deepEqual(await typesOf(service, due.id), [
      ...['order.created', 'order.succeeded', 'subscription.created'],
      ...['order.created', 'order.failed', 'subscription.past_due'],
      ...['order.failed', 'order.failed', 'order.failed'],
      ...['order.failed', 'subscription.failed'],
    ]);
    await movePast(due, 70);
    assert.equal((await ordersOf(service, due)).length, 2, 'no cycle is billed while failed');
  });

  it('is active after a retry that succeeds, with subscription.charged and subscription.recovered once', async () => {
    faults.charge = async (request) => (request.amount === 4321 ? declinedOutcome() : approvedOutcome());
    const at = await openScene(service, { ...monthly30, amount: 4321, one_time_amount: 1 });
    const { id, next_billing_at } = await created(service, at);
    await moveTo(service, at.key, later(next_billing_at, 2 * dayMs));
    assert.equal((await readSubscription(service, id, at)).attempt_count, 2);
    delete faults.charge;
    await moveTo(service, at.key, later(next_billing_at, 3 * dayMs + hourMs));
    assert.partialDeepStrictEqual(await readSubscription(service, id, at), {
      status: 'active',
      attempt_count: 0,
      next_retry_at: null,
      last_failure_message: null,
      completed_cycles: 2,
      current_cycle: 2,
      next_billing_at: later(next_billing_at, 30 * dayMs),
    });
    assert.partialDeepStrictEqual((await ordersOf(service, at))[1], {
      status: 'succeeded',
      attempt_count: 2,
      next_retry_at: null,
      failure_code: null,
    });
    await moveTo(service, at.key, later(next_billing_at, 20 * dayMs));
    assert.deepEqual((await typesOf(service, id)).slice(3), [
      ...['order.created', 'order.failed', 'subscription.past_due', 'order.failed'],
      ...['order.succeeded', 'subscription.charged', 'subscription.recovered'],
    ]);
  });
});

describe('the reason of the decline', () => {
  it('decides: soft ones are tried again, all others wait for another card until day 7', async () => {
    const at = await openScene(service);
    const codes = Object.values(failureGroups).flat();
    assert.equal(codes.length, 18);
    const made = [];
    for (const [index, code] of codes.entries()) {
      const plan = await somePlan(service, { ...monthly30, amount: 1000 + index, one_time_amount: 5000 }, at.company);
      made.push({ code, ...(await created(service, { ...at, plan_id: plan.id })) } as Reply['body']);
    }
    faults.charge = async (request) => {
      const failureCode = codes[request.amount - 1000] ?? 'unknown';
      return { ...(await declinedOutcome()), failureCode, failureReason: failureReasons[failureCode] };
    };
    await advance(service, { by: { days: 30, minutes: 30 } }, at);
    for (const { id, code, next_billing_at } of made) {
      const soft = (failureGroups.soft as readonly string[]).includes(code);
      const body = await readSubscription(service, id, at);
      const next_retry_at = soft ? later(next_billing_at, dayMs) : null;
      assert.partialDeepStrictEqual(body, { status: 'past_due', attempt_count: 1, next_retry_at }, code);
      const order = await readOrder(service, body.latest_order_id, at);
      assert.partialDeepStrictEqual(order, { failure_code: code, next_retry_at, subscription_cycle: 2 });
    }
    await advance(service, { by: { days: 6, hours: 23 } }, at);
    for (const { id } of made) assert.equal((await readSubscription(service, id, at)).status, 'past_due');
    await advance(service, { by: { hours: 1 } }, at);
    for (const { id, code, next_billing_at } of made) {
      const soft = (failureGroups.soft as readonly string[]).includes(code);
      const body = await readSubscription(service, id, at);
      assert.partialDeepStrictEqual(body, { status: 'failed', attempt_count: soft ? 5 : 1, next_retry_at: null }, code);
      assert.equal(body.updated_at, later(next_billing_at, 7 * dayMs), code);
    }
  });

  it('that turns hard at a retry ends the retries', async () => {
    const due = await pastDue();
    const failureCode = 'lost_stolen_card';
    faults.charge = async () => ({ ...(await declinedOutcome()), failureCode, failureReason: 'Lost.' });
    await movePast(due, 1);
    assert.partialDeepStrictEqual(await read(due), { status: 'past_due', attempt_count: 2, next_retry_at: null });
    await movePast(due, 6);
    assert.partialDeepStrictEqual(await read(due), { status: 'past_due', attempt_count: 2 });
    await movePast(due, 7);
    assert.partialDeepStrictEqual(await read(due), { status: 'failed', attempt_count: 2 });
  });
});

describe('another card for one that is past due', () => {
  it('by update_subscriptions is charged at once, and is the card of the order and of the next ones', async () => {
    const due = await pastDue();
    const better = await addCard(service, due, cards.good, { update_subscriptions: true });
    await service.subscriptions.billDue(100);
    const body = await read(due);
    assert.partialDeepStrictEqual(body, {
      status: 'active',
      completed_cycles: 2,
      next_retry_at: null,
      attempt_count: 0,
    });
    assert.equal(body.payment_method.id, better);
    assert.equal(body.next_billing_at, later(due.declinedAt, 30 * dayMs), 'the regular date');
    const order = await orderOf(due);
    assert.deepEqual([order.status, order.payment_method.id, order.next_retry_at], ['succeeded', better, null]);
    assert.deepEqual((await typesOf(service, due.id)).slice(6), [
      'subscription.updated',
      'order.succeeded',
      'subscription.charged',
      'subscription.recovered',
    ]);
    await movePast(due, 31);
    const orders = await ordersOf(service, due);
    assert.deepEqual([orders.length, orders[2]?.payment_method.id], [3, better]);
  });

  it('attached by a token with update_subscriptions is charged at once, also after a hard decline', async () => {
    const at = await openScene(service, monthly30);
    const { id, next_billing_at } = await created(service, at);
    const payment_method_id = await addCard(service, at, cards.expired);
    const path = `/v1/subscriptions/${id}`;
    assert.equal((await service.call('PATCH', path, { key: at.key, body: { payment_method_id } })).status, 200);
    await moveTo(service, at.key, later(next_billing_at, 2 * dayMs));
    const before = await readSubscription(service, id, at);
    assert.partialDeepStrictEqual(before, { status: 'past_due', attempt_count: 1, next_retry_at: null });
    const card = { number: cards.good, exp_month: '12', exp_year: '2040', cvc: '999' };
    const token = await service.call('POST', '/v1/card_tokens', { key: at.key, body: { card } });
    const body = { card_token: token.body.id, update_subscriptions: true };
    const attached = await service.call('POST', `/v1/customers/${at.customer_id}/payment_methods`, {
      key: at.key,
      body,
    });
    assert.equal(attached.status, 201, attached.text);
    await service.subscriptions.billDue(100);
    const recovered = await readSubscription(service, id, at);
    assert.partialDeepStrictEqual(recovered, { status: 'active', payment_method: { id: attached.body.id } });
  });

  it('by replacement of the one that is deleted is charged at once', async () => {
    const due = await pastDue();
    const old = (await read(due)).payment_method.id;
    const path = `/v1/customers/${due.customer_id}/payment_methods/${old}`;
    assertRefused(await service.call('DELETE', path, { key: due.key }), 400, 'replacement_required');
    const replacement_payment_method_id = await addCard(service, due, cards.good);
    await service.subscriptions.billDue(100);
    assert.equal((await read(due)).status, 'past_due', 'a card that the subscription does not use is not charged');
    assertRefused(await service.call('DELETE', path, { key: due.key }), 400, 'replacement_required');
    const reply = await service.call('DELETE', path, { key: due.key, body: { replacement_payment_method_id } });
    assert.equal(reply.status, 200, reply.text);
    await service.subscriptions.billDue(100);
    const payment_method = { id: replacement_payment_method_id };
    assert.partialDeepStrictEqual(await read(due), { status: 'active', payment_method });
  });

  it('that is also declined continues with the remaining retries', async () => {
    const due = await pastDue();
    await movePast(due, 2);
    await addCard(service, due, cards.noFunds, { update_subscriptions: true });
    await service.subscriptions.billDue(100);
    const next_retry_at = later(due.declinedAt, 3 * dayMs);
    assert.partialDeepStrictEqual(await read(due), { status: 'past_due', attempt_count: 3, next_retry_at });
    await movePast(due, 7);
    assert.partialDeepStrictEqual(await read(due), { status: 'failed', attempt_count: 6 });
  });

  it('does not move one that is failed or canceled', async () => {
    const due = await pastDue();
    await movePast(due, 7);
    const before = await read(due);
    await addCard(service, due, cards.good, { update_subscriptions: true });
    await service.subscriptions.billDue(100);
    assert.deepEqual(await read(due), before);
  });
});

describe('POST /v1/orders/{id}/retry of a renewal', () => {
  it('that is declined uses up no dunning retry and moves no date', async () => {
    const due = await pastDue();
    const reply = await retryOf(due);
    const next_retry_at = later(due.declinedAt, dayMs);
    assert.partialDeepStrictEqual(reply.body, { status: 'failed', attempt_count: 2, next_retry_at });
    assert.partialDeepStrictEqual(await read(due), { status: 'past_due', attempt_count: 2, next_retry_at });
    await movePast(due, 2);
    await retryOf(due);
    await movePast(due, 7);
    assert.partialDeepStrictEqual(await read(due), { status: 'failed', attempt_count: 7 });
    const times = saleTimes(await orderOf(due));
    for (const days of [1, 3, 5, 7]) assert.ok(times.includes(later(due.declinedAt, days * dayMs)), `day ${days}`);
  });

  it('that is declined for a hard reason leaves the schedule of retries as it is', async () => {
    const due = await pastDue();
    const next_retry_at = later(due.declinedAt, dayMs);
    const failureCode = 'lost_stolen_card';
    faults.charge = async () => ({ ...(await declinedOutcome()), failureCode, failureReason: 'Lost.' });
    assert.partialDeepStrictEqual((await retryOf(due)).body, { failure_code: failureCode, next_retry_at });
    assert.partialDeepStrictEqual(await read(due), { status: 'past_due', next_retry_at, attempt_count: 2 });
  });

  it('that succeeds makes it active again, and the cycle is charged no second time', async () => {
    const due = await pastDue();
    faults.charge = approvedOutcome;
    const reply = await retryOf(due);
    assert.partialDeepStrictEqual(reply.body, { status: 'succeeded', next_retry_at: null, subscription_cycle: 2 });
    const next_billing_at = later(due.declinedAt, 30 * dayMs);
    assert.partialDeepStrictEqual(await read(due), { status: 'active', next_billing_at, attempt_count: 0 });
    await movePast(due, 29);
    assert.equal((await orderOf(due)).transactions.length, 2);
    assert.equal((await ordersOf(service, due)).length, 2);
    assert.deepEqual((await typesOf(service, due.id)).slice(6), [
      'order.succeeded',
      'subscription.charged',
      'subscription.recovered',
    ]);
  });

  it('charges the original card of the order, not the new one of the subscription', async () => {
    const due = await pastDue();
    const { payment_method } = await orderOf(due);
    await addCard(service, due, cards.noFunds, { update_subscriptions: true });
    await service.subscriptions.billDue(100);
    const reply = await retryOf(due);
    assert.deepEqual(reply.body.payment_method, payment_method);
    assert.equal(reply.body.attempt_count, 3);
  });

  it('after dunning was given up makes failed active; dates that passed are not billed', async () => {
    const due = await pastDue();
    await movePast(due, 70);
    assert.equal((await read(due)).status, 'failed');
    faults.charge = approvedOutcome;
    assert.equal((await retryOf(due)).body.status, 'succeeded');
    const next_billing_at = later(due.declinedAt, 90 * dayMs);
    assert.partialDeepStrictEqual(await read(due), { status: 'active', next_billing_at, completed_cycles: 2 });
    await movePast(due, 90);
    const orders = await ordersOf(service, due);
    assert.deepEqual(orders.map(({ subscription_cycle, created_at }) => [subscription_cycle, created_at]).slice(1), [
      [2, due.declinedAt],
      [3, next_billing_at],
    ]);
  });

  it('of a subscription that is canceled is 400, and nothing is charged', async () => {
    const due = await pastDue();
    await service.call('DELETE', `/v1/subscriptions/${due.id}`, { key: due.key });
    assertRefused(await retryOf(due), 400, 'invalid_state_transition');
    assert.equal((await orderOf(due)).transactions.length, 1);
    const first = await openScene(service, {}, cards.declined);
    const { id, latest_order_id } = await created(service, first, {}, 'failed');
    await service.call('DELETE', `/v1/subscriptions/${id}`, { key: first.key });
    assertRefused(await retry(service, latest_order_id, first), 400, 'invalid_state_transition');
  });

  it('gives a refund that was rejected back also after the subscription was canceled', async () => {
    const at = await openScene(service, {}, cards.refundRejected);
    const { id, latest_order_id } = await created(service, at);
    await refund(service, latest_order_id, undefined, { key: at.key });
    await checkAllOpen(service);
    assert.equal((await readOrder(service, latest_order_id, at)).status, 'refund_failed');
    await service.call('DELETE', `/v1/subscriptions/${id}`, { key: at.key });
    const reply = await retry(service, latest_order_id, at);
    assert.deepEqual([reply.status, reply.body.status], [200, 'refunded'], reply.text);
  });

  it('of a first order that failed starts the schedule at that moment', async () => {
    const at = await openScene(service, { one_time_amount: 300 }, cards.declinesFirst);
    const { id, latest_order_id } = await created(service, at, {}, 'failed');
    await advance(service, { by: { days: 45 } }, at);
    const before = await clockOf(service, at.key);
    const reply = await retry(service, latest_order_id, at);
    assert.partialDeepStrictEqual(reply.body, { status: 'succeeded', subscription_cycle: 1, total: 2200 });
    const body = await readSubscription(service, id, at);
    assert.partialDeepStrictEqual(body, { status: 'active', current_cycle: 1, completed_cycles: 1, attempt_count: 0 });
    assert.ok(body.current_period_start >= before);
    assert.equal(body.start_date, day(body.current_period_start));
    assert.equal(body.next_billing_at, body.current_period_end);
    await moveTo(service, at.key, later(body.next_billing_at, hourMs));
    const dates = (await ordersOf(service, at)).map(({ total, created_at }) => [total, created_at]);
    assert.deepEqual(dates.slice(1), [[1900, body.next_billing_at]]);
  });
});

describe('each cycle', () => {
  it('has dunning of its own: the days count from its own first decline', async () => {
    const due = await pastDue();
    faults.charge = approvedOutcome;
    await movePast(due, 1);
    assert.equal((await read(due)).status, 'active');
    faults.charge = declinedOutcome;
    await movePast(due, 30);
    const next_retry_at = later(due.declinedAt, 31 * dayMs);
    assert.partialDeepStrictEqual(await read(due), { status: 'past_due', attempt_count: 1, next_retry_at });
    await movePast(due, 37);
    assert.partialDeepStrictEqual(await read(due), { status: 'failed', attempt_count: 5 });
  });

  it('is paid once, also when a manual retry, a scheduled retry and a new card coincide', async () => {
    const due = await pastDue();
    faults.charge = approvedOutcome;
    await addCard(service, due, cards.good, { update_subscriptions: true });
    const workers = Array.from({ length: 5 }, () => service.subscriptions.billDue(100));
    const [moved, ...retries] = await Promise.all([
      advance(service, { by: { days: 2 } }, { key: due.key }),
      ...Array.from({ length: 5 }, () => retryOf(due)),
    ]);
    await Promise.all(workers);
    assert.equal(moved.status, 200, moved.text);
    for (const { status, text } of retries) assert.ok([200, 400, 409].includes(status), text);
    await advance(service, { by: { hours: 1 } }, { key: due.key });
    const order = await orderOf(due);
    const paid = order.transactions.filter(({ status }: { status: string }) => status === 'succeeded');
    assert.deepEqual([order.status, paid.length], ['succeeded', 1]);
    assert.partialDeepStrictEqual(await read(due), { status: 'active', completed_cycles: 2 });
    const types = await typesOf(service, due.id);
    assert.equal(types.filter((type) => type === 'subscription.recovered').length, 1);
    assert.equal(types.filter((type) => type === 'subscription.charged').length, 1);
  });
});

it('declines send no event subscription.payment_failed: there is none', async () => {
  assert.equal(await countOf(service, 'events', `type = 'subscription.payment_failed'`, []), 0);
});

describe('a renewal that the bank wants the customer to confirm', () => {
  const wanting = async () =>
    ({
      ...(await declinedOutcome()),
      failureCode: 'transaction_not_allowed',
      needsAuthentication: true,
    }) as const;
  async function unconfirmed(): Promise<Due> {
    const at = await openScene(service, monthly30, cards.good);
    const { id, next_billing_at } = await created(service, at);
    faults.charge = wanting;
    await moveTo(service, at.key, later(next_billing_at, hourMs));
    const { latest_order_id } = await readSubscription(service, id, at);
    return { ...at, id, declinedAt: next_billing_at, orderId: latest_order_id };
  }

  it('is not tried again without the customer, and waits until the last day of dunning', async () => {
    const due = await unconfirmed();
    assert.partialDeepStrictEqual(await read(due), { status: 'past_due', next_retry_at: null });
    assert.match((await orderOf(due)).authentication_url, /\/confirm\//);
    await movePast(due, 6);
    assert.equal((await orderOf(due)).transactions.length, 1);
    assert.equal((await read(due)).status, 'past_due');
    await movePast(due, 7);
    assert.equal((await read(due)).status, 'failed');
    assert.equal((await orderOf(due)).transactions.length, 1);
  });

  it('pays its cycle once when it is confirmed', async () => {
    const due = await unconfirmed();
    delete faults.charge;
    assert.equal((await retryOf(due)).body.status, 'succeeded');
    assert.partialDeepStrictEqual(await read(due), { status: 'active', completed_cycles: 2, current_cycle: 2 });
    assert.equal((await orderOf(due)).authentication_url, null);
    assertRefused(await retryOf(due), 400, 'invalid_state_transition');
    assert.equal((await ordersOf(service, due)).length, 2);
  });
});
