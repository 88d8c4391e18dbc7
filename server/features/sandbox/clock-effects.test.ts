import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, describe, it, type TestContext } from 'node:test';
import { assertRefused, capture, contextOf, openShop, order, readOrder } from '../../../tests/support/orders.ts';
import { startReceiver } from '../../../tests/support/receiver.ts';
import { assertNear, at, type Json, moment, startClockService } from '../../../tests/support/sandbox-clock.ts';
import { type Reply, someCustomer } from '../../../tests/support/service.ts';
import { eventually } from '../../../tests/support/webhooks.ts';
import { dayMs, hourMs, minuteMs, secondMs } from '../../platform/durations.ts';
import { getSandboxTimeline } from './timeline.ts';

/** What happens when the clock of a sandbox company moves: renewals, expiries, chargebacks, webhooks. */

const { service, newScene, hanging, stop } = await startClockService();
after(stop);

describe('what happened', () => {
  it('is listed by time, with types and object ids', async () => {
    const { pass, read, subscribed, company } = await newScene();
    await pass({ to: '2027-01-10T09:00:00Z' });
    const good = await subscribed();
    const bad = await subscribed({}, '4000009999000341');
    const { happened } = await pass({ to: '2027-02-12T00:00:00Z' });
    const one = await read(`/v1/subscriptions/${good.id}`);
    const other = await read(`/v1/subscriptions/${bad.id}`);
    const listed = happened.map(({ at, type, object_id }: Json) => [at, type, object_id]);
    const retried = moment(at(bad.next_billing_at) + dayMs);
    // Those of one moment by their names: the test below is about their order.
    assert.deepEqual(listed.toSorted(), [
      [good.next_billing_at, 'order.created', one.latest_order_id],
      [good.next_billing_at, 'order.succeeded', one.latest_order_id],
      [good.next_billing_at, 'subscription.charged', good.id],
      [bad.next_billing_at, 'order.created', other.latest_order_id],
      [bad.next_billing_at, 'order.failed', other.latest_order_id],
      [bad.next_billing_at, 'subscription.past_due', bad.id],
      [retried, 'order.failed', other.latest_order_id],
    ]);
    const context = { ...contextOf(service, company), nowMs: at('2027-02-12T00:00:00Z') };
    const { data } = await getSandboxTimeline(context, { from: at('2027-01-11T00:00:00Z') });
    const lines = data.filter(({ kind }) => kind !== 'webhooks' && kind !== 'email');
    assert.deepEqual(
      lines.map(({ kind, object, at: time }) => [time, kind, object.id]),
      [
        [retried, 'retry_declined', other.latest_order_id],
        [bad.next_billing_at, 'renewal_declined', other.latest_order_id],
        [good.next_billing_at, 'renewal_paid', one.latest_order_id],
      ],
      'one line for each charge',
    );
    assert.ok(lines.every(({ customer, text }) => customer?.name && text));
    const times = listed.map(([time]: string[]) => time);
    assert.deepEqual(times, times.toSorted());
    const { order_number } = await read(`/v1/orders/${one.latest_order_id}`);
    const paid = happened.find(({ type }: Json) => type === 'order.succeeded');
    assert.equal(paid.summary, `order ${order_number}, cycle 2, 1900 usd: succeeded`);
  });

  it('at the same time is listed in the order in which it happened', async () => {
    const { pass, subscribed, read } = await newScene();
    for (let n = 0; n < 10; n += 1) await subscribed();
    const { happened } = await pass({ by: { months: 1, days: 1 } });
    const { data } = await read('/v1/events?limit=30&sort=-created_at');
    const listed = data.toReversed().map(({ type, created_at }: Json) => ({ type, at: created_at }));
    const usual = ['order.created', 'order.succeeded', 'subscription.charged'];
    for (const entries of [happened, listed] as { type: string; at: string }[][]) {
      assert.equal(entries.length, 30);
      for (const together of Map.groupBy(entries, (entry) => entry.at).values()) {
        if (together.length === usual.length) {
          assert.deepEqual(
            together.map(({ type }) => type),
            usual,
          );
        }
      }
    }
  });

  it('is what the events of that time are, and nothing from before', async () => {
    const { pass, read, subscribed, happen } = await newScene();
    await happen();
    await subscribed({ billing_cycle: { interval: 'day', interval_count: 1, anchor_day: 'signup_date' } });
    await happen();
    await sleep(5);
    const { happened } = await pass({ by: { days: 12 } });
    const { data } = await read(
      '/v1/events?limit=100&sort=created_at&type=order.created,order.succeeded,subscription.charged',
    );
    // Those of the first charge came before.
    const events = data.slice(2).map(({ type, created_at, data: { object } }: Json) => [created_at, type, object.id]);
    assert.equal(events.length, 36);
    assert.deepEqual(
      happened.map((entry: Json) => [entry.at, entry.type, entry.object_id]),
      events,
    );
    assert.deepEqual((await pass({ by: { hours: 1 } })).happened, [], 'listed once');
  });

  it('is kept in order between subscriptions that are due minutes apart', async () => {
    const { pass, subscribed } = await newScene();
    await pass({ to: '2027-01-10T09:00:00Z' });
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      ids.push((await subscribed()).id);
      await pass({ by: { minutes: 25 } });
    }
    const { happened } = await pass({ to: '2027-03-15T00:00:00Z' });
    const charged = happened.filter(({ type }: Json) => type === 'subscription.charged');
    assert.deepEqual(
      charged.map(({ object_id }: Json) => object_id),
      [...ids, ...ids],
    );
    const times = happened.map((entry: Json) => at(entry.at));
    assert.deepEqual(
      times,
      times.toSorted((left: number, right: number) => left - right),
    );
  });
});

