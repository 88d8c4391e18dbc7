import { defaultLocale } from '../../customer-texts/languages.ts';
import { textsFor } from '../../customer-texts/texts.ts';
import { ApiError, invalidField } from '../../errors.ts';
import type { RequestContext } from '../../request-context.ts';
import { CouponRefused, couponFor, findCouponFacts } from '../coupons/service.ts';
import { type PlanToSubscribe, planToSubscribe } from '../plans/service.ts';
import { findOffered } from './offer-queries.ts';
import type { SessionRow } from './queries.ts';

/** What a session costs now, by the catalog. The page never sends prices. */

export interface Choice {
  readonly quantities?: readonly { readonly product_id: string; readonly quantity: number }[] | undefined;
  readonly coupon_code?: string | undefined;
}

export interface Line {
  readonly product_id: string;
  readonly name: string;
  readonly description: string | null;
  readonly unit_amount: number;
  readonly quantity: number;
  readonly quantity_min: number;
  readonly quantity_max: number;
  readonly total: number;
}

export interface Quote {
  readonly lines: readonly Line[];
  readonly plan: Pick<
    PlanToSubscribe,
    'id' | 'name' | 'amount' | 'one_time_amount' | 'billing_cycle' | 'billing_cycles'
  > | null;
  readonly currency: string;
  readonly subtotal: number;
  readonly discount: number;
  readonly total: number;
  readonly coupon: { readonly code: string } | null;
}

/** What is sold, of a session. */
export type Sold = Pick<SessionRow, 'items' | 'plan_id' | 'coupon_code' | 'allow_coupons' | 'customer_id'>;

type Priced = Pick<Quote, 'lines' | 'plan' | 'currency' | 'subtotal'>;

/** Something that the session sells cannot be bought any more. The customer can do nothing about it. */
export class NoLongerSold extends ApiError {
  constructor() {
    super('invalid_request', 'Something in this checkout is no longer sold. Ask the shop for a new link.');
  }
}

/** Throws if something is no longer sold, or if the code cannot be used. */
export async function quoteOf(context: RequestContext, session: Sold, choice: Choice): Promise<Quote> {
  const priced = session.plan_id
    ? await pricePlan(context, session.plan_id)
    : await priceItems(context, session, choice);
  const withoutCode = { ...priced, discount: 0, total: priced.subtotal, coupon: null };
  const code = codeOf(session, choice);
  if (code === undefined) return withoutCode;
  try {
    const discount = await discountOf(context, session, priced, code);
    return { ...priced, discount, total: priced.subtotal - discount, coupon: { code } };
  } catch (error) {
    // The customer did not enter the code of the merchant, and can do nothing about it.
    if (code === session.coupon_code && error instanceof ApiError) return withoutCode;
    if (!(error instanceof CouponRefused)) throw error;
    const { payments } = await textsFor(context.locale ?? defaultLocale);
    throw invalidField('coupon_code', payments.coupon[error.reason]);
  }
}

/** The code that the merchant applied counts unless the customer enters another. */
function codeOf(session: Sold, { coupon_code }: Choice): string | undefined {
  if (coupon_code !== undefined && !session.allow_coupons && coupon_code !== session.coupon_code) {
    throw invalidField('coupon_code', 'cannot be used on this page');
  }
  return coupon_code ?? session.coupon_code ?? undefined;
}

/** What these items cost now. Undefined if something of them is no longer sold. */
export async function priceNow(
  context: RequestContext,
  sold: Pick<Sold, 'items' | 'coupon_code' | 'customer_id'>,
): Promise<Pick<Quote, 'total' | 'currency'> | undefined> {
  try {
    return await quoteOf(context, { ...sold, plan_id: null, allow_coupons: false }, {});
  } catch (error) {
    if (error instanceof NoLongerSold) return undefined;
    throw error;
  }
}

async function pricePlan({ db, company }: RequestContext, planId: string): Promise<Priced> {
  const plan = await planToSubscribe(db, company.id, planId).catch((error: unknown) => {
    throw error instanceof ApiError ? new NoLongerSold() : error;
  });
  return { lines: [], plan, currency: plan.currency, subtotal: plan.amount + plan.one_time_amount };
}

async function priceItems({ db, company }: RequestContext, session: Sold, choice: Choice): Promise<Priced> {
  const chosen = quantitiesOf(session, choice);
  const products = await findOffered(db, company.id, [...chosen.keys()]);
  const lines = session.items.map(({ product_id, quantity_min, quantity_max }) => {
    const product = products.get(product_id);
    if (!product?.active) throw new NoLongerSold();
    const quantity = chosen.get(product_id) ?? 0;
    const { name, description, amount } = product;
    const total = amount * quantity;
    return { product_id, name, description, unit_amount: amount, quantity, quantity_min, quantity_max, total };
  });
  const currencies = new Set([...products.values()].map(({ currency }) => currency));
  const [currency = ''] = currencies;
  if (currencies.size !== 1) throw new NoLongerSold();
  return { lines, plan: null, currency, subtotal: lines.reduce((sum, { total }) => sum + total, 0) };
}

/** Throws if a quantity is outside of the range that the session allows. */
export function quantitiesOf({ items }: Pick<Sold, 'items'>, { quantities = [] }: Choice): Map<string, number> {
  const chosen = new Map(items.map(({ product_id, quantity }) => [product_id, quantity]));
  quantities.forEach(({ product_id, quantity }, index) => {
    const item = items.find((one) => one.product_id === product_id.toLowerCase());
    if (!item) throw invalidField(`quantities[${index}].product_id`, 'is not sold on this page');
    const { quantity_min, quantity_max } = item;
    if (quantity < quantity_min || quantity > quantity_max) {
      const range = quantity_min === quantity_max ? `${quantity_min}` : `from ${quantity_min} to ${quantity_max}`;
      throw invalidField(`quantities[${index}].quantity`, `must be ${range}`);
    }
    chosen.set(item.product_id, quantity);
  });
  return chosen;
}

async function discountOf(
  { db, company, nowMs }: RequestContext,
  { customer_id }: Sold,
  { lines, plan, currency, subtotal }: Priced,
  code: string,
): Promise<number> {
  const facts = await findCouponFacts(db, company.id, code, customer_id);
  const goods = plan
    ? ({ kind: 'plan', planId: plan.id, amount: subtotal } as const)
    : ({
        kind: 'cart',
        lines: lines.map(({ product_id, total }) => ({ productId: product_id, total })),
      } as const);
  return couponFor(facts, { nowMs, currency, goods }).discount;
}
