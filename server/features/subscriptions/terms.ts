import { limits } from '../../limits.ts';
import { invalidField } from '../../errors.ts';
import type { OrderItem } from '../orders/schemas.ts';
import type { PlanToSubscribe } from '../plans/service.ts';
import type { SubscriptionRow } from './subscription.ts';

/** What a subscription is charged for each cycle: its plan, as it was when it was chosen, for a number of seats. */

/** The billing cycle, as the columns of a subscription have it. */
type CycleColumns = Pick<SubscriptionRow, 'interval' | 'interval_count' | 'anchor_day'>;

export interface PlanTerms {
  readonly plan_id: string;
  readonly plan_name: string;
  /** For all seats. */
  readonly amount: number;
  /** Part of the first charge, so it matters only to a subscription that has not begun. */
  readonly one_time_amount: number;
  readonly items: readonly OrderItem[];
  readonly quantity: number;
  /** Null if the subscription keeps its billing cycle. */
  readonly cycle: CycleColumns | null;
  /** Whether the coupon of the subscription is for this plan too. */
  readonly keeps_coupon: boolean;
}

/** The price of one seat: the amount is always a multiple of it. */
export const unitAmount = ({ amount, quantity }: Pick<SubscriptionRow, 'amount' | 'quantity'>): number =>
  amount / quantity;

/** The products of a plan for a number of seats. `items` are for `of` seats. */
function itemsFor(items: readonly OrderItem[], quantity: number, of = 1): OrderItem[] {
  return items.map((item) => {
    const count = (item.quantity / of) * quantity;
    if (count > limits.quantityMax) {
      const most = limits.quantityMax;
      throw invalidField('quantity', `must be lower: an order has at most ${most} of ${item.name}, not ${count}`);
    }
    return { ...item, quantity: count };
  });
}

/** The terms of another plan. The price of the subscription is that of the plan now. */
export function termsOfPlan(
  plan: PlanToSubscribe,
  quantity: number,
  { cycle, keeps_coupon }: Pick<PlanTerms, 'cycle' | 'keeps_coupon'>,
): PlanTerms {
  return {
    plan_id: plan.id,
    plan_name: plan.name,
    amount: plan.amount * quantity,
    one_time_amount: plan.one_time_amount,
    items: itemsFor(plan.items, quantity),
    quantity,
    cycle,
    keeps_coupon,
  };
}

/** The same plan at the same price, for another number of seats. */
export function termsForSeats(row: SubscriptionRow, quantity: number): PlanTerms {
  const { plan_id, plan_name, one_time_amount } = row;
  return {
    plan_id,
    plan_name,
    one_time_amount,
    amount: unitAmount(row) * quantity,
    items: itemsFor(row.items, quantity, row.quantity),
    quantity,
    cycle: null,
    keeps_coupon: true,
  };
}

/** The setup fee of a subscription that has begun stays: its first order was charged with it. */
export function withTerms(row: SubscriptionRow, terms: PlanTerms): SubscriptionRow {
  const { plan_id, plan_name, amount, items, quantity } = terms;
  return {
    ...row,
    ...{ plan_id, plan_name, amount, items, quantity },
    one_time_amount: row.current_cycle === 0 ? terms.one_time_amount : row.one_time_amount,
    coupon: terms.keeps_coupon ? row.coupon : null,
    ...terms.cycle,
  };
}
