import type { CouponCreate } from '../coupons/schemas.ts';
import type { PlanCreate } from '../plans/schemas.ts';
import type { ProductCreate } from '../products/schemas.ts';

/** What the sample shop sells. The demo company has the first products, the plans and the first coupon from its first second. */

type SampleProduct = Omit<ProductCreate, 'pricing' | 'sku'> & { readonly sku: string; readonly amount: number };

export const firstProducts: readonly SampleProduct[] = [
  { name: 'Tea pot', description: 'Holds six cups.', sku: 'tea-pot', amount: 4900, requires_shipping: true },
  {
    name: 'Tea cup',
    description: 'Thin porcelain, two hands warm.',
    sku: 'tea-cup',
    amount: 1200,
    requires_shipping: true,
  },
  { name: 'Brewing class', description: 'Two hours, online.', sku: 'class', amount: 3500, requires_shipping: false },
];

export const products: readonly SampleProduct[] = [
  ...firstProducts,
  {
    name: 'Oolong tea, 100 g',
    description: 'Half oxidized, from the high mountains.',
    sku: 'oolong',
    amount: 1800,
    requires_shipping: true,
  },
  {
    name: 'Matcha tin',
    description: 'Ceremonial grade, stone-ground.',
    sku: 'matcha',
    amount: 2900,
    requires_shipping: true,
  },
  {
    name: 'Gift box',
    description: 'A pot, two cups and three teas.',
    sku: 'gift-box',
    amount: 8900,
    requires_shipping: true,
  },
];

const monthly = { interval: 'month', interval_count: 1, anchor_day: 'signup_date' } as const;

interface SamplePlan {
  readonly sku: string;
  readonly plan: Omit<PlanCreate, 'currency' | 'products'>;
}

export const planNames = {
  monthly: 'Tea of the month',
  quarterly: 'Brewing course, four quarters',
  weekly: 'Fresh tea weekly',
} as const;

/** Plans with their product. */
export const plans: readonly SamplePlan[] = [
  { sku: 'tea-cup', plan: { name: planNames.monthly, amount: 1900, billing_cycle: monthly } },
  {
    sku: 'class',
    plan: {
      name: planNames.quarterly,
      amount: 9900,
      one_time_amount: 2500,
      billing_cycle: { ...monthly, interval_count: 3 },
      billing_cycles: 4,
    },
  },
  {
    sku: 'tea-pot',
    plan: {
      name: planNames.weekly,
      amount: 700,
      billing_cycle: { interval: 'day', interval_count: 7, anchor_day: 'signup_date' },
    },
  },
];

/** A code for the demo checkout. */
export const firstCoupon = { kind: 'promo', name: 'TEA10', percentage: 10, duration: 'once' } as const;

export const coupons: readonly CouponCreate[] = [
  firstCoupon,
  {
    kind: 'promo',
    name: 'WELCOME5',
    description: 'For a first order.',
    amount: 500,
    currency: 'usd',
    duration: 'once',
    minimum_amount: 2000,
  },
  {
    kind: 'promo',
    name: 'THREEMONTHS',
    description: 'A fifth off the first three months.',
    percentage: 20,
    duration: 'repeating',
    duration_in_cycles: 3,
    product_scope: 'none',
  },
];

export const members = [
  { email: 'mara.lind@example.com', first_name: 'Mara', last_name: 'Lind', role: 'Admin' },
  { email: 'jonas.weber@example.com', first_name: 'Jonas', last_name: 'Weber', role: 'Support' },
  { email: 'aiko.tanaka@example.com', first_name: 'Aiko', last_name: 'Tanaka', role: 'Finance' },
] as const;

/** The name does not resolve, so every delivery fails. */
export const failingEndpoint = {
  url: 'https://stock.tea-house.invalid/webhooks',
  description: 'Stock system (sample data)',
  enabled_events: ['order.succeeded', 'order.refunded', 'order.failed'],
} as const;
