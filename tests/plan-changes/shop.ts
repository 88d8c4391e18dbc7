import { someCoupon } from '../support/coupons.ts';
import { createProduct } from '../support/orders.ts';
import type { Random } from '../support/seeded-random.ts';
import type { Merchant, TestService } from '../support/service.ts';
import { somePlan } from '../support/subscriptions.ts';
import type { ModelCoupon, ModelPlan } from './model.ts';

/** A merchant with random plans, coupons and products. */

export interface Shop extends Merchant {
  readonly plans: readonly ModelPlan[];
  readonly coupons: readonly (ModelCoupon & { readonly code: string })[];
  readonly products: readonly { readonly id: string; readonly amount: number }[];
}

const cycles = [
  { interval: 'month', interval_count: 1, anchor_day: 'signup_date' },
  { interval: 'month', interval_count: 1, anchor_day: 15 },
  { interval: 'month', interval_count: 3, anchor_day: 'signup_date' },
  { interval: 'month', interval_count: 12, anchor_day: 31 },
  { interval: 'day', interval_count: 7, anchor_day: 'signup_date' },
  { interval: 'day', interval_count: 30, anchor_day: 'signup_date' },
] as const;

export async function openShop(service: TestService, random: Random): Promise<Shop> {
  const merchant = await service.createMerchant();
  const { key, sandbox } = merchant;
  const plans: ModelPlan[] = [];
  for (const billing_cycle of [...cycles, random.pick(cycles), random.pick(cycles), random.pick(cycles)]) {
    const amount = random.chance(0.1) ? random.between(0, 3) : random.between(1, 20_000);
    const one_time_amount = random.chance(0.3) ? random.between(1, 5000) : 0;
    const { id } = await somePlan(service, { amount, one_time_amount, billing_cycle }, sandbox);
    const { interval, interval_count: count, anchor_day: anchor } = billing_cycle;
    plans.push({ id, amount, setupFee: one_time_amount, interval, count, anchor });
  }
  const some = plans.filter(() => random.chance(0.5)).map(({ id }) => id);
  const coupons = [];
  for (const [more, covers] of [
    [{ percentage: random.between(1, 100), duration: 'forever' }, Number.POSITIVE_INFINITY],
    [{ amount: random.between(1, 9000), duration: 'repeating', duration_in_cycles: 3 }, 3],
    [{ percentage: random.between(1, 99), duration: 'once' }, 1],
    [
      { percentage: 50, duration: 'forever', plan_scope: 'specific', plan_ids: some.slice(0, 5) },
      Number.POSITIVE_INFINITY,
    ],
  ] as const) {
    if ('plan_ids' in more && more.plan_ids.length === 0) continue;
    const { code } = await someCoupon(service, { kind: 'promo', name: `C${coupons.length}`, ...more }, { key });
    const percent = 'percentage' in more ? more.percentage : null;
    const amount = 'amount' in more ? more.amount : null;
    const ofPlans = 'plan_ids' in more ? more.plan_ids : undefined;
    coupons.push({ code: code ?? `C${coupons.length}`, percent, amount, cycles: covers, plans: ofPlans });
  }
  const amounts = [random.between(1, 900), random.between(1, 9000)];
  const products = [];
  for (const amount of amounts) products.push({ id: await createProduct(service, amount, { key }), amount });
  return { ...merchant, plans, coupons, products };
}
