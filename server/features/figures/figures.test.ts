import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { examine } from '../../../cli/doctor.ts';
import { created, openScene, operator } from '../../../tests/support/billing.ts';
import { someCoupon } from '../../../tests/support/coupons.ts';
import { approvedOutcome, unknownOutcome, useFaultyService } from '../../../tests/support/faulty-service.ts';
import { capture, checkAllOpen, contextOf, countOf, order, refund, voidOrder } from '../../../tests/support/orders.ts';
import { planOf } from '../../../tests/support/plans.ts';
import { seededRandom } from '../../../tests/support/seeded-random.ts';
import { someCustomer, someProduct, type TestService } from '../../../tests/support/service.ts';
import { advance, somePlan, subscribe } from '../../../tests/support/subscriptions.ts';
import { dayMs } from '../../platform/durations.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import { idTimeMs } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import { companyClock } from '../companies/service.ts';
import { amountsOf } from '../subscriptions/schedule.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import { findAttention } from './attention-queries.ts';
import { getAttention } from './attention.ts';
import { findDaysToSum, findDueCompanies, processCompany } from './day-queries.ts';
import { sumEndedDays } from './jobs.ts';
import { bucketsOf, intervalsFor, periodOf } from './period.ts';
import type { FigureName, Statistics } from './schemas.ts';
import { getStatistics } from './service.ts';

let service: TestService;
const faults = useFaultyService((started) => {
  service = started;
});

const currencies = ['usd', 'eur', 'jpy'] as const;

async function context(): Promise<RequestContext> {
  const offsetMs = await companyClock.offsetMs(service.db, service.company.id);
  return { ...contextOf(service), nowMs: service.clock.nowMs() + offsetMs };
}

const dates = new Map<string, Intl.DateTimeFormat>();
function dateIn(zone: string, ms: number): string {
  const format = dates.get(zone) ?? new Intl.DateTimeFormat('en-CA', { timeZone: zone });
  dates.set(zone, format);
  return format.format(ms);
}

type Recount = Map<string, Record<string, number>>;

/** Counts from the rows themselves, with other means: days of the zone, by currency. */
async function recount(zone: string): Promise<{ days: Recount; mrr: Record<string, number> }> {
  const days: Recount = new Map();
  const add = (ms: number, currency: string, name: string, value: number): void => {
    const key = `${dateIn(zone, ms)} ${currency}`;
    const day = days.get(key) ?? {};
    day[name] = (day[name] ?? 0) + value;
    days.set(key, day);
  };
  const { id } = service.company;
  const rows = <Row extends object>(text: string): Promise<Row[]> => service.db.query<Row>(text, [id]);
  for (const row of await rows<Record<string, any>>('SELECT * FROM transactions WHERE company_id = $1')) {
    const ms = idTimeMs(row.id);
    if (row.type === 'refund' && row.status === 'succeeded') add(ms, row.currency, 'refunded', row.amount);
    if (row.type !== 'sale') continue;
    if (row.status === 'failed') add(ms, row.currency, 'failed_payments', 1);
    if (!['succeeded', 'chargeback'].includes(row.status)) continue;
    add(ms, row.currency, 'gross_volume', row.amount);
    add(ms, row.currency, 'payments', 1);
  }
  for (const row of await rows<Record<string, any>>('SELECT * FROM disputes WHERE company_id = $1')) {
    if (['needs_response', 'under_review', 'lost', 'accepted'].includes(row.state))
      add(idTimeMs(row.id), row.currency, 'disputed', row.amount);
  }
  for (const row of await rows<{ id: string }>('SELECT id FROM customers WHERE company_id = $1'))
    for (const currency of currencies) add(idTimeMs(row.id), currency, 'new_customers', 1);
  const mrr: Record<string, number> = {};
  for (const row of await rows<SubscriptionRow>('SELECT * FROM subscriptions WHERE company_id = $1')) {
    if (!['active', 'past_due'].includes(row.status)) continue;
    const { total } = amountsOf(row, Math.max(row.current_cycle, 1) + 1);
    const monthly = Math.round((row.interval === 'day' ? (total * 365) / 12 : total) / row.interval_count);
    mrr[row.currency] = (mrr[row.currency] ?? 0) + monthly;
    mrr[`${row.currency} subscribers`] = (mrr[`${row.currency} subscribers`] ?? 0) + 1;
  }
  return { days, mrr };
}

