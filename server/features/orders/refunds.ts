import { ApiError, invalidField, notFound } from '../../errors.ts';
import { claimKey, sentKeyOf } from '../../http/key-queries.ts';
import { type PhasedRequest, runPhased } from '../../http/phases.ts';
import type { PhasedAnswer } from '../../http/route.ts';
import type { Database } from '../../platform/database.ts';
import { failpoint } from '../../platform/failpoints.ts';
import { newId } from '../../platform/ids.ts';
import type { FailureCode, LookupOutcome, Outcome } from '../../vault/processors/processor.ts';
import { wasCredited } from '../credit/service.ts';
import { type EventType, newEvent } from '../events/service.ts';
import { generationOf } from './operations/generations.ts';
import { connectionOf } from './operations/connection.ts';
import {
  capturedAmount,
  chargeOf,
  type OrderRow,
  type OrderState,
  refundParts,
  toWire,
  type TransactionSummary,
  withTransaction,
} from './order.ts';
import { findOrder, lockOrder, moveOrder } from './queries.ts';
import { refundToCredit } from './credit.ts';
import { endFollowing } from './operations/following.ts';
import { send, type Sent } from './operations/sending.ts';
import type { Order, OrderRefund } from './schemas.ts';
import { nextOrderStatus, refundable, transactionChanges } from './transitions.ts';
import type { Charging } from './operations/charging.ts';
import { gatewayError, inUse, notSentError, usedByAnother } from './operations/errors.ts';
import {
  acceptOpen,
  closeOpen,
  discardOpen,
  findOpenOf,
  insertOpen,
  type Opened,
  type OpenTransaction,
} from './operations/open-queries.ts';
import { openOperation } from './operations/open-operation.ts';
import { deriveReference, nextFree, type Numbered, subjects } from './operations/reference.ts';
import { whereItIs, recordResult } from './operations/record-result.ts';
import { reconcileOrFail } from './recovery/resume.ts';
import { lockMs } from './operations/timing.ts';
import type { RequestContext } from '../../request-context.ts';

export interface Refund {
  readonly company_id: string;
  readonly order_id: string;
  readonly id: string;
  readonly reference: string;
  readonly sending: number;
  readonly amount: number;
  /** The request that created it. */
  readonly request_id: string | null;
}

/** A refund whose intent is recorded, so that it may be sent. */
export interface OpenedRefund extends Refund, Opened {
  /** What its reference is derived from. */
  readonly numbered: Numbered;
}

export async function refundOrder(
  charging: Charging,
  context: RequestContext,
  orderId: string,
  input: OrderRefund,
  phased: PhasedRequest,
): Promise<PhasedAnswer> {
  return runPhased(context.db, phased, {
    keepAnswer: true,
    begin: async () => {
      const { company } = context;
      const generation =
        phased.key && (await generationOf(charging, company, subjects.keyedRefund(sentKeyOf(phased.key))));
      if (generation?.kind === 'in_use') {
        if (generation.operation.order_id !== orderId) throw usedByAnother();
        return resumeRefund(charging, company.id, orderId, generation.operation.id);
      }
      failpoint('refund.before_intent');
      const begun = await charging.db.transaction(async (transaction) => {
        const state = await lockOrder(transaction, context.company.id, orderId);
        if (!state) throw notFound('order');
        const { order } = state;
        const id = newId(context.nowMs);
        if (!(await claimKey(transaction, phased.key, id))) return undefined;
        if (!refundable.includes(order.status) || order.total === 0) throw notRefundable(order);
        await refuseWhileInFlight(transaction, order);
        const { card, credit } = refundParts(order, amountOf(order, input));
        // The part of the card has the id of the request; without one, the part of the credit has it.
        const numbered = generation?.numbered ?? nextRefund(state);
        const reference = generation ? deriveReference(order.company_id, numbered) : null;
        const entry = { id: card > 0 ? newId(context.nowMs) : id, amount: credit, reference };
        const after = credit > 0 ? await refundToCredit(transaction, context, state, entry) : state;
        if (card === 0) return { state: after, refund: undefined };
        return { state: after, refund: await openRefund(transaction, context, order, id, card, numbered) };
      });
      return begun && (begun.refund ? refund(charging, begun.state, begun.refund) : toWire(begun.state));
    },
    resume: (refundId) => resumeRefund(charging, context.company.id, orderId, refundId),
  });
}

function notRefundable(order: OrderRow): ApiError {
  const why = order.total === 0 ? 'it was not charged' : `its status is ${order.status}`;
  return new ApiError(
    'invalid_state_transition',
    `This order cannot be refunded, because ${why}. Only succeeded and partially_refunded orders can be refunded.`,
    { param: 'id' },
  );
}

