import { withNextDue, withPassedDatesLeftOut } from './schedule.ts';
import type { SubscriptionRow } from './subscription.ts';
import { nextSubscriptionStatus, type SubscriptionTrigger } from './transitions.ts';

/** Computes changes of a subscription's status. Pure functions without I/O. */

export function moved(row: SubscriptionRow, because: SubscriptionTrigger): SubscriptionRow {
  const status = nextSubscriptionStatus(row.status, because);
  if (!status) throw new Error(`a subscription that is ${row.status} cannot be ${because}`);
  return { ...row, status };
}

export function canceled(row: SubscriptionRow, nowMs: number): SubscriptionRow {
  const now = new Date(nowMs);
  return moved({ ...row, due_at: null, next_retry_at: null, canceled_at: now, updated_at: now }, 'canceled');
}

export function completed(row: SubscriptionRow, nowMs: number): SubscriptionRow {
  const now = new Date(nowMs);
  return moved({ ...row, due_at: null, completed_at: now, updated_at: now }, 'last_period_ended');
}

export function paused(row: SubscriptionRow, nowMs: number): SubscriptionRow {
  return moved({ ...row, due_at: null, updated_at: new Date(nowMs) }, 'paused');
}

/** Billing dates that passed during the pause are not billed. */
export function resumed(row: SubscriptionRow, nowMs: number): SubscriptionRow {
  const declined = { attempt_count: 0, last_failure_message: null };
  const active = moved({ ...row, ...declined, updated_at: new Date(nowMs) }, 'resumed');
  return withNextDue(withPassedDatesLeftOut(active, nowMs));
}
