import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, describe, it, type TestContext } from 'node:test';
import {
  assertRefused,
  capture,
  openShop,
  order,
  readOrder,
  startFaultyService,
  until,
} from '../../../tests/support/orders.ts';
import { type Receiver, startReceiver } from '../../../tests/support/receiver.ts';
import { type CallOptions, type Reply, someCustomer, type TestService } from '../../../tests/support/service.ts';
import { somePlan, someSubscriber } from '../../../tests/support/subscriptions.ts';
import {
  dispatchFor,
  eventually,
  newSubscriber,
  startWebhookService,
  type Subscriber,
} from '../../../tests/support/webhooks.ts';
import type { PlanCreate } from '../plans/schemas.ts';
import type { Dispatcher } from '../webhooks/dispatcher.ts';

/** The clock of a sandbox company, over HTTP, with a dispatcher of webhooks beside it. */

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const dayMs = 24 * hour;

let service: TestService;
let dispatcher: Dispatcher;
before(async () => {
  service = await startWebhookService();
  dispatcher = dispatchFor(service);
});
after(async () => {
  await dispatcher.stop();
  await service.stop();
});

type Json = Record<string, any>;

interface Scene extends Subscriber {
  advance(body: unknown, options?: CallOptions): Promise<Reply>;
  /** One that must succeed. */
  pass(body: unknown): Promise<Json>;
  clock(): Promise<Json>;
  nowMs(): Promise<number>;
  read(path: string): Promise<Json>;
  subscribed(plan?: Partial<PlanCreate>, card?: string): Promise<Json>;
}

async function newScene(): Promise<Scene> {
  const subscriber = await newSubscriber(service);
  const { key, company, call } = subscriber;
  const read: Scene['read'] = async (path) => {
    const reply = await call('GET', path);
    assert.equal(reply.status, 200, reply.text);
    return reply.body;
  };
  const advance: Scene['advance'] = (body, options) => call('POST', '/v1/sandbox/clock/advance', { body, ...options });
  const clock = (): Promise<Json> => read('/v1/sandbox/clock');
  return {
    ...subscriber,
    read,
    advance,
    clock,
    nowMs: async () => Date.parse((await clock()).now),
    async pass(body) {
      const reply = await advance(body);
      assert.equal(reply.status, 200, reply.text);
      return reply.body;
    },
    async subscribed(plan = {}, card) {
      const customer_id = await someSubscriber(service, card, { key });
      const { id: plan_id } = await somePlan(service, plan, company);
      const reply = await call('POST', '/v1/subscriptions', { body: { customer_id, plan_id } });
      assert.deepEqual([reply.status, reply.body.status], [201, 'active'], reply.text);
      return reply.body;
    },
  };
}

function assertNear(actualMs: number, expectedMs: number, what: string, withinMs = 5 * second): void {
  const late = actualMs - expectedMs;
  assert.ok(late >= 0 && late < withinMs, `${what}: ${late} ms late`);
}

const at = (moment: string): number => Date.parse(moment);
const moment = (ms: number): string => new Date(ms).toISOString();

