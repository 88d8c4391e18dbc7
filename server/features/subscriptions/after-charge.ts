import type { EventType } from '../events/service.ts';
import { dueAtRest, moved } from './changes.ts';
import { type DunningPolicy, renewalDeclined } from './dunning.ts';
import { withCycleBegun, withNextDue, withPassedDatesLeftOut } from './schedule.ts';
import type { SubscriptionRow } from './subscription.ts';

/** Computes what the outcome of a charge changes on its subscription. Pure functions without I/O. */

export interface ChargeResult {
  /** The cycle of the order; null for the first charge. */
  readonly cycle: number | null;
  /** Undefined when it was approved. */
  readonly failure:
    | {
        readonly code: string;
        readonly reason: string;
        /** It was not sent, because the card was declined too often. It can be sent from then on. */
        readonly retryAtMs?: number | undefined;
      }
    | undefined;
  /** How often the order was declined, including this time. */
  readonly declines: number;
  /** Whether the schedule made the charge, rather than a request. */
  readonly automatic: boolean;
  /** The card that was charged. */
  readonly paymentMethodId: string;
  readonly nowMs: number;
}

/** A cycle with a total of zero is paid when it begins. */
export function freeOfCharge(
  { payment_method_id }: SubscriptionRow,
  cycle: number | null,
  nowMs: number,
): ChargeResult {
  return { cycle, failure: undefined, declines: 0, automatic: true, paymentMethodId: payment_method_id, nowMs };
}

export interface Effect {
  readonly row: SubscriptionRow;
  readonly events: readonly EventType[];
  /** The cycle for the order. */
  readonly cycle: number | null;
}

export function afterCharge(row: SubscriptionRow, result: ChargeResult, policy: DunningPolicy): Effect {
  const stamped = { ...row, updated_at: new Date(result.nowMs) };
  if (result.cycle === null) return result.failure ? firstDeclined(stamped, result) : firstApproved(stamped, result);
  return result.failure ? renewalDeclined(stamped, result, policy) : renewalApproved(stamped, result);
}

const nothingDeclined = {
  first_declined_at: null,
  next_retry_at: null,
  attempt_count: 0,
  last_failure_message: null,
} as const;

function firstApproved(row: SubscriptionRow, { nowMs }: ChargeResult): Effect {
  // If the first charge succeeds late, the schedule starts at that time.
  const late = row.status === 'failed';
  const now = new Date(nowMs);
  const from = late ? { ...row, start_at: now, base_at: now, next_number: 0 } : row;
  const active = moved({ ...withCycleBegun(from), ...nothingDeclined, completed_cycles: 1 }, 'first_charge_approved');
  const events: EventType[] =
    row.status === 'pending' ? ['subscription.created'] : late ? ['subscription.recovered'] : [];
  return { row: withDue(active), events, cycle: 1 };
}

function firstDeclined(row: SubscriptionRow, { failure, declines }: ChargeResult): Effect {
  const failed = moved(
    { ...row, attempt_count: declines, last_failure_message: failure?.reason ?? null, due_at: null },
    'first_charge_declined',
  );
  const events: EventType[] =
    row.status === 'pending' ? ['subscription.created'] : row.status === 'active' ? ['subscription.failed'] : [];
  return { row: failed, events, cycle: null };
}

function renewalApproved(row: SubscriptionRow, { cycle, nowMs }: ChargeResult): Effect {
  const recovered = row.status === 'past_due' || row.status === 'failed';
  const paid = moved(
    { ...row, ...nothingDeclined, completed_cycles: Math.max(row.completed_cycles, cycle ?? 0) },
    'renewal_approved',
  );
  const events: EventType[] = ['subscription.charged', ...(recovered ? (['subscription.recovered'] as const) : [])];
  return { row: withDue(recovered ? withPassedDatesLeftOut(paid, nowMs) : paid), events, cycle };
}

function withDue(row: SubscriptionRow): SubscriptionRow {
  return row.status === 'active' ? withNextDue(row) : { ...row, due_at: dueAtRest(row) };
}
