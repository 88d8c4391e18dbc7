// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { Customer, Shipping } from './customers.ts';

export interface OrderCreate {
  customer_id: string;
  payment_method_id?: string | null | undefined;
  /** Prices come from the catalog. The same product twice is one item with both quantities. */
  items: readonly {
    product_id: string;
    quantity: number;
  }[];
  currency?: string | null | undefined;
  coupon_code?: string | null | undefined;
  description?: string | null | undefined;
  shipping?: {
    name?: string | null | undefined;
    line1?: string | null | undefined;
    line2?: string | null | undefined;
    city?: string | null | undefined;
    state?: string | null | undefined;
    postal_code?: string | null | undefined;
    country?: string | null | undefined;
    phone?: string | null | undefined;
  } | null | undefined;
  /** Free-form JSON values of your own: at most 50 keys of up to 40 characters, nested at most 5 levels, 16 KiB in all. */
  metadata?: Record<string, unknown> | undefined;
}

export interface Order {
  id: string;
  /** A short reference for people, unique per merchant. */
  order_number: string;
  status: 'pending' | 'succeeded' | 'failed' | 'voided' | 'partially_refunded' | 'refunded' | 'refund_failed' | 'chargeback' | 'chargeback_accepted' | 'chargeback_dismissed';
  customer_id: string;
  customer?: Customer;
  payment_method: {
    id: string;
    card_last_four: string;
    card_brand: string;
  };
  items: {
    product_id: string;
    quantity: number;
    name: string;
    sku: string;
    unit_price: number | null;
    total: number | null;
  }[];
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
  coupon: {
    id: string;
    code: string;
    name: string | null;
    kind: string;
    percentage: number | null;
    amount: number | null;
    currency: string | null;
    duration: string;
    duration_in_cycles: number | null;
    max_discount_amount: number | null;
    discount_amount: number;
  } | null;
  transactions: {
    id: string;
    type: 'sale' | 'refund' | 'auth';
    status: 'pending' | 'in_progress' | 'succeeded' | 'failed' | 'voided' | 'chargeback';
    amount: number;
    currency: string;
    processor_transaction_id: string | null;
    failure_code: string | null;
    failure_reason: string | null;
    created_at: string;
  }[];
  subscription_id: string | null;
  subscription_cycle: number | null;
  /** How many charges of this order were declined. */
  attempt_count: number;
  next_retry_at: string | null;
  failure_code: string | null;
  failure_reason: string | null;
  description: string | null;
  shipping: Shipping | null;
  /** Free-form JSON values of your own: at most 50 keys of up to 40 characters, nested at most 5 levels, 16 KiB in all. */
  metadata: Record<string, unknown>;
  request_id: string | null;
  livemode: boolean;
  created_at: string;
  updated_at: string;
}

export interface OrderRefund {
  amount?: number | null | undefined;
}

export interface OrderExpansions {
  customer: Customer;
}

export interface ListOrdersParams {
  /** How many objects a page has. */
  limit?: number | undefined;
  /** Gives the page after the object with this id. */
  starting_after?: string | undefined;
  /** Gives the page before the object with this id. */
  ending_before?: string | undefined;
  /** Order of the list, by created_at or total; `field` and `field[asc]` ascend, `-field` and `field[desc]` descend. */
  sort?: 'created_at' | '-created_at' | 'created_at[asc]' | 'created_at[desc]' | 'total' | '-total' | 'total[asc]' | 'total[desc]' | undefined;
  /** Those of this customer. */
  customer_id?: string | undefined;
  /** Those that charged this subscription. */
  subscription_id?: string | undefined;
  /** One or more statuses, separated by commas. */
  status?: Order['status'] | readonly Order['status'][] | undefined;
  total?: { gt?: number | undefined; gte?: number | undefined; lt?: number | undefined; lte?: number | undefined } | undefined;
  created_at?: { gt?: string | undefined; gte?: string | undefined; lt?: string | undefined; lte?: string | undefined } | undefined;
}
