/** The transitions of a subscription: from, trigger, to. All others are forbidden. */

export const subscriptionStatuses = ['active', 'paused', 'canceled', 'completed', 'past_due', 'failed'] as const;
/**
 * `pending`: the first charge is in flight. The API does not show the subscription before its outcome is recorded.
 */
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
  // The first charge of a subscription that starts later.
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
  // A charge that was in flight at the cancellation stays valid, and changes nothing else.
  ['canceled', 'first_charge_approved', 'canceled'],
  ['canceled', 'first_charge_declined', 'canceled'],
  ['canceled', 'renewal_approved', 'canceled'],
  ['canceled', 'renewal_declined', 'canceled'],
  ['active', 'paused', 'paused'],
  // A renewal that waited at the pause is not charged. It can be retried by hand during the pause.
  ['paused', 'renewal_declined', 'paused'],
  ['paused', 'renewal_approved', 'paused'],
  ['paused', 'resumed', 'active'],
];

export function nextSubscriptionStatus(
  from: SubscriptionStatus,
  because: SubscriptionTrigger,
): SubscriptionStatus | undefined {
  return subscriptionTransitions.find(([start, trigger]) => start === from && trigger === because)?.[2];
}

/** The statuses in which the API allows changes. */
export const modifiable: readonly SubscriptionStatus[] = ['active', 'paused'];
/** The statuses that still need their card, so that it cannot be detached without a replacement. */
export const usingCard: readonly SubscriptionStatus[] = ['pending', 'active', 'paused', 'past_due'];
