import { type FieldError, validationError } from '../../errors.ts';
import { codeKeyOf } from './codes.ts';
import { discountOf } from './discount.ts';
import { cartTotalOf, type Purchase, type Reason, whyNot } from './eligibility.ts';
import { findPreview, type Preview } from './queries.ts';
import { findByCode } from './redemption-queries.ts';
import type { CouponValidate, CouponVerdict } from './schemas.ts';
import type { RequestContext } from '../../request-context.ts';

/** Returns the discount of a code without redeeming it. */
export async function validateCoupon(context: RequestContext, input: CouponValidate): Promise<CouponVerdict> {
  const { db, company, nowMs } = context;
  const preview = await findPreview(db, company.id, {
    customerId: input.customer_id ?? null,
    planId: input.plan_id ?? null,
    productIds: [...(input.items ?? []).map(({ product_id }) => product_id), ...(input.product_ids ?? [])],
  });
  const problems = problemsOf(input, preview);
  if (problems.length > 0) throw validationError(problems);

  const facts = await findByCode(db, company.id, codeKeyOf(input.code), input.customer_id ?? null);
  const goods = goodsOf(input, preview);
  const customer =
    facts && input.customer_id ? { used: facts.customer_used, hasBought: facts.customer_has_bought } : undefined;
  const currency = input.currency ?? preview.plan?.currency ?? preview.products[0]?.currency;
  const purchase: Purchase = { nowMs, currency, goods, customer };
  const reason = whyNot(facts, purchase);
  if (!facts || reason) return refused(reason ?? 'code_not_found', input.code);
  const discount = discountOf(facts, cartTotalOf(facts, purchase) ?? 0);
  return {
    valid: true,
    code: input.code,
    coupon_id: facts.id,
    name: facts.name,
    kind: facts.kind,
    percentage: facts.percentage_hundredths && facts.percentage_hundredths / 100,
    amount: facts.amount,
    currency: facts.currency,
    max_discount_amount: facts.max_discount_amount,
    duration: facts.duration,
    duration_in_cycles: facts.duration_in_cycles,
    discount_amount: discount,
    total_after_discount: wholeOf(goods) - discount,
  };
}

const refused = (reason: Reason, code: string): CouponVerdict => ({ valid: false, reason, code });

function problemsOf(input: CouponValidate, preview: Preview): FieldError[] {
  const problems: FieldError[] = [];
  const refuse = (field: string, message: string, code: FieldError['code'] = 'invalid_value'): void =>
    void problems.push({ field, code, message });
  if (input.customer_id && !preview.customerExists) refuse('customer_id', 'is not a customer of this company');
  if (input.plan_id && !preview.plan) refuse('plan_id', 'is not a plan of this company');
  const known = new Set(preview.products.map(({ id }) => id));
  (input.items ?? []).forEach(({ product_id }, index) => {
    if (!known.has(product_id.toLowerCase())) refuse(`items[${index}].product_id`, 'is not a product of this company');
  });
  (input.product_ids ?? []).forEach((id, index) => {
    if (!known.has(id.toLowerCase())) refuse(`product_ids[${index}]`, 'is not a product of this company');
  });
  if (input.plan_id && (input.items || input.product_ids)) refuse('plan_id', 'cannot be combined with products');
  if (input.amount === undefined && !input.items && !input.plan_id) {
    refuse('amount', 'is required. Send either amount, items or plan_id', 'required_field');
  }
  const currencies = new Set((input.items ?? []).map(({ product_id }) => priceOf(preview, product_id).currency));
  if (problems.length === 0 && currencies.size > 1) refuse('items', 'must all have the same currency');
  return problems;
}

function priceOf(preview: Preview, productId: string): { amount: number; currency: string } {
  return preview.products.find(({ id }) => id === productId.toLowerCase()) ?? { amount: 0, currency: '' };
}

function goodsOf(input: CouponValidate, preview: Preview): Purchase['goods'] {
  const { plan } = preview;
  if (plan) return { kind: 'plan', planId: plan.id, amount: input.amount ?? plan.amount + plan.one_time_amount };
  if (input.items) {
    const lines = input.items.map(({ product_id, quantity }) => ({
      productId: product_id.toLowerCase(),
      total: priceOf(preview, product_id).amount * quantity,
    }));
    return { kind: 'cart', lines };
  }
  const amount = input.amount ?? 0;
  if (!input.product_ids?.length) return { kind: 'amount', amount };
  return { kind: 'products', productIds: input.product_ids.map((id) => id.toLowerCase()), amount };
}

function wholeOf(goods: Purchase['goods']): number {
  return goods.kind === 'cart' ? goods.lines.reduce((sum, { total }) => sum + total, 0) : goods.amount;
}