describe('the clock', () => {
  it('shows real time at first', async () => {
    const { clock } = await newScene();
    const beforeMs = Date.now();
    const { now, offset_seconds } = await clock();
    assert.ok(at(now) >= beforeMs && at(now) <= Date.now(), now);
    assert.equal(offset_seconds, 0);
  });

  it('ticks, also when it is ahead', async () => {
    const { pass, clock } = await newScene();
    await pass({ by: { days: 3 } });
    const [first, firstMs] = [await clock(), Date.now()];
    await sleep(60);
    const [second, secondMs] = [await clock(), Date.now()];
    assert.equal(second.offset_seconds, first.offset_seconds);
    const drift = Math.abs(at(second.now) - at(first.now) - (secondMs - firstMs));
    assert.ok(drift < 50, `${drift} ms`);
  });

  it('is moved by each unit, and by several together', async () => {
    const { pass, nowMs } = await newScene();
    const units = [
      [{ days: 2 }, 2 * dayMs],
      [{ hours: 5 }, 5 * hour],
      [{ minutes: 90 }, 90 * minute],
      [{ seconds: 45 }, 45 * second],
      [{ days: 1, hours: 1, minutes: 1, seconds: 1 }, dayMs + hour + minute + second],
    ] as const;
    for (const [by, ms] of units) {
      const beforeMs = await nowMs();
      const { now, happened } = await pass({ by });
      assertNear(at(now), beforeMs + ms, JSON.stringify(by));
      assert.deepEqual(happened, []);
    }
  });

  it('is moved by months of the calendar', async () => {
    const { pass } = await newScene();
    await pass({ to: '2027-01-31T09:00:00Z' });
    assertNear(at((await pass({ by: { months: 1 } })).now), at('2027-02-28T09:00:00Z'), 'a month');
    assertNear(at((await pass({ by: { months: 12, days: 1 } })).now), at('2028-02-29T09:00:00Z'), 'a year and a day');
  });

  it('is moved to a moment, whatever the time zone it is written in', async () => {
    const { pass, clock } = await newScene();
    const { now, offset_seconds } = await pass({ to: '2027-06-01T12:00:00+02:00' });
    assertNear(at(now), at('2027-06-01T10:00:00Z'), 'to');
    assertNear(Date.now() + offset_seconds * second, at('2027-06-01T10:00:00Z'), 'offset');
    assert.equal((await clock()).offset_seconds, offset_seconds);
    assertNear(at((await pass({ to: '2027-06-01T10:00:30.500Z' })).now), at('2027-06-01T10:00:30.500Z'), 'again');
  });

  it('says in whole seconds how far it is ahead', async () => {
    const { pass, clock } = await newScene();
    for (const ms of [1, 499, 500, 999]) {
      const { offset_seconds } = await pass({ to: new Date(at((await clock()).now) + 5_000 + ms).toISOString() });
      assert.ok(Number.isInteger(offset_seconds), String(offset_seconds));
      assert.equal((await clock()).offset_seconds, offset_seconds);
    }
  });

  it('may be moved ten years at once', async () => {
    const { pass } = await newScene();
    await pass({ by: { months: 120 } });
  });

  it('is the time of the very next request', async () => {
    const { pass, call } = await newScene();
    for (let round = 0; round < 15; round += 1) {
      const { now } = await pass({ by: { hours: 1 } });
      const { body } = await call('POST', '/v1/customers', { body: someCustomer() });
      assertNear(at(body.created_at), at(now), `round ${round}`);
    }
  });

  it('is a matter of each company', async () => {
    const scenes = await Promise.all([newScene(), newScene(), newScene()]);
    const [left, right, still] = scenes;
    const [leftOne, rightOne, stillOne] = await Promise.all(scenes.map((scene) => scene.subscribed()));
    const [leftPast, rightPast] = await Promise.all([
      left.pass({ by: { months: 3, days: 1 } }),
      right.pass({ by: { months: 5, days: 1 } }),
    ]);
    const cycles = async (scene: Scene, one: Json | undefined): Promise<number> =>
      (await scene.read(`/v1/subscriptions/${one?.id}`)).completed_cycles;
    assert.deepEqual(
      [await cycles(left, leftOne), await cycles(right, rightOne), await cycles(still, stillOne)],
      [4, 6, 1],
    );
    assert.equal((await still.clock()).offset_seconds, 0);
    const ids = async (scene: Scene): Promise<Set<string>> =>
      new Set((await scene.read('/v1/events?limit=100')).data.map((event: Json) => event.data.object.id));
    for (const [scene, past, count] of [
      [left, leftPast, 9],
      [right, rightPast, 15],
    ] as const) {
      const own = await ids(scene);
      assert.equal(past.happened.length, count);
      assert.ok(past.happened.every(({ object_id }: Json) => own.has(object_id)));
    }
  });
});