describe('the time of what is made on the way', () => {
  it('of a renewal is the due time exactly: order, transaction, subscription, events', async () => {
    const { pass, read, subscribed } = await newScene();
    const made = await subscribed({ billing_cycles: 2 });
    await pass({ by: { months: 1, days: 1 } });
    const due = made.next_billing_at;
    const subscription = await read(`/v1/subscriptions/${made.id}`);
    const placed = await read(`/v1/orders/${subscription.latest_order_id}`);
    const [sale] = placed.transactions;
    const transaction = await read(`/v1/transactions/${sale.id}`);
    assert.deepEqual(
      [placed.created_at, placed.updated_at, sale.created_at, transaction.created_at, transaction.updated_at],
      [due, due, due, due, due],
    );
    assert.deepEqual([subscription.updated_at, subscription.current_period_start], [due, due]);
    const { data } = await read(`/v1/events?object_id=${placed.id}`);
    assert.deepEqual(
      data.map(({ created_at }: Json) => created_at),
      [due, due],
    );
    await pass({ by: { months: 1 } });
    const { status, completed_at, updated_at } = await read(`/v1/subscriptions/${made.id}`);
    const end = subscription.current_period_end;
    assert.deepEqual([status, completed_at, updated_at], ['completed', end, end]);
  });

  it('of retries is one, three, five and seven days after the first decline, to the millisecond', async () => {
    const { pass, read, subscribed } = await newScene();
    const made = await subscribed({}, '4000009999000341');
    await pass({ by: { months: 1, days: 20 } });
    const subscription = await read(`/v1/subscriptions/${made.id}`);
    assert.equal(subscription.status, 'failed');
    const { transactions } = await read(`/v1/orders/${subscription.latest_order_id}`);
    const dueMs = at(made.next_billing_at);
    assert.deepEqual(
      transactions.map((sale: Json) => at(sale.created_at)).toSorted(),
      [0, 1, 3, 5, 7].map((days) => dueMs + days * dayMs),
    );
    assert.equal(at(subscription.updated_at), dueMs + 7 * dayMs);
  });

  it('of a renewal whose answer was lost is known when the advance has answered', async () => {
    const { pass, read, subscribed, key, call } = await newScene();
    const made = await subscribed();
    const card = await capture(service, made.customer_id, '4000009999007070', { key });
    await call('PATCH', `/v1/subscriptions/${made.id}`, { body: { payment_method_id: card } });
    await pass({ by: { months: 3, days: 1 } });
    const subscription = await read(`/v1/subscriptions/${made.id}`);
    assert.deepEqual([subscription.status, subscription.completed_cycles], ['active', 4]);
    const orders = await read(`/v1/orders?customer_id=${made.customer_id}`);
    assert.deepEqual(
      orders.data.map(({ status, subscription_cycle }: Json) => [status, subscription_cycle]),
      [4, 3, 2, 1].map((cycle) => ['succeeded', cycle]),
    );
  });
});

