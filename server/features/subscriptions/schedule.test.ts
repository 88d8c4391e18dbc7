import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  addCard,
  cards,
  clockOf,
  create,
  created,
  day,
  dayMs,
  everyDays,
  inEachStatus,
  later,
  moveTo,
  openScene,
  ordersOf,
  type Scene,
} from '../../../tests/support/billing.ts';
import { assertInvalid, assertRefused, eventTypes } from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { advance, readSubscription } from '../../../tests/support/subscriptions.ts';
import type { PlanCreate } from '../plans/schemas.ts';
import { previewBills } from './service.ts';

/** When a subscription starts, is billed and ends, and how that is previewed. */

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const { declined } = cards;
const scene = (plan: Partial<PlanCreate> = {}, number?: string): Promise<Scene> => openScene(service, plan, number);
const get = ({ key }: Scene, path: string): Promise<Reply> => service.call('GET', path, { key });
const upcoming = async (at: Scene, id: string, count = 3): Promise<Reply['body'][]> => {
  const reply = await get(at, `/v1/subscriptions/${id}/upcoming?count=${count}`);
  assert.equal(reply.status, 200, reply.text);
  return reply.body.data;
};

describe('start_date and end_date', () => {
  it('start_date today is the same as none: charged at once, at this time of day', async () => {
    const at = await scene();
    const body = await created(service, at, { start_date: day(await clockOf(service, at.key)) });
    assert.equal(body.current_period_start, body.created_at);
    assert.equal((await ordersOf(service, at)).length, 1);
  });

  it('start_date in the past is 400', async () => {
    const at = await scene();
    const yesterday = day(later(day(await clockOf(service, at.key)), -dayMs));
    assertInvalid(await create(service, at, { start_date: yesterday }), 'start_date');
    assert.deepEqual(await ordersOf(service, at), []);
  });

  it('leave a subscription active and uncharged until 00:00 UTC of a later start_date, then charge cycle 1', async () => {
    const at = await scene({ one_time_amount: 500 });
    const start = day(later(day(await clockOf(service, at.key)), 10 * dayMs));
    const body = await created(service, at, { start_date: start });
    assert.partialDeepStrictEqual(body, {
      start_date: start,
      current_cycle: 0,
      completed_cycles: 0,
      current_period_start: null,
      current_period_end: null,
      next_billing_at: `${start}T00:00:00.000Z`,
      latest_order_id: null,
    });
    assert.deepEqual(await eventTypes(service, body.id), ['subscription.created']);
    await moveTo(service, at.key, later(`${start}T00:00:00.000Z`, -1000));
    assert.deepEqual(await ordersOf(service, at), []);
    await moveTo(service, at.key, `${start}T00:00:05.000Z`);
    const [order, ...rest] = await ordersOf(service, at);
    assert.equal(rest.length, 0);
    assert.partialDeepStrictEqual(order, { total: 2400, subscription_cycle: 1, created_at: `${start}T00:00:00.000Z` });
    const begun = await readSubscription(service, body.id, at);
    assert.partialDeepStrictEqual(begun, { status: 'active', current_cycle: 1, completed_cycles: 1 });
    assert.equal(begun.current_period_start, `${start}T00:00:00.000Z`);
    assert.equal(begun.current_period_end.slice(10), 'T00:00:00.000Z');
  });

  it('a decline at a later start is a first-charge decline: failed, null cycle, no retry', async () => {
    const at = await scene({}, declined);
    const start = day(later(day(await clockOf(service, at.key)), 2 * dayMs));
    const { id } = await created(service, at, { start_date: start });
    await advance(service, { by: { days: 40 } }, at);
    const body = await readSubscription(service, id, at);
    assert.partialDeepStrictEqual(body, { status: 'failed', next_retry_at: null, attempt_count: 1, current_cycle: 0 });
    const orders = await ordersOf(service, at);
    assert.equal(orders.length, 1);
    assert.partialDeepStrictEqual(orders[0], { status: 'failed', subscription_cycle: null, next_retry_at: null });
    assert.equal(orders[0]?.transactions.length, 1);
    assert.deepEqual(await eventTypes(service, id), ['subscription.created', 'subscription.failed']);
  });

  it('end_date not later than the start is 400', async () => {
    const at = await scene();
    const now = day(await clockOf(service, at.key));
    const start_date = day(later(now, 5 * dayMs));
    assertInvalid(await create(service, at, { end_date: now }), 'end_date');
    assertInvalid(await create(service, at, { start_date, end_date: start_date }), 'end_date');
    assertInvalid(await create(service, at, { start_date, end_date: day(later(now, 4 * dayMs)) }), 'end_date');
    assert.deepEqual(await ordersOf(service, at), []);
  });

  it('billing_cycles or end_date, whichever is first, ends it', async () => {
    const at = await scene({ billing_cycle: everyDays(1) });
    const end_date = day(later(day(await clockOf(service, at.key)), 20 * dayMs));
    const { id } = await created(service, at, { billing_cycles: 3, end_date });
    await advance(service, { by: { days: 30 } }, at);
    assert.partialDeepStrictEqual(await readSubscription(service, id, at), {
      status: 'completed',
      completed_cycles: 3,
    });
  });
});

