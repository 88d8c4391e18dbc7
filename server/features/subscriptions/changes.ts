import { nothingPaid } from './period-payment.ts';
import { beginningAt, withNextDue, withPassedDatesLeftOut } from './schedule.ts';
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
    { ...withoutPending(row), due_at: null, next_retry_at: null, resume_at: null, canceled_at: now, updated_at: now },
    'canceled',
  );
}

export function completed(row: SubscriptionRow, nowMs: number): SubscriptionRow {
  const now = new Date(nowMs);
  return moved({ ...row, due_at: null, completed_at: now, updated_at: now }, 'last_period_ended');
}

/** Until it is resumed, or continues by itself. */
export function paused(row: SubscriptionRow, nowMs: number, resumeAt: Date | null = null): SubscriptionRow {
  return moved(
    { ...withoutPending(row), due_at: resumeAt, resume_at: resumeAt, updated_at: new Date(nowMs) },
    'paused',
  );
}

/** A subscription that is not billed is due only if it is paused until a date. */
export const dueAtRest = ({ status, resume_at }: SubscriptionRow): Date | null =>
  status === 'paused' ? resume_at : null;

const nothingDeclined = { attempt_count: 0, last_failure_message: null } as const;

/** Billing dates that passed during the pause are not billed, so a period that began meanwhile is not paid. */
export function resumed(row: SubscriptionRow, nowMs: number): SubscriptionRow {
  const active = moved({ ...row, ...nothingDeclined, resume_at: null, updated_at: new Date(nowMs) }, 'resumed');
  const dated = withPassedDatesLeftOut(active, nowMs);
  const from = dated.current_period_start?.toISOString();
  const isSamePeriod = from === row.current_period_start?.toISOString();
  return withNextDue(isSamePeriod || !from ? dated : { ...dated, period_payment: nothingPaid(from) });
}

/**
 * The end of a pause that a customer chose. If the paid period is over, the next one begins at that time and is charged: customers
 * could otherwise pause over each date and use what they have not paid for.
 */
export function continued(row: SubscriptionRow, atMs: number, nowMs: number): SubscriptionRow {
  const active = moved({ ...row, ...nothingDeclined, resume_at: null, updated_at: new Date(nowMs) }, 'resumed');
  return withNextDue(isPaidAt(row, atMs) ? active : beginningAt(active, atMs));
}

export const isPaidAt = ({ current_period_end }: SubscriptionRow, atMs: number): boolean =>
  (current_period_end?.getTime() ?? 0) > atMs;

/** The change whose order may have been declined is superseded. */
export const withoutPending = (row: SubscriptionRow): SubscriptionRow =>
  row.pending_change ? { ...row, pending_change: null } : row;

/** Whether the columns differ that only changes of plan and pauses write. */
export const writesPlan = (before: SubscriptionRow, after: SubscriptionRow): boolean =>
  before.pending_change !== after.pending_change ||
  before.period_payment !== after.period_payment ||
  before.scheduled_change !== after.scheduled_change ||
  before.renewal_items !== after.renewal_items ||
  before.resume_at !== after.resume_at;
