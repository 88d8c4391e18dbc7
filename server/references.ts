import { endCredit } from './features/credit/service.ts';
import type { CustomerHistory } from './features/customers/service.ts';
import type { PaymentMethodReferences } from './features/payment-methods/service.ts';
import { productInActivePlans, productInArchivedPlans } from './features/plans/service.ts';
import type { ProductReferences } from './features/products/service.ts';
import { subscriptionReferences } from './features/subscriptions/service.ts';

/** The checks between features before a customer, product or card is deleted. */
export type References = CustomerHistory & ProductReferences & PaymentMethodReferences;

export const usualReferences: References = {
  ...subscriptionReferences,
  endCredit,
  inActivePlans: productInActivePlans,
  inArchivedPlans: productInArchivedPlans,
};
