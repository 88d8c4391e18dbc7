import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  cards,
  created,
  dayMs,
  everyDays,
  moveTo,
  openScene,
  operator,
  ordersOf,
  type Scene,
  typesOf,
} from '../../../tests/support/billing.ts';
import { countOf } from '../../../tests/support/orders.ts';
import { seededRandom } from '../../../tests/support/seeded-random.ts';
import { someSubscriber, somePlan, subscribe } from '../../../tests/support/subscriptions.ts';
import { startTestService, type TestService } from '../../../tests/support/service.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import type { Database } from '../../platform/database.ts';
import { endRenewal, pauseSubscription, undoChange } from '../subscriptions/service.ts';
import { continuePriceChanges } from './jobs.ts';
import type { PriceChange, PriceChangeCreate, PriceChangePreview } from './schemas.ts';
import {
  controlPriceChange,
  createPriceChange,
  getPriceChange,
  getPriceChanges,
  previewPriceChange,
} from './service.ts';

/** A change of the price of a plan: each subscriber gets the new plan once, at its next renewal. */

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

interface Priced extends Scene {
  readonly to: string;
}

const openPriced = async (): Promise<Priced> => {
  const at = await openScene(service, { amount: 3000, billing_cycle: everyDays(30) });
  return { ...at, to: (await somePlan(service, { amount: 4000, billing_cycle: everyDays(30) }, at.company)).id };
};

const inputOf = ({ plan_id, to }: Priced, more: Partial<PriceChangeCreate> = {}): PriceChangeCreate => ({
  plan_id,
  to_plan_id: to,
  ...more,
});

const start = async (at: Priced, more: Partial<PriceChangeCreate> = {}): Promise<string> =>
  (await createPriceChange(await operator(service, at), inputOf(at, more))).id;

const preview = async (at: Priced, more: Partial<PriceChangeCreate> = {}): Promise<PriceChangePreview> =>
  previewPriceChange(await operator(service, at), inputOf(at, more));

const read = async (at: Priced, id: string): Promise<PriceChange> => getPriceChange(await operator(service, at), id);

/** A step that fails is tried again later; here its error ends the test, unless the worker is to die. */
const failing = { ...silentLog, error: ({ err }: { err: Error }) => assert.fail(err) } as typeof silentLog;

const shardOf = (db: Database = service.db, log = failing) => ({
  name: service.company.shard,
  db,
  clock: service.clock,
  log,
});

async function work(db?: Database): Promise<void> {
  await service.db.query('UPDATE price_change_subscriptions SET check_at = now() WHERE check_at IS NOT NULL');
  await service.db.query('UPDATE price_changes SET next_step_at = now() WHERE next_step_at IS NOT NULL');
  while ((await continuePriceChanges(shardOf(db))) === 'more');
}

const control = async (at: Priced, id: string, action: 'pause' | 'resume' | 'undo'): Promise<PriceChange> =>
  controlPriceChange(await operator(service, at), id, action);

const counts = ({ waiting, scheduled, changed, left, undone, refused }: PriceChange): number[] => [
  ...[waiting, scheduled, changed, left, undone, refused],
];

const shown = async ({ key }: Scene, id: string): Promise<Record<string, any>> =>
  (await service.call('GET', `/v1/subscriptions/${id}`, { key })).body;

const inDays = async (at: Priced, days: number): Promise<unknown> =>
  moveTo(service, at.key, new Date((await operator(service, at)).nowMs + days * dayMs).toISOString());

/** As many copies of a subscription, each of its own. */
async function copies({ company }: Scene, id: string, count: number): Promise<void> {
  await service.db.query(
    `INSERT INTO subscriptions SELECT (jsonb_populate_record(s, jsonb_build_object('id', uuidv7()))).*
     FROM subscriptions s, generate_series(1, $3) WHERE s.company_id = $1 AND s.id = $2`,
    [company.id, id, count],
  );
}

