import type { Order } from '../orders/schemas.ts';
import { refundsOf } from '../receipts/service.ts';
import type { Subscription } from '../subscriptions/schemas.ts';
import type { EmailKind } from './content.ts';
import type { EventToMail } from './queries.ts';

/** Decides which emails an event gives occasion to. Pure functions without I/O. */

export interface Draft {
  /** Names what the email is about. There is at most one email for it, however often the event is read. */
  readonly occasion: string;
  readonly kind: EmailKind;
  readonly customerId: string;
  readonly objectId: string;
  readonly about:
    | { readonly order: Order; readonly refundId: string | null }
    | { readonly declined: Order }
    | { readonly unconfirmed: Order }
    | { readonly subscription: Subscription };
}

type Read = (event: EventToMail) => Draft[];

const paidOrder: Read = ({ object }) => {
  const order = object as Order;
  if (order.total === 0) return [];
  const kind = (order.subscription_cycle ?? 1) > 1 ? 'renewal_receipt' : 'order_receipt';
  return [ofOrder(order, kind, `receipt ${order.id}`, { order, refundId: null })];
};

/** The event has all refunds so far; each gets its email once. */
const refundedOrder: Read = ({ object }) => {
  const order = object as Order;
  return refundsOf(order).map(({ id }) => ofOrder(order, 'refund_receipt', `refund ${id}`, { order, refundId: id }));
};

/**
 * For a renewal that the schedule charged: the response to a request shows its decline at once. And once for an order that the
 * customer may have to confirm.
 */
const declinedOrder: Read = ({ object, request_id }) => {
  const order = object as Order;
  if (order.subscription_id === null && order.authentication_url) {
    return [ofOrder(order, 'payment_failed', `confirm ${order.id}`, { unconfirmed: order })];
  }
  if (request_id !== null || order.subscription_id === null || (order.subscription_cycle ?? 1) <= 1) return [];
  return [ofOrder(order, 'payment_failed', `declined ${order.id} ${order.attempt_count}`, { declined: order })];
};

const failedSubscription: Read = ({ object }) => {
  const subscription = object as Subscription;
  return [ofSubscription(subscription, 'final_notice', `ended ${subscription.id} ${subscription.current_cycle}`)];
};

/** Dunning may end with a cancellation, which no request has asked for. */
const canceledSubscription: Read = (event) => {
  const subscription = event.object as Subscription;
  if (event.request_id === null && subscription.attempt_count > 0) return failedSubscription(event);
  return [ofSubscription(subscription, 'subscription_canceled', `canceled ${subscription.id}`)];
};

const ofOrder = (order: Order, kind: EmailKind, occasion: string, about: Draft['about']): Draft => ({
  occasion,
  kind,
  customerId: order.customer_id,
  objectId: order.id,
  about,
});

const ofSubscription = (subscription: Subscription, kind: EmailKind, occasion: string): Draft => ({
  occasion,
  kind,
  customerId: subscription.customer_id,
  objectId: subscription.id,
  about: { subscription },
});

const readers: Readonly<Record<string, Read>> = {
  'order.succeeded': paidOrder,
  'order.refunded': refundedOrder,
  'order.partially_refunded': refundedOrder,
  'order.failed': declinedOrder,
  'subscription.failed': failedSubscription,
  'subscription.canceled': canceledSubscription,
};

export const mailedTypes = Object.keys(readers);

export const draftsOf = (event: EventToMail): Draft[] => readers[event.type]?.(event) ?? [];
