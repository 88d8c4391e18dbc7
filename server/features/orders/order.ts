import type { Mode } from '../../company.ts';
import type { Metadata } from '../../http/schemas.ts';
import { createdAt } from '../../platform/ids.ts';
import { isoTime } from '../../platform/iso-time.ts';
import type { ExternalAuthentication } from '../../vault/processors/authentication.ts';
import type { ChargedCard } from '../../vault/vault.ts';
import type { BillingDetails } from '../payment-methods/schemas.ts';
import type { CouponSnapshot } from '../coupons/schemas.ts';
import type { Order, OrderItem, OrderTransaction, Shipping } from './schemas.ts';
import type { OrderStatus, TransactionStatus } from './transitions.ts';
import type { BrandName } from '../../platform/card-brands.ts';
import type { FailureCode, Presence } from '../../vault/processors/processor.ts';

/** An order with its transactions in memory, and its form in the API. */

export interface OrderRow {
  company_id: string;
  id: string;
  order_number: string;
  customer_id: string;
  payment_method_id: string;
  card_brand: BrandName;
  card_last4: string;
  status: OrderStatus;
  items: readonly OrderItem[];
  currency: string;
  subtotal: number;
  discount_amount: number;
  total: number;
  refunded_amount: number;
  /** Null unless the charge was authorized to be captured later. */
  authorized_amount?: number | null;
  /** Of an authorization, once it is captured. */
  captured_amount?: number | null;
  /** Until when the authorization can be captured; null unless it stands. */
  capture_before?: Date | null;
  /** The customer was absent, and has agreed to such charges. */
  off_session?: boolean | null;
  /** The page where the customer can confirm the payment with the bank; null unless the bank asked for that. */
  authentication_url?: string | null;
  authentication_until?: Date | null;
  /** The part of the total that the credit of the customer pays. Null, and not written, for most orders. */
  credit_applied?: number | null;
  /** What of it was given back by refunds. */
  credit_refunded?: number | null;
  coupon: CouponSnapshot | null;
  description: string | null;
  shipping: Shipping | null;
  metadata: Metadata;
  subscription_id: string | null;
  subscription_cycle: number | null;
  /** The number of the change of plan that the order pays for. Not written for any other order. */
  subscription_change?: number | null;
  attempt_count: number;
  next_retry_at: Date | null;
  failure_code: FailureCode | null;
  failure_reason: string | null;
  request_id: string | null;
  sale_id: string | null;
  sequence: number;
  updated_at: Date;
}

export interface TransactionSummary {
  readonly id: string;
  /** The reference at the processor. */
  readonly reference: string;
  readonly type: 'sale' | 'refund' | 'auth';
  readonly status: TransactionStatus;
  readonly amount: number;
  readonly currency: string;
  readonly processor_transaction_id: string | null;
  readonly failure_code: FailureCode | null;
  readonly failure_reason: string | null;
}

/** A card to be charged, with the address that live processors receive. */
export interface CardOfOrder extends ChargedCard {
  readonly billing: BillingDetails | null;
  /** False if only a checkout page knows it, so that no processor saves it. */
  readonly isListed: boolean;
}

/** All data that decisions about an order need. */
export interface OrderState {
  readonly order: OrderRow;
  readonly transactions: readonly TransactionSummary[];
  readonly mode: Mode;
  readonly clockOffsetMs: number;
  /** The card of the sale in flight, or of the order. Null if it was deleted. */
  readonly card: CardOfOrder | null;
  readonly customerDeleted: boolean;
  /** Of the customer, who is present. It is not stored: a charge that is sent again later has none. */
  readonly customerIp?: string | undefined;
  /** The customer is on a page that can lead to the bank. It is not stored either. */
  readonly presence?: Presence | undefined;
  /** In a sandbox: whether its cards are authenticated. */
  readonly authenticates?: boolean | undefined;
  /** The merchant has authenticated the customer itself. Not stored either. */
  readonly authentication?: ExternalAuthentication | undefined;
  /** A void is in flight. A void is not a transaction of the order. */
  readonly voiding?: boolean;
}

function transactionToWire(transaction: TransactionSummary): OrderTransaction {
  const { id, type, status, amount, currency, processor_transaction_id, failure_code, failure_reason } = transaction;
  return {
    id,
    type,
    status,
    amount,
    currency,
    processor_transaction_id,
    failure_code,
    failure_reason,
    created_at: createdAt(id),
  };
}

const unpaid: readonly OrderStatus[] = ['pending', 'failed', 'voided'];

/** What was paid, from the card and with credit: the limit of all refunds. */
export function capturedAmount({ status, total, captured_amount }: OrderRow): number {
  if (unpaid.includes(status)) return 0;
  return captured_amount ?? total;
}

/** What the card pays of the total; the credit of the customer pays the rest. */
export const cardPart = ({ total, credit_applied }: Pick<OrderRow, 'total' | 'credit_applied'>): number =>
  total - (credit_applied ?? 0);

