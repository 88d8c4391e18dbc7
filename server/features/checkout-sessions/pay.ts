import { createHash } from 'node:crypto';
import { ApiError, invalidField, notFound } from '../../errors.ts';
import { notChargedTexts } from '../../customer-texts/payments.ts';
import { keyForWork, refusalOf } from '../../http/phases.ts';
import { limits } from '../../limits.ts';
import type { DatabasePool } from '../../platform/database.ts';
import { hourMs } from '../../platform/durations.ts';
import type { RequestContext } from '../../request-context.ts';
import { createCustomer, findCustomerByEmail } from '../customers/service.ts';
import { emitEvents, newEvent } from '../events/service.ts';
import { recordConsents } from '../consents/service.ts';
import type { Order } from '../orders/schemas.ts';
import { notConfirmedReason, orderOfKey, type Orders, withdrawConfirmation } from '../orders/service.ts';
import {
  attachRedeemed,
  type CardDependencies,
  getPaymentMethod,
  type PaymentMethodReferences,
  redeemCard,
  type RedeemedCard,
} from '../payment-methods/service.ts';
import { checkGate } from '../restores/service.ts';
import type { Subscriptions } from '../subscriptions/service.ts';
import { failureCodes } from '../../vault/processors/processor.ts';
import { consentsGiven } from './agreement.ts';
import { customerReason } from './customer-reason.ts';
import type { Payment } from './page-schemas.ts';
import { countPayment, releasePayment } from './link-payments.ts';
import { endPayment, insertPayment, keepCustomerUntil, type PaymentRow, type Purchase } from './payment-queries.ts';
import {
  completeSession,
  type Failure,
  lockSession,
  recordFailure,
  rememberCustomer,
  type SessionRow,
} from './queries.ts';
import { quantitiesOf, type Quote } from './quote.ts';
import { toWire } from './session.ts';

/**
 * The payment of a session, in three steps. First, one transaction chooses the customer, attaches the card and records
 * the payment; the database allows one payment in progress or succeeded per session. Then the order or subscription is
 * created under an idempotency key that belongs to this payment, exactly as the API creates it. Then its outcome is
 * recorded on the session. If the process dies in between, a worker repeats the second step under the same key.
 */

export interface RunDependencies {
  readonly db: DatabasePool;
  readonly orders: Orders;
  readonly subscriptions: Subscriptions;
}

export interface PayDependencies extends RunDependencies {
  readonly cards: CardDependencies;
  readonly references: PaymentMethodReferences;
}

/** Less than the life of an idempotency key. */
const validHours = limits.idempotencyKeyHours - 1;

/** After this time a worker continues the payment. */
const checkAfterSeconds = 10;

/** Two visitors with the same new email address may create the customer at once: the second finds it. */
const tries = 3;

/** Records the payment. Returns undefined if the session is over, or another payment of it is in progress. */
export async function beginPayment(
  dependencies: PayDependencies,
  context: RequestContext,
  session: SessionRow,
  input: Payment,
  quote: Quote,
): Promise<PaymentRow | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await context.db.transaction((transaction) =>
        begin(dependencies, { ...context, db: transaction }, session.id, input, quote),
      );
    } catch (error) {
      const isTaken = error instanceof ApiError && error.code.endsWith('_already_exists');
      if (!isTaken || attempt === tries) throw error;
    }
  }
}

async function begin(
  { cards, references }: PayDependencies,
  context: RequestContext,
  sessionId: string,
  input: Payment,
  quote: Quote,
): Promise<PaymentRow | undefined> {
  const { db, company } = context;
  const session = await lockSession(db, company.id, sessionId);
  if (session?.status !== 'open' || session.attempts !== input.attempt) return undefined;
  if (session.paying) return undefined;
  // Otherwise the card would be charged later, when the customer no longer waits for it.
  if (quote.total > 0) await checkGate(db, company.id);
  const consents = await consentsGiven(context, input, quote);
  // What does not depend on the customer comes first: if it is refused, the time does not tell whether there is one.
  await countPayment(db, context, session, quote.total);
  const card = await chosenCard(context, cards, session, input);
  const { id: customerId, isNew } = await customerOf(context, session, input);
  if (isNew) await rememberCustomer(db, session, customerId);
  const methodId =
    typeof card === 'string'
      ? (await getPaymentMethod(context, customerId, card)).id
      : await attachNew(context, references, session, { id: customerId, isNew }, card, agreesToSave(input, quote));
  const purchase = { ...purchaseOf(session, customerId, methodId, input, quote), consents };
  return insertPayment(
    db,
    {
      company_id: company.id,
      session_id: session.id,
      number: session.attempts,
      input: purchase,
      total: quote.total,
      valid_until: new Date(context.nowMs + validHours * hourMs),
    },
    checkAfterSeconds,
  );
}

