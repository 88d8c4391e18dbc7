import { ApiError } from '../../errors.ts';
import { newId, pooledRandom } from '../../platform/ids.ts';
import { type EventRow, newEvent } from '../events/service.ts';
import { cardPart, type OrderRow, type OrderState, toWire } from './order.ts';
import type { Shipping, ShippingInput } from './schemas.ts';
import type { ChargeCause } from './operations/operation-moves.ts';
import type { Numbered } from './operations/reference.ts';
import { type NewSale, saleOf } from './operations/sales.ts';

/** The fields of a new order that its creator chooses. The other fields are the same for every order. */
export type NewOrder = Partial<Pick<OrderRow, 'id'>> &
  Pick<
    OrderRow,
    | 'company_id'
    | 'customer_id'
    | 'payment_method_id'
    | 'card_brand'
    | 'card_last4'
    | 'items'
    | 'currency'
    | 'subtotal'
    | 'discount_amount'
    | 'coupon'
    | 'description'
    | 'shipping'
    | 'metadata'
    | 'subscription_id'
    | 'subscription_cycle'
    | 'subscription_change'
    | 'request_id'
    | 'off_session'
    | 'credit_applied'
  >;

export interface PlacedOrder {
  readonly state: OrderState;
  /** Undefined for an order that charges no card. */
  readonly sale: NewSale | undefined;
  readonly events: readonly EventRow[];
}

interface Surroundings
  extends Pick<
    OrderState,
    'mode' | 'clockOffsetMs' | 'card' | 'customerIp' | 'presence' | 'authenticates' | 'authentication'
  > {
  /** By default a charge that is captured at once. */
  readonly type?: NewSale['type'];
  readonly cause: ChargeCause;
  /** What the reference of its charge is derived from. */
  readonly numbered: Numbered;
}

/** Creates the first version of an order. An order that charges no card succeeds at once: its total is zero, or credit pays it. */
export function placeOrder(
  input: NewOrder,
  { type = 'sale', cause, numbered, ...surroundings }: Surroundings,
  nowMs: number,
): PlacedOrder {
  const total = input.subtotal - input.discount_amount;
  const order: OrderRow = {
    ...input,
    id: input.id ?? newId(nowMs),
    order_number: newOrderNumber(),
    status: 'pending',
    total,
    refunded_amount: 0,
    attempt_count: 0,
    next_retry_at: null,
    failure_code: null,
    failure_reason: null,
    sale_id: null,
    sequence: 1,
    updated_at: new Date(nowMs),
  };
  const { company_id, request_id, currency } = order;
  const common = { ...surroundings, customerDeleted: false };
  if (cardPart(order) === 0) {
    const done: OrderState = { ...common, order: { ...order, status: 'succeeded', sequence: 2 }, transactions: [] };
    const created = newEvent(company_id, nowMs, 'order.created', toWire({ ...done, order }), 1, request_id);
    const succeeded = newEvent(company_id, nowMs, 'order.succeeded', toWire(done), 2, request_id);
    return { state: done, sale: undefined, events: [created, succeeded] };
  }
  const sale = saleOf(order, { id: newId(nowMs), type, cause, request_id, numbered });
  const state: OrderState = {
    ...common,
    order,
    transactions: [
      {
        id: sale.id,
        reference: sale.reference,
        amount: sale.amount,
        type,
        status: 'in_progress',
        currency,
        processor_transaction_id: null,
        failure_code: null,
        failure_reason: null,
      },
    ],
  };
  return { state, sale, events: [newEvent(company_id, nowMs, 'order.created', toWire(state), 1, request_id)] };
}

/** Nothing is charged but what the customer has seen. */
export function checkShownTotal(shown: number | undefined, total: number): void {
  if (shown === undefined || shown === total) return;
  throw new ApiError('invalid_request', `The total is ${total} now. It was ${shown} when it was shown.`, {
    param: 'total',
  });
}

export function shippingOf(input: ShippingInput): Shipping {
  const { name, line1, line2, city, state, postal_code, country, phone } = input;
  return {
    name: name ?? null,
    line1: line1 ?? null,
    line2: line2 ?? null,
    city: city ?? null,
    state: state ?? null,
    postal_code: postal_code ?? null,
    country: country ?? null,
    phone: phone ?? null,
  };
}

/** 31 characters that are not mistaken for each other, spoken or in bad print. */
const orderNumberLetters = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789';

function newOrderNumber(): string {
  let text = '';
  while (text.length < 8) {
    // 248 is the largest multiple of 31 in a byte; using higher values would favour the first letters.
    for (const byte of pooledRandom(12)) if (byte < 248 && text.length < 8) text += orderNumberLetters[byte % 31];
  }
  return text;
}
