import { cardText, lowerWords, money, words } from '../format.ts';
import type { TimelineEntry } from '../types.ts';

/** What happened, in a sentence about this object. */

interface Parts {
  readonly amount: string;
  readonly card: string;
  readonly failure: string;
  readonly title: string;
  readonly changed: string;
  readonly isRenewal: boolean;
  readonly isFree: boolean;
}

const texts: Readonly<Record<string, (parts: Parts) => string>> = {
  'order.created': ({ amount }) => `Order created for ${amount}`,
  'order.succeeded': ({ amount, card, isRenewal, isFree }) =>
    isFree ? 'Completed without a charge' : `${isRenewal ? 'Renewal charged:' : 'Charged'} ${amount} to ${card}`,
  'order.authorized': ({ amount, card }) => `Authorized ${amount} on ${card}: the funds are held`,
  'order.failed': ({ amount, card, failure }) => `Charge of ${amount} to ${card} declined${failure}`,
  'order.refunded': ({ amount, card }) => `Refunded ${amount} to ${card}`,
  'order.partially_refunded': ({ amount, card }) => `Refunded ${amount} to ${card} (partial)`,
  'order.refund_failed': ({ amount, failure }) => `Refund ${amount && `of ${amount} `}failed${failure}`,
  'order.voided': ({ amount }) => `Voided ${amount}: the customer pays nothing`,
  'order.chargeback': ({ amount }) => `Cardholder disputed ${amount}`,
  'order.chargeback_accepted': ({ amount }) => `Dispute lost: ${amount} returned to the cardholder`,
  'order.chargeback_dismissed': ({ amount }) => `Dispute won: you keep ${amount}`,
  'subscription.created': ({ amount, title }) => `Subscribed to ${title} for ${amount}`,
  'subscription.charged': ({ amount }) => `Renewed for ${amount}`,
  'subscription.updated': ({ changed }) => (changed ? `Changed ${changed}` : 'Subscription changed'),
  'subscription.billing.updated': () => 'Changed the billing cycle',
  'subscription.plan_changed': ({ title }) => `Changed the plan to ${title}`,
  'subscription.change_scheduled': () => 'Scheduled a change of plan for the next renewal',
  'subscription.past_due': ({ failure }) => `Subscription past due${failure}`,
  'subscription.recovered': () => 'Past-due renewal paid',
  'subscription.failed': ({ failure }) => `Subscription failed${failure}`,
  'subscription.completed': () => 'Subscription completed',
  'subscription.paused': () => 'Subscription paused',
  'subscription.resumed': () => 'Subscription resumed',
  'subscription.canceled': () => 'Subscription canceled',
  'customer.created': () => 'Customer created',
  'customer.updated': ({ changed }) => (changed ? `Changed ${changed}` : 'Customer changed'),
  'customer.deleted': () => 'Customer deleted',
  'payment_method.attached': ({ card }) => `Added ${card}`,
  'payment_method.detached': ({ card }) => `Removed ${card}`,
};

/** Fields whose names say too little, or too much. */
const fieldNames: Readonly<Record<string, string>> = {
  payment_method: 'card',
  default_payment_method_id: 'default card',
  shipping_address_id: 'shipping address',
  billing_cycle: 'billing cycle',
  first_name: 'first name',
  last_name: 'last name',
};
/** They change with others. */
const unnamed = ['next_billing_at', 'current_period_end', 'current_period_start', 'latest_order_id', 'shipping'];

const nameOf = (field: string): string => fieldNames[field] ?? field.replaceAll('_', ' ');

/** `insufficient_funds` and `The card was declined.` → `: insufficient funds`, `: the card was declined` */
function failureText(failure: string | null): string {
  if (!failure) return '';
  const text = /^[a-z_]+$/.test(failure) ? lowerWords(failure) : failure.replace(/\.$/, '');
  return `: ${text}`;
}

export function timelineText(entry: TimelineEntry): string {
  const { type, amount, currency, card, object, failure } = entry;
  const changed = [...new Set(entry.changed.filter((field) => !unnamed.includes(field)).map(nameOf))];
  return (
    texts[type]?.({
      amount: amount === null ? '' : money(amount, currency),
      card: card ? cardText({ card_brand: card.brand, card_last_four: card.last4 }) : 'the card',
      failure: failureText(failure),
      title: object.title ?? '',
      changed: changed.join(', '),
      isRenewal: entry.is_renewal,
      isFree: amount === 0,
    }) ?? words(type.replaceAll('.', ' '))
  );
}
