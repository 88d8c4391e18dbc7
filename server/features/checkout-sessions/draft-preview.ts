import Type, { type Static } from 'typebox';
import { defaultLocale, languageOf } from '../../customer-texts/languages.ts';
import { requirePermissions } from '../../http/caller.ts';
import { line, locale, name, nullable } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import type { RequestContext } from '../../request-context.ts';
import { discountOf } from '../coupons/service.ts';
import { billingCycle } from '../plans/schemas.ts';
import type { Profile } from '../profile/schemas.ts';
import { profileOf } from '../profile/service.ts';
import { agreementOf, agreementWords } from './agreement.ts';
import { acceptedCards } from './accepted-cards.ts';
import { type CheckoutPageDependencies, shownQuote, toMerchant } from './page.ts';
import type { PageSession } from './page-session.ts';
import { type Quote, quoteOf } from './quote.ts';
import { offerFields } from './schemas.ts';

/** The checkout page for a draft of the dashboard, as the page gets its data. Nothing is stored, so nothing can be paid. */

const { mode, items, plan_id, capture, coupon_code, allow_coupons, collect } = offerFields;

const typedProduct = Type.Object(
  {
    name: line(),
    amount: Type.Integer({ minimum: 0, maximum: limits.orderTotalCentsMax }),
    currency: Type.String({ format: 'currency' }),
    quantity_max: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.quantityMax })),
  },
  { additionalProperties: false, description: 'A product that is not in the catalog yet.' },
);

const typedPlan = Type.Object(
  {
    name: line(),
    amount: Type.Integer({ minimum: 0, maximum: limits.amountCentsMax }),
    one_time_amount: Type.Integer({ minimum: 0, maximum: limits.amountCentsMax }),
    currency: Type.String({ format: 'currency' }),
    billing_cycle: billingCycle,
    billing_cycles: Type.Integer({ minimum: 0, maximum: limits.billingCyclesMax }),
  },
  { additionalProperties: false, description: 'A plan that is not in the catalog yet.' },
);

const typedCoupon = Type.Object(
  {
    code: line(),
    percentage: nullable(Type.Number({ minimum: 0, maximum: 100 })),
    amount: nullable(Type.Integer({ minimum: 0, maximum: limits.amountCentsMax })),
    currency: Type.String({ format: 'currency' }),
    max_discount_amount: nullable(Type.Integer({ minimum: 0, maximum: limits.amountCentsMax })),
  },
  { additionalProperties: false, description: 'A coupon that does not exist yet, on an example.' },
);

const draftUrl = Type.String({ maxLength: limits.urlLength });

/** In the language in which the page is shown. */
const typedTexts = Type.Object(
  { terms_text: nullable(name({ maxLength: limits.termsTextLength })), terms_url: nullable(draftUrl) },
  { additionalProperties: false },
);

const typedProfile = Type.Object(
  {
    display_name: nullable(name({ maxLength: limits.displayNameLength })),
    color: nullable(Type.String({ format: 'color' })),
    terms_url: Type.Optional(nullable(draftUrl)),
    texts: Type.Optional(typedTexts),
  },
  { additionalProperties: false, description: 'Branding that is not saved yet.' },
);

export const checkoutDraft = Type.Object(
  {
    ...{ mode, items, plan_id, capture, coupon_code, allow_coupons, collect },
    product: Type.Optional(typedProduct),
    plan: Type.Optional(typedPlan),
    coupon: Type.Optional(typedCoupon),
    profile: Type.Optional(typedProfile),
    locale: Type.Optional(locale('The language in which the page is shown. Default: that of the browser.')),
  },
  { additionalProperties: false, title: 'CheckoutDraft' },
);
export type CheckoutDraft = Static<typeof checkoutDraft>;

/** The ID of nothing. */
const noId = '00000000-0000-0000-0000-000000000000';

/** Stands for the products of a draft that has none. */
const example = { name: 'Your product', amount: 4900, currency: 'usd' };