const summed = ['gross_volume', 'payments', 'failed_payments', 'refunded', 'disputed', 'new_customers'] as const;

/** Every day and currency of the answer equals the recount. */
async function assertExact(zone: string, when: string): Promise<void> {
  const { days, mrr } = await recount(zone);
  const now = await context();
  const to = dateIn(zone, now.nowMs);
  for (const currency of currencies) {
    const from = new Date(Date.parse(to) - 300 * dayMs).toISOString().slice(0, 10);
    const answer = await getStatistics(now, { from, to, currency, interval: 'day' });
    const seriesOf = (name: FigureName): (number | null)[] => answer.figures[name]?.series ?? [];
    const shown = answer.buckets.map((bucket, index) => ({
      day: bucket.from,
      ...Object.fromEntries(summed.map((name) => [name, seriesOf(name)[index]])),
    }));
    const expected = answer.buckets.map((bucket) => {
      const day = days.get(`${bucket.from} ${currency}`) ?? {};
      return { day: bucket.from, ...Object.fromEntries(summed.map((name) => [name, day[name] ?? 0])) };
    });
    assert.deepEqual(shown, expected, `${when}, ${currency}`);
    assert.equal(answer.figures.mrr?.value, mrr[currency] ?? 0, `MRR in ${currency}, ${when}`);
    assert.equal(answer.figures.active_subscribers?.value, mrr[`${currency} subscribers`] ?? 0, `${currency}, ${when}`);
    const { new_mrr, expansion, contraction, churned_mrr } = answer.figures;
    const [began, more, less, lapsed] = [new_mrr, expansion, contraction, churned_mrr].map((one) => one?.value ?? 0);
    const sum = Number(answer.figures.mrr?.previous) + Number(began) + Number(more) - Number(less) - Number(lapsed);
    assert.equal(sum, answer.figures.mrr?.value, `the changes of MRR in ${currency}, ${when}`);
    const { gross_volume, refunded, disputed, net_volume, failed_payments } = answer.figures;
    const [gross = 0, back = 0, lost = 0] = [gross_volume?.value, refunded?.value, disputed?.value].map(Number);
    assert.equal(net_volume?.value, gross - back - lost);
    assert.equal(
      answer.declines?.reduce((sum, { count }) => sum + count, 0),
      failed_payments?.value,
    );
    assert.deepEqual(answer.buckets.filter(({ unfinished }) => unfinished).length, 1);
  }
}

async function sumAll(): Promise<void> {
  while ((await sumEndedDays(service.db, silentLog, { graceSeconds: 0, zonePauseSeconds: 0 })) === 'more');
}

const cancel = (id: string): Promise<{ status: number; text: string }> =>
  service.call('DELETE', `/v1/subscriptions/${id}`);
/** The API cannot pause subscriptions yet. */
const pause = async (id: string): Promise<unknown> =>
  service.db.query(
    `UPDATE subscriptions SET status = 'paused', due_at = NULL, updated_at = $3 WHERE company_id = $1 AND id = $2 AND status = 'active'`,
    [service.company.id, id, new Date((await context()).nowMs)],
  );

const isClosed = `company_id = $1 AND figures IS NOT NULL`;
const problems = async (): Promise<string[]> => (await examine(service.db)).map(({ check }) => check);

