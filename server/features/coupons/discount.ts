/** Computes the discount of a coupon, in exact integers. Preview and redemption both use it. */

export interface DiscountTerms {
  /** In hundredths of a percent. Null if `amount` is set. */
  readonly percentage_hundredths: number | null;
  readonly amount: number | null;
  readonly max_discount_amount: number | null;
}

const whole = 10_000n;

export function discountOf(terms: DiscountTerms, cartTotal: number): number {
  if (terms.percentage_hundredths === null) return Math.min(terms.amount ?? 0, cartTotal);
  // The product may exceed the integers that a number represents exactly.
  const discount = Number((BigInt(cartTotal) * BigInt(terms.percentage_hundredths)) / whole);
  return Math.min(discount, terms.max_discount_amount ?? discount);
}

export interface Duration {
  readonly duration: 'once' | 'repeating' | 'forever';
  readonly duration_in_cycles: number | null;
}

/** Whether the discount still applies to a cycle of a subscription. */
export function coversCycle({ duration, duration_in_cycles }: Duration, cycle: number): boolean {
  if (duration === 'forever') return true;
  return cycle <= (duration === 'once' ? 1 : (duration_in_cycles ?? 1));
}