describe('a price change', () => {
  it('charges each subscriber the new price at its next renewal, and changes nothing before', async () => {
    const at = await openPriced();
    const { id: one } = await created(service, at);
    const { id: seats } = await created(service, at, { quantity: 3 });
    assert.deepEqual(
      { ...(await preview(at)), first_renewal_at: null, last_renewal_at: null },
      {
        ...{ currency: 'usd', count: 2, seats: 4, amount_before: 12_000, amount_after: 16_000 },
        ...{ first_renewal_at: null, last_renewal_at: null, exceptions: [] },
      },
    );
    const id = await start(at, { expected_count: 2 });
    assert.equal((await read(at, id)).status, 'in_progress');
    await work();
    const change = await read(at, id);
    assert.deepEqual([change.status, change.working, counts(change)], ['completed', false, [0, 2, 0, 0, 0, 0]]);
    assert.equal((await shown(at, seats)).plan.amount, 3000);
    assert.deepEqual((await shown(at, seats)).scheduled_change.plan.amount, 4000);
    await inDays(at, 31);
    assert.deepEqual(counts(await read(at, id)), [0, 0, 2, 0, 0, 0]);
    const totals = (await ordersOf(service, at)).map(({ total }) => total);
    assert.deepEqual(
      totals.toSorted((left, right) => left - right),
      [3000, 4000, 9000, 12_000],
    );
    assert.deepEqual([(await shown(at, one)).plan_id, (await shown(at, seats)).quantity], [at.to, 3]);
    const types = await typesOf(service, one);
    for (const type of ['subscription.change_scheduled', 'subscription.plan_changed']) {
      assert.equal(types.filter((one) => one === type).length, 1, type);
    }
    assert.deepEqual(
      (await getPriceChanges(await operator(service, at), at.plan_id)).data.map((one) => one.id),
      [id],
    );
  });

  it('leaves out who is past due, does not renew or has another change, and lists why', async () => {
    const at = await openPriced();
    const { id: active } = await created(service, at);
    const { id: paused } = await created(service, at);
    const { id: ending } = await created(service, at);
    const { id: last } = await created(service, at, { billing_cycles: 1 });
    const { id: changing } = await created(service, at);
    const { id: canceled } = await created(service, at);
    const { id: other } = await created(service, { ...at, plan_id: at.to });
    const declining = await someSubscriber(service, cards.declinesAfterFirst, { key: at.key });
    const { body } = await subscribe(service, { plan_id: at.plan_id, customer_id: declining }, { key: at.key });
    const context = await operator(service, at);
    await pauseSubscription(context, paused);
    await endRenewal(context, ending);
    const change = { plan_id: at.plan_id, quantity: 2, when: 'renewal' };
    await service.call('POST', `/v1/subscriptions/${changing}/change_plan`, { key: at.key, body: change });
    await service.call('DELETE', `/v1/subscriptions/${canceled}`, { key: at.key });
    await service.db.query(
      `UPDATE subscriptions SET status = 'past_due', first_declined_at = now(), attempt_count = 1 WHERE company_id = $1 AND id = $2`,
      [at.company.id, body.id],
    );
    const expected = await preview(at);
    assert.equal(expected.count, 2);
    assert.deepEqual(expected.exceptions, [
      { kind: 'change_scheduled', count: 1 },
      { kind: 'not_renewing', count: 2 },
      { kind: 'past_due', count: 1 },
    ]);
    const id = await start(at);
    await work();
    const done = await read(at, id);
    assert.deepEqual(counts(done), [0, 2, 0, 0, 0, 4]);
    const reasons = new Map(done.exceptions.map(({ subscription_id, reason }) => [subscription_id, reason]));
    assert.match(reasons.get(body.id) ?? '', /declined/);
    assert.match(reasons.get(ending) ?? '', /not renew/);
    assert.match(reasons.get(last) ?? '', /not renew/);
    assert.match(reasons.get(changing) ?? '', /Another change/);
    assert.equal((await shown(at, changing)).scheduled_change.quantity, 2);
    for (const one of [active, paused]) assert.equal((await shown(at, one)).scheduled_change.plan_id, at.to);
    assert.equal((await shown(at, other)).scheduled_change, null);
  });

  it('changes only those that were chosen, and none that subscribed later', async () => {
    const at = await openPriced();
    const { id: chosen } = await created(service, at);
    const { id: rest } = await created(service, at);
    const subscription_ids = [chosen, chosen.toUpperCase()];
    assert.equal((await preview(at, { subscription_ids })).count, 1);
    await start(at, { subscription_ids });
    await work();
    assert.deepEqual(
      [(await shown(at, rest)).scheduled_change, (await shown(at, chosen)).scheduled_change.plan_id],
      [null, at.to],
    );
    const all = await start(at);
    const { id: later } = await created(service, at);
    await work();
    assert.equal((await shown(at, later)).scheduled_change, null);
    assert.deepEqual(counts(await read(at, all)), [0, 1, 0, 0, 0, 1]);
  });

  it('takes changes back while it is paused, and schedules them again when it is resumed', async () => {
    const at = await openPriced();
    const { id: one } = await created(service, at);
    const id = await start(at);
    await work();
    assert.equal((await control(at, id, 'pause')).working, true);
    await work();
    assert.deepEqual([(await read(at, id)).status, counts(await read(at, id))], ['paused', [1, 0, 0, 0, 0, 0]]);
    assert.equal((await shown(at, one)).scheduled_change, null);
    await inDays(at, 31);
    assert.equal((await shown(at, one)).plan_id, at.plan_id, 'it renews at the old price');
    assert.equal((await control(at, id, 'resume')).status, 'in_progress');
    await work();
    assert.deepEqual(counts(await read(at, id)), [0, 1, 0, 0, 0, 0]);
    await inDays(at, 30);
    assert.equal((await shown(at, one)).plan_id, at.to);
  });

  it('is undone for those that have not renewed yet, and only for them', async () => {
    const at = await openPriced();
    const { id: early } = await created(service, at);
    await inDays(at, 10);
    const { id: late } = await created(service, at);
    const { id: theirs } = await created(service, at);
    const id = await start(at);
    await work();
    await undoChange(await operator(service, at), theirs);
    await inDays(at, 21);
    assert.deepEqual(counts(await read(at, id)), [0, 1, 1, 1, 0, 0]);
    await control(at, id, 'undo');
    await work();
    const undone = await read(at, id);
    assert.deepEqual([undone.status, counts(undone)], ['undone', [0, 0, 1, 1, 1, 0]]);
    assert.deepEqual([(await shown(at, early)).plan_id, (await shown(at, late)).scheduled_change], [at.to, null]);
    assert.equal((await control(at, id, 'undo')).status, 'undone');
    await assert.rejects(control(at, id, 'resume'), /was undone/);
    await assert.rejects(control(at, id, 'pause'), /was undone/);
  });

  it('is undone before the worker has begun, and then changes no subscription', async () => {
    const at = await openPriced();
    const { id: one } = await created(service, at);
    const id = await start(at);
    await control(at, id, 'undo');
    await work();
    assert.equal((await shown(at, one)).scheduled_change, null);
    assert.deepEqual(counts(await read(at, id)), [0, 0, 0, 0, 0, 0]);
  });

  it('schedules each change once, however often its worker dies, with two workers at once', async () => {
    const at = await openPriced();
    const { id: one } = await created(service, at);
    for (let part = 0; part < 3; part += 1) await copies(at, one, 400);
    const id = await start(at);
    const random = seededRandom(20_261_119);
    let deaths = 0;
    const dying: Database = {
      ...service.db,
      query: (...statement: Parameters<Database['query']>) => service.db.query(...statement),
      transaction: (body) =>
        service.db.transaction(async (transaction) => {
          const result = await body(transaction);
          if (deaths < 20 && random.chance(0.8)) {
            deaths += 1;
            throw new Error('the worker dies before it commits');
          }
          return result;
        }),
    } as Database;
    const worker = async (): Promise<void> => {
      try {
        await continuePriceChanges(shardOf(dying, silentLog));
      } catch (error) {
        // It died while the other one had the price change.
        assert.match(String(error), /the worker dies/);
      }
    };
    for (let round = 0; round < 60; round += 1) {
      await service.db.query('UPDATE price_changes SET next_step_at = now() WHERE next_step_at IS NOT NULL');
      await Promise.all([worker(), worker()]);
    }
    assert.equal(deaths, 20);
    assert.deepEqual([(await read(at, id)).status, counts(await read(at, id))], ['completed', [0, 1_201, 0, 0, 0, 0]]);
    const [events] = await service.db.query<{ events: number; subscriptions: number }>(
      `SELECT count(*)::integer AS events, count(DISTINCT object_id)::integer AS subscriptions FROM events
       WHERE company_id = $1 AND type = 'subscription.change_scheduled'`,
      [at.company.id],
    );
    assert.deepEqual(events, { events: 1_201, subscriptions: 1_201 });
  });

  it('waits for the outcome of a change that is being charged', async () => {
    const at = await openPriced();
    const { id: one } = await created(service, at);
    const pending = JSON.stringify({ in_flight: true, in_cycle: 1, order_id: one });
    const set = (value: string | null): Promise<unknown> =>
      service.db.query('UPDATE subscriptions SET pending_change = $3 WHERE company_id = $1 AND id = $2', [
        ...[at.company.id, one, value],
      ]);
    await set(pending);
    const id = await start(at);
    await work();
    assert.deepEqual(counts(await read(at, id)), [1, 0, 0, 0, 0, 0]);
    const waits = 'company_id = $1 AND next_step_at > now()';
    assert.equal(await countOf(service, 'price_changes', waits, [at.company.id]), 1);
    await set(null);
    await work();
    assert.deepEqual(counts(await read(at, id)), [0, 1, 0, 0, 0, 0]);
  });

  it('is refused for another currency, an archived plan, the same plan, or plans of others', async () => {
    const at = await openPriced();
    const stranger = await openPriced();
    const { id: theirs } = await created(service, stranger);
    const context = await operator(service, at);
    const euros = (await somePlan(service, { currency: 'eur' }, at.company)).id;
    const cases: [PriceChangeCreate, RegExp][] = [
      [inputOf(at, { to_plan_id: euros }), /must be a plan in usd/],
      [inputOf(at, { to_plan_id: at.plan_id }), /must be another plan/],
      [inputOf(at, { to_plan_id: stranger.to }), /plan/],
      [inputOf(at, { plan_id: stranger.plan_id }), /plan/],
      [inputOf(at, { subscription_ids: [theirs] }), /must be subscriptions of the plan/],
      [inputOf(at, { expected_count: 7 }), /0 subscriptions would change/],
    ];
    for (const [input, message] of cases) {
      await assert.rejects(
        createPriceChange(context, input),
        (error: Error & { fieldErrors?: { message: string }[] }) => {
          assert.match(`${error.message} ${error.fieldErrors?.map((one) => one.message).join()}`, message);
          return true;
        },
      );
    }
    await service.db.query('UPDATE plans SET active = false WHERE company_id = $1 AND id = $2', [at.company.id, at.to]);
    await assert.rejects(createPriceChange(context, inputOf(at)), /archived|invalid/);
    assert.equal(await countOf(service, 'price_changes', 'company_id = $1', [at.company.id]), 0);
  });
});