describe('the figures of a company', () => {
  const zone = 'America/New_York';
  const random = seededRandom(20_261_116);
  const paid: string[] = [];
  const disputed: string[] = [];
  const subscriptions: string[] = [];
  const customers: string[] = [];
  const products: string[] = [];
  let plans: string[] = [];
  let coupon = '';

  const ok = async (promise: Promise<{ status: number; text: string; body: any }>): Promise<any> => {
    const reply = await promise;
    assert.ok(reply.status < 300, reply.text);
    return reply.body;
  };
  const post = (path: string, body: unknown = {}): Promise<any> =>
    ok(service.call('POST', path, { body, idempotencyKey: randomUUID() }));

  const actions: Record<string, () => Promise<unknown>> = {
    customer: async () => {
      const { id } = await post('/v1/customers', someCustomer());
      await capture(service, id, random.chance(0.3) ? '4000000000009995' : undefined);
      customers.push(id);
    },
    order: async () => {
      const shop = { customerId: random.pick(customers), paymentMethodId: '', productId: random.pick(products) };
      const { body } = await order(service, shop);
      if (body.status === 'succeeded') paid.push(body.id);
    },
    refund: async () => refund(service, random.pick(paid), random.chance(0.5) ? 100 : undefined),
    void: async () => voidOrder(service, random.pick(paid)).catch(() => undefined),
    dispute: async () => {
      const id = random.pick(paid);
      const reply = await service.call('POST', `/v1/sandbox/orders/${id}/chargeback`);
      if (reply.status === 200) disputed.push(id);
    },
    resolve: async () => {
      const outcome = random.pick(['accept', 'win', 'lose', 'dismiss']);
      const id = random.pick(disputed);
      await service.call('POST', `/v1/sandbox/orders/${id}/chargeback/resolve`, { body: { outcome } });
    },
    subscribe: async () => {
      const body = { customer_id: random.pick(customers), plan_id: random.pick(plans) };
      const reply = await subscribe(service, { ...body, ...(random.chance(0.5) && { coupon_code: coupon }) });
      if (reply.status === 201) subscriptions.push(reply.body.id);
    },
    change: async () => {
      const id = random.pick(subscriptions);
      await (random.chance(0.5) ? cancel(id) : pause(id));
    },
    pass: async () => ok(advance(service, { by: { days: random.between(0, 8), hours: random.between(1, 23) } })),
  };

  it('are exact after every change, from the rows and from the sums of days', async () => {
    await service.db.query('UPDATE companies SET time_zone = $2 WHERE id = $1', [service.company.id, zone]);
    for (const currency of currencies) {
      products.push((await post('/v1/products', someProduct({ pricing: { amount: 1250, currency } }))).id);
    }
    coupon = (await someCoupon(service, { duration: 'repeating', duration_in_cycles: 2, plan_scope: 'all' })).code;
    plans = [
      (await somePlan(service)).id,
      (await somePlan(service, { amount: 700, billing_cycle: { interval: 'day', interval_count: 10 } as never })).id,
      (
        await somePlan(service, {
          amount: 9900,
          currency: 'eur',
          billing_cycle: { interval: 'month', interval_count: 12 } as never,
        })
      ).id,
    ];
    await actions.customer?.();
    await actions.order?.();
    await actions.subscribe?.();
    const names = Object.keys(actions);
    for (let round = 0; round < 90; round += 1) {
      const name = random.pick(names);
      const isPossible = {
        refund: paid,
        void: paid,
        dispute: paid,
        resolve: disputed,
        change: subscriptions,
        replan: subscriptions,
      }[name] ?? [0];
      if (isPossible.length > 0) await actions[name]?.();
      if (random.chance(0.3)) await checkAllOpen(service);
      if (random.chance(0.2)) await sumAll();
      if (round % 15 === 14) await assertExact(zone, `round ${round}`);
    }
    // Half a year has a change to or from summer time.
    for (let step = 0; step < 6; step += 1) {
      await ok(advance(service, { by: { days: 30, hours: 5 } }));
      await actions.order?.();
    }
    await checkAllOpen(service);
    await assertExact(zone, 'at the end');
    await sumAll();
    await assertExact(zone, 'after the sums');
    assert.ok((await countOf(service, 'figure_days', isClosed, [service.company.id])) > 20);
    assert.equal(await countOf(service, 'figure_days', 'company_id = $1 AND figures IS NULL', [service.company.id]), 0);
    assert.deepEqual(await problems(), []);
    assert.ok(subscriptions.length > 4 && paid.length > 4 && disputed.length > 1);
  });

  it('stay exact when a summed day changes, before it is summed again', async () => {
    const shop = { customerId: customers[0] ?? '', paymentMethodId: '', productId: products[0] ?? '' };
    const card = await capture(service, shop.customerId);
    const buy = async (): Promise<string> => (await order(service, shop, { payment_method_id: card })).body.id;
    const [voided, charged] = [await buy(), await buy()];
    await ok(advance(service, { by: { days: 2 } }));
    await sumAll();
    await voidOrder(service, voided, await context());
    await post(`/v1/sandbox/orders/${charged}/chargeback`);
    assert.ok((await countOf(service, 'figure_marks', 'company_id = $1', [service.company.id])) > 0);
    await assertExact(zone, 'with marks');
    const left = await sumEndedDays(service.db, silentLog, { graceSeconds: 0, zonePauseSeconds: 0 });
    assert.equal(left, 'idle', 'a day that changes all the time would be summed all the time');
    assert.equal(await countOf(service, 'figure_marks', 'company_id = $1', [service.company.id]), 0);
    await assertExact(zone, 'without marks');
  });

  it('wait with a day that has an outcome in doubt', async () => {
    const shop = { customerId: customers[0] ?? '', paymentMethodId: '', productId: products[0] ?? '' };
    faults.charge = unknownOutcome;
    faults.lookup = unknownOutcome;
    assert.equal((await order(service, shop)).status, 502);
    delete faults.charge;
    await ok(advance(service, { by: { days: 3 } }));
    await sumAll();
    const open = 'company_id = $1 AND figures IS NULL';
    assert.equal(await countOf(service, 'figure_days', open, [service.company.id]), 1);
    const { data } = await getAttention(await context(), () => []);
    assert.deepEqual(data.find(({ kind }) => kind === 'payments_in_doubt')?.count, 1);
    faults.lookup = (async () => ({ ...(await approvedOutcome()), outcome: 'approved' })) as never;
    await checkAllOpen(service);
    await assertExact(zone, 'after a late outcome');
    await service.db.query('UPDATE figure_days SET due_at = now() WHERE figures IS NULL');
    await sumAll();
    assert.equal(await countOf(service, 'figure_days', open, [service.company.id]), 0);
    await assertExact(zone, 'after the day of a late outcome is summed');
    delete faults.lookup;
  });

  it('are exact in another time zone at once, and after its days are summed', async () => {
    await service.db.query('UPDATE companies SET time_zone = $2 WHERE id = $1', [service.company.id, 'Asia/Kathmandu']);
    await assertExact('Asia/Kathmandu', 'before the days are summed');
    await sumAll();
    await assertExact('Asia/Kathmandu', 'after the days are summed');
    assert.equal(await countOf(service, 'figure_days', `zone = '${zone}'`, []), 0);
  });

  it('are recounted by doctor', async () => {
    const tampered = `jsonb_set(figures, '{usd,gross}', '1')`;
    const day = `(company_id, starts_at) = (SELECT company_id, starts_at FROM figure_days WHERE figures ? 'usd' ORDER BY starts_at LIMIT 1)`;
    const [row] = await service.db.query<{ figures: object }>(`SELECT figures FROM figure_days WHERE ${day}`);
    await service.db.query(`UPDATE figure_days SET figures = ${tampered} WHERE ${day}`);
    await service.db.query(`UPDATE subscription_movements SET monthly = monthly + 1 WHERE number = 1`);
    assert.deepEqual((await problems()).toSorted(), ['day_missummed', 'revenue_missummed']);
    await service.db.query(`UPDATE figure_days SET figures = $1 WHERE ${day}`, [row?.figures]);
    await service.db.query(`UPDATE subscription_movements SET monthly = monthly - 1 WHERE number = 1`);
    assert.deepEqual(await problems(), []);
  });

  it('compare a period that ends today with the same part of the previous one', async () => {
    const now = await context();
    const answer: Statistics = await getStatistics(now, { range: 'today' });
    assert.deepEqual([answer.previous_from, answer.previous_to], [answer.previous_to, answer.previous_from]);
    assert.equal(answer.figures.gross_volume?.series.length, 1);
    assert.equal(answer.figures.gross_volume?.value, answer.figures.gross_volume?.series[0]);
    assert.equal(answer.figures.gross_volume?.previous, answer.figures.gross_volume?.previous_series[0]);
  });
});

