// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

export type CouponKind = 'generated' | 'promo';

export type CouponDuration = 'once' | 'repeating' | 'forever';

export type CouponScope = 'none' | 'all' | 'specific';

export interface CodeBatch {
  count: number;
  /** Letters, digits, - and _. */
  prefix?: string | undefined;
  /** Random characters after the prefix. Default: `10`. */
  length?: number | undefined;
}

export interface CouponCreate {
  /** Of a promo coupon: its code, in upper case. */
  name: string;
  description?: string | null | undefined;
  /** At most two decimals. An amount becomes a percentage with `amount: null` beside it. */
  percentage?: number | undefined;
  /** Cents off. */
  amount?: number | null | undefined;
  /** The most a percentage takes off. */
  max_discount_amount?: number | null | undefined;
  /** Of `amount`, which needs one; a percentage has none. */
  currency?: string | undefined;
  /** Default: `'once'`. */
  duration?: CouponDuration | undefined;
  /** With `repeating`. */
  duration_in_cycles?: number | null | undefined;
  /** Default: `0`. */
  minimum_amount?: number | undefined;
  /** In all. Without it there is no limit; a limit can be raised, not removed. */
  max_redemptions?: number | undefined;
  /** By one customer. */
  max_redemptions_per_customer?: number | undefined;
  /** With one code. */
  max_redemptions_per_code?: number | undefined;
  /** For customers who have not bought anything yet. Default: `false`. */
  first_time_customer_only?: boolean | undefined;
  starts_at?: string | undefined;
  /** Can be moved, not removed. */
  expires_at?: string | undefined;
  /** Default: `true`. */
  active?: boolean | undefined;
  /** Default: `'all'`. */
  product_scope?: CouponScope | undefined;
  /** Default: `'all'`. */
  plan_scope?: CouponScope | undefined;
  /** Default: `[]`. */
  product_ids?: readonly string[] | undefined;
  /** Default: `[]`. */
  plan_ids?: readonly string[] | undefined;
  /** Letters, digits, - and _. */
  code_prefix?: string | undefined;
  /** Default: `'generated'`. */
  kind?: CouponKind | undefined;
  codes?: CodeBatch | undefined;
}

export interface CouponCode {
  id: string;
  coupon_id: string;
  code: string;
  /** Whether its coupon is. */
  active: boolean;
  redemptions: number;
  max_redemptions: number | null;
  created_at: string;
}

export interface CouponWithCodes {
  id: string;
  kind: CouponKind;
  /** Of a promo coupon: its code, in upper case. */
  name: string;
  description: string | null;
  percentage: number | null;
  /** Cents off. */
  amount: number | null;
  /** The most a percentage takes off. */
  max_discount_amount: number | null;
  currency: string | null;
  duration: CouponDuration;
  /** With `repeating`. */
  duration_in_cycles: number | null;
  minimum_amount: number;
  max_redemptions: number | null;
  max_redemptions_per_customer: number | null;
  max_redemptions_per_code: number | null;
  /** For customers who have not bought anything yet. */
  first_time_customer_only: boolean;
  starts_at: string | null;
  expires_at: string | null;
  active: boolean;
  product_scope: CouponScope;
  plan_scope: CouponScope;
  product_ids: string[];
  plan_ids: string[];
  code_prefix: string | null;
  archived_at: string | null;
  /** Redemptions whose charge succeeded. */
  total_redemptions: number;
  created_at: string;
  updated_at: string;
  /** Those made with it. */
  codes: CouponCode[];
}

export interface Coupon {
  id: string;
  kind: CouponKind;
  /** Of a promo coupon: its code, in upper case. */
  name: string;
  description: string | null;
  percentage: number | null;
  /** Cents off. */
  amount: number | null;
  /** The most a percentage takes off. */
  max_discount_amount: number | null;
  currency: string | null;
  duration: CouponDuration;
  /** With `repeating`. */
  duration_in_cycles: number | null;
  minimum_amount: number;
  max_redemptions: number | null;
  max_redemptions_per_customer: number | null;
  max_redemptions_per_code: number | null;
  /** For customers who have not bought anything yet. */
  first_time_customer_only: boolean;
  starts_at: string | null;
  expires_at: string | null;
  active: boolean;
  product_scope: CouponScope;
  plan_scope: CouponScope;
  product_ids: string[];
  plan_ids: string[];
  code_prefix: string | null;
  archived_at: string | null;
  /** Redemptions whose charge succeeded. */
  total_redemptions: number;
  created_at: string;
  updated_at: string;
}

export interface CartItem {
  product_id: string;
  quantity: number;
}

