/** How a subscription moves: from, because of, to. What is not here does not happen. */

export const subscriptionStatuses = ['active', 'paused', 'canceled', 'completed', 'past_due', 'failed'] as const;
/** Pending: its first charge is under way. Nobody sees it before that is decided. */
export type SubscriptionStatus = (typeof subscriptionStatuses)[number] | 'pending';

export type SubscriptionTrigger =
  | 'first_charge_approved'
  | 'first_charge_declined'
  | 'renewal_approved'
  | 'renewal_declined'
  | 'dunning_ended'
  | 'last_period_ended'
  | 'canceled'
  | 'paused'
  | 'resumed';

type Transition = readonly [from: SubscriptionStatus, because: SubscriptionTrigger, to: SubscriptionStatus];

export const subscriptionTransitions: readonly Transition[] = [
  ['pending', 'first_charge_approved', 'active'],
  ['pending', 'first_charge_declined', 'failed'],
  // The first charge of one that starts later.
  ['active', 'first_charge_approved', 'active'],
  ['active', 'first_charge_declined', 'failed'],
  ['failed', 'first_charge_approved', 'active'],
  ['failed', 'first_charge_declined', 'failed'],
  ['active', 'renewal_approved', 'active'],
  ['active', 'renewal_declined', 'past_due'],
  ['past_due', 'renewal_approved', 'active'],
  ['past_due', 'renewal_declined', 'past_due'],
  ['failed', 'renewal_approved', 'active'],
  ['failed', 'renewal_declined', 'failed'],
  ['past_due', 'dunning_ended', 'failed'],
  ['active', 'last_period_ended', 'completed'],
  ['active', 'canceled', 'canceled'],
  ['paused', 'canceled', 'canceled'],
  ['past_due', 'canceled', 'canceled'],
  ['failed', 'canceled', 'canceled'],
  // A charge that was under way when it was canceled stands, and changes nothing else.
  ['canceled', 'first_charge_approved', 'canceled'],
  ['canceled', 'first_charge_declined', 'canceled'],
  ['canceled', 'renewal_approved', 'canceled'],
  ['canceled', 'renewal_declined', 'canceled'],
  ['active', 'paused', 'paused'],
  ['paused', 'resumed', 'active'],
];

export function nextSubscriptionStatus(
  from: SubscriptionStatus,
  because: SubscriptionTrigger,
): SubscriptionStatus | undefined {
  return subscriptionTransitions.find(([start, trigger]) => start === from && trigger === because)?.[2];
}

/** What the API lets change. */
export const modifiable: readonly SubscriptionStatus[] = ['active', 'paused'];
/** Those whose card is still wanted, so that it cannot simply go. */
export const usingCard: readonly SubscriptionStatus[] = ['pending', 'active', 'paused', 'past_due'];
