import { dayMs } from '../../platform/durations.ts';
import { failureGroups } from '../../vault/processors/processor.ts';
import type { EventType } from '../events/service.ts';
import type { ChargeResult, Effect } from './after-charge.ts';
import { canceled, moved } from './changes.ts';
import type { SubscriptionRow } from './subscription.ts';

/** Dunning: the schedule of retries for a declined renewal. Pure functions without I/O. */

export interface DunningPolicy {
  /** Days after the first decline of a cycle on which it is retried. */
  readonly days: readonly number[];
  /** The status when all retries were declined. */
  readonly afterwards: 'failed' | 'canceled';
}

export function renewalDeclined(row: SubscriptionRow, result: ChargeResult, policy: DunningPolicy): Effect {
  const { failure, declines, cycle, automatic, nowMs } = result;
  const declined = moved(
    { ...row, attempt_count: declines, last_failure_message: failure?.reason ?? null },
    'renewal_declined',
  );
  if (declined.status !== 'past_due') return { row: { ...declined, due_at: null }, events: [], cycle };
  const firstTime = row.status === 'active';
  const pastDue = { ...declined, first_declined_at: row.first_declined_at ?? new Date(nowMs) };
  const events: EventType[] = firstTime ? ['subscription.past_due'] : [];
  // A manual retry uses the card of the order and leaves the schedule as it is.
  if (!firstTime && !automatic) {
    return { row: { ...pastDue, due_at: pastDue.next_retry_at ?? dunningEndsAt(pastDue, policy) }, events, cycle };
  }
  // The subscription got another card while the old one was charged: charge the new one at once.
  if (result.paymentMethodId !== row.payment_method_id) {
    const now = new Date(nowMs);
    return { row: { ...pastDue, next_retry_at: now, due_at: now }, events, cycle };
  }
  const soft = (failureGroups.soft as readonly string[]).includes(failure?.code ?? '');
  const dates = retryDates(pastDue, policy).filter((date) => date.getTime() > nowMs);
  if (dates.length === 0) {
    const ended = endDunning(pastDue, policy, nowMs);
    return { row: ended.row, events: [...events, ...ended.events], cycle };
  }
  const next_retry_at = soft ? (dates[0] ?? null) : null;
  return { row: { ...pastDue, next_retry_at, due_at: next_retry_at ?? dates.at(-1) ?? null }, events, cycle };
}

function retryDates({ first_declined_at }: SubscriptionRow, { days }: DunningPolicy): Date[] {
  const firstMs = first_declined_at?.getTime() ?? 0;
  return days.map((day) => new Date(firstMs + day * dayMs));
}

export function dunningEndsAt(row: SubscriptionRow, policy: DunningPolicy): Date | null {
  return retryDates(row, policy).at(-1) ?? null;
}

/** Called when all retries were declined, or there are none. */
export function endDunning(
  row: SubscriptionRow,
  { afterwards }: DunningPolicy,
  nowMs: number,
): { row: SubscriptionRow; events: EventType[] } {
  const ended = { ...row, next_retry_at: null, due_at: null, updated_at: new Date(nowMs) };
  if (afterwards === 'failed') return { row: moved(ended, 'dunning_ended'), events: ['subscription.failed'] };
  return { row: canceled(ended, nowMs), events: ['subscription.canceled'] };
}
