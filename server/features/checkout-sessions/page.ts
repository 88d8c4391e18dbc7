import { defaultLocale } from '../../customer-texts/languages.ts';
import { translatedReason } from '../../customer-texts/payments.ts';
import { ApiError, type FieldError, invalidField, notFound, validationError } from '../../errors.ts';
import { dayMs } from '../../platform/durations.ts';
import { mustNameDuty } from '../../platform/order-duty.ts';
import { type Reservation, withReservation } from '../../platform/rate-limiter/reservations.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import type { RequestContext } from '../../request-context.ts';
import { customersById } from '../customers/service.ts';
import type { Order } from '../orders/schemas.ts';
import { paidOf } from '../orders/service.ts';
import { CardNotVerified, paymentMethodsOf } from '../payment-methods/service.ts';
import { type ImageLinks, firstImagesOf } from '../products/service.ts';
import type { Profile } from '../profile/schemas.ts';
import { ownText, profileOf } from '../profile/service.ts';
import { acceptedCards } from './accepted-cards.ts';
import {
  type CardTestingGuard,
  isProven,
  limitingDeclines,
  neededProof,
  type PaymentTry,
  proofFor,
} from './card-testing.ts';
import { agreementOf, agreementWords, renewalText } from './agreement.ts';
import { nextActionOf } from './at-bank.ts';
import type { Payment } from './page-schemas.ts';
import type { Merchant, PageSession, Result, ShownReceipt } from './page-session.ts';
import { beginPayment, checkAttempts, isDecline, mayUseSavedCards, type PayDependencies, runPayment } from './pay.ts';
import { findOpenPayment } from './payment-queries.ts';
import { findSession, type SessionRow } from './queries.ts';
import { type Choice, NoLongerSold, type Quote, quoteOf } from './quote.ts';

/** What the checkout page shows. Nothing in it comes from the page. */

export interface CheckoutPageDependencies extends PayDependencies {
  readonly baseUrl: string;
  readonly guard: CardTestingGuard;
  readonly linkKey: ServiceKey;
  readonly images: ImageLinks;
  readonly receiptOf: (context: RequestContext, order: Order, profile: Profile) => Promise<ShownReceipt>;
}

export const merchantOf = async ({ db, company, locale }: RequestContext): Promise<Merchant> =>
  toMerchant(await profileOf(db, company), locale);

export const toMerchant = (profile: Profile, locale = defaultLocale): Merchant => ({
  name: profile.display_name,
  logo_url: profile.logo_url,
  color: profile.color,
  support_email: profile.support_email,
  support: ownText(profile, 'support', locale),
  names_duty: mustNameDuty(profile.address?.country),
});

export async function showSession(
  dependencies: CheckoutPageDependencies,
  context: RequestContext,
  session: SessionRow,
  choice: Choice & Partial<Payment> = {},
  notice: PageSession['notice'] = null,
): Promise<PageSession> {
  const status = statusOf(context, session);
  const profile = await profileOf(context.db, context.company);
  const common = {
    mode: session.mode,
    capture: session.capture,
    livemode: context.company.mode === 'live',
    rehearsal: context.company.mode === 'rehearsal',
    merchant: toMerchant(profile, context.locale),
    allow_coupons: session.allow_coupons,
    collect: session.collect,
    attempt: session.attempts,
    notice,
    cancel_url: session.cancel_url,
  };
  // It saves a card, on a page of its own.
  if (session.mode === 'setup') return { ...common, ...empty, status: 'unavailable' };
  if (status === 'completed') return { ...common, ...(await completed(dependencies, context, session, profile)) };
  if (status === 'expired') return { ...common, ...empty, status };
  if (status === 'processing') return { ...common, ...(await inProgress(dependencies, context, session, choice)) };
  // The merchant has disconnected its processor since.
  if (!context.company.processor) return { ...common, ...empty, status: 'unavailable' };
  const known = await knownCustomer(context, session);
  // The customer was deleted, so the session can no longer be paid.
  if (session.customer_id !== null && known.customer === null) return { ...common, ...empty, status: 'expired' };
  const quote = await quoteIfSold(context, session, choice);
  if (!quote) return { ...common, ...empty, status: 'unavailable' };
  return {
    ...common,
    status,
    ...(await shownQuote(dependencies, context, quote)),
    ...known,
    agreement: agreementOf(await agreementWords(context), profile),
    card_brands: await acceptedCards(context),
    failure: await inLocaleOf(context, session.failure),
    success_url: null,
    next_action: null,
    result: null,
    proof: await proofFor(dependencies.guard, context, session),
  };
}

const inLocaleOf = async ({ locale }: RequestContext, failure: SessionRow['failure']): Promise<SessionRow['failure']> =>
  failure && { ...failure, message: await translatedReason(failure.message, locale) };

const nothing: Pick<
  PageSession,
  | 'lines'
  | 'plan'
  | 'currency'
  | 'subtotal'
  | 'discount'
  | 'total'
  | 'coupon'
  | 'renewal'
  | 'agreement'
  | 'customer'
  | 'saved_cards'
  | 'card_brands'
  | 'failure'
  | 'next_action'
  | 'proof'
