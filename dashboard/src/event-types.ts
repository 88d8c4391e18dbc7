import type { EventType } from './types.ts';

/** Every event type. The compiler reports a missing one. */
const known: Readonly<Record<EventType, true>> = {
  'customer.created': true,
  'customer.updated': true,
  'customer.deleted': true,
  'payment_method.attached': true,
  'payment_method.detached': true,
  'order.created': true,
  'order.succeeded': true,
  'order.failed': true,
  'order.refunded': true,
  'order.partially_refunded': true,
  'order.refund_failed': true,
  'order.voided': true,
  'order.chargeback': true,
  'order.chargeback_accepted': true,
  'order.chargeback_dismissed': true,
  'subscription.created': true,
  'subscription.charged': true,
  'subscription.updated': true,
  'subscription.billing.updated': true,
  'subscription.past_due': true,
  'subscription.recovered': true,
  'subscription.failed': true,
  'subscription.completed': true,
  'subscription.paused': true,
  'subscription.resumed': true,
  'subscription.canceled': true,
  'checkout_session.completed': true,
  'checkout_session.expired': true,
  'team_member.invited': true,
  'webhook_endpoint.disabled': true,
};

export const eventTypes = Object.keys(known) as EventType[];

/** Valid values of `enabled_events`. */
export const eventPatterns: readonly string[] = [
  '*',
  ...new Set(eventTypes.map((type) => `${type.split('.')[0]}.*`)),
  ...eventTypes,
];