export async function refuseWhileInFlight(transaction: Database, order: OrderRow): Promise<void> {
  const open = await findOpenOf(transaction, order.company_id, order.id);
  if (open.some(({ state }) => state !== 'accepted')) throw inUse();
}

function amountOf(order: OrderRow, { amount }: OrderRefund): number {
  const left = capturedAmount(order) - order.refunded_amount;
  if (amount && amount > left) {
    throw invalidField('amount', `must be at most ${left}, the remaining balance of this order`);
  }
  return amount ?? left;
}

export async function openRefund(
  transaction: Database,
  { nowMs, company, requestId }: RequestContext,
  order: OrderRow,
  id: string,
  amount: number,
  numbered: Numbered,
): Promise<OpenedRefund> {
  const { company_id, id: order_id } = order;
  const reference = deriveReference(company_id, numbered);
  const intent = { company_id, order_id, id, reference, amount, request_id: requestId };
  const opened = await insertOpen(
    transaction,
    openOperation(order, { ...intent, type: 'refund', cause: 'refund', numbered, updated_at: new Date(nowMs) }),
    lockMs[company.mode],
  );
  if (!opened) throw inUse();
  return { ...intent, ...opened, numbered };
}

/** Without a key, a refund is numbered within its order. */
export function nextRefund({ order, transactions }: OrderState): Numbered {
  const refunds = transactions.filter(({ type }) => type === 'refund');
  const taken = new Set(refunds.map(({ reference }) => reference));
  return nextFree(order.company_id, { subject: subjects.refund(order.id), number: refunds.length }, taken);
}

/** Sends a refund whose intent is recorded to the processor, and records the outcome. */
export async function refund(charging: Charging, state: OrderState, opened: OpenedRefund): Promise<Order> {
  failpoint('refund.after_intent');
  const sent = await sendRefund(charging, state, opened);
  failpoint('refund.after_processor');
  if (!sent) return currentOrder(charging, opened);
  const { intent, outcome } = sent;
  const end = await endFollowing(charging, 'refund', opened.numbered.subject, sent);
  if (end === 'taken over') return currentOrder(charging, intent);
  if (end) throw end;
  if (outcome.outcome !== 'approved' && outcome.outcome !== 'declined') throw new Error('a refund has no outcome');
  const accepted = await recordResult(charging, intent, (there) => recordRefundOutcome(there, intent, outcome));
  failpoint('refund.after_accept');
  return accepted ?? currentOrder(charging, intent);
}

async function sendRefund(
  charging: Charging,
  state: OrderState,
  intent: OpenedRefund,
): Promise<Sent<OpenedRefund> | undefined> {
  const { company_id: companyId, currency } = state.order;
  const { mode } = state;
  const charge = chargeOf(state);
  if (!charge) return { intent, outcome: { outcome: 'not_sent', reason: 'there is no sale' }, step: 'discard' };
  return send(charging, {
    mode,
    cause: 'refund',
    intent,
    numbered: intent.numbered,
    subject: intent.numbered.subject,
    call: (sending) => {
      const { reference, validUntilMs, amount } = sending;
      const operation = { companyId, mode, reference, validUntilMs, ...connectionOf(sending) };
      return charging.vault.refund({ ...operation, ...charge, amount, currency });
    },
  });
}

/**
 * Returns the order after another process recorded the outcome first. That process called the same processor with the
 * same reference.
 */
async function currentOrder(charging: Charging, refunded: Refund): Promise<Order> {
  const { company_id, order_id, id } = refunded;
  const { db } = await whereItIs(charging, refunded);
  const state = await findOrder(db, company_id, order_id);
  if (!state) throw new Error('the order is missing');
  if (!state.transactions.some((one) => one.id === id)) throw notSentError('refund');
  const open = await findOpenOf(db, company_id, order_id);
  if (open.some((one) => one.id === id && one.state !== 'accepted')) throw gatewayError('refund');
  return toWire(state);
}

async function resumeRefund(
  charging: Charging,
  companyId: string,
  orderId: string,
  refundId: string,
): Promise<Order | undefined> {
  await reconcileOrFail(charging, companyId, orderId, (open) => open.id === refundId);
  const state = await findOrder(charging.db, companyId, orderId);
  if (!state) return undefined;
  const isMade =
    state.transactions.some(({ id }) => id === refundId) || (await wasCredited(charging.db, companyId, refundId));
  return isMade ? toWire(state) : undefined;
}

type RefundOutcome = Extract<Outcome | LookupOutcome, { outcome: 'approved' | 'declined' | 'not_found' }>;

/**
 * Records the outcome of a refund in flight: accepted, declined or never received. Returns the order of an accepted
 * refund at that moment; the refund may settle right after.
 */
