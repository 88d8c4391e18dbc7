import {
  type NewSale,
  type Numbered,
  openOperation,
  type OrderRow,
  type OrderState,
  subjects,
  type PlacedOrder,
  placeOrder,
  type PlannedCharge,
} from '../orders/service.ts';
import { coversCycle, termsOf } from '../coupons/service.ts';
import { addedTo, amountsOf } from './schedule.ts';
import type { BillingDetails } from '../payment-methods/schemas.ts';
import type { RenewalItem, SubscriptionRow } from './subscription.ts';
import type { Company } from '../../company.ts';

interface Surroundings {
  readonly company: Pick<Company, 'mode' | 'clockOffsetMs' | 'authenticates'>;
  readonly card: StoredCard;
  readonly nowMs: number;
  readonly requestId: string | null;
  readonly customerIp?: string | undefined;
  readonly presence?: OrderState['presence'];
  /** The subject of the charge's reference, if it is not the cycle. */
  readonly numbered?: Numbered;
  /** What the credit of the customer pays. */
  readonly credit?: number;
}

/** Left out by the orders that no credit pays for, which do not write it. */
const paidByCredit = (credit = 0): Pick<OrderState['order'], 'credit_applied'> =>
  credit > 0 ? { credit_applied: credit } : {};

/** Creates the order of one cycle. The order of the first charge has no cycle until it succeeds. */
export function orderFor(row: SubscriptionRow, cycle: number | null, surroundings: Surroundings): PlacedOrder {
  const { company, card, nowMs, requestId, customerIp, presence, credit } = surroundings;
  const { subtotal, discount, total } = amountsOf(row, cycle ?? 1);
  const free = total === 0;
  return placeOrder(
    {
      company_id: row.company_id,
      customer_id: row.customer_id,
      payment_method_id: row.payment_method_id,
      card_brand: row.card_brand,
      card_last4: row.card_last4,
      items: [...row.items, ...addedTo(row, cycle ?? 1).map(asOrdered)],
      currency: row.currency,
      subtotal,
      discount_amount: discount,
      ...paidByCredit(credit),
      coupon:
        row.coupon && coversCycle(termsOf(row.coupon), cycle ?? 1)
          ? { ...row.coupon, discount_amount: discount }
          : null,
      description: row.description,
      shipping: row.shipping,
      metadata: {},
      subscription_id: row.id,
      subscription_cycle: cycle ?? (free ? 1 : null),
      request_id: requestId,
    },
    {
      mode: company.mode,
      clockOffsetMs: company.clockOffsetMs,
      authenticates: company.authenticates,
      card: chargedCard(card),
      customerIp,
      presence,
      cause: requestId === null ? 'renewal' : 'first_charge',
      numbered: surroundings.numbered ?? { subject: subjects.cycle(row.id, cycle ?? 1), number: 0 },
    },
    nowMs,
  );
}

function asOrdered(added: RenewalItem): OrderRow['items'][number] {
  const { id: _, ...item } = added;
  return item;
}

/** The card of a subscription; it has no id if it was deleted. */
interface StoredCard {
  readonly card_id: string | null;
  readonly exp_month: number;
  readonly exp_year: number;
  readonly billing_details: BillingDetails | null;
}

export function chargedCard({ card_id, exp_month, exp_year, billing_details }: StoredCard): OrderState['card'] {
  return card_id === null
    ? null
    : { cardId: card_id, expMonth: exp_month, expYear: exp_year, billing: billing_details, isListed: true };
}

/** Returns the intent to charge a new order. */
export function plannedSale({ state: { order }, sale, events }: PlacedOrder, lockMs: number): PlannedCharge {
  return { placed: order, sale: sale && openSale(order, sale, order.updated_at, lockMs), events };
}

export function openSale(
  order: OrderRow,
  sale: NewSale,
  updated_at: Date,
  lockMs: number,
): NonNullable<PlannedCharge['sale']> {
  return { ...openOperation(order, { ...sale, type: 'sale', updated_at }), lockMs };
}