> = {
  lines: [],
  plan: null,
  currency: null,
  subtotal: 0,
  discount: 0,
  total: 0,
  coupon: null,
  renewal: null,
  agreement: null,
  customer: null,
  saved_cards: [],
  card_brands: [],
  failure: null,
  next_action: null,
  proof: null,
};
const empty: typeof nothing & Pick<PageSession, 'success_url' | 'result'> = {
  ...nothing,
  success_url: null,
  result: null,
};

async function quoteIfSold(context: RequestContext, session: SessionRow, choice: Choice): Promise<Quote | undefined> {
  try {
    return await quoteOf(context, session, choice);
  } catch (error) {
    if (error instanceof NoLongerSold) return undefined;
    throw error;
  }
}

/** What is being paid was decided when the payment began: prices of now, and what the page sends, do not matter. */
async function inProgress(
  dependencies: CheckoutPageDependencies,
  context: RequestContext,
  session: SessionRow,
  choice: Partial<Payment>,
): Promise<typeof empty & Pick<PageSession, 'status' | 'lines' | 'plan' | 'currency' | 'total'>> {
  const payment = await findOpenPayment(context.db, context.company.id, session.id);
  const status = 'processing';
  const next_action = payment ? await nextActionOf(dependencies, context, payment, choice) : null;
  const input = payment?.input.input;
  const paid = { coupon_code: input?.coupon_code, quantities: input && 'items' in input ? input.items : [] };
  const shown = await quoteOf(context, session, paid)
    .then((quote) => shownQuote(dependencies, context, quote))
    .catch((error: unknown) => {
      if (error instanceof ApiError) return undefined;
      throw error;
    });
  if (shown && shown.total === payment?.total) return { ...empty, ...shown, status, next_action };
  const currency = input && 'currency' in input ? (input.currency ?? null) : (shown?.currency ?? null);
  return { ...empty, status, next_action, currency, total: payment?.total ?? 0 };
}

/** By the clock of the company, a session may be over before the worker has noticed it. */
export function statusOf({ nowMs }: RequestContext, session: SessionRow): PageSession['status'] {
  if (session.status !== 'open') return session.status;
  if (session.paying) return 'processing';
  return session.expires_at.getTime() <= nowMs ? 'expired' : 'open';
}

export async function shownQuote(
  { images }: Pick<CheckoutPageDependencies, 'images'>,
  context: RequestContext,
  quote: Quote,
) {
  const { db, company } = context;
  const { lines, plan, currency, subtotal, discount, total, coupon } = quote;
  const pictures = await firstImagesOf(
    db,
    company.id,
    images,
    lines.map(({ product_id }) => product_id),
  );
  return {
    lines: lines.map((line) => ({ ...line, image_url: pictures.get(line.product_id) ?? null })),
    plan: plan && {
      name: plan.name,
      amount: plan.amount,
      one_time_amount: plan.one_time_amount,
      interval: plan.billing_cycle.interval,
      interval_count: plan.billing_cycle.interval_count,
      billing_cycles: plan.billing_cycles === 0 ? null : plan.billing_cycles,
    },
    currency,
    subtotal,
    discount,
    total,
    coupon,
    renewal: renewalText(await agreementWords(context), quote),
  };
}

/** Only for a customer that the merchant named when it created the session. */
async function knownCustomer(
  context: RequestContext,
  session: SessionRow,
): Promise<Pick<PageSession, 'customer' | 'saved_cards'>> {
  const { customer_id } = session;
  const customer = customer_id ? (await customersById(context, [customer_id])).get(customer_id) : undefined;
  if (!customer || customer.deleted) return { customer: null, saved_cards: [] };
  const cards = mayUseSavedCards(session)
    ? ((await paymentMethodsOf(context.db, context.company.id, [customer.id])).get(customer.id) ?? [])
    : [];
  const { email, first_name, last_name } = customer;
  return {
    customer: { email, first_name, last_name },
    saved_cards: cards.map(({ id, is_default, card: { brand, last4, exp_month, exp_year } }) => ({
      id,
      brand,
      last4,
      exp_month,
      exp_year,
      is_default,
    })),
  };
}

/** The page shows the result of a payment for a day. After that it says no more than that the session was paid. */
const isLongAgo = ({ nowMs }: RequestContext, { completed_at }: SessionRow): boolean =>
  completed_at !== null && nowMs > completed_at.getTime() + dayMs;

async function completed(
  { orders, receiptOf }: CheckoutPageDependencies,
  context: RequestContext,
  session: SessionRow,
  profile: Profile,
): Promise<typeof nothing & Pick<PageSession, 'status' | 'success_url' | 'result'>> {
  if (isLongAgo(context, session)) return { ...empty, status: 'completed' };
  const order = await orders.get(context, session.order_id ?? '', new Set());
  const { order_number, currency, payment_method } = order;
  const payment = paymentOf(order);
  return {
    ...nothing,
    status: 'completed',
    success_url: session.success_url?.replaceAll('{CHECKOUT_SESSION_ID}', session.id) ?? null,
    result: {
      order_number,
      ...payment,
      thank_you: payment.state === 'released' ? null : ownText(profile, 'thank_you', context.locale ?? defaultLocale),
      currency,
      card: { brand: payment_method.card_brand, last4: payment_method.card_last_four },
      ...(await receiptOf(context, order, profile)),
    },
  };
}