describe('by the clock', () => {
  it('card tokens expire after 15 minutes, and the advance lists them', async () => {
    const { pass, call, company } = await newScene();
    const key = await service.createKey(company, { kind: 'publishable' });
    const card = { number: '4242424242424242', exp_month: '12', exp_year: '2031', cvc: '123' };
    const token = async (): Promise<Json> =>
      (await service.call('POST', '/v1/card_tokens', { key, body: { card } })).body;
    const customer = (await call('POST', '/v1/customers', { body: someCustomer() })).body;
    const attach = ({ id }: Json): Promise<Reply> =>
      call('POST', `/v1/customers/${customer.id}/payment_methods`, { body: { card_token: id } });

    const [first, second] = [await token(), await token()];
    assert.deepEqual((await pass({ by: { minutes: 14 } })).happened, []);
    assert.equal((await attach(first)).status, 201, 'one that was used does not expire');
    const { happened } = await pass({ by: { minutes: 2 } });
    const expired = happened.filter(({ type }: Json) => type === 'card_token.expired');
    assert.deepEqual(
      expired.map((entry: Json) => [entry.at, entry.summary]),
      [[second.expires_at, 'card_token: card 4242']],
    );
    assertRefused(await attach(second), 400, 'invalid_request', 'card_token');
    assert.deepEqual((await pass({ by: { minutes: 20 } })).happened, [], 'listed once');
  });

  it('finished idempotency keys expire after 24 hours', async () => {
    const { pass, call } = await newScene();
    const [body, idempotencyKey] = [someCustomer(), randomUUID()];
    const first = await call('POST', '/v1/customers', { body, idempotencyKey });
    await pass({ by: { hours: 23 } });
    const again = await call('POST', '/v1/customers', { body, idempotencyKey });
    assert.deepEqual([again.status, again.text], [201, first.text]);
    await pass({ by: { hours: 1, seconds: 1 } });
    assertRefused(await call('POST', '/v1/customers', { body, idempotencyKey }), 409, 'email_already_exists');
  });

  it('the chargeback of card 0259 is raised at the next advance', async () => {
    const { pass, key } = await newScene();
    const shop = await openShop(service, '4000000000000259', { key });
    const { body } = await order(service, shop, {}, { key });
    assert.equal(body.status, 'succeeded');
    const { happened } = await pass({ by: { seconds: 2 } });
    const raised = happened.filter(({ type }: Json) => type === 'order.chargeback');
    assert.deepEqual(
      raised.map(({ object_id }: Json) => object_id),
      [body.id],
    );
    assertNear(at(raised[0].at), at(body.created_at) + secondMs, 'a second after the charge');
    const disputed = await readOrder(service, body.id, { key });
    assert.deepEqual([disputed.status, disputed.updated_at], ['chargeback', raised[0].at]);
    assert.deepEqual((await pass({ by: { days: 1 } })).happened, [], 'once');
  });

  it('a chargeback that no worker has raised in time is raised and listed at the next advance', async () => {
    const { pass, key } = await newScene();
    const shop = await openShop(service, '4000000000000259', { key });
    const { body } = await order(service, shop, {}, { key });
    await sleep(1_100);
    const { happened } = await pass({ by: { days: 1 } });
    assert.equal((await readOrder(service, body.id, { key })).status, 'chargeback');
    assert.deepEqual(
      happened.map(({ type, object_id }: Json) => [type, object_id]),
      [['order.chargeback', body.id]],
    );
  });

  it('the chargeback of a renewal follows it by a second', async () => {
    const { pass, read, subscribed } = await newScene();
    const made = await subscribed({}, '4000000000000259');
    await pass({ by: { hours: 1 } });
    const { happened } = await pass({ by: { months: 1 } });
    const listed = happened.map((entry: Json) => [entry.type, at(entry.at) - at(made.next_billing_at)]);
    const [unanswered] = listed.shift();
    assert.equal(unanswered, 'order.chargeback_accepted', 'the dispute of the first charge was not answered in time');
    assert.deepEqual(listed, [
      ['order.created', 0],
      ['order.succeeded', 0],
      ['subscription.charged', 0],
      ['order.chargeback', secondMs],
    ]);
    assert.equal((await read(`/v1/subscriptions/${made.id}`)).status, 'active');
  });
});