describe('billing_cycle', () => {
  it('is the plan’s when omitted, and overridden field by field', async () => {
    const billing_cycle = { interval: 'month', interval_count: 1, anchor_day: 5 } as const;
    const at = await scene({ billing_cycle, billing_cycles: 12 });
    assert.partialDeepStrictEqual(await created(service, at), { billing_cycle, billing_cycles: 12 });
    const own = { interval: 'day', interval_count: 14, anchor_day: 'signup_date' };
    const body = await created(service, at, { billing_cycle: own, billing_cycles: 0 });
    assert.partialDeepStrictEqual(body, { billing_cycle: own, billing_cycles: 0 });
    assert.equal(body.next_billing_at, later(body.current_period_start, 14 * dayMs));
  });

  it('has bounds: 60 months, 365 days, anchor 1 to 31, day or month', async () => {
    const at = await scene();
    for (const cycle of [
      { interval: 'month', interval_count: 60 },
      { interval: 'day', interval_count: 365 },
      { interval: 'month', interval_count: 1, anchor_day: 31 },
    ]) {
      assert.partialDeepStrictEqual((await created(service, at, { billing_cycle: cycle })).billing_cycle, cycle);
    }
    for (const [cycle, field] of [
      [{ interval: 'month', interval_count: 61 }, 'interval_count'],
      [{ interval: 'day', interval_count: 366 }, 'interval_count'],
      [{ interval: 'day', interval_count: 0 }, 'interval_count'],
      [{ interval: 'week', interval_count: 1 }, 'interval'],
      [{ interval: 'month', interval_count: 1, anchor_day: 0 }, 'anchor_day'],
      [{ interval: 'month', interval_count: 1, anchor_day: 32 }, 'anchor_day'],
      [{ interval: 'month', interval_count: 1, anchor_day: 'monday' }, 'anchor_day'],
    ] as const) {
      const reply = await create(service, at, { billing_cycle: cycle });
      assertRefused(reply, 400, 'validation_error', `billing_cycle.${field}`);
    }
    assert.equal((await ordersOf(service, at)).length, 3);
  });

  it('0 billing_cycles is without end', async () => {
    const at = await scene({ billing_cycles: 2 });
    const { id } = await created(service, at, { billing_cycles: 0 });
    await advance(service, { by: { months: 4, hours: 1 } }, at);
    assert.partialDeepStrictEqual(await readSubscription(service, id, at), { status: 'active', completed_cycles: 5 });
  });

  it('with any anchor bills what `upcoming` and the preview of the plan show, every 13 days or more', async () => {
    const at = await scene();
    await moveTo(service, at.key, '2028-01-29T10:00:00.000Z');
    const subscribed = new Map<string, Reply['body'][]>();
    for (const anchor_day of [1, 12, 15, 28, 29, 30, 31]) {
      const billing_cycle = { interval: 'month' as const, interval_count: anchor_day === 12 ? 2 : 1, anchor_day };
      const { id, created_at } = await created(service, at, { billing_cycle });
      const planned = await upcoming(at, id, 3);
      subscribed.set(id, planned);
      const previewed = previewBills({ billing_cycle, amount: 1900 }, Date.parse(created_at), 4);
      assert.deepEqual(
        previewed.slice(1).map((bill) => bill.at),
        planned.map(({ date }) => date),
      );
      const dates = [created_at, ...planned.map(({ date }) => date)].map((date) => Date.parse(date));
      for (const [index, date] of dates.slice(1).entries()) assert.ok(date - (dates[index] ?? 0) >= 13 * dayMs);
    }
    await moveTo(service, at.key, '2028-08-13T00:00:00.000Z');
    const orders = await ordersOf(service, at);
    for (const [id, planned] of subscribed) {
      const billed = orders.filter(({ subscription_id }) => subscription_id === id).slice(1, 4);
      assert.deepEqual(
        billed.map(({ created_at }) => created_at),
        planned.map(({ date }) => date),
      );
    }
  });
});

