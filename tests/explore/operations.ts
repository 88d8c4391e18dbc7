import type { Random } from '../support/seeded-random.ts';
import type { Operation, World } from './world.ts';

/** The requests of clients. */

export const keyFor = (random: Random, name: string): string => `${name}-${random.between(0, 1e9)}`;

export function orderOf(
  { merchant: { shop } }: World,
  key: string,
  more: { capture?: 'manual'; use_credit?: true } = {},
): Operation {
  const items = [{ product_id: shop.productId, quantity: 1 }];
  const body = { customer_id: shop.customerId, items, ...more };
  const call: Operation['call'] = ({ orders }, context, request) => orders.create(context, body, request);
  return { key, method: 'POST', path: '/v1/orders', body, call };
}

export function refundOf(orderId: string, amount: number, key: string): Operation {
  const body = { amount };
  const call: Operation['call'] = ({ orders }, context, request) => orders.refund(context, orderId, body, request);
  return { key, method: 'POST', path: `/v1/orders/${orderId}/refund`, body, call };
}

export function captureOf(orderId: string, amount: number, key: string): Operation {
  const body = { amount };
  const call: Operation['call'] = ({ orders }, context, request) => orders.capture(context, orderId, body, request);
  return { key, method: 'POST', path: `/v1/orders/${orderId}/capture`, body, call };
}

export function retryOf(orderId: string, key: string): Operation {
  const call: Operation['call'] = ({ orders }, context, request) => orders.retry(context, orderId, request);
  return { key, method: 'POST', path: `/v1/orders/${orderId}/retry`, body: {}, call };
}

export function voidOf(orderId: string, key: string): Operation {
  const call: Operation['call'] = ({ orders }, context, request) => orders.void(context, orderId, request);
  return { key, method: 'POST', path: `/v1/orders/${orderId}/void`, body: {}, call };
}

export function subscriptionOf({ merchant: { shop } }: World, planId: string, key: string): Operation {
  const body = { customer_id: shop.customerId, plan_id: planId };
  const call: Operation['call'] = ({ subscriptions }, context, request) => subscriptions.create(context, body, request);
  return { key, method: 'POST', path: '/v1/subscriptions', body, call };
}
