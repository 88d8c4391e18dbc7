import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, describe, it } from 'node:test';
import {
  addCard,
  cards,
  clockOf,
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
import { type Faults, startFaultyService, unknownOutcome } from '../../../tests/support/faulty-service.ts';
import { assertInvalid, assertRefused, checkAllOpen, runWorker } from '../../../tests/support/orders.ts';
import type { Reply, TestService } from '../../../tests/support/service.ts';
import { readSubscription } from '../../../tests/support/subscriptions.ts';
import { changeProfile } from '../profile/service.ts';
import { pauseSubscription, resumeSubscription } from '../subscriptions/service.ts';

/** A customer pauses a subscription until a date, continues it, and subscribes again. */

let service: TestService;
let stop: () => Promise<void>;
const faults: Faults = {};
before(async () => {
  ({ service, stop } = await startFaultyService({ settings: { SVC_TRUST_PROXY: '127.0.0.1' } }, faults));
});
afterEach(() => {
  for (const name of ['charge', 'lookup'] as const) delete faults[name];
});
after(() => stop());

interface Subscriber extends Scene {
  readonly token: string;
  readonly id: string;
  /** The end of the first period. */
  readonly end: string;
}

/** Pays $30.00 every thirty days. */
async function subscriber(
  allow: Record<string, boolean> = {},
  more: object = {},
  number?: string,
): Promise<Subscriber> {
  const scene = await openScene(service, { name: 'Tea', amount: 3000, billing_cycle: everyDays(30) }, number);
  const customer_page = { allow_pause: true, allow_subscribe_again: true, ...allow };
  await changeProfile(await operator(service, scene), { customer_page });
  const { id, current_period_end } = await created(service, scene, { ...more });
  const body = { customer_id: scene.customer_id };
  const session = await service.call('POST', '/v1/customer_sessions', { key: scene.key, body });
  return { ...scene, id, end: current_period_end, token: session.body.url.split('/').at(-1) };
}

const onPage = ({ token }: Pick<Subscriber, 'token'>, path: string, body?: object): Promise<Reply> =>
  service.call(body ? 'POST' : 'GET', `/customer/${token}/${path}`, {
    key: null,
    headers: { origin: service.baseUrl },
    ...(body && { body }),
  });

const shown = async (at: Subscriber, id: string = at.id): Promise<Record<string, any>> =>
  (await onPage(at, 'account')).body.subscriptions.find((one: { id: string }) => one.id === id);
const read = (at: Subscriber): Promise<Reply['body']> => readSubscription(service, at.id, { key: at.key });
const act = (at: Subscriber, what: string, body: object): Promise<Reply> =>
  onPage(at, `subscriptions/${at.id}/${what}`, body);
const dayAfter = (at: Subscriber, days: number): string => later(at.end, days * dayMs).slice(0, 10);

async function paused(at: Subscriber, days: number): Promise<string> {
  const reply = await act(at, 'pause', { until: dayAfter(at, days) });
  assert.equal(reply.status, 200, reply.text);
  const { status, resumes_at } = await read(at);
  assert.equal(status, 'paused');
  return resumes_at;
}

const totals = async (at: Subscriber): Promise<number[]> => (await ordersOf(service, at)).map(({ total }) => total);

describe('a pause until a date', () => {
  it('charges nothing until then, and then the next period, which begins on that day', async () => {
    const at = await subscriber();
    assert.partialDeepStrictEqual(await shown(at), { pause_dates: { first: dayAfter(at, 1), total: 3000 } });
    const until = await paused(at, 40);
    assert.equal(until, `${dayAfter(at, 40)}T00:00:00.000Z`);
    assert.partialDeepStrictEqual(await shown(at), {
      ...{ status: 'paused', pause_dates: null, can_continue: true, next_payment: null },
      pause: { until, total: 3000, paid_until: at.end },
    });
    await moveTo(service, at.key, later(until, -60_000));
    assert.deepEqual(await totals(at), [3000]);
    assert.partialDeepStrictEqual((await shown(at)).pause, { paid_until: null });
    await moveTo(service, at.key, later(until, 60_000));
    assert.deepEqual(await totals(at), [3000, 3000]);
    assert.partialDeepStrictEqual(await read(at), {
      ...{ status: 'active', resumes_at: null, completed_cycles: 2 },
      ...{ current_period_start: until, next_billing_at: later(until, 30 * dayMs) },
    });
    const types = (await typesOf(service, at.id)).filter((type) => type.startsWith('subscription.'));
    assert.deepEqual(types.slice(1), ['subscription.paused', 'subscription.resumed', 'subscription.charged']);
  });

  it('until the day of a regular date keeps the dates', async () => {
    const at = await subscriber();
    const until = await paused(at, 30);
    assert.equal(until, later(at.end, 30 * dayMs));
    await moveTo(service, at.key, later(until, 60_000));
    assert.partialDeepStrictEqual(await read(at), { current_period_start: until, completed_cycles: 2 });
    assert.deepEqual(await totals(at), [3000, 3000]);
  });

  it('is only of a subscription that is paid and renews, and within a year', async () => {
    const at = await subscriber();
    for (const until of [dayAfter(at, 0), dayAfter(at, -40), dayAfter(at, 400)]) {
      assertInvalid(await act(at, 'pause', { until }), 'until');
    }
    for (const until of ['2031-02-30', '', 'tomorrow']) {
      assertRefused(await act(at, 'pause', { until }), 400, 'validation_error', 'until');
    }
    await act(at, 'end_renewal', {});
    assert.equal((await shown(at)).pause_dates, null);
    await act(at, 'pause', { until: dayAfter(at, 5) });
    assert.equal((await read(at)).status, 'active');
  });

  it('is not possible where the merchant does not allow it, nor for another customer', async () => {
    const at = await subscriber({ allow_pause: false });
    assert.equal((await shown(at)).pause_dates, null);
    assert.equal((await act(at, 'pause', { until: dayAfter(at, 5) })).status, 400);
    const other = await subscriber();
    const path = `subscriptions/${at.id}`;
    for (const [what, body] of [
      ['pause', { until: dayAfter(at, 5) }],
      ['continue', { expected_amount: 0 }],
      ['again', { expected_amount: 3000 }],
    ] as const) {
      assert.equal((await onPage(other, `${path}/${what}`, body)).status, 404, what);
    }
    assert.equal((await read(at)).status, 'active');
  });

  it('ends with the subscription, and with what the merchant does', async () => {
    const canceled = await subscriber();
    const until = await paused(canceled, 10);
    await service.call('DELETE', `/v1/subscriptions/${canceled.id}`, { key: canceled.key });
    await moveTo(service, canceled.key, later(until, dayMs));
    assert.deepEqual(await totals(canceled), [3000]);
    assert.partialDeepStrictEqual(await read(canceled), { status: 'canceled', resumes_at: null });

    const resumed = await subscriber();
    await paused(resumed, 40);
    await moveTo(service, resumed.key, later(resumed.end, 5 * dayMs));
    await resumeSubscription(await operator(service, resumed), resumed.id);
    assert.partialDeepStrictEqual(await read(resumed), {
      status: 'active',
      next_billing_at: later(resumed.end, 30 * dayMs),
    });
  });

  it('keeps its end when the billing cycle changes meanwhile', async () => {
    const at = await subscriber();
    const until = await paused(at, 40);
    const body = { billing_cycle: { interval: 'day', interval_count: 7 } };
    const reply = await service.call('PATCH', `/v1/subscriptions/${at.id}`, { key: at.key, body });
    assert.equal(reply.body.resumes_at, until, reply.text);
    await moveTo(service, at.key, later(until, 60_000));
    assert.partialDeepStrictEqual(await read(at), { current_period_start: until, completed_cycles: 2 });
  });

  it('is not possible while a renewal waits to be charged: its period is not paid', async () => {
    const at = await subscriber();
    faults.charge = async () => ({ outcome: 'unavailable', reason: 'away' });
    const dueMs = Date.parse(at.end) - Date.parse(await clockOf(service, at.key)) + 60_000;
    const skip = 'UPDATE companies SET clock_offset_ms = clock_offset_ms + $2 WHERE id = $1';
    await service.db.query(skip, [at.company.id, dueMs]);
    await service.subscriptions.billDue(64);
    assert.equal((await shown(at)).pause_dates, null);
    assert.equal((await act(at, 'pause', { until: dayAfter(at, 40) })).status, 200);
    assert.equal((await read(at)).status, 'active');
    delete faults.charge;
    await runWorker(service);
    assert.partialDeepStrictEqual(await read(at), { status: 'active', completed_cycles: 2 });
  });

  it('is not ended by the customer if the merchant has paused it', async () => {
    const at = await subscriber();
    await pauseSubscription(await operator(service, at), at.id);
    assert.partialDeepStrictEqual(await shown(at), { pause: null, can_continue: false });
    await act(at, 'continue', { expected_amount: 0 });
    assert.equal((await read(at)).status, 'paused');
  });
});

describe('a customer who continues earlier', () => {
  it('pays nothing while the paid period lasts', async () => {
    const at = await subscriber();
    await paused(at, 40);
    assertInvalid(await act(at, 'continue', { expected_amount: 3000 }), 'expected_amount');
    const reply = await act(at, 'continue', { expected_amount: 0 });
    assert.equal(reply.status, 200, reply.text);
    assert.partialDeepStrictEqual(await read(at), { status: 'active', next_billing_at: at.end });
    assert.deepEqual(await totals(at), [3000]);
  });

  it('pays for a new period after that, once, so that a pause is never a period for nothing', async () => {
    const at = await subscriber();
    await paused(at, 40);
    await moveTo(service, at.key, later(at.end, 5 * dayMs));
    assertInvalid(await act(at, 'continue', { expected_amount: 0 }), 'expected_amount');
    const replies = await Promise.all([1, 2, 3].map(() => act(at, 'continue', { expected_amount: 3000 })));
    assert.ok(replies.every(({ status }) => status === 200));
    while ((await service.subscriptions.billDue(10)) > 0);
    const { status, current_period_start, completed_cycles } = await read(at);
    assert.deepEqual([status, completed_cycles], ['active', 2]);
    const clock = Date.parse(await clockOf(service, at.key));
    assert.ok(Math.abs(clock - Date.parse(current_period_start)) < 60_000);
    assert.deepEqual(await totals(at), [3000, 3000]);
  });
});

describe('a customer who subscribes again', () => {
  async function ended(allow = {}, more = {}, number?: string): Promise<Subscriber> {
    const at = await subscriber(allow, more, number);
    await service.call('DELETE', `/v1/subscriptions/${at.id}`, { key: at.key });
    return at;
  }

  const subscriptionsOf = async ({ key, customer_id }: Subscriber): Promise<Reply['body'][]> =>
    (await service.call('GET', `/v1/subscriptions?customer_id=${customer_id}&sort=created_at`, { key })).body.data;

  it('gets a new subscription with the same plan, seats and address at the price of today', async () => {
    const shipping = { name: 'Ada', line1: '1 Tea St', city: 'London', country: 'GB' };
    const at = await ended({}, { quantity: 2, shipping });
    const { again } = await shown(at);
    assert.partialDeepStrictEqual(again, { plan_id: at.plan_id, name: 'Tea', quantity: 2, amount: 6000, total: 6000 });
    assert.equal((await act(at, 'again', { expected_amount: 5000 })).status, 400);
    const reply = await act(at, 'again', { expected_amount: 6000 });
    assert.deepEqual([reply.status, reply.body.change], [200, { status: 'applied', confirm_url: null }], reply.text);
    const [, made, ...others] = await subscriptionsOf(at);
    assert.partialDeepStrictEqual(made, { status: 'active', quantity: 2, plan_id: at.plan_id, shipping });
    assert.deepEqual(others, []);
    assert.equal((await shown(at)).again, null, 'one subscription to a plan is enough');
    assert.deepEqual(await totals(at), [6000, 6000]);
  });

  it('is charged once, however often and from however many windows that is requested', async () => {
    const at = await ended();
    const replies = await Promise.all([1, 2, 3, 4].map(() => act(at, 'again', { expected_amount: 3000 })));
    assert.ok(replies.every(({ status }) => status === 200));
    await act(at, 'again', { expected_amount: 3000 });
    assert.deepEqual(await totals(at), [3000, 3000]);
    assert.equal((await subscriptionsOf(at)).length, 2);
  });

  it('can try again with another card after a decline', async () => {
    const at = await ended();
    await addCard(service, at, cards.declined, { set_as_default: true });
    const declined = await act(at, 'again', { expected_amount: 3000 });
    assert.deepEqual(declined.body.change, { status: 'declined', confirm_url: null }, declined.text);
    assert.notEqual((await shown(at)).again, null);
    await addCard(service, at, cards.good, { set_as_default: true });
    assert.equal((await act(at, 'again', { expected_amount: 3000 })).body.change.status, 'applied');
    const orders = await ordersOf(service, at);
    assert.deepEqual(
      orders.map(({ status }) => status),
      ['succeeded', 'failed', 'succeeded'],
    );
  });

  it('is charged once if the outcome is unknown and another card is chosen meanwhile', async () => {
    const at = await ended();
    await addCard(service, at, cards.answerLost, { set_as_default: true });
    faults.lookup = unknownOutcome;
    await act(at, 'again', { expected_amount: 3000 });
    await addCard(service, at, cards.good, { set_as_default: true });
    await service.db.query('UPDATE plans SET amount = 3500 WHERE id = $1', [at.plan_id]);
    for (const expected_amount of [3000, 3500]) await act(at, 'again', { expected_amount });
    delete faults.lookup;
    await checkAllOpen(service);
    assert.deepEqual(await totals(at), [3000, 3000]);
    assert.deepEqual(
      (await subscriptionsOf(at)).map(({ status }) => status),
      ['canceled', 'active'],
    );
  });

  it('is led to the bank that asks, and pays once if another card is used instead', async () => {
    const at = await ended();
    await service.db.query('UPDATE companies SET authenticates = true WHERE id = $1', [at.company.id]);
    await addCard(service, at, '4000009999003315', { set_as_default: true });
    const { change } = (await act(at, 'again', { expected_amount: 3000 })).body;
    assert.equal(change.status, 'declined');
    assert.match(change.confirm_url, /^http/);
    await addCard(service, at, cards.good, { set_as_default: true });
    assert.equal((await act(at, 'again', { expected_amount: 3000 })).body.change.status, 'applied');
    const orders = await ordersOf(service, at);
    assert.deepEqual(
      orders.map(({ status, authentication_url }) => [status, authentication_url]),
      [
        ['succeeded', null],
        ['failed', null],
        ['succeeded', null],
      ],
    );
  });

  it('is not offered an archived plan, nor anything where the merchant does not allow it', async () => {
    const archived = await ended();
    await service.db.query('UPDATE plans SET active = false WHERE id = $1', [archived.plan_id]);
    const refused = await ended({ allow_subscribe_again: false });
    for (const at of [archived, refused]) {
      assert.equal((await shown(at)).again, null);
      await act(at, 'again', { expected_amount: 3000 });
      assert.deepEqual(await totals(at), [3000]);
    }
    const running = await subscriber();
    assert.equal((await shown(running)).again, null);
    assert.equal((await onPage(running, `subscriptions/${randomUUID()}/again`, { expected_amount: 1 })).status, 404);
  });
});