describe('what the clock refuses', () => {
  it('to go back, or to stand still', async () => {
    const { advance, clock, pass } = await newScene();
    await pass({ by: { days: 10 } });
    const { offset_seconds, now } = await clock();
    for (const to of [moment(Date.now()), moment(at(now) - 1), '2001-01-01T00:00:00Z']) {
      assertRefused(await advance({ to }), 400, 'validation_error', 'to');
    }
    for (const by of [{}, { days: 0 }, { months: 0, seconds: 0 }]) {
      assertRefused(await advance({ by }), 400, 'validation_error', 'by');
    }
    assert.equal((await clock()).offset_seconds, offset_seconds);
  });

  const later = '2027-06-01T00:00:00Z';
  const bad: readonly (readonly [string, unknown, string | undefined])[] = [
    ['both', { to: later, by: { days: 1 } }, undefined],
    ['neither', {}, undefined],
    ['an unknown field', { to: later, at: later }, 'at'],
    ['an unknown unit', { by: { weeks: 1 } }, 'by.weeks'],
    ['a fraction', { by: { days: 1.5 } }, 'by.days'],
    ['a negative number', { by: { days: 2, hours: -1 } }, 'by.hours'],
    ['a number as text', { by: { days: '1' } }, 'by.days'],
    ['null as a unit', { by: { days: null } }, 'by.days'],
    ['by as a number', { by: 5 }, 'by'],
    ['by as a list', { by: [] }, 'by'],
    ['by as null', { by: null }, 'by'],
    ['to as null', { to: null }, 'to'],
    ['to as a number', { to: 1_900_000_000_000 }, 'to'],
    ['to as a word', { to: 'tomorrow' }, 'to'],
    ['to without a time', { to: '2027-06-01' }, 'to'],
    ['to without a zone', { to: '2027-06-01T00:00:00' }, 'to'],
    ['a day that there is not', { to: '2027-02-30T00:00:00Z' }, 'to'],
    ['the far future', { to: '2099-01-01T00:00:00Z' }, 'to'],
    ['the end of time', { to: '9999-12-31T23:59:59Z' }, 'to'],
    ['more than ten years of months', { by: { months: 121 } }, 'by'],
    ['more than ten years of days', { by: { days: 3_654 } }, 'by'],
    ['a billion months', { by: { months: 1_000_000_000 } }, 'by'],
    ['a billion of everything', { by: { months: 1e9, days: 1e9, hours: 1e9, minutes: 1e9, seconds: 1e9 } }, 'by'],
    ['more than a billion', { by: { seconds: 1e15 } }, 'by.seconds'],
    ['more than a number can say', { by: { days: Number.MAX_VALUE } }, 'by.days'],
    ['a list', [], undefined],
    ['text', 'by a day', undefined],
  ];

  it('bad input, without moving or being held up by it', async () => {
    const { advance, clock, pass } = await newScene();
    for (const [what, body, param] of bad) {
      const reply = await advance(body);
      assert.equal(reply.status, 400, `${what}: ${reply.text}`);
      if (param) {
        assert.deepEqual([reply.body.error.code, reply.body.error.param], ['validation_error', param], what);
      }
    }
    assert.equal((await advance(undefined)).status, 400, 'no body');
    assert.equal((await clock()).offset_seconds, 0);
    await pass({ by: { seconds: 1 } });
  });

  it('live keys, and keys that may not', async () => {
    const { live, sandbox } = await service.createMerchant();
    const tries = async (key: string): Promise<Reply[]> => [
      await service.call('GET', '/v1/sandbox/clock', { key }),
      await service.call('POST', '/v1/sandbox/clock/advance', { key, body: { by: { days: 1 } } }),
    ];
    const publishable = await service.createKey(sandbox, { kind: 'publishable' });
    const powerless = await service.createKey(sandbox, { permissions: ['customers:read'] });
    for (const key of [await service.createKey(live), publishable, powerless]) {
      for (const reply of await tries(key)) assertRefused(reply, 403, 'insufficient_permissions');
    }
    const reader = await service.createKey(sandbox, { permissions: ['subscriptions:read'] });
    const [read, write] = await tries(reader);
    assert.deepEqual([read?.status, write?.status], [200, 403]);
    const offsets = await service.db.query('SELECT clock_offset_ms FROM companies WHERE id = ANY($1::uuid[])', [
      [live.id, sandbox.id],
    ]);
    assert.deepEqual(offsets, [{ clock_offset_ms: 0 }, { clock_offset_ms: 0 }]);
  });
});