describe('a renewal', () => {
  it('writes no movement, and a discount that ends writes one', async () => {
    const { id } = service.company;
    const customer_id = (await service.call('POST', '/v1/customers', { body: someCustomer() })).body.id;
    await capture(service, customer_id);
    const plan_id = (await somePlan(service, { amount: 1000 })).id;
    const { code } = await someCoupon(service, { duration: 'repeating', duration_in_cycles: 2, plan_scope: 'all' });
    const reply = await subscribe(service, { customer_id, plan_id, coupon_code: code });
    assert.equal(reply.status, 201, reply.text);
    const made = reply.body;
    const movements = (): Promise<{ monthly: number }[]> =>
      service.db.query<{ monthly: number }>(
        'SELECT monthly FROM subscription_movements WHERE company_id = $1 AND subscription_id = $2 ORDER BY number',
        [id, made.id],
      );
    assert.deepEqual(await movements(), [{ monthly: 900 }]);
    await advance(service, { by: { months: 1 } });
    assert.deepEqual(await movements(), [{ monthly: 900 }, { monthly: 100 }]);
    await advance(service, { by: { months: 2 } });
    assert.deepEqual(await movements(), [{ monthly: 900 }, { monthly: 100 }]);
  });
});

describe('a change of plan', () => {
  it('is expansion or contraction from the moment it takes effect, and agrees with the subscriptions', async () => {
    const at = await openScene(service, { amount: 1000 });
    const { id } = await created(service, at);
    const changes = async (): Promise<unknown> => {
      const { figures } = await getStatistics(await operator(service, at), { range: '90d' });
      const { mrr, new_mrr, expansion, contraction, churned_mrr } = figures;
      return [mrr, new_mrr, expansion, contraction, churned_mrr].map((figure) => figure?.value);
    };
    const change = async (body: object): Promise<unknown> =>
      service.call('POST', `/v1/subscriptions/${id}/change_plan`, { key: at.key, body, idempotencyKey: randomUUID() });
    const { plan_id } = (await service.call('GET', `/v1/subscriptions/${id}`, { key: at.key })).body;
    assert.deepEqual(await changes(), [1000, 1000, 0, 0, 0]);
    await change({ plan_id, quantity: 3, when: 'now' });
    assert.deepEqual(await changes(), [3000, 1000, 2000, 0, 0]);
    await change({ plan_id, quantity: 2, when: 'renewal' });
    assert.deepEqual(await changes(), [3000, 1000, 2000, 0, 0], 'it is scheduled');
    await advance(service, { by: { days: 33 } }, { key: at.key });
    assert.deepEqual(await changes(), [2000, 1000, 2000, 1000, 0]);
    await service.call('DELETE', `/v1/subscriptions/${id}`, { key: at.key });
    assert.deepEqual(await changes(), [0, 1000, 2000, 1000, 2000]);
  });
});