describe('webhooks and the clock', () => {
  async function scene(t: TestContext, how?: Parameters<typeof startReceiver>[0]) {
    const receiver = await startReceiver(how);
    t.after(() => receiver.stop());
    const one = await newScene();
    return { ...one, receiver, endpoint: await one.subscribe(receiver.url) };
  }
  const delivered = ({ happened }: Json): Json[] => happened.filter(({ type }: Json) => type === 'webhook.delivered');
  const failed = ({ happened }: Json): Json[] => happened.filter(({ type }: Json) => type === 'webhook.failed');

  it('an advance waits until its events are delivered, and lists the deliveries', async (t) => {
    const { receiver, pass, subscribed, endpoint } = await scene(t, (_, response) => {
      setTimeout(() => response.writeHead(200).end(), 100);
    });
    const { id } = await subscribed();
    await pass({ by: { days: 1 } });
    const earlier = receiver.received.length;
    const past = await pass({ by: { months: 2 } });
    const arrived = receiver.received.slice(earlier).map(({ event }) => event);
    const types = arrived.map(({ type }) => type).toSorted((one, other) => one.localeCompare(other));
    assert.deepEqual(types, [
      ...['order.created', 'order.created', 'order.succeeded', 'order.succeeded'],
      ...['subscription.charged', 'subscription.charged'],
    ]);
    assert.deepEqual(
      arrived
        .filter(({ type }) => type === 'subscription.charged')
        .map(({ data }) => [data.object.id, data.object.current_cycle]),
      [
        [id, 2],
        [id, 3],
      ],
    );
    assert.equal(delivered(past).length, 6);
    assert.ok(delivered(past).every(({ object_id }) => object_id === endpoint.id));
    const times = past.happened.map((entry: Json) => at(entry.at));
    assert.deepEqual(
      times,
      times.toSorted((left: number, right: number) => left - right),
    );
  });

  it('retries fall due by it: after 5 s, 5 min, 30 min, 2 h, 5 h and 10 h of a day', async (t) => {
    const { receiver, pass, happen, delivery, endpoint } = await scene(t, 500);
    const eventId = await happen();
    await eventually(
      'the first attempt is over',
      async () => (await delivery(endpoint.id, eventId)).last_attempt_at ?? undefined,
    );
    const firstMs = at((await delivery(endpoint.id, eventId)).last_attempt_at);
    const tries = failed(await pass({ by: { days: 1 } }));
    assert.equal(receiver.received.length, 7);
    const delays = [5 * secondMs, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 5 * hourMs, 10 * hourMs];
    assert.equal(tries.length, delays.length);
    let beforeMs = firstMs;
    for (const [index, delayMs] of delays.entries()) {
      const triedMs = at(tries[index]?.at);
      assertNear(triedMs, beforeMs + delayMs, `retry ${index + 1}`, 90 * secondMs);
      beforeMs = triedMs;
    }
    assert.deepEqual(
      receiver.received.map(({ headers }) => headers['svc-delivery-attempt']),
      ['1', '2', '3', '4', '5', '6', '7'],
    );
    const { attempts, delivery_status } = await delivery(endpoint.id, eventId);
    assert.deepEqual([attempts, delivery_status], [7, 'pending']);
  });

  it('a receiver that recovers gets it with the retry', async (t) => {
    const { receiver, pass, happen, delivery, endpoint } = await scene(t, 500);
    const eventId = await happen();
    await eventually(
      'the first attempt is over',
      async () => (await delivery(endpoint.id, eventId)).last_attempt_at ?? undefined,
    );
    receiver.behave(200);
    const past = await pass({ by: { minutes: 1 } });
    assert.deepEqual([delivered(past).length, failed(past).length], [1, 0]);
    assert.equal((await delivery(endpoint.id, eventId)).delivery_status, 'delivered');
  });

  it('a retry that falls due before a renewal is made before it', async (t) => {
    const { receiver, pass, happen, delivery, endpoint, subscribed } = await scene(t);
    const { next_billing_at } = await subscribed();
    await pass({ to: moment(at(next_billing_at) - 20 * minuteMs) });
    receiver.behave(500);
    const eventId = await happen();
    await eventually(
      'the first attempt is over',
      async () => (await delivery(endpoint.id, eventId)).last_attempt_at ?? undefined,
    );
    const { happened } = await pass({ by: { minutes: 21 } });
    // After 5 s and 5 min of the 20 minutes.
    const listed = happened.map(({ type }: Json) => type).slice(0, 3);
    assert.deepEqual(listed, ['webhook.failed', 'webhook.failed', 'order.created']);
  });

  it('nothing is delivered before it happened', async (t) => {
    const { pass, subscribed, read, logs, endpoint } = await scene(t);
    await pass({ to: '2027-01-10T09:00:00Z' });
    for (let n = 0; n < 6; n += 1) {
      await subscribed();
      await pass({ by: { minutes: 9 } });
    }
    await pass({ by: { months: 1 } });
    const { data } = await read('/v1/events?limit=18');
    const happenedAt = new Map(data.map(({ id, created_at }: Json) => [id, created_at]));
    const renewals = (await logs(endpoint.id)).filter(({ event_id }) => happenedAt.has(event_id));
    assert.equal(renewals.length, 18);
    const early = renewals.filter(({ event_id, created_at }) => created_at < String(happenedAt.get(event_id)));
    assert.deepEqual(
      early.map(({ event_type, event_id, created_at }) => [event_type, happenedAt.get(event_id), created_at]),
      [],
    );
  });

  it('a receiver that fails for five days is disabled on the way', async (t) => {
    const { pass, happen, read, endpoint, receiver } = await scene(t, 500);
    await happen();
    await receiver.count(1);
    // Ten attempts of one event take about three days: a later event goes on failing.
    for (let passed = 0; passed < 7; passed += 1) {
      await pass({ by: { days: 1 } });
      if ((await read(`/v1/webhook_endpoints/${endpoint.id}`)).status === 'disabled') break;
      await happen();
    }
    const { status, disabled_reason } = await read(`/v1/webhook_endpoints/${endpoint.id}`);
    assert.deepEqual([status, disabled_reason], ['disabled', 'every delivery failed for 5 days']);
  });

  it('a receiver that hangs holds an advance up for two seconds at most, and the others not at all', async (t) => {
    const { pass, subscribed, subscribe } = await hanging(t);
    const good = await startReceiver();
    t.after(() => good.stop());
    await subscribe(good.url);
    await subscribed();
    const startedMs = Date.now();
    const past = await pass({ by: { months: 6, days: 1 } });
    const tookMs = Date.now() - startedMs;
    // Two seconds for each of six renewals would be twelve.
    assert.ok(tookMs < 9 * secondMs, `${tookMs} ms`);
    assert.equal(past.happened.filter(({ type }: Json) => type === 'subscription.charged').length, 6);
    assert.equal(good.received.filter(({ event }) => event.type === 'subscription.charged').length, 6);
  });
});