describe('two advances at once', () => {
  it('each succeeds or is refused, and the clock moves as often as one succeeded', async () => {
    const { advance, clock, subscribed } = await newScene();
    await subscribed();
    const replies = await Promise.all(Array.from({ length: 6 }, () => advance({ by: { days: 40 } })));
    const done = replies.filter(({ status }) => status === 200);
    for (const reply of replies.filter(({ status }) => status !== 200)) {
      assertRefused(reply, 409, 'resource_in_use');
      assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    }
    assert.ok(done.length >= 1);
    assertNear((await clock()).offset_seconds, done.length * 40 * 86_400 - 5, 'offset', 10);
  });

  it('a second meanwhile is 409, is not kept under its key, and succeeds afterwards', async (t) => {
    const { advance, call, pass, clock, happen } = await hanging(t);
    const idempotencyKey = randomUUID();
    await happen();
    const first = pass({ by: { hours: 2 } });
    await eventually('the clock is held', async () => (await heldFor(await companyOf(call))) > 0);
    assertRefused(await advance({ by: { hours: 1 } }, { idempotencyKey }), 409, 'resource_in_use');
    assertRefused(await advance({ by: { hours: 1 } }), 409, 'resource_in_use');
    assert.ok((await clock()).offset_seconds <= 2 * 3_600, 'it can be read meanwhile');
    await first;
    const again = await advance({ by: { hours: 1 } }, { idempotencyKey });
    assert.deepEqual([again.status, again.headers.get('svc-idempotent-replayed')], [200, null], again.text);
    assertNear(again.body.offset_seconds, 3 * 3_600 - 5, 'offset', 10);
  });

  async function companyOf(call: Subscriber['call']): Promise<string> {
    const [event] = (await call('GET', '/v1/events?limit=1')).body.data;
    const [row] = await service.db.query<{ company_id: string }>(`SELECT company_id FROM customers WHERE id = $1`, [
      event.data.object.id,
    ]);
    return row?.company_id ?? '';
  }
});

/** For how many milliseconds the clock of a company is still held. */
async function heldFor(companyId: string): Promise<number> {
  const [row] = await service.db.query<{ ms: number | null }>(
    `SELECT (extract(epoch FROM clock_moved_until - now()) * 1000)::float8 AS ms FROM companies WHERE id = $1`,
    [companyId],
  );
  return row?.ms ?? 0;
}

/** A merchant whose only receiver never answers. */
async function hanging(t: TestContext): Promise<Scene & { receiver: Receiver }> {
  const receiver = await startReceiver(() => undefined);
  t.after(() => receiver.stop());
  const scene = await newScene();
  await scene.subscribe(receiver.url);
  return { ...scene, receiver };
}

describe('an advance with an idempotency key', () => {
  for (const by of [{ hours: 1 }, { months: 1 }]) {
    it(`by ${JSON.stringify(by)} is made once and repeated from the store`, async () => {
      const { advance, clock, subscribed } = await newScene();
      await subscribed();
      const idempotencyKey = randomUUID();
      const first = await advance({ by }, { idempotencyKey });
      assert.equal(first.status, 200, first.text);
      const { offset_seconds } = await clock();
      const again = await advance({ by }, { idempotencyKey });
      assert.equal((await clock()).offset_seconds, offset_seconds, 'it did not move again');
      assert.deepEqual([again.status, again.text], [200, first.text]);
      assert.equal(again.headers.get('svc-idempotent-replayed'), 'true');
    });
  }

  it('conflicts with another advance under the same key', async () => {
    const { advance } = await newScene();
    const idempotencyKey = randomUUID();
    await advance({ by: { hours: 1 } }, { idempotencyKey });
    assertRefused(await advance({ by: { hours: 2 } }, { idempotencyKey }), 422, 'idempotency_key_conflict');
  });
});