describe('churn', () => {
  it('is what ended as a share of what was active at the start, and nothing if more ended than was active', async () => {
    const at = await openScene(service, { amount: 1000 });
    const churn = async (): Promise<number | null | undefined> =>
      (await getStatistics(await operator(service, at), { range: 'today' })).figures.churn?.value;
    const end = ({ id }: Awaited<ReturnType<typeof created>>): Promise<unknown> =>
      service.call('DELETE', `/v1/subscriptions/${id}`, { key: at.key });
    const first = await created(service, at);
    await created(service, at);
    assert.equal(await churn(), null, 'none was active at the start');
    await advance(service, { by: { days: 20 } }, { key: at.key });
    await end(first);
    assert.equal(await churn(), 0.5);
    for (let count = 0; count < 2; count += 1) await end(await created(service, at));
    assert.equal(await churn(), null, 'three ended, and two were active at the start');
  });
});

describe('the subscriptions of earlier versions', () => {
  const movementsOf = (id: string): Promise<object[]> =>
    service.db.query(
      `SELECT number, m.at = id_time(m.subscription_id) AS at_start, subscribers, ended FROM subscription_movements m
       WHERE company_id = $1 AND subscription_id = $2 ORDER BY number`,
      [service.company.id, id],
    );
  const started = { number: 1, at_start: true, subscribers: 1, ended: 0 };
  const ended = { number: 2, at_start: false, subscribers: -1, ended: 1 };
  const paused = { ...ended, ended: 0 };
  const made: string[] = [];

  before(async () => {
    const customer_id = (await service.call('POST', '/v1/customers', { body: someCustomer() })).body.id;
    await capture(service, customer_id);
    const plan_id = (await somePlan(service, { amount: 1000 })).id;
    for (let count = 0; count < 4; count += 1) {
      const { body, text } = await subscribe(service, { customer_id, plan_id });
      assert.ok(body.id, text);
      made.push(body.id);
    }
    await cancel(made[1] ?? '');
    await pause(made[2] ?? '');
    await service.db.query('DELETE FROM subscription_movements WHERE company_id = $1', [service.company.id]);
    await service.db.query(
      `UPDATE figure_states SET movements_after = '00000000-0000-0000-0000-000000000000', days_until = 'epoch', due_at = now()
       WHERE company_id = $1`,
      [service.company.id],
    );
    await service.db.query('DELETE FROM figure_days WHERE company_id = $1', [service.company.id]);
  });

  it('have their start, also if they change before the worker has added it', async () => {
    const reply = await cancel(made[3] ?? '');
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(await movementsOf(made[3] ?? ''), [started, ended]);
    assert.deepEqual(await movementsOf(made[0] ?? ''), []);
  });

  it('can change while the worker adds their movements', async () => {
    await service.db.transaction(async (transaction) => {
      await transaction.query('SELECT add_first_movements(s) FROM subscriptions s WHERE company_id = $1 AND id = $2', [
        service.company.id,
        made[0],
      ]);
      await service.db.transaction(async (other) => {
        await other.query(`SET LOCAL lock_timeout = '2s'`);
        await other.query('UPDATE subscriptions SET updated_at = updated_at WHERE company_id = $1', [
          service.company.id,
        ]);
      });
    });
  });

  it('have a start and an end after the worker has added them, before days are summed', async () => {
    assert.deepEqual(await problems(), []);
    await sumAll();
    assert.deepEqual(await movementsOf(made[0] ?? ''), [started]);
    assert.deepEqual(await movementsOf(made[1] ?? ''), [started, ended]);
    assert.deepEqual(await movementsOf(made[2] ?? ''), [started, paused]);
    assert.deepEqual(await problems(), []);
    await assertExact('Asia/Kathmandu', 'after the first movements');
  });

  it('count as churn once, and not when they end while they are paused', async () => {
    const reply = await cancel(made[2] ?? '');
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(await movementsOf(made[2] ?? ''), [started, paused]);
    const today = { range: 'today', currency: 'usd' } as const;
    assert.ok(Number((await getStatistics(await context(), today)).figures.churn?.value) <= 1);
  });
});

