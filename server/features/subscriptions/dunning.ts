import { dayMs } from '../../platform/durations.ts';
import { failureGroups } from '../../vault/processors/processor.ts';
import type { EventType } from '../events/service.ts';
import type { ChargeResult, Effect } from './after-charge.ts';
import { canceled, dueAtRest, moved } from './changes.ts';
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
  if (declined.status !== 'past_due') return { row: { ...declined, due_at: dueAtRest(declined) }, events: [], cycle };
  const firstTime = row.status === 'active';
  const pastDue = { ...declined, first_declined_at: row.first_declined_at ?? new Date(nowMs) };
  const isByHand = !firstTime && !automatic;
  const next = isByHand ? scheduleKept(pastDue, policy) : scheduleAfter(pastDue, result, policy);
  const first: EventType[] = firstTime ? ['subscription.past_due'] : [];
  return { row: next.row, events: [...first, ...next.events], cycle };
}

type Scheduled = Omit<Effect, 'cycle'>;

/** A manual retry uses the card of the order and leaves the schedule as it is. */
const scheduleKept = (pastDue: SubscriptionRow, policy: DunningPolicy): Scheduled => ({
  row: { ...pastDue, due_at: pastDue.next_retry_at ?? dunningEndsAt(pastDue, policy) },
  events: [],
});

function scheduleAfter(pastDue: SubscriptionRow, result: ChargeResult, policy: DunningPolicy): Scheduled {
  const { failure, nowMs, paymentMethodId } = result;
  // The subscription got another card while the old one was charged: charge the new one at once.
  if (paymentMethodId !== pastDue.payment_method_id) {
    const now = new Date(nowMs);
    return { row: { ...pastDue, next_retry_at: now, due_at: now }, events: [] };
  }
  const isSoft = (failureGroups.soft as readonly string[]).includes(failure?.code ?? '');
  const retryAtMs = isSoft ? failure?.retryAtMs : undefined;
  const earliestMs = Math.max(nowMs + 1, retryAtMs ?? 0);
  // A charge that was not sent is no attempt of the schedule: if no date is left, it is sent as soon as it can be.
  const held = retryAtMs === undefined ? [] : [new Date(retryAtMs)];
  const left = retryDates(pastDue, policy).filter((date) => date.getTime() >= earliestMs);
  const dates = left.length > 0 ? left : held;
  const [first] = dates;
  if (!first) return endDunning(pastDue, policy, nowMs);
  // A card that will not work again is not charged again, but may be replaced until the last date.
  return isSoft
    ? { row: { ...pastDue, next_retry_at: first, due_at: first }, events: [] }
    : { row: { ...pastDue, next_retry_at: null, due_at: dates.at(-1) ?? null }, events: [] };
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
