import { ApiError } from '../../errors.ts';
import { withoutKey } from '../../http/phases.ts';
import { dayMs } from '../../platform/durations.ts';
import type { RequestContext } from '../../request-context.ts';
import { declineTexts, notChargedTexts, translatedReason } from '../../customer-texts/payments.ts';
import { type CardTestingGuard, limitingDeclines, type Merchant, merchantOf } from '../checkout-sessions/service.ts';
import type { Order } from '../orders/schemas.ts';
import { notConfirmedReason, type Orders, type RetryTerms } from '../orders/service.ts';
import { cardToConfirm } from '../subscriptions/service.ts';

/** What the page shows on which a customer confirms one payment with the bank, and what it does. */

/** What the token of the page leads to. */
export interface PaymentToConfirm {
  readonly orderId: string;
}

export interface ConfirmationDependencies {
  readonly baseUrl: string;
  readonly orders: Orders;
  readonly guard: CardTestingGuard;
}

interface ShownPayment {
  readonly status: 'open' | 'processing' | 'confirmed' | 'ended';
  readonly livemode: boolean;
  readonly rehearsal: boolean;
  readonly merchant: Merchant;
  readonly details: {
    readonly order_number: string;
    readonly amount: number;
    readonly currency: string;
    readonly card: { readonly brand: string; readonly last4: string };
    readonly is_held: boolean;
  } | null;
  readonly declines: number;
  readonly failure: string | null;
  readonly next_action: { readonly url: string; readonly expires_at: string } | null;
}

export async function showPayment(
  { orders }: Pick<ConfirmationDependencies, 'orders'>,
  context: RequestContext,
  { orderId }: PaymentToConfirm,
): Promise<ShownPayment> {
  const { company } = context;
  const order = await orders.get(context, orderId, new Set());
  const card = await cardToConfirm(context, order).catch(ignoringRefusals);
  const action = await orders.nextAction(company.id, orderId);
  const status = statusOf(order, card !== undefined, action !== undefined);
  return {
    status,
    livemode: company.mode === 'live',
    rehearsal: company.mode === 'rehearsal',
    merchant: await merchantOf(context),
    details: isLongOver(context, order, status) ? null : detailsOf(order, status === 'open' ? card : undefined),
    declines: order.attempt_count,
    failure: status === 'open' ? await failureOf(context, order) : null,
    next_action:
      status === 'processing' && action ? { url: action.url, expires_at: action.expiresAt.toISOString() } : null,
  };
}

/** A deleted card, or the card of another customer. */
function ignoringRefusals(error: unknown): undefined {
  if (!(error instanceof ApiError)) throw error;
}

const notPaid: readonly Order['status'][] = ['failed', 'voided'];

function statusOf(order: Order, hasCard: boolean, isAtBank: boolean): ShownPayment['status'] {
  const isUnderWay = isAtBank || order.transactions.some(({ status }) => status === 'in_progress');
  if (isUnderWay && (order.status === 'failed' || order.status === 'pending')) return 'processing';
  if (order.status === 'failed' && order.authentication_url !== null && hasCard) return 'open';
  return notPaid.includes(order.status) ? 'ended' : 'confirmed';
}

/** The page shows what was paid for a day. After that it says no more than that it was. */
const isLongOver = ({ nowMs }: RequestContext, order: Order, status: ShownPayment['status']): boolean =>
  status === 'ended' || (status === 'confirmed' && nowMs > Date.parse(order.updated_at) + dayMs);

function detailsOf(order: Order, card: RetryTerms['card'] | undefined): ShownPayment['details'] {
  const { order_number, total, authorized_amount, captured_amount, capture_before, currency, payment_method } = order;
  const isHeld = capture_before !== null;
  return {
    order_number,
    amount: isHeld ? (authorized_amount ?? total) : captured_amount || total,
    currency,
    card: {
      brand: card?.card_brand ?? payment_method.card_brand,
      last4: card?.card_last4 ?? payment_method.card_last_four,
    },
    is_held: isHeld,
  };
}

/** That the bank wants to ask is why the customer is here, so it is no news. */
async function failureOf({ locale }: RequestContext, { failure_reason, failure_code }: Order): Promise<string | null> {
  if (failure_reason === notConfirmedReason) return translatedReason(notChargedTexts.bank, locale);
  if (failure_code === null || failure_code === 'transaction_not_allowed') return null;
  return translatedReason(declineTexts[failure_code], locale);
}

/** It was done before, or its outcome is not known yet: the page shows the payment as it is. */
const shownInstead = [
  'invalid_state_transition',
  'resource_in_use',
  'gateway_error',
  'service_unavailable',
  'restore_in_progress',
];

/** Another request asks the processor now. */
const endsLater = [...shownInstead, 'request_in_progress'];

/** Charges the order again while the customer is present, so that the bank can ask. Two requests make one charge. */
export async function confirmPayment(
  dependencies: ConfirmationDependencies,
  context: RequestContext,
  subject: PaymentToConfirm,
  declines: number,
  address: string,
): Promise<ShownPayment> {
  const { orders, guard } = dependencies;
  const { status } = await showPayment(dependencies, context, subject);
  if (status !== 'open') return showPayment(dependencies, context, subject);
  const order = await orders.get(context, subject.orderId, new Set());
  const card = await cardToConfirm(context, order);
  let isRefused = false;
  await limitingDeclines(guard, context, address, async (tried) => {
    try {
      const { body } = await orders.retry(context, order.id, withoutKey, { declines, card });
      tried.outcome = (JSON.parse(body) as Order).status === 'failed' ? 'declined' : 'succeeded';
    } catch (error) {
      tried.outcome = error instanceof ApiError && error.code !== 'gateway_error' ? 'not charged' : 'unknown';
      if (!(error instanceof ApiError) || !shownInstead.includes(error.code)) throw error;
      isRefused = error.code === 'invalid_state_transition';
    }
  });
  const shown = await showPayment(dependencies, context, subject);
  // Nothing has changed, so it would be refused again: the order was paid otherwise, or is not owed any more.
  const isEnded = isRefused && shown.status === 'open' && shown.declines === declines;
  return isEnded ? { ...shown, status: 'ended', details: null, failure: null } : shown;
}

/** The browser came back. What it brought is only a hint: the processor is asked. */
export async function resumePayment(
  dependencies: ConfirmationDependencies,
  context: RequestContext,
  subject: PaymentToConfirm,
  returned: Readonly<Record<string, string>>,
): Promise<ShownPayment> {
  await dependencies.orders.resumeAtBank(context.company.id, subject.orderId, returned).catch((error: unknown) => {
    if (!(error instanceof ApiError) || !shownInstead.includes(error.code)) throw error;
  });
  return showPayment(dependencies, context, subject);
}

/**
 * The customer does not want to go on at the bank. The try that waits there ends at the processor first; one that another tab has
 * begun since goes on.
 */
export async function abandonPayment(
  dependencies: ConfirmationDependencies,
  context: RequestContext,
  subject: PaymentToConfirm,
  declines: number,
): Promise<ShownPayment> {
  const { orders } = dependencies;
  const shown = await showPayment(dependencies, context, subject);
  if (shown.next_action === null || shown.declines !== declines) return shown;
  await orders.endAtBank(context.company.id, subject.orderId).catch((error: unknown) => {
    if (!(error instanceof ApiError) || !endsLater.includes(error.code)) throw error;
  });
  return showPayment(dependencies, context, subject);
}
