import { choice } from '../../platform/choice.ts';

/** Every event there is, and when it is sent. */
export const eventCatalogue = {
  'customer.created': 'A customer was created.',
  'customer.updated': 'A customer was changed.',
  'customer.deleted': 'A customer was deleted.',
  'payment_method.attached': 'A card was attached to a customer.',
  'payment_method.detached': 'A card was removed from a customer.',
  'order.created': 'An order was placed; its charge is under way.',
  'order.succeeded': 'The charge of an order succeeded.',
  'order.failed': 'The charge of an order was declined.',
  'order.refunded': 'A refund settled, and with it all of the order is given back.',
  'order.partially_refunded': 'A refund of a part settled.',
  'order.refund_failed': 'The processor rejected a refund.',
  'order.voided': 'A charge was taken back before it settled.',
  'order.chargeback': 'The cardholder disputed a charge.',
  'order.chargeback_accepted': 'The merchant gave in to a dispute.',
  'order.chargeback_dismissed': 'The merchant won a dispute.',
  'subscription.created': 'A subscription was created, `active` or `failed`.',
  'subscription.charged': 'A renewal was charged.',
  'subscription.updated': 'Card, shipping or billing cycle of a subscription changed.',
  'subscription.billing.updated': 'The billing cycle of a subscription changed.',
  'subscription.past_due': 'A renewal was declined.',
  'subscription.recovered': 'A subscription that was past due is paid again.',
  'subscription.failed': 'A subscription was given up after its last retry.',
  'subscription.completed': 'A subscription ran to its end.',
  'subscription.paused': 'A subscription was paused.',
  'subscription.resumed': 'A subscription was resumed.',
  'subscription.canceled': 'A subscription was canceled.',
  'team_member.invited': 'A team member was invited.',
  'webhook_endpoint.disabled': 'An endpoint was disabled because its receiver does not answer.',
} as const;

export type EventType = keyof typeof eventCatalogue;
export const eventTypes = Object.keys(eventCatalogue) as EventType[];
export const eventType = choice(eventTypes, { title: 'EventType' });

/** What `enabled_events` may name: an event, all of a resource, or all. */
export const eventPatterns: readonly string[] = [
  '*',
  ...new Set(eventTypes.map((type) => `${type.split('.', 1)[0]}.*`)),
  ...eventTypes,
];
export const eventPattern = choice(eventPatterns, {
  title: 'EventPattern',
  description: 'An event, `<resource>.*` or `*`.',
});
