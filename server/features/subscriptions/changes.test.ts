import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import {
  addCard,
  cards,
  clockOf,
  created,
  day,
  dayMs,
  inEachStatus,
  later,
  moveTo,
  openScene,
  operator,
  ordersOf,
  type Scene,
} from '../../../tests/support/billing.ts';
import { assertInvalid, assertRefused, capture, eventTypes } from '../../../tests/support/orders.ts';
import { type Reply, someCustomer, startTestService, type TestService } from '../../../tests/support/service.ts';
import { advance, readSubscription, somePlan, someSubscriber } from '../../../tests/support/subscriptions.ts';
import type { PlanCreate } from '../plans/schemas.ts';
import { pauseSubscription } from './service.ts';

/** Reading, changing, canceling and previewing subscriptions. */

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const scene = (plan: Partial<PlanCreate> = {}, number?: string): Promise<Scene> => openScene(service, plan, number);
const get = ({ key }: Scene, path: string): Promise<Reply> => service.call('GET', path, { key });
const patch = ({ key }: Scene, id: string, body: unknown): Promise<Reply> =>
  service.call('PATCH', `/v1/subscriptions/${id}`, { body, key });
const cancel = ({ key }: Scene, id: string, idempotencyKey?: string): Promise<Reply> =>
  service.call('DELETE', `/v1/subscriptions/${id}`, { key, ...(idempotencyKey && { idempotencyKey }) });