describe('what happened', () => {
  it('is listed by time, with types and object ids', async () => {
    const { pass, read, subscribed } = await newScene();
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
    assertNear(at(raised[0].at), at(body.created_at) + second, 'a second after the charge');
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
    assert.deepEqual(listed, [
      ['order.created', 0],
      ['order.succeeded', 0],
      ['subscription.charged', 0],
      ['order.chargeback', second],
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
    const delays = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour];
    assert.equal(tries.length, delays.length);
    let beforeMs = firstMs;
    for (const [index, delayMs] of delays.entries()) {
      const triedMs = at(tries[index]?.at);
      assertNear(triedMs, beforeMs + delayMs, `retry ${index + 1}`, 90 * second);
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
    await pass({ to: moment(at(next_billing_at) - 20 * minute) });
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
    assert.ok(tookMs < 9 * second, `${tookMs} ms`);
    assert.equal(past.happened.filter(({ type }: Json) => type === 'subscription.charged').length, 6);
    assert.equal(good.received.filter(({ event }) => event.type === 'subscription.charged').length, 6);
  });
});

describe('a process that died while it moved the clock', () => {
  const hold = (companyId: string, ms: number): Promise<unknown> =>
    service.db.query(`UPDATE companies SET clock_moved_until = now() + $2 * interval '1 ms' WHERE id = $1`, [
      companyId,
      ms,
    ]);

  it('blocks the next advance only until its time is up', async () => {
    const { advance, company, clock } = await newScene();
    await hold(company.id, 400);
    assertRefused(await advance({ by: { days: 1 } }), 409, 'resource_in_use');
    assert.equal((await clock()).offset_seconds, 0);
    await sleep(450);
    assert.equal((await advance({ by: { days: 1 } })).status, 200);
    assert.ok((await heldFor(company.id)) <= 0);
  });

  it('does not block at all when its time was up long ago', async () => {
    const { pass, company } = await newScene();
    await hold(company.id, -3_600_000);
    await pass({ by: { days: 1 } });
  });

  it('had held it for no longer than a minute or two', async (t) => {
    const { pass, company, happen } = await hanging(t);
    await happen();
    const moving = pass({ by: { hours: 1 } });
    const heldMs = await eventually('the clock is held', async () => {
      const ms = await heldFor(company.id);
      return ms > 0 && ms;
    });
    assert.ok(heldMs <= 2 * minute, `${heldMs} ms`);
    await moving;
    assert.ok((await heldFor(company.id)) <= 0, 'free when it is over');
  });

  it('that fails half-way is continued by the next advance: each cycle once, at its time', async () => {
    const { pass, read, company, subscribed, nowMs } = await newScene();
    const made = await subscribed();
    // It moved the clock beyond two due dates, and did nothing.
    await service.db.query('UPDATE companies SET clock_offset_ms = $2 WHERE id = $1', [company.id, 70 * dayMs]);
    await hold(company.id, -1);
    const fromMs = await nowMs();
    const { happened } = await pass({ by: { days: 40 } });
    const { completed_cycles, status } = await read(`/v1/subscriptions/${made.id}`);
    assert.deepEqual([completed_cycles, status], [4, 'active']);
    const charged = happened.filter(({ type }: Json) => type === 'subscription.charged');
    assert.equal(charged.length, 3);
    for (const late of charged.slice(0, 2)) assertNear(at(late.at), fromMs, 'what was missed is made up for at once');
  });

  it('keeps workers away meanwhile, from this company only', async () => {
    const [moved, other] = [await newScene(), await newScene()];
    const [movedOne, otherOne] = [await moved.subscribed(), await other.subscribed()];
    const cycles = async (): Promise<number[]> => [
      (await moved.read(`/v1/subscriptions/${movedOne.id}`)).completed_cycles,
      (await other.read(`/v1/subscriptions/${otherOne.id}`)).completed_cycles,
    ];
    for (const { company } of [moved, other]) {
      await service.db.query('UPDATE companies SET clock_offset_ms = $2 WHERE id = $1', [company.id, 32 * dayMs]);
    }
    await hold(moved.company.id, minute);
    await service.subscriptions.billDue(100);
    await service.subscriptions.billDue(100);
    assert.deepEqual(await cycles(), [1, 2]);
    // Also one that is due by real time.
    await service.db.query(`UPDATE subscriptions SET due_at = now() - interval '1 day' WHERE company_id = $1`, [
      moved.company.id,
    ]);
    await service.subscriptions.billDue(100);
    assert.deepEqual(await cycles(), [1, 2]);
    await hold(moved.company.id, -1);
    await service.subscriptions.billDue(100);
    assert.deepEqual(await cycles(), [2, 2]);
  });
});

describe('workers beside an advance', () => {
  it('bill nothing of it: every renewal is made once and at its own time', async () => {
    const { pass, read, subscribed } = await newScene();
    const made = await subscribed();
    const { data: expected } = await read(`/v1/subscriptions/${made.id}/upcoming?count=12`);
    let over = false;
    const worker = (async () => {
      while (!over) {
        await service.subscriptions.billDue(100);
        await sleep(1);
      }
    })();
    try {
      await pass({ by: { months: 12, days: 1 } });
    } finally {
      over = true;
      await worker;
    }
    const { data } = await read(`/v1/orders?limit=100&sort=created_at&customer_id=${made.customer_id}`);
    assert.deepEqual(
      data.slice(1).map((one: Json) => [one.subscription_cycle, one.created_at, one.total, one.status]),
      expected.map(({ cycle, date, total }: Json) => [cycle, date, total, 'succeeded']),
    );
  });

  it('end what they have begun before time passes', async (t) => {
    const { service, faults, stop } = await startFaultyService();
    t.after(stop);
    const ok = async (method: 'GET' | 'POST', path: string, body?: unknown): Promise<Json> => {
      const reply = await service.call(method, path, { body });
      assert.ok(reply.status < 300, reply.text);
      return reply.body;
    };
    const customer_id = await someSubscriber(service, '4000009999000341');
    const { id: plan_id } = await somePlan(service);
    const { id } = await ok('POST', '/v1/subscriptions', { customer_id, plan_id });
    await ok('POST', '/v1/sandbox/clock/advance', { by: { months: 1 } });
    const card = { number: '4242424242424242', exp_month: '12', exp_year: '2040', cvc: '999' };
    const { id: card_token } = await ok('POST', '/v1/card_tokens', { card });
    const attached = { card_token, set_as_default: true, update_subscriptions: true };
    await ok('POST', `/v1/customers/${customer_id}/payment_methods`, attached);

    const answered = Promise.withResolvers<void>();
    let asked = false;
    faults.charge = async (request) => {
      asked = true;
      delete faults.charge;
      await answered.promise;
      return service.vault.charge(request);
    };
    const worker = service.subscriptions.billDue(100);
    await until('the worker charges', async () => asked);
    const advance = ok('POST', '/v1/sandbox/clock/advance', { by: { days: 1 } });
    await sleep(100);
    answered.resolve();
    await advance;
    const { status, completed_cycles } = await ok('GET', `/v1/subscriptions/${id}`);
    assert.deepEqual([status, completed_cycles], ['active', 2]);
    await worker;
  });

  it('a year of a hundred monthly subscriptions passes in less than 15 seconds', async () => {
    const { pass, call, key, company } = await newScene();
    const { id: plan_id } = await somePlan(service, {}, company);
    for (let n = 0; n < 10; n += 1) {
      await Promise.all(
        Array.from({ length: 10 }, async () => {
          const customer_id = await someSubscriber(service, undefined, { key });
          const reply = await call('POST', '/v1/subscriptions', { body: { customer_id, plan_id } });
          assert.equal(reply.status, 201, reply.text);
        }),
      );
    }
    const startedMs = performance.now();
    const { happened } = await pass({ by: { months: 12, days: 1 } });
    const tookMs = performance.now() - startedMs;
    process.stdout.write(`a year of 100 monthly subscriptions: ${(tookMs / second).toFixed(1)} s\n`);
    assert.equal(happened.filter(({ type }: Json) => type === 'subscription.charged').length, 1_200);
    assert.ok(tookMs < 15 * second, `${tookMs} ms`);
  });
});