export async function showDraft(
  dependencies: Pick<CheckoutPageDependencies, 'images'>,
  request: RequestContext,
  draft: CheckoutDraft,
): Promise<PageSession> {
  const context = { ...request, ...(draft.locale && { locale: draft.locale }) };
  const { caller, company, db } = context;
  if (draft.items) requirePermissions(caller, ['products:read'], 'the items require', 'items');
  if (draft.plan_id) requirePermissions(caller, ['plans:read'], 'the plan requires', 'plan_id');
  if (draft.coupon_code) requirePermissions(caller, ['coupons:read'], 'the code requires', 'coupon_code');
  const profile = withDraft(await profileOf(db, company), draft, company.name, context.locale ?? defaultLocale);
  const merchant = toMerchant(profile, context.locale);
  const quote = await shownQuote(dependencies, context, await quoteOfDraft(context, draft));
  return {
    status: 'open',
    mode: quote.plan ? 'subscription' : 'payment',
    capture: quote.plan ? 'automatic' : (draft.capture ?? 'automatic'),
    livemode: company.mode === 'live',
    rehearsal: company.mode === 'rehearsal',
    merchant,
    ...quote,
    agreement: agreementOf(await agreementWords(context), profile),
    allow_coupons: draft.allow_coupons ?? false,
    collect: (draft.collect ?? []) as PageSession['collect'],
    customer: null,
    saved_cards: [],
    card_brands: await acceptedCards(context),
    attempt: 0,
    failure: null,
    notice: null,
    cancel_url: null,
    success_url: null,
    next_action: null,
    result: null,
    proof: null,
  };
}

function withDraft(saved: Profile, { profile }: CheckoutDraft, companyName: string, shownIn: string): Profile {
  if (!profile) return saved;
  const { color, display_name, terms_url = saved.terms_url, texts } = profile;
  const language = languageOf(shownIn) ?? defaultLocale;
  const version = 'draft';
  const own = { thank_you: null, support: null, ...saved.texts[language], ...texts, terms_version: version };
  return {
    ...saved,
    ...{ color, display_name: display_name ?? companyName, terms_url, terms_version: version },
    ...(texts && { texts: { ...saved.texts, [language]: own } }),
  };
}

async function quoteOfDraft(context: RequestContext, draft: CheckoutDraft): Promise<Quote> {
  if (draft.plan) return quoteOfPlan(draft.plan);
  if (draft.coupon) return withCoupon(quoteOfProduct({ ...example, currency: draft.coupon.currency }), draft.coupon);
  const sold = draft.mode === 'subscription' ? draft.plan_id : draft.items;
  if (!sold || draft.product) return quoteOfProduct(draft.product ?? example);
  const chosen = (draft.items ?? []).map(({ product_id, quantity, quantity_min, quantity_max }) => ({
    product_id: product_id.toLowerCase(),
    quantity,
    quantity_min: quantity_min ?? quantity,
    quantity_max: quantity_max ?? quantity,
  }));
  const session = {
    items: chosen,
    plan_id: draft.mode === 'subscription' ? (draft.plan_id ?? null) : null,
    customer_id: null,
    coupon_code: draft.coupon_code ?? null,
    allow_coupons: false,
  };
  return quoteOf(context, session, {});
}

function quoteOfProduct({ name: product, amount, currency, quantity_max = 1 }: Static<typeof typedProduct>): Quote {
  const one = { product_id: noId, quantity: 1, quantity_min: 1, quantity_max };
  const lines = [{ ...one, name: product, description: null, unit_amount: amount, total: amount }];
  return { lines, plan: null, currency, subtotal: amount, discount: 0, total: amount, coupon: null };
}

function quoteOfPlan(typed: Static<typeof typedPlan>): Quote {
  const total = typed.amount + typed.one_time_amount;
  const plan = { ...typed, id: noId };
  return { lines: [], plan, currency: typed.currency, subtotal: total, discount: 0, total, coupon: null };
}

function withCoupon(
  quote: Quote,
  { code, percentage, amount, max_discount_amount }: Static<typeof typedCoupon>,
): Quote {
  const percentage_hundredths = percentage === null ? null : Math.round(percentage * 100);
  const discount = discountOf({ percentage_hundredths, amount, max_discount_amount }, quote.subtotal);
  return { ...quote, discount, total: quote.subtotal - discount, coupon: { code: code.toUpperCase() } };
}