/** What was taken from the card. */
export const capturedFromCard = (order: OrderRow): number =>
  Math.max(0, capturedAmount(order) - (order.credit_applied ?? 0));

export const refundedToCard = ({ refunded_amount, credit_refunded }: OrderRow): number =>
  refunded_amount - (credit_refunded ?? 0);

/** How much of a refund goes to the card, which comes first, and how much to the credit of the customer. */
export function refundParts(order: OrderRow, amount: number): { readonly card: number; readonly credit: number } {
  const card = Math.min(amount, capturedFromCard(order) - refundedToCard(order));
  return { card, credit: amount - card };
}

/** The same of an order as it is shown. An event of the release before has no captured amount, and no authorization. */
export const paidOf = ({ total, authorized_amount, captured_amount }: Order): number =>
  typeof authorized_amount === 'number' ? captured_amount : total;

/** What an order of a subscription pays for. */
type OfSubscription = Pick<OrderRow, 'subscription_id' | 'subscription_cycle' | 'subscription_change'>;

/**
 * Whether the order is the first charge of a subscription and has not succeeded: its cycle is set when it does. The order of
 * a change of plan never has a cycle.
 */
export const isFirstCharge = ({ subscription_id, subscription_cycle, subscription_change }: OfSubscription): boolean =>
  subscription_id !== null && subscription_cycle === null && (subscription_change ?? null) === null;

/** Whether funds are held for the order, which can be captured or released. */
export const isAuthorized = ({ status, capture_before }: OrderRow): boolean =>
  status === 'pending' && capture_before !== null && capture_before !== undefined;

/** Whether the charge of the order is authorized first, also after it was declined. */
export const isManual = ({ transactions }: Pick<Order, 'transactions'> | Pick<OrderState, 'transactions'>): boolean =>
  transactions.some(({ type }) => type === 'auth');

/** After its end, the page of the bank is of no use. */
export const untilItsEnd = <Row extends OrderRow>(order: Row, nowMs: number): Row =>
  (order.authentication_until?.getTime() ?? nowMs) > nowMs ? order : { ...order, authentication_url: null };

export const authorizationOf = ({ transactions }: Pick<OrderState, 'transactions'>): TransactionSummary | undefined =>
  transactions.find(({ type, status }) => type === 'auth' && (status === 'succeeded' || status === 'voided'));

export function toWire({ order, transactions, mode }: Pick<OrderState, 'order' | 'transactions' | 'mode'>): Order {
  return {
    id: order.id,
    order_number: order.order_number,
    status: order.status,
    customer_id: order.customer_id,
    payment_method: {
      id: order.payment_method_id,
      card_last_four: order.card_last4,
      card_brand: order.card_brand,
    },
    items: [...order.items],
    currency: order.currency,
    subtotal: order.subtotal,
    discount_amount: order.discount_amount,
    total: order.total,
    amount: order.total,
    authorized_amount: order.authorized_amount ?? null,
    capture_before: order.capture_before?.toISOString() ?? null,
    captured_amount: capturedFromCard(order),
    credit_applied: order.credit_applied ?? 0,
    credit_refunded: order.credit_refunded ?? 0,
    refunded_amount: order.refunded_amount,
    coupon: order.coupon,
    transactions: transactions.map(transactionToWire),
    subscription_id: order.subscription_id,
    subscription_cycle: order.subscription_cycle,
    subscription_change: order.subscription_change ?? null,
    attempt_count: order.attempt_count,
    next_retry_at: order.next_retry_at?.toISOString() ?? null,
    failure_code: order.failure_code,
    failure_reason: order.failure_reason,
    authentication_url: order.status === 'failed' ? (order.authentication_url ?? null) : null,
    description: order.description,
    shipping: order.shipping,
    metadata: order.metadata,
    request_id: order.request_id,
    livemode: mode === 'live',
    created_at: createdAt(order.id),
    updated_at: isoTime(order.updated_at.getTime()),
  };
}

/**
 * How the processor finds the charge of the order, which is the authorization if there was one; undefined if there is
 * neither.
 */
export function chargeOf(
  state: OrderState,
): { readonly chargeReference: string; readonly chargeTransactionId?: string } | undefined {
  const { order, transactions } = state;
  const sale = authorizationOf(state) ?? transactions.find(({ id }) => id === order.sale_id);
  if (!sale) return undefined;
  const { reference: chargeReference, processor_transaction_id: id } = sale;
  return { chargeReference, ...(id !== null && { chargeTransactionId: id }) };
}

export function withTransaction(
  transactions: readonly TransactionSummary[],
  changed: TransactionSummary,
): TransactionSummary[] {
  const others = transactions.filter(({ id }) => id !== changed.id);
  return [...others, changed].toSorted((left, right) => (left.id < right.id ? -1 : 1));
}
