import { ApiError, invalidField } from '../../errors.ts';
import { limits } from '../../limits.ts';
import type { Database } from '../../platform/database.ts';
import { dayMs, minuteMs } from '../../platform/durations.ts';
import type { RequestContext } from '../../request-context.ts';
import { operate, refuseUnderWay, refuseWhileChanging } from './change-subscription.ts';
import { continued, isPaidAt, paused } from './changes.ts';
import { announceDue, isUnderWay } from './queries.ts';
import { isEnded, momentOn, nextCharge, upcomingCharges } from './schedule.ts';
import type { Subscription } from './schemas.ts';
import type { SubscriptionRow } from './subscription.ts';

/** A customer pauses a subscription until a date. It then continues by itself, and its next period is charged. */

export interface PauseDates {
  /** The first and the last day on which it can continue. */
  readonly first: string;
  readonly last: string;
  /** What is charged on that day. */
  readonly total: number;
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Undefined if it cannot be paused: then a charge is due, in progress or waits to be sent, or no other period begins. */
export function pauseDatesOf(row: SubscriptionRow, nowMs: number): PauseDates | undefined {
  const { status, due_at, current_cycle, current_period_end: end, end_date, pending_change } = row;
  if (status !== 'active' || !due_at || current_cycle === 0 || !end || !isPaidAt(row, nowMs)) return undefined;
  const [next] = upcomingCharges(row, 1);
  if (!nextCharge(row) || !next || pending_change?.in_flight) return undefined;
  const lastMs = Math.min(nowMs + limits.pauseDaysMax * dayMs, end_date ? Date.parse(end_date) - dayMs : Infinity);
  const dates = { first: dayOf(end.getTime() + dayMs), last: dayOf(lastMs), total: next.total };
  return dates.first <= dates.last ? dates : undefined;
}

export interface Pause {
  readonly until: string;
  /** What is charged then, or at once if it continues earlier. */
  readonly total: number;
  /** Until when it is paid; null if it is not any more. */
  readonly paid_until: string | null;
}

/** Null unless it is paused until a date. A pause without one is ended by the merchant. */
export function pauseOf(row: SubscriptionRow, nowMs: number): Pause | null {
  if (row.status !== 'paused' || !row.resume_at) return null;
  const paid_until = isPaidAt(row, nowMs) ? (row.current_period_end?.toISOString() ?? null) : null;
  return { until: row.resume_at.toISOString(), total: totalAt(row, row.resume_at.getTime()), paid_until };
}

/** What the next cycle costs; 0 if none begins. */
function totalAt(row: SubscriptionRow, atMs: number): number {
  const then = continued(row, atMs, atMs);
  return nextCharge(then) ? (upcomingCharges(then, 1)[0]?.total ?? 0) : 0;
}

export async function pauseUntil(context: RequestContext, id: string, day: string): Promise<Subscription> {
  return operate(context, id, 'active', 'subscription.paused', async (_transaction, row) => {
    refuseWhileChanging(row);
    const dates = pauseDatesOf(row, context.nowMs);
    if (!dates)
      throw new ApiError('invalid_state_transition', 'This subscription cannot be paused now.', { param: 'id' });
    if (day < dates.first || day > dates.last || isEnded(row, Date.parse(day))) {
      throw invalidField('until', `must be between ${dates.first} and ${dates.last}`);
    }
    return paused(row, context.nowMs, new Date(momentOn(row, day)));
  });
}

/** The customer continues earlier, having seen what is charged. */
export async function continueNow(context: RequestContext, id: string, shownTotal: number): Promise<Subscription> {
  const { nowMs } = context;
  return operate(context, id, 'paused', 'subscription.resumed', async (transaction, row) => {
    if (!row.resume_at) {
      throw new ApiError('invalid_state_transition', 'The seller has paused this subscription.', { param: 'id' });
    }
    await refuseUnderWay(transaction, row);
    const total = isPaidAt(row, nowMs) ? 0 : totalAt(row, nowMs);
    if (total !== shownTotal) {
      throw invalidField('expected_amount', `is ${shownTotal}, but ${total} would be charged now`);
    }
    if (total > 0) await announceDue(transaction);
    return continued(row, nowMs, nowMs);
  });
}

/** How long a subscription stays paused whose renewal is still being discarded. */
const waitMs = 10 * minuteMs;

/** The date of a pause has come. A charge from before the pause decides first. */
export async function endPause(transaction: Database, row: SubscriptionRow, nowMs: number): Promise<SubscriptionRow> {
  const { company_id, latest_order_id } = row;
  if (latest_order_id === null || !(await isUnderWay(transaction, company_id, latest_order_id))) {
    return continued(row, row.resume_at?.getTime() ?? nowMs, nowMs);
  }
  const at = new Date(nowMs + waitMs);
  return { ...row, due_at: at, resume_at: at };
}
