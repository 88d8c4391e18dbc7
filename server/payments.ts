import { type Orders, openOrders } from './features/orders/service.ts';
import { openSubscriptions, subscriptionBilling, type Subscriptions } from './features/subscriptions/service.ts';

/** Orders and subscriptions, which move money together: each outcome of a charge is recorded on both. */
export interface Payments {
  readonly orders: Orders;
  readonly subscriptions: Subscriptions;
}

export function openPayments(dependencies: Omit<Parameters<typeof openOrders>[0], 'billing'>): Payments {
  const orders = openOrders({ ...dependencies, billing: subscriptionBilling });
  const { db, batchDb, clock, log } = dependencies;
  return { orders, subscriptions: openSubscriptions({ db, batchDb, orders, clock, log }) };
}