describe('the worker', () => {
  const now = { graceSeconds: 0, zonePauseSeconds: 0 };
  /** A company with a deleted customer for each of these days, counted back from now. */
  async function rival(daysAgo: readonly number[]): Promise<string> {
    const id = randomUUID();
    await service.db.query(
      `INSERT INTO companies (id, account_id, name, mode, api_version) VALUES ($1, $1, 'Rival', 'sandbox', '2026-02-11')`,
      [id],
    );
    await service.db.query(
      `INSERT INTO tombstones (company_id, id, object_type, sort_values)
       SELECT $1, first_id(now() - ago * interval '1 day'), 'customer', '{}' FROM unnest($2::integer[]) ago`,
      [id, daysAgo],
    );
    return id;
  }
  const daysOf = (id: string, also = 'true'): Promise<number> =>
    countOf(service, 'figure_days', `company_id = $1 AND ${also}`, [id]);
  const addAll = async (id: string): Promise<void> => {
    for (let step = 0; step < 4; step += 1) await processCompany(service.db, id, now);
  };
  const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 2);

  it('adds only days with activity', async () => {
    const id = await rival([3650, 1800, 2]);
    await addAll(id);
    assert.equal(await daysOf(id), 3);
    await sumAll();
    assert.equal(await daysOf(id, 'figures IS NOT NULL'), 3);
  });

  it('lets companies take turns', async () => {
    const [busy, small] = [await rival(upTo(90)), await rival([2])];
    await addAll(busy);
    await addAll(small);
    assert.equal(await daysOf(busy), 90);
    const chosen = await findDaysToSum(service.db, 5);
    assert.ok(chosen.some(({ company_id }) => company_id === small));
    await sumAll();
  });

  it('adds a long history in parts, each after the one before is summed', async () => {
    const id = await rival(upTo(250));
    await processCompany(service.db, id, now);
    await sumEndedDays(service.db, silentLog, now);
    assert.equal(await daysOf(id), 100);
    await sumAll();
    assert.equal(await daysOf(id, 'figures IS NOT NULL'), 250);
  });

  it('waits until a day and the requests of a moved clock have surely ended', async () => {
    const id = await rival([2]);
    await processCompany(service.db, id, { ...now, graceSeconds: 300 });
    await processCompany(service.db, id, { ...now, graceSeconds: 300 });
    assert.equal(await daysOf(id), 0);
    await service.db.query('UPDATE figure_states SET due_at = now() WHERE company_id = $1', [id]);
    await processCompany(service.db, id, { ...now, graceSeconds: 3 * 24 * 3600 });
    assert.equal(await daysOf(id), 0, 'the grace time of the day is not over');
    await service.db.query('UPDATE figure_states SET due_at = now() WHERE company_id = $1', [id]);
    await processCompany(service.db, id, now);
    assert.equal(await daysOf(id), 1);
    await sumAll();
  });

  it('sums the days of another time zone after a pause, however often the zone changes', async () => {
    const id = await rival(upTo(5));
    await sumAll();
    const set = async (zone: string): Promise<void> => {
      await service.db.query('UPDATE companies SET time_zone = $2 WHERE id = $1', [id, zone]);
      await processCompany(service.db, id, { ...now, zonePauseSeconds: 600 });
    };
    for (const zone of ['Asia/Tokyo', 'UTC', 'Asia/Tokyo']) {
      await set(zone);
      assert.equal(await daysOf(id, `zone = 'UTC' AND figures IS NOT NULL`), 5);
    }
    const waits = `company_id = $1 AND due_at > now() + interval '500 s'`;
    assert.equal(await countOf(service, 'figure_states', waits, [id]), 1);
    await service.db.query('UPDATE figure_states SET due_at = now() WHERE company_id = $1', [id]);
    await sumAll();
    assert.equal(await daysOf(id, `zone = 'Asia/Tokyo' AND figures IS NOT NULL`), await daysOf(id));
  });

  it('goes on with other companies when a company or a day fails, and tries it again later', async () => {
    const [broken, failing, healthy] = [await rival([3]), await rival([3, 2]), await rival([2])];
    await service.db.query(`UPDATE companies SET time_zone = 'Mars/Olympus' WHERE id = $1`, [broken]);
    await service.db.query(
      `CREATE FUNCTION fail_day() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$`,
    );
    await service.db.query(
      `CREATE TRIGGER fail_day BEFORE UPDATE OF figures ON figure_days FOR EACH ROW
         WHEN (NEW.company_id = '${failing}') EXECUTE FUNCTION fail_day()`,
    );
    await sumAll();
    assert.equal(await daysOf(healthy, 'figures IS NOT NULL'), 1);
    assert.equal(await daysOf(failing, `figures IS NULL AND due_at > now() + interval '4 minutes'`), 2);
    const later = `company_id = $1 AND due_at > now() + interval '4 minutes'`;
    assert.equal(await countOf(service, 'figure_states', later, [broken]), 1);
    await service.db.query('DROP FUNCTION fail_day CASCADE');
    await service.db.query(`UPDATE companies SET time_zone = 'UTC' WHERE id = $1`, [broken]);
    await service.db.query('UPDATE figure_days SET due_at = now() WHERE figures IS NULL');
    await sumAll();
    assert.equal((await daysOf(failing, 'figures IS NOT NULL')) + (await daysOf(broken, 'figures IS NOT NULL')), 3);
  });

  it('gives the hour that is repeated at midnight to the day before', async () => {
    // In Havana, clocks go back from 1:00 to 0:00 on this day, which is 5:00 UTC.
    const [row] = await service.db.query(
      `SELECT day_at('2026-11-01 04:30Z', 'America/Havana')::text AS first, day_at('2026-11-01 05:30Z', 'America/Havana')::text AS again`,
    );
    assert.deepEqual(row, { first: '2026-10-31', again: '2026-11-01' });
  });
});

