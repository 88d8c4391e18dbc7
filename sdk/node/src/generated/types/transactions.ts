// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { Customer, Metadata } from './customers.ts';
import type { FailureCode, Order, PaymentMethodSummary } from './orders.ts';

export type TransactionType = 'sale' | 'refund' | 'auth';

export type TransactionStatus = 'pending' | 'in_progress' | 'succeeded' | 'failed' | 'voided' | 'chargeback';

export interface ProcessorResponse {
  transaction_id: string | null;
  authorization_code: string | null;
  avs_result: string | null;
  cvv_result: string | null;
  response_code: string | null;
  response_text: string | null;
}

export interface Transaction {
  id: string;
  type: TransactionType;
  status: TransactionStatus;
  /** Cents. */
  amount: number;
  currency: string;
  customer_id: string;
  customer?: Customer;
  order_id: string | null;
  order?: Order;
  payment_method: PaymentMethodSummary | null;
  processor_response: ProcessorResponse | null;
  failure_reason: string | null;
  failure_code: FailureCode | null;
  description: string | null;
  metadata: Metadata;
  created_at: string;
  updated_at: string;
}

export interface TransactionExpansions {
  customer: Customer;
  order: Order | undefined;
}

export interface ListTransactionsParams {
  /** How many objects a page has. Default: `10`. */
  limit?: number | undefined;
  /** Gives the page after the object with this id. */
  starting_after?: string | undefined;
  /** Gives the page before the object with this id. */
  ending_before?: string | undefined;
  /** Order of the list, by created_at or amount; `field` and `field[asc]` ascend, `-field` and `field[desc]` descend. Default: `'created_at[desc]'`. */
  sort?: 'created_at' | '-created_at' | 'created_at[asc]' | 'created_at[desc]' | 'amount' | '-amount' | 'amount[asc]' | 'amount[desc]' | undefined;
  /** Those of this customer. */
  customer_id?: string | undefined;
  /** Those of this order. */
  order_id?: string | undefined;
  /** One or more statuses, separated by commas. */
  status?: TransactionStatus | readonly TransactionStatus[] | undefined;
  /** One or more types, separated by commas. */
  type?: TransactionType | readonly TransactionType[] | undefined;
  amount?: { gt?: number | undefined; gte?: number | undefined; lt?: number | undefined; lte?: number | undefined } | undefined;
  created_at?: { gt?: string | undefined; gte?: string | undefined; lt?: string | undefined; lte?: string | undefined } | undefined;
}