/**
 * The customer with the email address that was entered, or a new one. The data of an existing customer stays
 * unchanged, and the page does not learn whether there was one.
 */
async function customerOf(
  context: RequestContext,
  session: SessionRow,
  { customer: details }: Payment,
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  const { customer_id } = session;
  if (customer_id) return { id: customer_id, isNew: false };
  if (!details) throw invalidField('customer', 'is required', 'required_field');
  const known = await findCustomerByEmail(context, details.email);
  // A customer that an earlier try of this session created is still new.
  if (known) return { id: known.id, isNew: known.id === session.made_customer_id };
  const { email, first_name, last_name, phone, company, tax_id } = details;
  const input = {
    email,
    first_name,
    last_name,
    phone,
    ...(company !== undefined && { company }),
    ...(tax_id !== undefined && { tax_id }),
    ...(context.locale !== undefined && { locale: context.locale }),
  };
  return { id: (await createCustomer(context, input, { sharesPhone: true })).id, isNew: true };
}

/** Saved cards are for customers that the merchant has identified. Everyone who has a payment link can open its page. */
export const mayUseSavedCards = ({ customer_id, payment_link_id }: SessionRow): boolean =>
  customer_id !== null && payment_link_id === null;

/** The ID of a saved card, or the card of a token, which is used up. */
async function chosenCard(
  context: RequestContext,
  cards: CardDependencies,
  session: SessionRow,
  { card_token, payment_method_id }: Payment,
): Promise<string | RedeemedCard> {
  if (payment_method_id !== undefined) {
    if (!mayUseSavedCards(session)) throw notFound('payment method', 'payment_method_id');
    return payment_method_id.toLowerCase();
  }
  if (card_token === undefined) throw invalidField('card_token', 'is required', 'required_field');
  return redeemCard(context, cards, { card_token });
}

async function attachNew(
  context: RequestContext,
  references: PaymentMethodReferences,
  session: SessionRow,
  { id, isNew }: { readonly id: string; readonly isNew: boolean },
  card: RedeemedCard,
  agreed: boolean,
): Promise<string> {
  // Without a customer_id, it is not known who typed the card.
  const isOfCustomer = isNew || mayUseSavedCards(session);
  const unlisted = !isOfCustomer || !agreed;
  return (await attachRedeemed(context, references, id, card, { set_as_default: isNew, unlisted })).id;
}

/** A subscription cannot renew without a card, so its terms say that the card is saved. */
const agreesToSave = ({ save_card }: Payment, { plan }: Quote): boolean =>
  save_card === true || (plan !== null && plan.billing_cycles !== 1);

function purchaseOf(session: SessionRow, customerId: string, methodId: string, input: Payment, quote: Quote): Purchase {
  const code = quote.coupon?.code;
  const common = {
    customer_id: customerId,
    payment_method_id: methodId,
    metadata: session.metadata,
    ...(code !== undefined && { coupon_code: code }),
    ...(input.shipping && session.collect.includes('shipping') && { shipping: input.shipping }),
  };
  const chosen = choiceOf(input);
  if (session.plan_id) return { chosen, kind: 'subscription', input: { ...common, plan_id: session.plan_id } };
  const items = [...quantitiesOf(session, input)].map(([product_id, quantity]) => ({ product_id, quantity }));
  const order = { ...common, items, currency: quote.currency };
  return session.capture === 'manual'
    ? { chosen, kind: 'authorization', input: { ...order, capture: 'manual' } }
    : { chosen, kind: 'order', input: order };
}

/** A token is used up by then, and is not kept as it was. */
export const choiceOf = ({ card_token, payment_method_id }: Payment): string =>
  createHash('sha256')
    .update(payment_method_id?.toLowerCase() ?? card_token ?? '')
    .digest('base64url');

/** Keys of the API cannot contain a colon. */
export const keyOf = ({ session_id, number }: PaymentRow): string => `checkout:${session_id}:${number}`;

/** Creates the order or subscription and records its outcome. Throws while the outcome is unknown. */
export async function runPayment(
  dependencies: RunDependencies,
  context: RequestContext,
  payment: PaymentRow,
): Promise<void> {
  const made = await createOnce(dependencies, context, payment).catch(async (error: unknown) => {
    const waiting = error instanceof ApiError ? await withCustomer(dependencies, context, payment) : undefined;
    if (waiting) return waiting;
    throw error;
  });
  await recordOutcome(dependencies, context, payment, made);
}