async function changed(at: Scene, id: string, body: unknown): Promise<Reply['body']> {
  const reply = await patch(at, id, body);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

interface EventRow {
  readonly type: string;
  readonly object: Record<string, unknown>;
  readonly previous: Record<string, unknown> | null;
}
const eventsOf = (id: string): Promise<EventRow[]> =>
  service.db.query<EventRow>('SELECT type, object, previous FROM events WHERE object_id = $1 ORDER BY sequence', [id]);

describe('GET /v1/subscriptions/{id}', () => {
  it('expands customer and plan beside their ids, and gives only the fields that are asked for', async () => {
    const at = await scene();
    const { id } = await created(service, at);
    const { body } = await get(at, `/v1/subscriptions/${id}?expand=customer,plan`);
    assert.equal(body.customer.id, at.customer_id);
    assert.deepEqual(body.plan, (await get(at, `/v1/plans/${at.plan_id}`)).body);
    assert.deepEqual([body.customer_id, body.plan_id], [at.customer_id, at.plan_id]);
    const some = await get(at, `/v1/subscriptions/${id}?fields[subscriptions]=status,plan_id`);
    assert.deepEqual(Object.keys(some.body).toSorted(), ['id', 'plan_id', 'status']);
    assertRefused(await get(at, `/v1/subscriptions/${id}?expand=orders`), 400, 'validation_error', 'expand');
    const unknown = await get(at, `/v1/subscriptions/${id}?fields[subscriptions]=nope`);
    assertRefused(unknown, 400, 'validation_error');
  });

  it('GET /v1/customers/{id}?expand=subscriptions has them, newest first', async () => {
    const at = await scene();
    const first = await created(service, at);
    const second = await created(service, at);
    const { body } = await get(at, `/v1/customers/${at.customer_id}?expand=subscriptions`);
    assert.deepEqual(body.subscriptions, [second, first]);
  });
});

describe('GET /v1/subscriptions', () => {
  it('filters by customer, plan and a comma list of statuses, and refuses what it does not know', async () => {
    const at = await scene();
    const plan_id = (await somePlan(service, {}, at.company)).id;
    const customer_id = await someSubscriber(service, cards.declined, { key: at.key });
    const one = await created(service, at);
    const two = await created(service, { ...at, plan_id });
    const three = await created(service, { ...at, customer_id }, {}, 'failed');
    await cancel(at, two.id);
    const ids = async (query: string): Promise<string[]> => {
      const reply = await get(at, `/v1/subscriptions?${query}`);
      assert.equal(reply.status, 200, reply.text);
      return reply.body.data.map(({ id }: { id: string }) => id);
    };
    assert.deepEqual(await ids(''), [three.id, two.id, one.id]);
    assert.deepEqual(await ids(`customer_id=${at.customer_id}`), [two.id, one.id]);
    assert.deepEqual(await ids(`plan_id=${plan_id}`), [two.id]);
    assert.deepEqual(await ids('status=active,failed'), [three.id, one.id]);
    assert.deepEqual(await ids(`status=canceled&plan_id=${at.plan_id}`), []);
    assert.deepEqual(await ids('sort=created_at'), [one.id, two.id, three.id]);
    assert.deepEqual(await ids('sort=created_at[asc]&limit=1'), [one.id]);
    assert.deepEqual(await ids(`created_at[gte]=${two.created_at}`), [three.id, two.id]);
    for (const [query, param] of [
      ['status=pending', 'status'],
      ['status=active,nope', 'status'],
      ['customer_id=nope', 'customer_id'],
      ['plan_id=nope', 'plan_id'],
      ['sort=amount', 'sort'],
      ['expand=payment_method', 'expand'],
      ['customer=x', 'customer'],
      ['limit=0', 'limit'],
      ['limit=101', 'limit'],
    ] as const) {
      assertRefused(await get(at, `/v1/subscriptions?${query}`), 400, 'validation_error', param);
    }
    const other = await scene();
    assert.deepEqual((await get(other, '/v1/subscriptions')).body.data, []);
  });

  it('is walked page by page, with expand and sparse fields', async () => {
    const at = await scene();
    const made: string[] = [];
    for (let n = 0; n < 5; n += 1) made.unshift((await created(service, at)).id);
    const seen: string[] = [];
    let query = '/v1/subscriptions?limit=2&expand=customer&expand=plan';
    for (let after = ''; ; ) {
      const { body } = await get(at, query + after);
      assert.equal(body.url, '/v1/subscriptions');
      for (const one of body.data) {
        seen.push(one.id);
        assert.deepEqual([one.customer.id, one.plan.plan_code !== undefined], [at.customer_id, true]);
      }
      assert.equal(body.has_more, body.cursors.next !== null);
      if (!body.has_more) break;
      after = `&starting_after=${body.cursors.next}`;
    }
    assert.deepEqual(seen, made);
    query = `/v1/subscriptions?ending_before=${made[3]}&limit=2&fields[subscriptions]=status`;
    assert.deepEqual(
      (await get(at, query)).body.data,
      made.slice(1, 3).map((id) => ({ id, status: 'active' })),
    );
  });
});

describe('PATCH /v1/subscriptions/{id}', () => {
  it('changes card, description, shipping and metadata, and its event has the previous values', async () => {
    const at = await scene();
    const before = await created(service, at, { description: 'Old', metadata: { a: 1, b: 2 } });
    const payment_method_id = await capture(service, at.customer_id, cards.good, { key: at.key });
    const shipping = { name: 'Ada', line1: '2 Side St', city: 'Nice', postal_code: '06000', country: 'FR' };
    const body = await changed(at, before.id, {
      payment_method_id,
      description: null,
      shipping,
      metadata: { a: null, c: 3 },
    });
    assert.partialDeepStrictEqual(body, { description: null, shipping, metadata: { b: 2, c: 3 }, status: 'active' });
    assert.equal(body.metadata.a, undefined);
    assert.deepEqual([body.payment_method.id, body.payment_method.card_last_four], [payment_method_id, '4444']);
    assert.equal(body.next_billing_at, before.next_billing_at);
    assert.deepEqual(await readSubscription(service, before.id, at), body);
    const [, updated, ...rest] = await eventsOf(before.id);
    assert.deepEqual([updated?.type, rest.length], ['subscription.updated', 0]);
    assert.deepEqual(updated?.object, body);
    assert.partialDeepStrictEqual(updated?.previous, { description: 'Old', shipping: null });
    assert.deepEqual(updated?.previous?.payment_method, before.payment_method);
    assert.equal(updated?.previous && 'status' in updated.previous, false, 'only what changed');
    await advance(service, { by: { months: 1, hours: 1 } }, at);
    const [first, second] = await ordersOf(service, at);
    assert.equal(first?.payment_method.card_last_four, '4242');
    assert.equal(second?.payment_method.id, payment_method_id);
    assert.partialDeepStrictEqual(second, { shipping: { city: 'Nice' } });
  });

  it('copies a shipping address by its id, and refuses another’s', async () => {
    const { key, company, plan_id } = await scene();
    const shipping_address = { name: 'Ada', line1: '1 Main St', city: 'Paris', postal_code: '75001', country: 'FR' };
    const customer = await service.call('POST', '/v1/customers', { body: someCustomer({ shipping_address }), key });
    const at = { key, company, plan_id, customer_id: customer.body.id };
    await addCard(service, at, cards.good);
    const { id } = await created(service, at);
    const shipping_address_id = customer.body.shipping_address.id;
    const body = await changed(at, id, { shipping_address_id });
    assert.partialDeepStrictEqual(body, { shipping_address_id, shipping: { city: 'Paris' } });
    const refused = await patch(at, id, { shipping_address_id: randomUUID() });
    assertRefused(refused, 404, 'resource_not_found', 'shipping_address_id');
  });

  it('refuses what cannot change, null where nothing can be null, and another customer’s card', async () => {
    const at = await scene();
    const before = await created(service, at);
    for (const field of [
      'customer_id',
      'plan_id',
      'billing_cycles',
      'end_date',
      'start_date',
      'status',
      'coupon_code',
    ]) {
      assertInvalid(await patch(at, before.id, { [field]: 'x' }), field);
    }
    for (const field of ['payment_method_id', 'billing_cycle']) {
      assertRefused(await patch(at, before.id, { [field]: null }), 400, 'validation_error', field);
    }
    const cycle = { interval: 'month', interval_count: 61 };
    assertInvalid(await patch(at, before.id, { billing_cycle: cycle }), 'billing_cycle.interval_count');
    const other = await scene();
    const foreign = await addCard(service, other, cards.good);
    for (const payment_method_id of [randomUUID(), foreign]) {
      const reply = await patch(at, before.id, { payment_method_id, description: 'changed' });
      assertRefused(reply, 404, 'resource_not_found', 'payment_method_id');
    }
    assert.deepEqual(await readSubscription(service, before.id, at), before);
    assert.deepEqual(await eventTypes(service, before.id), ['subscription.created']);
  });

  it('of the billing cycle: both events, the next date counted from the current period, nothing charged', async () => {
    const at = await scene();
    const before = await created(service, at);
    await advance(service, { by: { days: 20 } }, at);
    const body = await changed(at, before.id, { billing_cycle: { interval: 'day', interval_count: 7 } });
    const next = later(before.current_period_start, 21 * dayMs);
    assert.partialDeepStrictEqual(body, {
      billing_cycle: { interval: 'day', interval_count: 7 },
      current_period_start: before.current_period_start,
      current_period_end: next,
      next_billing_at: next,
      current_cycle: 1,
    });
    assert.equal((await ordersOf(service, at)).length, 1);
    const [, ...events] = await eventsOf(before.id);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['subscription.updated', 'subscription.billing.updated'],
    );
    for (const event of events) {
      assert.deepEqual(event.object, body);
      assert.deepEqual(event.previous?.billing_cycle, before.billing_cycle);
      assert.equal(event.previous?.next_billing_at, before.next_billing_at);
    }
    await advance(service, { by: { days: 9 } }, at);
    const dates = (await ordersOf(service, at)).map(({ created_at }) => created_at);
    assert.deepEqual(dates.slice(1), [next, later(next, 7 * dayMs)]);
  });

  it('after a renewal that was paid late: no date follows that payment within 13 days', async () => {
    const at = await scene({}, cards.declinesAfterFirst);
    await moveTo(service, at.key, '2029-01-01T10:00:00.000Z');
    const { id } = await created(service, at);
    await moveTo(service, at.key, '2029-02-06T12:00:00.000Z');
    await addCard(service, at, cards.good, { update_subscriptions: true });
    await moveTo(service, at.key, '2029-02-07T12:00:00.000Z');
    const paid = await readSubscription(service, id, at);
    assert.deepEqual(
      [paid.status, day(paid.current_period_start), day(paid.next_billing_at)],
      ['active', '2029-02-01', '2029-03-01'],
    );
    // Counted from 1 Feb alone it would be 16 Feb, ten days after the payment.
    const body = await changed(at, id, { billing_cycle: { anchor_day: 16 } });
    assert.equal(day(body.next_billing_at), '2029-03-16');
    const planned = (await get(at, `/v1/subscriptions/${id}/upcoming?count=2`)).body.data;
    await moveTo(service, at.key, '2029-04-17T00:00:00.000Z');
    const billed = (await ordersOf(service, at)).slice(2).map(({ created_at }) => created_at);
    assert.deepEqual(
      billed,
      planned.map(({ date }: { date: string }) => date),
    );
  });

  it('of the interval keeps the sign-up day: 31 Jan, 28 Feb, then every two months is 30 Apr', async () => {
    const at = await scene();
    await moveTo(service, at.key, '2029-01-31T10:00:00.000Z');
    const { id } = await created(service, at);
    await moveTo(service, at.key, '2029-03-01T10:00:00.000Z');
    assert.equal(day((await readSubscription(service, id, at)).current_period_start), '2029-02-28');
    const body = await changed(at, id, { billing_cycle: { interval_count: 2 } });
    assert.equal(body.billing_cycle.anchor_day, 'signup_date');
    assert.equal(day(body.next_billing_at), '2029-04-30');
  });

  it('to the same billing cycle sends no subscription.billing.updated and moves no date', async () => {
    const at = await scene();
    const before = await created(service, at);
    const body = await changed(at, before.id, { billing_cycle: before.billing_cycle });
    assert.equal(body.next_billing_at, before.next_billing_at);
    assert.equal((await eventTypes(service, before.id)).includes('subscription.billing.updated'), false);
  });

  it('before the start keeps the start', async () => {
    const at = await scene();
    const start = day(later(await clockOf(service, at.key), 10 * dayMs));
    const { id } = await created(service, at, { start_date: start });
    const body = await changed(at, id, { billing_cycle: { interval: 'day', interval_count: 3 } });
    assert.equal(body.next_billing_at, `${start}T00:00:00.000Z`);
    await moveTo(service, at.key, later(`${start}T00:00:00.000Z`, 4 * dayMs));
    const dates = (await ordersOf(service, at)).map(({ created_at }) => day(created_at));
    assert.deepEqual(dates, [start, day(later(start, 3 * dayMs))]);
  });

  it('only while active or paused: subscription_not_modifiable in every other status', async () => {
    for (const [status, [at, id]] of Object.entries(await inEachStatus(service))) {
      assert.equal((await readSubscription(service, id, at)).status, status);
      const reply = await patch(at, id, { description: 'x' });
      if (['active', 'paused'].includes(status)) assert.equal(reply.status, 200, reply.text);
      else assertRefused(reply, 400, 'subscription_not_modifiable');
      const dated = await patch(at, id, { billing_cycle: { interval_count: 2 } });
      if (status === 'paused') assert.partialDeepStrictEqual(dated.body, { status, next_billing_at: null });
      await advance(service, { by: { hours: 1 } }, at);
      assert.equal((await readSubscription(service, id, at)).status, status);
    }
  });
});

