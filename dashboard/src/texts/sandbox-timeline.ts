import { lowerWords, money } from '../format.ts';
import type { SandboxTimeline } from '../types.ts';

/** What happened in a sandbox, in one sentence for each charge, email and dispute. */

type Entry = SandboxTimeline['data'][number];

interface Parts {
  readonly amount: string;
  /** The name of the plan. */
  readonly plan: string;
  readonly why: string;
  readonly retry: string;
  readonly entry: Entry;
}

const sentences: Readonly<Record<Entry['kind'], (parts: Parts) => string>> = {
  authorized: ({ amount }) => `ordered for ${amount}, which is held`,
  paid: ({ amount }) => `paid ${amount}`,
  declined: ({ amount, why }) => `payment of ${amount} declined${why}`,
  first_paid: ({ amount, plan }) => `subscribed to ${plan} and paid ${amount}`,
  first_declined: ({ amount, plan, why }) => `first payment of ${amount} for ${plan} declined${why}`,
  renewal_paid: ({ amount, plan }) => `${plan} renewed: ${amount} paid`,
  renewal_declined: ({ amount, plan, why, retry }) => `${plan} not renewed: ${amount} declined${why}.${retry}`,
  retry_paid: ({ amount, plan }) => `${plan} renewed after a retry: ${amount} paid`,
  retry_declined: ({ amount, plan, why, retry }) => `retry for ${plan}: ${amount} declined again${why}.${retry}`,
  refunded: ({ amount }) => `order of ${amount} refunded`,
  refund_failed: ({ amount }) => `refund of the order of ${amount} failed`,
  voided: ({ amount }) => `charge of ${amount} voided`,
  disputed: ({ amount }) => `disputed ${amount}`,
  dispute_lost: ({ amount }) => `dispute of ${amount} lost`,
  dispute_won: ({ amount }) => `dispute of ${amount} won`,
  subscription_failed: ({ plan }) => `${plan} ended: every retry was declined`,
  subscription_canceled: ({ plan }) => `${plan} canceled`,
  subscription_completed: ({ plan }) => `${plan} completed`,
  plan_changed: ({ plan }) => `plan changed to ${plan}`,
  subscription_paused: ({ plan }) => `${plan} paused`,
  subscription_resumed: ({ plan }) => `${plan} resumed`,
  customer_created: () => 'new customer',
  checkout_expired: () => 'checkout page expired without a payment',
  email: ({ entry }) => `email “${entry.text}”`,
  webhooks: ({ entry: { delivered, failed } }) =>
    [delivered > 0 && events(delivered, 'delivered'), failed > 0 && `${failed} failed`].filter(Boolean).join(', '),
  coupon_expired: ({ entry }) => `coupon ${entry.object.title} expired`,
};

const events = (count: number, what: string): string => `${count} ${count === 1 ? 'event' : 'events'} ${what}`;

export function sandboxSentence(entry: Entry, dayOf: (iso: string) => string): string {
  const { kind, amount, currency, failure, next_retry_at: next, text } = entry;
  return sentences[kind]({
    amount: amount === null ? '' : money(amount, currency),
    plan: text ?? 'the subscription',
    why: failure ? `: ${lowerWords(failure)}` : '',
    retry: next ? ` Next retry ${dayOf(next)}.` : '',
    entry,
  });
}

export const sandboxTimelineTexts = {
  empty: 'Nothing happened in these days.',
  someone: 'A customer',
  quietDays: (count: number) => (count === 1 ? '1 day without events' : `${count} days without events`),
  latestOnly: 'Only the latest entries are shown.',
  lastDays: 'The last 30 days of the sandbox.',
};