describe('the statements', () => {
  it('find the cards that expire by the index of their months', async () => {
    const { company } = service;
    const card = `jsonb_build_object('id', uuidv7(), 'exp_year', 2026 + n % 10, 'exp_month', 1 + n % 12)`;
    const plan = await planOf(
      service.db,
      (db) => findAttention(db, company.id, { kinds: ['cards_expiring'], now: new Date(), broken: [] }),
      [
        `INSERT INTO payment_methods SELECT (jsonb_populate_record(p, ${card})).*
         FROM payment_methods p, generate_series(1, 1000) n
         WHERE p.id = (SELECT id FROM payment_methods WHERE company_id = '${company.id}' LIMIT 1)`,
        `INSERT INTO subscriptions SELECT (jsonb_populate_record(s, jsonb_build_object('id', uuidv7(), 'payment_method_id', p.id))).*
         FROM subscriptions s, payment_methods p WHERE p.company_id = '${company.id}'
           AND s.id = (SELECT id FROM subscriptions WHERE company_id = '${company.id}' AND status = 'active' LIMIT 1)`,
        'ANALYZE payment_methods, subscriptions',
      ],
    );
    assert.match(plan, /payment_methods_expiry[^]*Index Cond: .*exp_year = .*exp_month = /, plan);
  });

  it('read only the companies that are due', async () => {
    const plan = await planOf(service.db, (db) => findDueCompanies(db, 100));
    assert.match(plan, /Index Scan (using|on) figure_states_due[^]*Index Cond: \(due_at <= now\(\)\)/, plan);
    assert.doesNotMatch(plan, / companies/, plan);
  });
});