export async function recordRefundOutcome(
  charging: Charging,
  intent: Refund,
  outcome: RefundOutcome,
): Promise<Order | undefined> {
  if (outcome.outcome !== 'approved') {
    if (outcome.outcome === 'declined') await closeRefund(charging, intent, outcome);
    else await discardOpen(charging.db, intent);
    return undefined;
  }
  return charging.db.transaction(async (transaction) => {
    const state = await lockOrder(transaction, intent.company_id, intent.order_id);
    if (!state || !(await acceptOpen(transaction, intent, outcome.response))) return undefined;
    const { order } = state;
    const refunded = order.refunded_amount + intent.amount;
    const trigger = refunded === capturedAmount(order) ? 'refund_accepted_in_full' : 'refund_accepted_in_part';
    const to = {
      ...order,
      // An order under dispute keeps its status, although the refund went through.
      status: nextOrderStatus(order.status, trigger) ?? order.status,
      refunded_amount: refunded,
      updated_at: new Date(charging.clock.nowMs() + state.clockOffsetMs),
    };
    if (!(await moveOrder(transaction, { from: order, to, events: [] }))) throw new Error('a locked order has changed');
    const { transaction_id: processor_transaction_id } = outcome.response;
    const transactions = state.transactions.map((entry) =>
      entry.id === intent.id ? { ...entry, processor_transaction_id } : entry,
    );
    return toWire({ ...state, order: to, transactions });
  });
}

/** Records whether an accepted refund has settled or was rejected. Otherwise nothing changes. */
export async function recordRefundSettlement(
  charging: Charging,
  open: OpenTransaction,
  found: LookupOutcome,
): Promise<void> {
  if (found.outcome === 'approved' && found.settled) await closeRefund(charging, open, found);
  if (found.outcome === 'declined') await closeRefund(charging, open, found);
}

async function closeRefund(
  charging: Charging,
  intent: Refund,
  outcome: Extract<Outcome | LookupOutcome, { outcome: 'approved' | 'declined' }>,
): Promise<void> {
  failpoint('refund.before_settlement');
  await charging.db.transaction(async (transaction) => {
    const state = await lockOrder(transaction, intent.company_id, intent.order_id);
    if (!state) return;
    const at = new Date(charging.clock.nowMs() + state.clockOffsetMs);
    const { change, code, reason } = endOfRefund(outcome);
    const { response } = outcome;
    const closed = await closeOpen(transaction, intent, {
      change,
      response,
      failureCode: code,
      failureReason: reason,
      at,
    });
    if (!closed) return;
    const { order } = state;
    const transactions = withTransaction(state.transactions, {
      id: intent.id,
      reference: intent.reference,
      type: 'refund',
      status: transactionChanges[change].to,
      amount: intent.amount,
      currency: order.currency,
      processor_transaction_id: response.transaction_id,
      failure_code: code,
      failure_reason: reason,
    });
    // Its acceptance raised the amount, and may be newer than what the caller has read.
    const isTakenBack = change === 'declined' && closed.state === 'accepted';
    const to = {
      ...order,
      status: (change === 'declined' && nextOrderStatus(order.status, 'refund_rejected')) || order.status,
      refunded_amount: order.refunded_amount - (isTakenBack ? intent.amount : 0),
      sequence: order.sequence + 1,
      updated_at: at,
    };
    const type = change === 'declined' ? 'order.refund_failed' : settledEvent(order, transactions);
    const object = toWire({ ...state, order: to, transactions });
    const event = newEvent(order.company_id, at.getTime(), type, object, to.sequence, intent.request_id);
    if (!(await moveOrder(transaction, { from: order, to, events: [event] }))) {
      throw new Error('a locked order has changed');
    }
  });
  failpoint('refund.after_settlement');
}

function endOfRefund(outcome: Extract<Outcome | LookupOutcome, { outcome: 'approved' | 'declined' }>): {
  readonly change: 'approved' | 'declined';
  readonly code: FailureCode | null;
  readonly reason: string | null;
} {
  if (outcome.outcome === 'approved') return { change: 'approved', code: null, reason: null };
  return { change: 'declined', code: outcome.failureCode, reason: outcome.failureReason };
}

function settledEvent(order: OrderRow, transactions: readonly TransactionSummary[]): EventType {
  const settledInAll = transactions
    .filter(({ type, status }) => type === 'refund' && status === 'succeeded')
    .reduce((sum, { amount }) => sum + amount, 0);
  return settledInAll + (order.credit_refunded ?? 0) === capturedAmount(order)
    ? 'order.refunded'
    : 'order.partially_refunded';
}