describe('DELETE /v1/subscriptions/{id}', () => {
  it('answers id, status and canceled_at, and bills nothing any more', async () => {
    const at = await scene();
    const { id } = await created(service, at);
    const reply = await cancel(at, id, 'my-key');
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(Object.keys(reply.body).toSorted(), ['canceled_at', 'id', 'status']);
    const body = await readSubscription(service, id, at);
    assert.partialDeepStrictEqual(body, { ...reply.body, next_billing_at: null, next_retry_at: null });
    assert.deepEqual((await eventsOf(id)).at(-1)?.object, body);
    assert.equal((await cancel(at, id, 'my-key')).text, reply.text, 'a replay');
    assertRefused(await cancel(at, id), 409, 'already_canceled');
    await advance(service, { by: { months: 3 } }, at);
    assert.equal((await ordersOf(service, at)).length, 1);
    assert.deepEqual(await eventTypes(service, id), ['subscription.created', 'subscription.canceled']);
  });

  it('takes no body', async () => {
    const at = await scene();
    const { id } = await created(service, at);
    const body = { at_period_end: true };
    const reply = await service.call('DELETE', `/v1/subscriptions/${id}`, { key: at.key, body });
    assert.equal(reply.status, 400, reply.text);
    assert.equal((await readSubscription(service, id, at)).status, 'active');
  });
});

describe('a new card of the customer', () => {
  it('with update_subscriptions is that of all active and paused ones; nothing is charged', async () => {
    const at = await scene();
    const [one, two] = [await created(service, at), await created(service, at)];
    await pauseSubscription(await operator(service, at), two.id);
    await addCard(service, at, '4000000000001111', { set_as_default: true });
    assert.deepEqual((await readSubscription(service, one.id, at)).payment_method, one.payment_method);
    const id = await addCard(service, at, cards.good, { update_subscriptions: true });
    for (const { id: subscription } of [one, two]) {
      assert.equal((await readSubscription(service, subscription, at)).payment_method.id, id);
      const event = (await eventsOf(subscription)).at(-1);
      assert.equal(event?.type, 'subscription.updated');
      assert.deepEqual(event?.previous?.payment_method, one.payment_method);
    }
    await service.subscriptions.billDue(100);
    assert.equal((await ordersOf(service, at)).length, 2);
  });
});