describe('GET /v1/subscriptions/{id}/upcoming', () => {
  it('takes a count of 1 to 60', async () => {
    const at = await scene();
    const { id } = await created(service, at);
    for (const count of ['0', '61', '-1', '1.5', 'x', '']) {
      const reply = await get(at, `/v1/subscriptions/${id}/upcoming?count=${count}`);
      assertRefused(reply, 400, 'validation_error', 'count');
    }
    for (const count of [1, 60]) assert.equal((await upcoming(at, id, count)).length, count);
    assert.ok((await get(at, `/v1/subscriptions/${id}/upcoming`)).body.data.length >= 1);
  });

  it('is what is really billed afterwards, to the millisecond and the cent', async () => {
    const at = await scene({ one_time_amount: 700, billing_cycles: 5 });
    await moveTo(service, at.key, '2028-01-20T09:00:00.000Z');
    const { id } = await created(service, at, { start_date: '2028-01-31' });
    const planned = await upcoming(at, id, 60);
    assert.deepEqual(
      planned.map(({ cycle, date, total }) => [cycle, day(date), total]),
      [
        [1, '2028-01-31', 2600],
        [2, '2028-02-29', 1900],
        [3, '2028-03-31', 1900],
        [4, '2028-04-30', 1900],
        [5, '2028-05-31', 1900],
      ],
    );
    assert.deepEqual(planned[0], {
      cycle: 1,
      date: '2028-01-31T00:00:00.000Z',
      amount: 2600,
      discount_amount: 0,
      total: 2600,
      currency: 'usd',
    });
    await moveTo(service, at.key, '2029-01-01T00:00:00.000Z');
    const billed = (await ordersOf(service, at)).map((order) => ({
      cycle: order.subscription_cycle,
      date: order.created_at,
      amount: order.subtotal,
      discount_amount: order.discount_amount,
      total: order.total,
      currency: order.currency,
    }));
    assert.deepEqual(billed, planned);
    assert.equal((await readSubscription(service, id, at)).status, 'completed');
  });

  it('begins with next_billing_at and stops at the end date', async () => {
    const at = await scene({ billing_cycle: everyDays(7) });
    const end_date = day(later(await clockOf(service, at.key), 16 * dayMs));
    const { id, next_billing_at } = await created(service, at, { end_date });
    const planned = await upcoming(at, id, 60);
    assert.deepEqual(
      planned.map(({ date }) => date),
      [next_billing_at, later(next_billing_at, 7 * dayMs)],
    );
  });

  it('is empty when canceled, completed, failed or paused', async () => {
    for (const [status, [at, id]] of Object.entries(await inEachStatus(service))) {
      const planned = await upcoming(at, id);
      assert.equal(planned.length > 0, ['active', 'past_due'].includes(status), status);
    }
  });

  it('of a past due one names no date that has passed: those are not billed', async () => {
    const at = await scene({ billing_cycle: everyDays(1) }, cards.declinesAfterFirst);
    const { id } = await created(service, at);
    await advance(service, { by: { days: 3, hours: 12 } }, at);
    assert.equal((await readSubscription(service, id, at)).status, 'past_due');
    const now = await clockOf(service, at.key);
    const planned = await upcoming(at, id);
    assert.ok(
      planned.every(({ date }) => date > now),
      `${now}: ${JSON.stringify(planned)}`,
    );
    await addCard(service, at, cards.good, { update_subscriptions: true });
    await advance(service, { by: { days: 5 } }, at);
    const dates = (await ordersOf(service, at)).slice(2).map(({ created_at }) => created_at);
    assert.deepEqual(
      dates.slice(0, 3),
      planned.map(({ date }) => date),
    );
  });
});

describe('the far future', () => {
  it('is refused, or billed and previewed like any other time', async () => {
    const at = await scene({ billing_cycle: { interval: 'month', interval_count: 60, anchor_day: 'signup_date' } });
    const reply = await create(service, at, { start_date: '9999-12-31' });
    if (reply.status === 400) return;
    assert.equal(reply.status, 201, reply.text);
    const planned = await upcoming(at, reply.body.id, 60);
    for (const { date } of planned) assert.match(date, /^\d{4}-/);
  });
});
