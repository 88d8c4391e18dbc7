import { requireProcessor } from '../../company.ts';
import { ApiError, notFound } from '../../errors.ts';
import { claimKey } from '../../http/key-queries.ts';
import { type PhasedRequest, runPhased } from '../../http/phases.ts';
import type { PhasedAnswer } from '../../http/route.ts';
import type { Database } from '../../platform/database.ts';
import { failpoint } from '../../platform/failpoints.ts';
import { newId } from '../../platform/ids.ts';
import { reserveAgain, waitingForReservations } from '../coupons/service.ts';
import { isAfterRestore } from '../restores/service.ts';
import { isManual, type OrderRow, type OrderState, refundParts, toWire } from './order.ts';
import { findOrder, lockOrder } from './queries.ts';
import type { Order } from './schemas.ts';
import { retryable } from './transitions.ts';
import { charge } from './operations/charge.ts';
import { takesMoney } from './dispute-queries.ts';
import { returnCustomerTry, takeCustomerTry } from './customer-tries.ts';
import type { Charging } from './operations/charging.ts';
import { inUse } from './operations/errors.ts';
import { findOpenOf, insertOpen } from './operations/open-queries.ts';
import { isPaidByLink } from './link-queries.ts';
import { openOperation } from './operations/open-operation.ts';
import { billedSubject, nextFree, type Numbered, subjects } from './operations/reference.ts';
import { nextRefund, type OpenedRefund, openRefund, refund, refuseWhileInFlight } from './refunds.ts';
import { reconcileOrFail } from './recovery/resume.ts';
import { decidedWhen, isNotRetried, type OpenedSale, redemptionIdOf, saleOf } from './operations/sales.ts';
import { lockMs } from './operations/timing.ts';
import type { RequestContext } from '../../request-context.ts';

type Begun =
  | {
      readonly kind: 'sale';
      readonly state: OrderState;
      readonly sale: OpenedSale;
    }
  | { readonly kind: 'refund'; readonly state: OrderState; readonly refund: OpenedRefund }
  | { readonly kind: 'paid'; readonly state: OrderState };

/** For a retry by the customer, who saw how often the charge was declined, and may have another card by now. */
export interface RetryTerms {
  /** The charge is retried only if it was declined this often: so two requests make one charge. */
  readonly declines: number;
  readonly card: Pick<OrderRow, 'payment_method_id' | 'card_brand' | 'card_last4'> & {
    readonly stored: NonNullable<OrderState['card']>;
  };
}

/** Retries the operation that failed last: the charge of an order, or the refund that the processor rejected. */
export async function retryOrder(
  charging: Charging,
  context: RequestContext,
  orderId: string,
  phased: PhasedRequest,
  terms?: RetryTerms,
): Promise<PhasedAnswer> {
  return runPhased(context.db, phased, {
    keepAnswer: true,
    begin: async () => {
      failpoint('retry.before_intent');
      const begun = await waitingForReservations(charging.clock, () =>
        charging.db.transaction(async (transaction): Promise<Begun | undefined> => {
          const state = await lockOrder(transaction, context.company.id, orderId);
          if (!state) throw notFound('order');
          const id = newId(context.nowMs);
          if (!(await claimKey(transaction, phased.key, id))) return undefined;
          if (!retryable.includes(state.order.status)) {
            if (!(await isRepeated(transaction, state))) throw notRetryable(state);
            return { kind: 'paid', state };
          }
          await refuseWhileInFlight(transaction, state.order);
          if (terms && (terms.declines !== state.order.attempt_count || state.order.status !== 'failed')) {
            throw notRetryable(state);
          }
          await refuseIfPaidByLink(transaction, state);
          if (terms) await takeCustomerTry(transaction, context.company.id, orderId);
          return state.order.status === 'failed'
            ? openSale(charging, transaction, context, terms ? { ...state, card: terms.card.stored } : state, id, terms)
            : openRefundAgain(transaction, context, state, id);
        }),
      );
      if (!begun) return undefined;
      if (begun.kind === 'paid') return toWire(begun.state);
      const { customerIp, presence } = context;
      if (begun.kind === 'refund') return refund(charging, begun.state, begun.refund);
      try {
        return await charge(charging, { ...begun.state, customerIp, presence }, begun.sale);
      } catch (error) {
        const wasSent = !(error instanceof ApiError) || error.unfinished;
        if (terms && !wasSent) await returnCustomerTry(charging.db, context.company.id, orderId);
        throw error;
      }
    },
    resume: (transactionId) => resumeRetry(charging, context.company.id, orderId, transactionId),
  });
}

/** After a restore, a retry that the database had lost was adopted, so a request that repeats it finds the order paid. */
async function isRepeated(transaction: Database, { order, transactions }: OrderState): Promise<boolean> {
  const wasDeclined = transactions.some(({ type, status }) => type !== 'refund' && status === 'failed');
  return order.status === 'succeeded' && wasDeclined && isAfterRestore(transaction, order.company_id);
}

