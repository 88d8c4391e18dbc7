import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { examine } from '../../../cli/doctor.ts';
import { someCoupon } from '../../../tests/support/coupons.ts';
import {
  approvedOutcome,
  capture,
  checkAllOpen,
  contextOf,
  countOf,
  type Faults,
  order,
  refund,
  startFaultyService,
  unknownOutcome,
  voidOrder,
} from '../../../tests/support/orders.ts';
import { seededRandom } from '../../../tests/support/seeded-random.ts';
import { someCustomer, someProduct, type TestService } from '../../../tests/support/service.ts';
import { advance, somePlan, subscribe } from '../../../tests/support/subscriptions.ts';
import { dayMs } from '../../platform/durations.ts';
import { idTimeMs } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import { companyClock } from '../companies/service.ts';
import { amountsOf } from '../subscriptions/schedule.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import { getAttention } from './attention.ts';
import { sumEndedDays } from './jobs.ts';
import { bucketsOf, intervalsFor, periodOf } from './period.ts';
import type { FigureName, Statistics } from './schemas.ts';
import { getStatistics } from './service.ts';

let service: TestService;
let faults: Faults;
let stop: () => Promise<void>;
before(async () => {
  ({ service, faults, stop } = await startFaultyService());
});
after(() => stop());

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

const flows = ['gross_volume', 'payments', 'failed_payments', 'refunded', 'disputed', 'new_customers'] as const;

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
      ...Object.fromEntries(flows.map((name) => [name, seriesOf(name)[index]])),
    }));
    const expected = answer.buckets.map((bucket) => {
      const day = days.get(`${bucket.from} ${currency}`) ?? {};
      return { day: bucket.from, ...Object.fromEntries(flows.map((name) => [name, day[name] ?? 0])) };
    });
    assert.deepEqual(shown, expected, `${when}, ${currency}`);
    assert.equal(answer.figures.mrr?.value, mrr[currency] ?? 0, `MRR in ${currency}, ${when}`);
    assert.equal(answer.figures.active_subscribers?.value, mrr[`${currency} subscribers`] ?? 0, `${currency}, ${when}`);
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
  while (await sumEndedDays(service.db, 0));
}

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
      const change = random.pick(['cancel', 'pause', 'resume']);
      await service.call('POST', `/v1/subscriptions/${id}/${change}`, { body: {} });
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
      const isPossible = { refund: paid, void: paid, dispute: paid, resolve: disputed, change: subscriptions }[
        name
      ] ?? [0];
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
    await sumAll();
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
