// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { CardBrand } from './payment-methods.ts';
import type { CouponDuration, CouponKind } from './coupons.ts';
import type { Customer, Metadata } from './customers.ts';
import type { TransactionStatus, TransactionType } from './transactions.ts';

export interface OrderItemInput {
  product_id: string;
  quantity: number;
}

export interface ShippingInput {
  name?: string | null | undefined;
  line1?: string | null | undefined;
  line2?: string | null | undefined;
  city?: string | null | undefined;
  state?: string | null | undefined;
  postal_code?: string | null | undefined;
  country?: string | null | undefined;
  phone?: string | null | undefined;
}

export interface OrderCreate {
  customer_id: string;
  /** Default: the default card of the customer. */
  payment_method_id?: string | undefined;
  /** Prices come from the catalog. The same product twice is one item with both quantities. */
  items: readonly OrderItemInput[];
  /** Lowercase ISO 4217 code. */
  currency?: string | undefined;
  coupon_code?: string | undefined;
  description?: string | null | undefined;
  shipping?: ShippingInput | null | undefined;
  metadata?: Metadata | null | undefined;
}

export type OrderStatus = 'pending' | 'succeeded' | 'failed' | 'voided' | 'partially_refunded' | 'refunded' | 'refund_failed' | 'chargeback' | 'chargeback_accepted' | 'chargeback_dismissed';

export interface PaymentMethodSummary {
  id: string;
  card_last_four: string;
  card_brand: CardBrand;
}

export interface OrderItem {
  product_id: string;
  quantity: number;
  name: string;
  sku: string;
  unit_price: number | null;
  total: number | null;
}

export interface CouponSnapshot {
  id: string;
  code: string;
  name: string | null;
  kind: CouponKind;
  percentage: number | null;
  amount: number | null;
  currency: string | null;
  duration: CouponDuration;
  duration_in_cycles: number | null;
  max_discount_amount: number | null;
  discount_amount: number;
}

/** Why the charge was declined. */
export type FailureCode = 'insufficient_funds' | 'do_not_honor' | 'card_limit_exceeded' | 'processor_declined' | 'issuer_unavailable' | 'unknown' | 'expired_card' | 'incorrect_cvv' | 'invalid_account' | 'blocked_card' | 'closed_card' | 'contact_bank' | 'transaction_not_allowed' | 'lost_stolen_card' | 'fraud_suspected' | 'duplicate_transaction' | 'invalid_merchant_configuration' | 'validation_error';

export interface OrderTransaction {
  id: string;
  type: TransactionType;
  status: TransactionStatus;
  amount: number;
  currency: string;
  processor_transaction_id: string | null;
  failure_code: FailureCode | null;
  failure_reason: string | null;
  created_at: string;
}

export interface Shipping {
  name: string | null;
  line1: string | null;
  line2: string | null;
  city: string | null;
  state: string | null;
  postal_code: string | null;
  country: string | null;
  phone: string | null;
}

export interface Order {
  id: string;
  /** A short reference for people, unique per merchant. */
  order_number: string;
  status: OrderStatus;
  customer_id: string;
  customer?: Customer;
  payment_method: PaymentMethodSummary;
  items: OrderItem[];
  currency: string;
  /** Before the discount. */
  subtotal: number;
  /** What the coupon took off. */
  discount_amount: number;
  /** What is charged. */
  total: number;
  /** The same as `total`. */
  amount: number;
  /** What was given back, refunds that still settle included. */
  refunded_amount: number;
  coupon: CouponSnapshot | null;
  transactions: OrderTransaction[];
  subscription_id: string | null;
  subscription_cycle: number | null;
  /** How many charges of this order were declined. */
  attempt_count: number;
  next_retry_at: string | null;
  failure_code: FailureCode | null;
  failure_reason: string | null;
  description: string | null;
  shipping: Shipping | null;
  metadata: Metadata;
  request_id: string | null;
  livemode: boolean;
  created_at: string;
  updated_at: string;
}

export interface OrderRefund {
  /** Cents. Left out: all that is left. Null is refused. */
  amount?: number | undefined;
}

export interface OrderExpansions {
  customer: Customer;
}

export interface ListOrdersParams {
  /** How many objects a page has. Default: `10`. */
  limit?: number | undefined;
  /** Gives the page after the object with this id. */
  starting_after?: string | undefined;
  /** Gives the page before the object with this id. */
  ending_before?: string | undefined;
  /** Order of the list, by created_at or total; `field` and `field[asc]` ascend, `-field` and `field[desc]` descend. Default: `'created_at[desc]'`. */
  sort?: 'created_at' | '-created_at' | 'created_at[asc]' | 'created_at[desc]' | 'total' | '-total' | 'total[asc]' | 'total[desc]' | undefined;
  /** Those of this customer. */
  customer_id?: string | undefined;
  /** Those that charged this subscription. */
  subscription_id?: string | undefined;
  /** One or more statuses, separated by commas. */
  status?: OrderStatus | readonly OrderStatus[] | undefined;
  total?: { gt?: number | undefined; gte?: number | undefined; lt?: number | undefined; lte?: number | undefined } | undefined;
  created_at?: { gt?: string | undefined; gte?: string | undefined; lt?: string | undefined; lte?: string | undefined } | undefined;
}
