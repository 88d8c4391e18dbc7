// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { AnchorDay, BillingCycle, BillingInterval, Plan } from './plans.ts';
import type { CouponSnapshot, PaymentMethodSummary, Shipping, ShippingInput } from './orders.ts';
import type { Customer, Metadata, MetadataPatch } from './customers.ts';

/** An interval that is left out is that of the plan. At most 60 months or 365 days. */
export interface BillingCycleInput {
  interval?: BillingInterval | undefined;
  /** Left out beside an interval of another kind: 1. */
  interval_count?: number | undefined;
  /** Default: `'signup_date'`. */
  anchor_day?: AnchorDay | undefined;
}

export interface SubscriptionCreate {
  customer_id: string;
  plan_id: string;
  /** Default: the default card of the customer. */
  payment_method_id?: string | undefined;
  billing_cycle?: BillingCycleInput | undefined;
  /** Default: those of the plan. 0 means without end. */
  billing_cycles?: number | undefined;
  /** Default: today, and the first charge is made at once. Later: it is made at 00:00 UTC of that day. */
  start_date?: string | undefined;
  /** No cycle begins on this day or later. */
  end_date?: string | undefined;
  coupon_code?: string | undefined;
  description?: string | null | undefined;
  shipping?: ShippingInput | null | undefined;
  /** The `shipping_address.id` of the customer; its address is copied. Sending `shipping` without it clears it. */
  shipping_address_id?: string | undefined;
  metadata?: Metadata | null | undefined;
}

export type SubscriptionStatus = 'active' | 'paused' | 'canceled' | 'completed' | 'past_due' | 'failed';

/** As it was when the subscription was made. */
export interface PlanSummary {
  id: string;
  name: string;
  amount: number;
  currency: string;
}

export interface Subscription {
  id: string;
  status: SubscriptionStatus;
  customer_id: string;
  customer?: Customer;
  plan_id: string;
  plan: Plan | PlanSummary;
  payment_method: PaymentMethodSummary;
  coupon: CouponSnapshot | null;
  description: string | null;
  shipping: Shipping | null;
  shipping_address_id: string | null;
  billing_cycle: BillingCycle;
  /** How many there are in all; 0 means without end. */
  billing_cycles: number;
  /** How many were paid. */
  completed_cycles: number;
  /** The cycle that was billed last; 0 before the first. */
  current_cycle: number;
  /** The day of the first charge. */
  start_date: string;
  end_date: string | null;
  current_period_start: string | null;
  current_period_end: string | null;
  next_billing_at: string | null;
  last_failure_message: string | null;
  /** How often the charge of the current cycle was declined. */
  attempt_count: number;
  next_retry_at: string | null;
  latest_order_id: string | null;
  canceled_at: string | null;
  completed_at: string | null;
  livemode: boolean;
  metadata: Metadata;
  created_at: string;
  updated_at: string;
}

export interface UpcomingBill {
  cycle: number;
  /** When it is billed. */
  date: string;
  /** Cents, before the discount. */
  amount: number;
  discount_amount: number;
  /** What will be charged. */
  total: number;
  currency: string;
}

export interface UpcomingBills {
  data: UpcomingBill[];
}

/** What is left out stays as it is. At most 60 months or 365 days. */
export interface BillingCycleUpdate {
  interval?: BillingInterval | undefined;
  /** Left out beside an interval of another kind: 1. */
  interval_count?: number | undefined;
  anchor_day?: AnchorDay | undefined;
}

export interface SubscriptionUpdate {
  payment_method_id?: string | undefined;
  billing_cycle?: BillingCycleUpdate | undefined;
  description?: string | null | undefined;
  shipping?: ShippingInput | null | undefined;
  /** The `shipping_address.id` of the customer; its address is copied. Sending `shipping` without it clears it. */
  shipping_address_id?: string | undefined;
  metadata?: MetadataPatch | null | undefined;
}

export interface CanceledSubscription {
  id: string;
  status: 'canceled';
  canceled_at: string;
}

export interface SubscriptionExpansions {
  customer: Customer;
  plan: Plan;
}

export interface ListSubscriptionsParams {
  /** How many objects a page has. Default: `10`. */
  limit?: number | undefined;
  /** Gives the page after the object with this id. */
  starting_after?: string | undefined;
  /** Gives the page before the object with this id. */
  ending_before?: string | undefined;
  /** Order of the list, by created_at; `field` and `field[asc]` ascend, `-field` and `field[desc]` descend. Default: `'created_at[desc]'`. */
  sort?: 'created_at' | '-created_at' | 'created_at[asc]' | 'created_at[desc]' | undefined;
  /** Those of this customer. */
  customer_id?: string | undefined;
  /** Those of this plan. */
  plan_id?: string | undefined;
  /** One or more statuses, separated by commas. */
  status?: SubscriptionStatus | readonly SubscriptionStatus[] | undefined;
  created_at?: { gt?: string | undefined; gte?: string | undefined; lt?: string | undefined; lte?: string | undefined } | undefined;
}

export interface ListUpcomingBillsParams {
  /** How many bills. Default: `10`. */
  count?: number | undefined;
}