/** One of `amount`, `items` and `plan_id` says what the discount is computed of. */
export interface CouponValidate {
  code: string;
  amount?: number | undefined;
  currency?: string | undefined;
  customer_id?: string | undefined;
  plan_id?: string | undefined;
  product_ids?: readonly string[] | undefined;
  items?: readonly CartItem[] | undefined;
}

export interface ValidCoupon {
  valid: true;
  code: string;
  coupon_id: string;
  name: string;
  kind: CouponKind;
  percentage: number | null;
  amount: number | null;
  currency: string | null;
  max_discount_amount: number | null;
  duration: CouponDuration;
  duration_in_cycles: number | null;
  discount_amount: number;
  total_after_discount: number;
}

/** Why the code cannot be used. */
export type CouponReason = 'code_not_found' | 'coupon_archived' | 'coupon_inactive' | 'coupon_not_started' | 'coupon_expired' | 'currency_mismatch' | 'product_not_eligible' | 'plan_not_eligible' | 'minimum_amount_not_met' | 'not_first_time_customer' | 'max_redemptions_reached' | 'max_redemptions_per_customer_reached' | 'max_redemptions_per_code_reached';

export interface InvalidCoupon {
  valid: false;
  reason: CouponReason;
  code: string;
}

export type CouponVerdict = ValidCoupon | InvalidCoupon;

export interface CouponUpdate {
  /** Of a promo coupon: its code, in upper case. */
  name?: string | undefined;
  description?: string | null | undefined;
  /** At most two decimals. An amount becomes a percentage with `amount: null` beside it. */
  percentage?: number | undefined;
  /** Cents off. */
  amount?: number | null | undefined;
  /** The most a percentage takes off. */
  max_discount_amount?: number | null | undefined;
  /** Of `amount`, which needs one; a percentage has none. */
  currency?: string | undefined;
  duration?: CouponDuration | undefined;
  /** With `repeating`. */
  duration_in_cycles?: number | null | undefined;
  minimum_amount?: number | undefined;
  /** In all. Without it there is no limit; a limit can be raised, not removed. */
  max_redemptions?: number | undefined;
  /** By one customer. */
  max_redemptions_per_customer?: number | undefined;
  /** With one code. */
  max_redemptions_per_code?: number | undefined;
  /** For customers who have not bought anything yet. */
  first_time_customer_only?: boolean | undefined;
  starts_at?: string | undefined;
  /** Can be moved, not removed. */
  expires_at?: string | undefined;
  active?: boolean | undefined;
  product_scope?: CouponScope | undefined;
  plan_scope?: CouponScope | undefined;
  product_ids?: readonly string[] | undefined;
  plan_ids?: readonly string[] | undefined;
  /** Letters, digits, - and _. */
  code_prefix?: string | undefined;
}

export interface CouponArchive {
  archived: boolean;
}

export interface MintedCodes {
  data: CouponCode[];
}

export interface ListCouponsParams {
  /** How many objects a page has. Default: `10`. */
  limit?: number | undefined;
  /** Gives the page after the object with this id. */
  starting_after?: string | undefined;
  /** Gives the page before the object with this id. */
  ending_before?: string | undefined;
  /** Order of the list, by created_at or updated_at or name; `field` and `field[asc]` ascend, `-field` and `field[desc]` descend. Default: `'created_at[desc]'`. */
  sort?: 'created_at' | '-created_at' | 'created_at[asc]' | 'created_at[desc]' | 'updated_at' | '-updated_at' | 'updated_at[asc]' | 'updated_at[desc]' | 'name' | '-name' | 'name[asc]' | 'name[desc]' | undefined;
  /** `true` lists those that are active, `false` the others. */
  active?: boolean | undefined;
  /** Those of this kind. */
  kind?: 'generated' | 'promo' | undefined;
  /** `false` hides archived coupons. Default: `'false'`. */
  archived?: 'true' | 'false' | 'all' | undefined;
  created_at?: { gt?: string | undefined; gte?: string | undefined; lt?: string | undefined; lte?: string | undefined } | undefined;
}

export interface ListCouponCodesParams {
  /** How many objects a page has. Default: `10`. */
  limit?: number | undefined;
  /** Gives the page after the object with this id. */
  starting_after?: string | undefined;
  /** Gives the page before the object with this id. */
  ending_before?: string | undefined;
  /** Order of the list, by created_at; `field` and `field[asc]` ascend, `-field` and `field[desc]` descend. Default: `'created_at[desc]'`. */
  sort?: 'created_at' | '-created_at' | 'created_at[asc]' | 'created_at[desc]' | undefined;
}
