import { money } from '../../format.ts';
import { coupons } from '../../texts/coupons.ts';
import type { Coupon } from '../../types.ts';

export function discountText({ percentage, amount, currency }: Coupon): string {
  if (percentage !== null) return coupons.percent(percentage);
  return coupons.amountOff(money(amount ?? 0, currency));
}

export function couponState(coupon: Coupon): 'archived' | 'active' | 'inactive' {
  if (coupon.archived_at !== null) return 'archived';
  return coupon.active ? 'active' : 'inactive';
}
