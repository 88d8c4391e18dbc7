import type { CouponFacts, LockedFacts } from './redemption-queries.ts';

/** The reasons why a code cannot be used, in the words of the API. The first reason that applies is reported. */

export const reasons = {
  code_not_found: 'the code does not exist',
  coupon_archived: 'the coupon is archived',
  coupon_inactive: 'the coupon is not active',
  coupon_not_started: 'the coupon has not started yet',
  coupon_expired: 'the coupon has expired',
  currency_mismatch: 'the coupon is for another currency',
  product_not_eligible: 'the coupon does not apply to these products',
  plan_not_eligible: 'the coupon does not apply to this plan',
  minimum_amount_not_met: 'the amount is below the minimum amount of the coupon',
  not_first_time_customer: 'the coupon is for first-time customers only',
  max_redemptions_reached: 'the coupon has reached its redemption limit',
  max_redemptions_per_customer_reached: 'the customer has reached the redemption limit of the coupon',
  max_redemptions_per_code_reached: 'the code has reached its redemption limit',
} as const;
export type Reason = keyof typeof reasons;
export const reasonNames = Object.keys(reasons) as Reason[];

/** One line of a cart. */
interface Line {
  readonly productId: string;
  readonly total: number;
}

/** The purchase that a coupon is checked against: a cart, a plan, or only an amount. */
export interface Purchase {
  readonly nowMs: number;
  readonly currency: string | undefined;
  readonly goods:
    | { readonly kind: 'cart'; readonly lines: readonly Line[] }
    /** Products without prices: the amount is the total of those in scope. */
    | { readonly kind: 'products'; readonly productIds: readonly string[]; readonly amount: number }
    | { readonly kind: 'plan'; readonly planId: string; readonly amount: number }
    | { readonly kind: 'amount'; readonly amount: number };
  /** Undefined if the request names no customer; then rules about customers are not checked. */
  readonly customer: { readonly used: number; readonly hasBought: boolean } | undefined;
}

/** Returns the part of a purchase that the coupon applies to; undefined if there is none. */
export function cartTotalOf(coupon: CouponFacts, { goods }: Purchase): number | undefined {
  if (goods.kind === 'amount') return goods.amount;
  if (goods.kind === 'plan') {
    const { plan_scope, plan_ids } = coupon;
    const fits = plan_scope === 'all' || (plan_scope === 'specific' && plan_ids.includes(goods.planId));
    return fits ? goods.amount : undefined;
  }
  const inScope = (productId: string): boolean =>
    coupon.product_scope === 'all' || (coupon.product_scope === 'specific' && coupon.product_ids.includes(productId));
  if (goods.kind === 'products') return goods.productIds.some(inScope) ? goods.amount : undefined;
  const lines = goods.lines.filter(({ productId }) => inScope(productId));
  return lines.length === 0 ? undefined : lines.reduce((sum, { total }) => sum + total, 0);
}

export function whyNot(coupon: CouponFacts | undefined, purchase: Purchase): Reason | undefined {
  if (!coupon) return 'code_not_found';
  if (coupon.archived_at) return 'coupon_archived';
  if (!coupon.active) return 'coupon_inactive';
  if (coupon.starts_at && coupon.starts_at.getTime() > purchase.nowMs) return 'coupon_not_started';
  if (coupon.expires_at && coupon.expires_at.getTime() <= purchase.nowMs) return 'coupon_expired';
  if (coupon.currency && purchase.currency && coupon.currency !== purchase.currency) return 'currency_mismatch';
  const cartTotal = cartTotalOf(coupon, purchase);
  if (cartTotal === undefined) return purchase.goods.kind === 'plan' ? 'plan_not_eligible' : 'product_not_eligible';
  if (cartTotal < coupon.minimum_amount) return 'minimum_amount_not_met';
  if (coupon.first_time_customer_only && purchase.customer?.hasBought) return 'not_first_time_customer';
  return whyFull(coupon, purchase.customer?.used ?? 0);
}

export type Limits = Pick<
  CouponFacts,
  | 'used'
  | 'code_used'
  | 'max_redemptions'
  | 'max_redemptions_per_customer'
  | 'max_redemptions_per_code'
  | 'first_time_customer_only'
>;

export function whyFull(coupon: Limits, customerUsed: number): Reason | undefined {
  if (coupon.max_redemptions !== null && coupon.used >= coupon.max_redemptions) return 'max_redemptions_reached';
  if (coupon.first_time_customer_only && customerUsed > 0) return 'not_first_time_customer';
  const { max_redemptions_per_customer: perCustomer, max_redemptions_per_code: perCode } = coupon;
  if (perCustomer !== null && customerUsed >= perCustomer) return 'max_redemptions_per_customer_reached';
  return perCode !== null && coupon.code_used >= perCode ? 'max_redemptions_per_code_reached' : undefined;
}

/** Whether a redemption would be left if every charge in flight were declined. */
export function isOnlyReserved(coupon: LockedFacts): boolean {
  if (coupon.first_time_customer_only && coupon.customer_has_bought) return false;
  const used = coupon.total_redemptions + coupon.waiting;
  const code_used = coupon.code_redemptions + coupon.code_waiting;
  return whyFull({ ...coupon, used, code_used }, coupon.customer_firm) === undefined;
}
