import type { EventType } from '../events/service.ts';
import { failureGroups } from '../../vault/processors/processor.ts';
import { withCycleBegun, withNextDue, withPassedDatesLeftOut } from './schedule.ts';
import type { SubscriptionRow } from './subscription.ts';
import { nextSubscriptionStatus, type SubscriptionTrigger } from './transitions.ts';

/** What the end of a charge makes of a subscription. Nothing here reads or writes anything. */

export interface DunningPolicy {
  /** Days after the first decline of a cycle on which it is tried again. */
  readonly days: readonly number[];
  readonly afterwards: 'failed' | 'canceled';
}

export interface ChargeEnd {
  /** Of the order; null when it is the first charge. */
  readonly cycle: number | null;
  /** Undefined when it was approved. */
  readonly failure: { readonly code: string; readonly reason: string } | undefined;
  /** How often the order was declined, this time included. */
  readonly declines: number;
  /** Whether the schedule asked for it, rather than a request. */
  readonly automatic: boolean;
  /** What was charged. */
  readonly paymentMethodId: string;
  readonly nowMs: number;
}

/** A cycle that costs nothing is paid as it begins. */
export function freeOfCharge({ payment_method_id }: SubscriptionRow, cycle: number | null, nowMs: number): ChargeEnd {
  return { cycle, failure: undefined, declines: 0, automatic: true, paymentMethodId: payment_method_id, nowMs };
}

export interface Effect {
  readonly row: SubscriptionRow;
  readonly events: readonly EventType[];
  /** For the order. */
  readonly cycle: number | null;
}

const dayMs = 86_400_000;

function moved(row: SubscriptionRow, because: SubscriptionTrigger): SubscriptionRow {
  const status = nextSubscriptionStatus(row.status, because);
  if (!status) throw new Error(`a subscription that is ${row.status} cannot be ${because}`);
  return { ...row, status };
}

export function afterCharge(row: SubscriptionRow, end: ChargeEnd, policy: DunningPolicy): Effect {
  const stamped = { ...row, updated_at: new Date(end.nowMs) };
  if (end.cycle === null) return end.failure ? firstDeclined(stamped, end) : firstApproved(stamped, end);
  return end.failure ? renewalDeclined(stamped, end, policy) : renewalApproved(stamped, end);
}

const nothingDeclined = {
  first_declined_at: null,
  next_retry_at: null,
  attempt_count: 0,
  last_failure_message: null,
} as const;

function firstApproved(row: SubscriptionRow, { nowMs }: ChargeEnd): Effect {
  // A first charge that succeeds late is where the schedule starts.
  const late = row.status === 'failed';
  const now = new Date(nowMs);
  const from = late ? { ...row, start_at: now, base_at: now, next_number: 0 } : row;
  const active = moved({ ...withCycleBegun(from), ...nothingDeclined, completed_cycles: 1 }, 'first_charge_approved');
  const events: EventType[] =
    row.status === 'pending' ? ['subscription.created'] : late ? ['subscription.recovered'] : [];
  return { row: settledDue(active), events, cycle: 1 };
}

function firstDeclined(row: SubscriptionRow, { failure, declines }: ChargeEnd): Effect {
  const failed = moved(
    { ...row, attempt_count: declines, last_failure_message: failure?.reason ?? null, due_at: null },
    'first_charge_declined',
  );
  const events: EventType[] =
    row.status === 'pending' ? ['subscription.created'] : row.status === 'active' ? ['subscription.failed'] : [];
  return { row: failed, events, cycle: null };
}

function renewalApproved(row: SubscriptionRow, { cycle, nowMs }: ChargeEnd): Effect {
  const recovered = row.status === 'past_due' || row.status === 'failed';
  const paid = moved(
    { ...row, ...nothingDeclined, completed_cycles: Math.max(row.completed_cycles, cycle ?? 0) },
    'renewal_approved',
  );
  const events: EventType[] = ['subscription.charged', ...(recovered ? (['subscription.recovered'] as const) : [])];
  return { row: settledDue(recovered ? withPassedDatesLeftOut(paid, nowMs) : paid), events, cycle };
}

function settledDue(row: SubscriptionRow): SubscriptionRow {
  return row.status === 'active' ? withNextDue(row) : { ...row, due_at: null };
}

function renewalDeclined(row: SubscriptionRow, end: ChargeEnd, policy: DunningPolicy): Effect {
  const { failure, declines, cycle, automatic, nowMs } = end;
  const declined = moved(
    { ...row, attempt_count: declines, last_failure_message: failure?.reason ?? null },
    'renewal_declined',
  );
  if (declined.status !== 'past_due') return { row: { ...declined, due_at: null }, events: [], cycle };
  const firstTime = row.status === 'active';
  const pastDue = { ...declined, first_declined_at: row.first_declined_at ?? new Date(nowMs) };
  const told: EventType[] = firstTime ? ['subscription.past_due'] : [];
  // Somebody tried by hand, with the card the order began with: that says nothing about the schedule.
  if (!firstTime && !automatic) {
    return { row: { ...pastDue, due_at: pastDue.next_retry_at ?? givenUpAt(pastDue, policy) }, events: told, cycle };
  }
  // It got another card while the old one was asked: that one is charged at once.
  if (end.paymentMethodId !== row.payment_method_id) {
    const now = new Date(nowMs);
    return { row: { ...pastDue, next_retry_at: now, due_at: now }, events: told, cycle };
  }
  const soft = (failureGroups.soft as readonly string[]).includes(failure?.code ?? '');
  const dates = retryDates(pastDue, policy).filter((date) => date.getTime() > nowMs);
  if (dates.length === 0) {
    const over = givenUp(pastDue, policy, nowMs);
    return { row: over.row, events: [...told, ...over.events], cycle };
  }
  const next_retry_at = soft ? (dates[0] ?? null) : null;
  return { row: { ...pastDue, next_retry_at, due_at: next_retry_at ?? dates.at(-1) ?? null }, events: told, cycle };
}

function retryDates({ first_declined_at }: SubscriptionRow, { days }: DunningPolicy): Date[] {
  const firstMs = first_declined_at?.getTime() ?? 0;
  return days.map((day) => new Date(firstMs + day * dayMs));
}

function givenUpAt(row: SubscriptionRow, policy: DunningPolicy): Date | null {
  return retryDates(row, policy).at(-1) ?? null;
}

/** All retries were in vain, or there was nothing to try with. */
export function givenUp(
  row: SubscriptionRow,
  { afterwards }: DunningPolicy,
  nowMs: number,
): { row: SubscriptionRow; events: EventType[] } {
  const over = { ...row, next_retry_at: null, due_at: null, updated_at: new Date(nowMs) };
  if (afterwards === 'failed') return { row: moved(over, 'given_up'), events: ['subscription.failed'] };
  return { row: canceled(over, nowMs), events: ['subscription.canceled'] };
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

/** Dates that passed in the meantime are not billed. */
export function resumed(row: SubscriptionRow, nowMs: number): SubscriptionRow {
  const active = moved({ ...row, updated_at: new Date(nowMs) }, 'resumed');
  return withNextDue(withPassedDatesLeftOut(active, nowMs));
}