/**
 * The order, or why nothing was charged. A key is forgotten after 24 hours, and the order that it created is found by
 * the reference of its charge.
 */
async function createOnce(
  { orders, subscriptions }: RunDependencies,
  context: RequestContext,
  payment: PaymentRow,
): Promise<Order | ApiError> {
  const { company, db } = context;
  const key = keyOf(payment);
  const known = await orderOfKey(db, company.id, key);
  if (known) {
    const waiting = await withCustomer({ orders }, context, payment);
    if (waiting) return waiting;
    await orders.reconcileSale(company.id, known);
    return orders.get(context, known, new Set());
  }
  if (context.nowMs >= payment.valid_until.getTime()) return tooLate();
  const phased = keyForWork(context, key, '/checkout');
  const { input: purchase, total: shownTotal } = payment;
  const answer =
    purchase.kind === 'subscription'
      ? await subscriptions.create(context, { ...purchase.input, shownTotal }, phased)
      : await orders.create(context, { ...purchase.input, shownTotal }, phased);
  const refusal = refusalOf(answer);
  if (refusal) return refusal;
  const { id, latest_order_id } = JSON.parse(answer.body) as { id: string; latest_order_id?: string };
  return orders.get(context, purchase.kind === 'subscription' ? (latest_order_id ?? '') : id, new Set());
}

/** The order whose customer is at the bank. The session shows how long. Undefined if the payment does not wait for that. */
async function withCustomer(
  { orders }: Pick<RunDependencies, 'orders'>,
  context: RequestContext,
  payment: PaymentRow,
): Promise<Order | undefined> {
  const { company, db } = context;
  const orderId = await orderOfKey(db, company.id, keyOf(payment));
  const action = orderId && (await orders.nextAction(company.id, orderId));
  const until = action ? action.expiresAt : null;
  if (until?.getTime() !== payment.customer_until?.getTime()) await keepCustomerUntil(db, payment, until);
  return action ? orders.get(context, orderId, new Set()) : undefined;
}

const tooLate = (): ApiError => new ApiError('invalid_request', 'The payment took longer than a day.');

async function recordOutcome(
  { db }: RunDependencies,
  { company, nowMs, requestId }: RequestContext,
  payment: PaymentRow,
  made: Order | ApiError,
): Promise<void> {
  const failure = failureOf(made);
  // A charge that is still pending has no outcome to record, unless it is only authorized.
  if (!(made instanceof ApiError) && made.status === 'pending' && made.capture_before === null) return;
  const now = new Date(nowMs);
  await db.transaction(async (transaction) => {
    const session = await lockSession(transaction, company.id, payment.session_id);
    if (!session || !(await endPayment(transaction, payment, failure ? 'ended' : 'succeeded'))) return;
    if (failure) {
      if (!(made instanceof ApiError) && isAsked(made)) await withdrawConfirmation(transaction, company.id, made.id);
      await recordFailure(transaction, session, failure, now);
      await releasePayment(transaction, session);
      return;
    }
    if (made instanceof ApiError) return;
    const ids = { order_id: made.id, subscription_id: made.subscription_id };
    const completed = await completeSession(transaction, session, ids, now);
    if (!completed) return;
    await recordConsents(transaction, company.id, ids, payment.input.consents);
    const event = newEvent(
      company.id,
      nowMs,
      'checkout_session.completed',
      toWire(completed, company, null),
      1,
      requestId,
    );
    await emitEvents(transaction, [event]);
  });
}

/**
 * A worker has sent the charge, without the customer, because the process stopped that the customer had asked: so the bank could
 * not ask. The page lets the customer pay again, which is another order: this one must not be paid as well.
 */
const isAsked = ({ authentication_url }: Order): boolean => authentication_url !== null;

function failureOf(made: Order | ApiError): Failure | undefined {
  if (made instanceof ApiError)
    return { code: made.param === 'total' ? 'total_changed' : made.code, message: customerReason(made) };
  if (made.status !== 'failed') return undefined;
  if (made.failure_reason === notConfirmedReason || isAsked(made))
    return { code: 'not_confirmed', message: notChargedTexts.bank };
  const code = made.failure_code ?? 'unknown';
  return { code, message: customerReason(code) };
}

/** Whether the bank declined the last payment. Payments that were refused before they were sent do not count. */
export const isDecline = ({ code }: Failure): boolean => failureCodes.some((known) => known === code);

/** Whether the customer may try again. */
export function checkAttempts({ attempts }: SessionRow): void {
  if (attempts < limits.checkoutAttempts) return;
  throw new ApiError('too_many_requests', 'Too many payments were declined. Ask the shop for a new link.');
}
