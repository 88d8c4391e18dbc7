import { choice } from '../../platform/choice.ts';

/** Every event with a sentence about what happened. The dashboard shows these texts in the timeline of an object. */
export const eventCatalogue = {
  'customer.created': 'Customer created.',
  'customer.updated': 'Customer updated.',
  'customer.deleted': 'Customer deleted.',
  'payment_method.attached': 'Card added to the customer.',
  'payment_method.detached': 'Card removed from the customer.',
  'order.created': 'Order created. The charge is in progress.',
  'order.succeeded': 'Charge succeeded.',
  'order.failed': 'Charge declined.',
  'order.refunded': 'Order fully refunded.',
  'order.partially_refunded': 'Order partially refunded.',
  'order.refund_failed': 'Refund rejected by the processor.',
  'order.voided': 'Charge voided before it settled.',
  'order.chargeback': 'Charge disputed by the cardholder.',
  'order.chargeback_accepted': 'Dispute accepted. The funds were returned to the cardholder.',
  'order.chargeback_dismissed': 'Dispute won. You keep the funds.',
  'subscription.created': 'Subscription created.',
  'subscription.charged': 'Renewal charged.',
  'subscription.updated': 'Card, shipping address or billing cycle changed.',
  'subscription.billing.updated': 'Billing cycle changed.',
  'subscription.past_due': 'Renewal declined. The subscription is past due.',
  'subscription.recovered': 'Past-due subscription paid.',
  'subscription.failed': 'Subscription failed after its last retry.',
  'subscription.completed': 'Subscription reached its end.',
  'subscription.paused': 'Subscription paused.',
  'subscription.resumed': 'Subscription resumed.',
  'subscription.canceled': 'Subscription canceled.',
  'checkout_session.completed': 'Checkout session paid.',
  'checkout_session.expired': 'Checkout session expired without a payment.',
  'team_member.invited': 'Team member invited.',
  'webhook_endpoint.disabled': 'Webhook endpoint disabled after failed deliveries.',
} as const;

export type EventType = keyof typeof eventCatalogue;
export const eventTypes = Object.keys(eventCatalogue) as EventType[];
export const eventType = choice(eventTypes, { title: 'EventType' });

/** Valid values of `enabled_events`: one event, all events of a resource, or all events. */
export const eventPatterns: readonly string[] = [
  '*',
  ...new Set(eventTypes.map((type) => `${type.split('.', 1)[0]}.*`)),
  ...eventTypes,
];
export const eventPattern = choice(eventPatterns, {
  title: 'EventPattern',
  description: 'An event type, `<resource>.*` for all events of a resource, or `*` for all events.',
});