function notRetryable({ order }: OrderState): ApiError {
  const message = `The status of this order is ${order.status}. Only failed and refund_failed orders can be retried.`;
  return new ApiError('invalid_state_transition', message, { param: 'id', status: 400 });
}

/** Only orders without a subscription have a payment link. Its payment locks the order, as this retry does. */
async function refuseIfPaidByLink(transaction: Database, { order }: OrderState): Promise<void> {
  if (order.status !== 'failed' || order.subscription_id) return;
  if (!(await isPaidByLink(transaction, order.company_id, order.id))) return;
  const message = 'The payment link of this order was paid, or is being paid. Another charge would pay twice.';
  throw new ApiError('invalid_state_transition', message, { param: 'id', status: 400 });
}

/** Whether the order is failed and no charge of it is in progress. Locks it until the transaction ends. */
export async function isStillFailed(transaction: Database, companyId: string, orderId: string): Promise<boolean> {
  const state = await lockOrder(transaction, companyId, orderId);
  if (state?.order.status !== 'failed') return false;
  return (await findOpenOf(transaction, companyId, orderId)).length === 0;
}

/**
 * The next attempt at the charge of an order. A cycle of a subscription counts scheduled and manual attempts together, so
 * that the next attempt finds one that a restored database has forgotten.
 */
export function nextAttempt({ order, transactions }: Pick<OrderState, 'order' | 'transactions'>): Numbered {
  const taken = new Set(transactions.map(({ reference }) => reference));
  return nextFree(order.company_id, { subject: attemptsAt(order), number: order.attempt_count }, taken);
}

function attemptsAt(order: OrderRow): readonly string[] {
  return billedSubject(order) ?? subjects.retry(order.id);
}

async function openSale(
  { billing }: Charging,
  transaction: Database,
  { nowMs, company, requestId }: RequestContext,
  state: OrderState,
  id: string,
  terms: RetryTerms | undefined,
): Promise<Begun> {
  const { order } = state;
  requireProcessor(company);
  if (state.customerDeleted) {
    throw new ApiError('invalid_request', 'The customer of this order was deleted.', { param: 'customer_id' });
  }
  if (!state.card) {
    const message = 'The card of this order was deleted. Create a new order with another card.';
    throw new ApiError('invalid_request', message, { param: 'payment_method_id' });
  }
  if (order.subscription_id) await billing.checkRetry(transaction, order, nowMs);
  const numbered = nextAttempt(state);
  // An order that was to be authorized is not charged without being asked to.
  const type = isManual(state) ? 'auth' : 'sale';
  // The subscription waits for the outcome of a change, so there is always one: it is not discarded as a retry is.
  const cause = typeof order.subscription_change === 'number' ? 'plan_change' : 'retry';
  const sale = saleOf({ ...order, ...cardOf(terms) }, { id, type, cause, request_id: requestId, numbered });
  const redemptionId = redemptionIdOf(order);
  if (order.coupon && redemptionId) {
    await reserveAgain(transaction, company.id, order.coupon, redemptionId, order.customer_id, decidedWhen(sale));
  }
  const operation = openOperation(order, { ...sale, updated_at: new Date(nowMs) });
  const opened = await insertOpen(transaction, operation, lockMs[company.mode]);
  if (!opened) throw inUse();
  return { kind: 'sale', state, sale: { ...sale, ...opened } };
}

function cardOf(terms: RetryTerms | undefined): Partial<OrderRow> {
  if (!terms) return {};
  const { stored: _, ...card } = terms.card;
  return card;
}

async function openRefundAgain(
  transaction: Database,
  context: RequestContext,
  state: OrderState,
  id: string,
): Promise<Begun> {
  const { order, transactions } = state;
  if (await takesMoney(transaction, order)) {
    const message =
      'The cardholder has disputed this charge, so the processor returns the money. A refund would pay twice.';
    throw new ApiError('invalid_state_transition', message, { param: 'id', status: 400 });
  }
  const rejected = transactions.findLast(({ type, status }) => type === 'refund' && status === 'failed');
  if (!rejected) throw new Error('an order is refund_failed without a failed refund');
  const { card: amount } = refundParts(order, rejected.amount);
  return {
    kind: 'refund',
    state,
    refund: await openRefund(transaction, context, order, id, amount, nextRefund(state)),
  };
}

async function resumeRetry(
  charging: Charging,
  companyId: string,
  orderId: string,
  transactionId: string,
): Promise<Order | undefined> {
  await reconcileOrFail(charging, companyId, orderId, (open) => open.id === transactionId);
  const state = await findOrder(charging.db, companyId, orderId);
  const retried = state?.transactions.find(({ id }) => id === transactionId);
  return state && retried && !isNotRetried(retried) ? toWire(state) : undefined;
}