describe('the statistics', () => {
  it('are made for one request of a company at a time', async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    let reading = 0;
    const db = {
      query: async () => {
        reading += 1;
        await released;
        return [];
      },
    };
    const base = await context();
    const ask = (id: string): Promise<unknown> =>
      getStatistics({ ...base, db: db as never, company: { ...base.company, id } }, {}).catch(
        (error: { code: string }) => error.code,
      );
    const [busy, other] = [randomUUID(), randomUUID()];
    const answers = Array.from({ length: 6 }, () => ask(busy));
    await new Promise(setImmediate);
    assert.equal(reading, 1);
    const last = ask(other);
    await new Promise(setImmediate);
    assert.equal(reading, 2, 'another company does not wait');
    release();
    const codes = await Promise.all([...answers, last]);
    assert.equal(codes.filter((code) => code === 'too_many_requests').length, 2);
  });
});

describe('a period', () => {
  it('is split into buckets of whole weeks and months, shorter at its ends', () => {
    const period = periodOf({ from: '2026-01-15', to: '2026-03-02' }, '2026-11-16');
    assert.equal(period.length, 47);
    assert.deepEqual(bucketsOf(period, 'month'), [
      { from: '2026-01-15', to: '2026-01-31' },
      { from: '2026-02-01', to: '2026-02-28' },
      { from: '2026-03-01', to: '2026-03-02' },
    ]);
    assert.deepEqual(bucketsOf(period, 'week').slice(0, 2), [
      { from: '2026-01-15', to: '2026-01-18' },
      { from: '2026-01-19', to: '2026-01-25' },
    ]);
    assert.deepEqual(bucketsOf(period, 'week').at(-1), { from: '2026-03-02', to: '2026-03-02' });
    assert.deepEqual(
      [7, 30, 90, 365].map((length) => intervalsFor(length)[0]),
      ['day', 'day', 'week', 'month'],
    );
    assert.equal(periodOf({ range: 'quarter' }, '2026-11-16').from, '2026-10-01');
    assert.equal(periodOf({ to: '2030-01-01' }, '2026-11-16').to, '2026-11-16');
  });
});
