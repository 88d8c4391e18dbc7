import { auditRoutes } from '../features/audit/routes.ts';
import { couponRoutes } from '../features/coupons/routes.ts';
import { creditDashboardRoutes } from '../features/credit/dashboard-routes.ts';
import { customerRoutes } from '../features/customers/routes.ts';
import { disputeRoutes } from '../features/disputes/routes.ts';
import { orderRoutes } from '../features/orders/routes.ts';
import { type Orders, ordersById } from '../features/orders/service.ts';
import { paymentMethodsOf, releaseCards } from '../features/payment-methods/service.ts';
import { planRoutes } from '../features/plans/routes.ts';
import { productRoutes } from '../features/products/routes.ts';
import { subscriptionRoutes } from '../features/subscriptions/routes.ts';
import type { Subscriptions } from '../features/subscriptions/service.ts';
import { transactionRoutes } from '../features/transactions/routes.ts';
import type { Route } from '../http/route.ts';
import type { Clock } from '../platform/clock.ts';
import type { FileStore } from '../platform/files/file-store.ts';
import { usualReferences } from '../references.ts';
import type { Vault } from '../vault/vault.ts';

interface Parts {
  readonly orders: Orders;
  readonly subscriptions: Subscriptions;
  readonly vault: Vault;
  readonly files: FileStore;
  readonly clock: Clock;
}

/** The routes whose lists an export reads, with the parts of one shard. */
export function exportedLists({ orders, subscriptions, vault, files, clock }: Parts): Route[] {
  return [
    ...orderRoutes(() => orders),
    ...transactionRoutes(ordersById),
    ...subscriptionRoutes(() => subscriptions),
    ...customerRoutes({ ...usualReferences, releaseCards, paymentMethodsOf }),
    ...productRoutes(usualReferences, { files, clock }),
    ...planRoutes(),
    ...couponRoutes(),
    ...disputeRoutes({ vault, orders: () => orders }),
    ...auditRoutes(),
    ...creditDashboardRoutes(),
  ].filter(({ list }) => list !== undefined);
}
