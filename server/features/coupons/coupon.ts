import { createdAt } from '../../platform/ids.ts';
import type { CodeRow, CouponRow } from './queries.ts';
import type { Coupon, CouponCode } from './schemas.ts';

/** A coupon and its codes, as the API shows them. */

export const perHundredth = 100;
const percentageOf = (hundredths: number | null): number | null => hundredths && hundredths / perHundredth;

export function toWire(row: CouponRow): Coupon {
  const shown = (date: Date | null): string | null => date?.toISOString() ?? null;
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    description: row.description,
    percentage: percentageOf(row.percentage_hundredths),
    amount: row.amount,
    max_discount_amount: row.max_discount_amount,
    currency: row.currency,
    duration: row.duration,
    duration_in_cycles: row.duration_in_cycles,
    minimum_amount: row.minimum_amount,
    max_redemptions: row.max_redemptions,
    max_redemptions_per_customer: row.max_redemptions_per_customer,
    max_redemptions_per_code: row.max_redemptions_per_code,
    first_time_customer_only: row.first_time_customer_only,
    starts_at: shown(row.starts_at),
    expires_at: shown(row.expires_at),
    active: row.active,
    archived_at: shown(row.archived_at),
    product_scope: row.product_scope,
    plan_scope: row.plan_scope,
    product_ids: row.product_ids,
    plan_ids: row.plan_ids,
    code_prefix: row.code_prefix,
    total_redemptions: row.total_redemptions,
    created_at: createdAt(row.id),
    updated_at: row.updated_at.toISOString(),
  };
}

export function codeToWire(row: CodeRow, coupon: CouponRow): CouponCode {
  return {
    id: row.id,
    coupon_id: row.coupon_id,
    code: row.code,
    active: coupon.active,
    redemptions: row.redemptions,
    max_redemptions: coupon.max_redemptions_per_code,
    created_at: createdAt(row.id),
  };
}
