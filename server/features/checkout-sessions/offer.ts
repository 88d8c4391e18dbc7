import { requireProcessor } from '../../company.ts';
import { type FieldError, invalidField, notFound, validationError } from '../../errors.ts';
import { absoluteUrl, urlRule } from '../../platform/absolute-url.ts';
import type { RequestContext } from '../../request-context.ts';
import type { CaptureMode } from '../orders/schemas.ts';
import { planToSubscribe } from '../plans/service.ts';
import { findOffered } from './offer-queries.ts';
import type { SessionItem } from './queries.ts';
import type { CheckoutSessionCreate } from './schemas.ts';

/** What a session or a payment link sells. It is checked when it is created, and again when it is paid. */

type OfferInput = Pick<CheckoutSessionCreate, 'mode' | 'items' | 'plan_id' | 'capture' | 'success_url'>;

export interface Offer {
  readonly mode: 'payment' | 'subscription' | 'setup';
  readonly items: readonly SessionItem[];
  readonly plan_id: string | null;
  readonly capture: CaptureMode;
}

/** What is paid. */
export interface Sale extends Offer {
  readonly mode: 'payment' | 'subscription';
}

export async function offerOf(context: RequestContext, input: OfferInput): Promise<Sale> {
  checkReturnUrl(context, 'success_url', input.success_url);
  requireProcessor(context.company);
  if (input.mode === 'setup') throw invalidField('mode', 'must be payment or subscription');
  if (input.mode === 'subscription') return planOffer(context, input);
  if (input.plan_id) throw invalidField('plan_id', 'must be omitted unless mode is subscription');
  if (!input.items) throw invalidField('items', 'is required if mode is payment', 'required_field');
  const { capture = 'automatic' } = input;
  return { mode: 'payment', items: await itemsOffered(context, input.items), plan_id: null, capture };
}

/** What a session sells that only saves a card: nothing. */
export function setupOffer(context: RequestContext, input: CheckoutSessionCreate): Offer & { readonly mode: 'setup' } {
  checkReturnUrl(context, 'success_url', input.success_url);
  requireProcessor(context.company);
  for (const field of ['items', 'plan_id', 'coupon_code'] as const) {
    if (input[field] !== undefined) throw invalidField(field, 'must be omitted if mode is setup');
  }
  if (input.capture === 'manual') throw invalidField('capture', 'must be automatic if mode is setup');
  if (input.allow_coupons) throw invalidField('allow_coupons', 'must be false if mode is setup');
  if (input.collect && input.collect.length > 0) throw invalidField('collect', 'must be empty if mode is setup');
  if (!input.customer_id) throw invalidField('customer_id', 'is required if mode is setup', 'required_field');
  return { mode: 'setup', items: [], plan_id: null, capture: 'automatic' };
}

async function planOffer({ db, company }: RequestContext, { items, plan_id, capture }: OfferInput): Promise<Sale> {
  if (items) throw invalidField('items', 'must be omitted if mode is subscription');
  if (!plan_id) throw invalidField('plan_id', 'is required if mode is subscription', 'required_field');
  if (capture === 'manual') throw invalidField('capture', 'must be automatic if mode is subscription');
  const plan = await planToSubscribe(db, company.id, plan_id.toLowerCase());
  return { mode: 'subscription', items: [], plan_id: plan.id, capture: 'automatic' };
}

async function itemsOffered(
  { db, company }: RequestContext,
  input: NonNullable<OfferInput['items']>,
): Promise<SessionItem[]> {
  const items = input.map(({ product_id, quantity, quantity_min, quantity_max }) => ({
    product_id: product_id.toLowerCase(),
    quantity,
    quantity_min: quantity_min ?? quantity,
    quantity_max: quantity_max ?? quantity,
  }));
  const problems: FieldError[] = [];
  const refuse = (field: string, message: string): void =>
    void problems.push({ field, code: 'invalid_value', message });
  const products = await findOffered(
    db,
    company.id,
    items.map(({ product_id }) => product_id),
  );
  const seen = new Set<string>();
  items.forEach(({ product_id, quantity, quantity_min, quantity_max }, index) => {
    const product = products.get(product_id);
    if (!product) throw notFound('product', `items[${index}].product_id`);
    if (!product.active) refuse(`items[${index}].product_id`, 'is an archived product. Choose an active product');
    if (seen.has(product_id)) refuse(`items[${index}].product_id`, 'must not appear twice');
    seen.add(product_id);
    if (quantity_min > quantity) refuse(`items[${index}].quantity_min`, 'must not be larger than quantity');
    if (quantity_max < quantity) refuse(`items[${index}].quantity_max`, 'must not be smaller than quantity');
  });
  const currencies = new Set([...products.values()].map(({ currency }) => currency));
  if (currencies.size > 1) {
    refuse('items', `must have the same currency; these have ${[...currencies].toSorted().join(', ')}`);
  }
  if (problems.length > 0) throw validationError(problems);
  return items;
}

const localNames = ['localhost', '127.0.0.1', '[::1]'];

/** Customers are sent there, so it must be encrypted. Without real money, it may lead to a program on the same machine. */
export function checkReturnUrl({ company }: RequestContext, field: string, text: string | null | undefined): void {
  if (text === null || text === undefined) return;
  const url = absoluteUrl(text);
  if (!url && /^\s*https?:/i.test(text)) throw invalidField(field, urlRule('https://shop.example.com/thanks'));
  const isLocal = company.mode !== 'live' && url?.protocol === 'http:' && localNames.includes(url.hostname);
  if (url?.username || url?.password) throw invalidField(field, 'must not contain a user name or password');
  if (url?.protocol === 'https:' || isLocal) return;
  const local = company.mode !== 'live' ? ', or with http://localhost' : '';
  throw invalidField(field, `must be a URL that begins with https://${local}`);
}
