import type { BillingCycle } from '../../server/features/subscriptions/calendar.ts';
import type { Queryable } from '../../server/platform/database.ts';
import { slowDates } from '../support/wall-calendar.ts';

/** Computes what must have been billed from a wall calendar, and compares it with what was. */

interface Subscription {
  id: string;
  status: string;
  amount: number;
  one_time_amount: number;
  interval: 'day' | 'month';
  interval_count: number;
  anchor_day: number | null;
  billing_cycles: number;
  start_at: Date;
  completed_cycles: number;
}

interface BilledOrder {
  subscription_id: string;
  cycle: number | null;
  status: string;
  total: number;
  attempt_count: number;
  created_ms: number;
  succeeded_ms: number | null;
  sales: number;
  charged: number;
}

export interface Verdict {
  readonly problems: readonly string[];
  readonly paid: number;
  readonly total: number;
  readonly expectedTotal: number;
  readonly statuses: Readonly<Record<string, number>>;
}

const day = 86_400_000;

export async function verify(db: Queryable, companyId: string, nowMs: number): Promise<Verdict> {
  const subscriptions = await db.query<Subscription>('SELECT * FROM subscriptions WHERE company_id = $1', [companyId]);
  const orders = await db.query<BilledOrder>(
    `SELECT o.subscription_id, o.subscription_cycle AS cycle, o.status, o.total, o.attempt_count,
       ('x' || translate(left(o.id::text, 13), '-', ''))::bit(48)::bigint AS created_ms,
       (SELECT ('x' || translate(left(e.id::text, 13), '-', ''))::bit(48)::bigint FROM events e
        WHERE e.company_id = o.company_id AND e.object_id = o.id AND e.type = 'order.succeeded') AS succeeded_ms,
       (SELECT count(*)::integer FROM transactions t WHERE t.company_id = o.company_id AND t.order_id = o.id
          AND t.type = 'sale' AND t.status = 'succeeded') AS sales,
       (SELECT coalesce(sum(t.amount), 0)::bigint FROM transactions t WHERE t.company_id = o.company_id
          AND t.order_id = o.id AND t.type = 'sale' AND t.status = 'succeeded') AS charged
     FROM orders o WHERE o.company_id = $1 AND o.subscription_id IS NOT NULL ORDER BY o.id`,
    [companyId],
  );
  const ordersOf = Map.groupBy(orders, ({ subscription_id }) => subscription_id);
  const problems: string[] = [];
  const statuses: Record<string, number> = {};
  let expectedTotal = 0;
  for (const subscription of subscriptions) {
    statuses[subscription.status] = (statuses[subscription.status] ?? 0) + 1;
    const own = ordersOf.get(subscription.id) ?? [];
    for (const problem of problemsOf(subscription, own, nowMs)) problems.push(`${subscription.id}: ${problem}`);
    const paid = own.filter(({ status }) => status === 'succeeded').length;
    if (paid > 0) expectedTotal += paid * subscription.amount + subscription.one_time_amount;
  }
  const charged = orders.reduce((sum, order) => sum + order.charged, 0);
  const paid = orders.filter(({ status }) => status === 'succeeded').length;
  if (charged !== expectedTotal) problems.push(`${charged} was charged, and ${expectedTotal} should have been`);
  return { problems, paid, total: charged, expectedTotal, statuses };
}

function problemsOf(subscription: Subscription, own: readonly BilledOrder[], nowMs: number): string[] {
  const { status, billing_cycles } = subscription;
  const problems: string[] = [];
  const cycle: BillingCycle = {
    interval: subscription.interval,
    interval_count: subscription.interval_count,
    anchor_day: subscription.anchor_day ?? 'signup_date',
  };
  const startMs = subscription.start_at.getTime();
  const stepDays = cycle.interval === 'day' ? cycle.interval_count : 28 * cycle.interval_count;
  const dates = slowDates(startMs, cycle, Math.ceil((nowMs - startMs) / (stepDays * day)) + 3);

  for (const order of own) {
    const succeeded = order.status === 'succeeded';
    if (order.sales !== (succeeded ? 1 : 0)) problems.push(`cycle ${order.cycle} was charged ${order.sales} times`);
    if (succeeded && order.charged !== order.total) problems.push(`cycle ${order.cycle} was charged ${order.charged}`);
    if (!succeeded && order.status !== 'failed') problems.push(`the order of cycle ${order.cycle} is ${order.status}`);
  }
  const cycles = own.map((order) => order.cycle ?? 0);
  const expected = own[0]?.cycle === null ? [0] : own.map((_, index) => index + 1);
  if (cycles.join() !== expected.join()) problems.push(`its cycles are ${cycles.join()}`);
  const unpaid = own.filter((order) => order.status !== 'succeeded');
  if (unpaid.length > 1 || (unpaid.length === 1 && unpaid[0] !== own.at(-1))) problems.push('it went on unpaid');

  // From each cycle to the next: the next regular date, or the first one after the day of a late payment.
  let place = 0;
  for (const [index, order] of own.entries()) {
    const date = dates[place] ?? Number.NaN;
    if (index > 0 && order.created_ms < date) problems.push(`cycle ${order.cycle} was billed before its date`);
    if (order.status !== 'succeeded') break;
    const late = index > 0 && order.attempt_count > 0 ? (order.succeeded_ms ?? 0) : 0;
    place = dates.findIndex((next, number) => number > place && next > late);
  }
  const next = dates[place] ?? Number.POSITIVE_INFINITY;
  const paidCycles = own.length - unpaid.length;
  if (subscription.completed_cycles !== paidCycles) problems.push(`it counts ${subscription.completed_cycles} cycles`);
  const over = billing_cycles > 0 && paidCycles >= billing_cycles;
  if (status === 'active' && !over && next <= nowMs) problems.push(`${new Date(next).toISOString()} was not billed`);
  if (status === 'active' && over && next <= nowMs) problems.push('it is over and not completed');
  if (status === 'completed' && !over) problems.push(`it was completed after ${paidCycles} cycles`);
  if (status === 'pending') problems.push('it is undecided');
  if ((status === 'past_due' || status === 'failed') && unpaid.length === 0) problems.push(`it is ${status} and paid`);
  return problems;
}