/** What happened to the payment: only a part may have been captured of what was held. */
function paymentOf(order: Order): Pick<Result, 'state' | 'total'> {
  const { status, total, authorized_amount } = order;
  if (authorized_amount === null || total === 0) return { state: 'paid', total };
  if (status === 'pending') return { state: 'held', total: authorized_amount };
  return status === 'voided' && order.captured_amount === 0
    ? { state: 'released', total: authorized_amount }
    : { state: 'paid', total: paidOf(order) };
}

/** Who pays: the address, and the limit of the codes that are tried from it. */
export interface Payer {
  readonly address: string;
  readonly reserveCode: () => Promise<Reservation | undefined>;
}

/**
 * Pays the session. Repeating a payment with its number shows its outcome. An outcome that is not known yet is shown
 * as `processing`. A code that is refused counts as if the page had asked for its price.
 */
export async function paySession(
  dependencies: CheckoutPageDependencies,
  context: RequestContext,
  session: SessionRow,
  input: Payment,
  payer: Payer,
): Promise<PageSession> {
  const { coupon_code } = input;
  const isTyped = coupon_code !== undefined && coupon_code !== session.coupon_code;
  const reservation = isTyped ? await payer.reserveCode() : undefined;
  const pay = (): Promise<PageSession> => payAtItsPrice(dependencies, context, session, input, payer.address);
  return reservation ? withReservation(reservation, isRefusedCode, pay) : pay();
}

const isRefusedCode = (error: unknown): boolean => error instanceof ApiError && error.param === 'coupon_code';

async function payAtItsPrice(
  dependencies: CheckoutPageDependencies,
  context: RequestContext,
  session: SessionRow,
  input: Payment,
  address: string,
): Promise<PageSession> {
  const { guard } = dependencies;
  const show = async (notice: PageSession['notice'] = null): Promise<PageSession> => {
    const current = (await findSession(context.db, context.company.id, session.id)) ?? session;
    return showSession(dependencies, context, current, input, notice);
  };
  const isOver = statusOf(context, session) !== 'open' || !context.company.processor || session.mode === 'setup';
  if (isOver || input.attempt < session.attempts) return show();
  if (input.attempt > session.attempts) throw invalidField('attempt', `must be ${session.attempts}`);
  checkAttempts(session);
  checkDetails(session, input);
  const quote = await quoteOf(context, session, input);
  if (quote.total !== input.total) return show('total_changed');
  return limitingDeclines(guard, context, address, async (tried) => {
    const proof = tried.needsProof ? await neededProof(guard, context, session) : null;
    if (proof && !isProven(proof, input.proof)) return { ...(await show()), proof };
    const payment = await beginPayment(dependencies, context, session, input, quote).catch((error: unknown) => {
      // A card that the shop refuses tells a thief as much as a decline.
      if (error instanceof CardNotVerified) tried.outcome = 'declined';
      throw error;
    });
    if (!payment) return show();
    tried.outcome = 'unknown';
    try {
      await runPayment(dependencies, context, payment);
    } catch (error) {
      // The outcome is unknown: the page asks again, and a worker continues the payment.
      if (!(error instanceof ApiError)) throw error;
    }
    const shown = await show();
    tried.outcome = outcomeOf(shown, input);
    return shown.failure?.code === 'total_changed' ? { ...shown, notice: 'total_changed' } : shown;
  });
}

function outcomeOf({ status, attempt, failure }: PageSession, input: Payment): PaymentTry['outcome'] {
  if (status === 'completed') return 'succeeded';
  if (attempt === input.attempt || !failure) return 'unknown';
  return isDecline(failure) ? 'declined' : 'not charged';
}

/** For the sandbox: pays a session at the price that it has now. */
export async function paySessionById(
  dependencies: CheckoutPageDependencies,
  context: RequestContext,
  id: string,
  input: Omit<Payment, 'attempt' | 'total'>,
): Promise<PageSession> {
  const session = await findSession(context.db, context.company.id, id);
  if (!session) throw notFound('checkout session');
  const { total } = await quoteOf(context, session, input);
  const payment = { ...input, attempt: session.attempts, total };
  return payAtItsPrice(dependencies, context, session, payment, '127.0.0.1');
}

function checkDetails({ customer_id, collect }: SessionRow, { customer, shipping }: Payment): void {
  const problems: FieldError[] = [];
  const required = (field: string): void =>
    void problems.push({ field, code: 'required_field', message: 'is required' } as const);
  if (!customer_id && !customer) required('customer');
  if (collect.includes('shipping')) {
    for (const field of ['line1', 'city', 'country'] as const) if (!shipping?.[field]) required(`shipping.${field}`);
  }
  if (problems.length > 0) throw validationError(problems);
}
