import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, describe, it } from 'node:test';
import { startFaultyService } from '../../../tests/support/faulty-service.ts';
import { assertRefused, until } from '../../../tests/support/orders.ts';
import {
  assertNear,
  at,
  type Json,
  moment,
  type Scene,
  startClockService,
} from '../../../tests/support/sandbox-clock.ts';
import { type Reply, someCustomer } from '../../../tests/support/service.ts';
import { somePlan, someSubscriber } from '../../../tests/support/subscriptions.ts';
import { eventually, type Subscriber } from '../../../tests/support/webhooks.ts';
import { planOf } from '../../../tests/support/plans.ts';
import type { Queryable } from '../../platform/database.ts';
import { dayMs, hourMs, minuteMs, secondMs } from '../../platform/durations.ts';
import { findAwaitedEndpoints, findNextDue } from './queries.ts';

/** How the clock of a sandbox company moves, and what else may run meanwhile. */

const { service, newScene, hanging, stop } = await startClockService();
after(stop);

describe('the next due delivery', () => {
  /** Fifty pending deliveries of each of 400 companies. */
  const ofOthers = `INSERT INTO webhook_deliveries (company_id, endpoint_id, event_id, event_inserted_at, next_attempt_at)
    SELECT md5('company' || n % 400)::uuid, md5('endpoint' || n % 400)::uuid, md5('event' || n)::uuid, now(), now()
    FROM generate_series(1, 20000) n`;

  it('is found among the deliveries of the company, however many others wait', async () => {
    for (const work of [
      (db: Queryable) => findNextDue(db, service.company.id, []),
      (db: Queryable) => findAwaitedEndpoints(db, service.company.id, new Date(), []),
    ]) {
      const plan = await planOf(service.db, work, [ofOthers, 'ANALYZE webhook_deliveries']);
      assert.match(plan, /Index Scan (on|using) webhook_deliveries_\w*pkey/);
      assert.doesNotMatch(plan, /webhook_deliveries_\w*next_attempt_at_idx/);
    }
  });
});

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
    const [first, firstAtMs] = [await clock(), Date.now()];
    await sleep(60);
    const [next, nextAtMs] = [await clock(), Date.now()];
    assert.equal(next.offset_seconds, first.offset_seconds);
    const drift = Math.abs(at(next.now) - at(first.now) - (nextAtMs - firstAtMs));
    // Of three days, and a machine can be busy between an answer and the reading of its time.
    assert.ok(drift < 1_000, `${drift} ms`);
  });

  it('is moved by each unit, and by several together', async () => {
    const { pass, nowMs } = await newScene();
    const units = [
      [{ days: 2 }, 2 * dayMs],
      [{ hours: 5 }, 5 * hourMs],
      [{ minutes: 90 }, 90 * minuteMs],
      [{ seconds: 45 }, 45 * secondMs],
      [{ days: 1, hours: 1, minutes: 1, seconds: 1 }, dayMs + hourMs + minuteMs + secondMs],
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

  it('is moved to a moment, written in any time zone', async () => {
    const { pass, clock } = await newScene();
    const { now, offset_seconds } = await pass({ to: '2027-06-01T12:00:00+02:00' });
    assertNear(at(now), at('2027-06-01T10:00:00Z'), 'to');
    assertNear(Date.now() + offset_seconds * secondMs, at('2027-06-01T10:00:00Z'), 'offset');
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
    assert.ok(heldMs <= 2 * minuteMs, `${heldMs} ms`);
    await moving;
    assert.ok((await heldFor(company.id)) <= 0, 'free when it is over');
  });

  it('is continued by the next advance of the clock: each cycle is charged once, at its time', async () => {
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
    await hold(moved.company.id, minuteMs);
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
    process.stdout.write(`a year of 100 monthly subscriptions: ${(tookMs / secondMs).toFixed(1)} s\n`);
    assert.equal(happened.filter(({ type }: Json) => type === 'subscription.charged').length, 1_200);
    assert.ok(tookMs < 15 * secondMs, `${tookMs} ms`);
  });
});
