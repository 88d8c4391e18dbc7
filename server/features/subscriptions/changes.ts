import { nothingPaid } from './period-payment.ts';
import { withNextDue, withPassedDatesLeftOut } from './schedule.ts';
import type { SubscriptionRow } from './subscription.ts';
import { nextSubscriptionStatus, type SubscriptionTrigger } from './transitions.ts';

/** Computes changes of a subscription's status. Pure functions without I/O. */

export function moved(row: SubscriptionRow, because: SubscriptionTrigger): SubscriptionRow {
  const status = nextSubscriptionStatus(row.status, because);
  if (!status) throw new Error(`a subscription that is ${row.status} cannot be ${because}`);
  return { ...row, status };
}

/** A change whose charge is in flight is not made any more, and one that was declined cannot be retried. */
export function canceled(row: SubscriptionRow, nowMs: number): SubscriptionRow {
  const now = new Date(nowMs);
  return moved(
    { ...withoutPending(row), due_at: null, next_retry_at: null, canceled_at: now, updated_at: now },
    'canceled',
  );
}

export function completed(row: SubscriptionRow, nowMs: number): SubscriptionRow {
  const now = new Date(nowMs);
  return moved({ ...row, due_at: null, completed_at: now, updated_at: now }, 'last_period_ended');
}

export function paused(row: SubscriptionRow, nowMs: number): SubscriptionRow {
  return moved({ ...withoutPending(row), due_at: null, updated_at: new Date(nowMs) }, 'paused');
}

/** Billing dates that passed during the pause are not billed, so a period that began meanwhile is not paid. */
export function resumed(row: SubscriptionRow, nowMs: number): SubscriptionRow {
  const declined = { attempt_count: 0, last_failure_message: null };
  const active = moved({ ...row, ...declined, updated_at: new Date(nowMs) }, 'resumed');
  const dated = withPassedDatesLeftOut(active, nowMs);
  const from = dated.current_period_start?.toISOString();
  const isSamePeriod = from === row.current_period_start?.toISOString();
  return withNextDue(isSamePeriod || !from ? dated : { ...dated, period_payment: nothingPaid(from) });
}

/** The change whose order may have been declined is superseded. */
export const withoutPending = (row: SubscriptionRow): SubscriptionRow =>
  row.pending_change ? { ...row, pending_change: null } : row;

/** Whether the columns differ that only changes of plan write. */
export const writesPlan = (before: SubscriptionRow, after: SubscriptionRow): boolean =>
  before.pending_change !== after.pending_change ||
  before.period_payment !== after.period_payment ||
  before.scheduled_change !== after.scheduled_change ||
  before.renewal_items !== after.renewal_items;
