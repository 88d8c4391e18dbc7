import type { RequestContext } from '../../request-context.ts';
import { type Numbered, type PlacedOrder, placeOrder, subjects } from '../orders/service.ts';
import { type Decision, describeChange } from './plan-change.ts';
import type { CardOfCustomer } from './queries.ts';
import { chargedCard } from './renewal-order.ts';
import type { SubscriptionRow } from './subscription.ts';

/**
 * The order that pays for a change of plan. It has no items: it pays for time, and the products of the plan come with the
 * order of each cycle.
 */
export function orderForChange(
  row: SubscriptionRow,
  { terms, due, discount }: Decision,
  of: {
    readonly number: number;
    /** The subject of the charge's reference, if it is not the first attempt. */
    readonly numbered?: Numbered | undefined;
    readonly orderId: string;
    readonly card: CardOfCustomer;
    readonly context: RequestContext;
    /** What the credit of the customer pays. */
    readonly credit: number;
  },
): PlacedOrder {
  const { company, nowMs, requestId, customerIp } = of.context;
  const coupon = row.coupon && discount > 0 ? { ...row.coupon, discount_amount: discount } : null;
  return placeOrder(
    {
      id: of.orderId,
      company_id: row.company_id,
      customer_id: row.customer_id,
      payment_method_id: row.payment_method_id,
      card_brand: row.card_brand,
      card_last4: row.card_last4,
      items: [],
      currency: row.currency,
      subtotal: due + discount,
      discount_amount: discount,
      ...(of.credit > 0 && { credit_applied: of.credit }),
      coupon,
      description: describeChange(row, terms),
      shipping: row.shipping,
      metadata: {},
      subscription_id: row.id,
      subscription_cycle: null,
      subscription_change: of.number,
      request_id: requestId,
    },
    {
      mode: company.mode,
      authenticates: company.authenticates,
      clockOffsetMs: company.clockOffsetMs,
      card: chargedCard(of.card),
      customerIp,
      cause: 'plan_change',
      numbered: of.numbered ?? { subject: subjects.change(row.id, of.number), number: 0 },
    },
    nowMs,
  );
}
