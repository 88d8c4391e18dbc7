import { ApiError, invalidField, notFound } from '../../errors.ts';
import { claimKey } from '../../http/key-queries.ts';
import { type PhasedRequest, runPhased } from '../../http/phases.ts';
import type { PhasedAnswer } from '../../http/route.ts';
import type { Database } from '../../platform/database.ts';
import { failpoint } from '../../platform/failpoints.ts';
import { newId } from '../../platform/ids.ts';
import type { LookupOutcome, Outcome } from '../../vault/processors/processor.ts';
import type { RequestContext } from '../../request-context.ts';
import { touchOrder } from './authorization-queries.ts';
import { recordCaptured, recordReleased } from './authorizations.ts';
import { chargeOf, isAuthorized, type OrderRow, type OrderState, toWire, withTransaction } from './order.ts';
import { findOrder, lockOrder, scheduleChargeback } from './queries.ts';
import type { Order, OrderCapture } from './schemas.ts';
import { transactionChanges } from './transitions.ts';
import type { Charging } from './operations/charging.ts';
import { connectionOf } from './operations/connection.ts';
import { countCharge } from './operations/counting.ts';
import { gatewayError, inUse, notSentError } from './operations/errors.ts';
import { closeOpen, discardOpen, findOpenOf, insertOpen, type Opened } from './operations/open-queries.ts';
import { openOperation } from './operations/open-operation.ts';
import { deriveReference, nextFree, type Numbered, subjects } from './operations/reference.ts';
import { recordResult, whereItIs } from './operations/record-result.ts';
import { endFollowing } from './operations/following.ts';
import { send, type Sent } from './operations/sending.ts';
import { lockMs } from './operations/timing.ts';
import { refuseWhileInFlight } from './refunds.ts';
import { reconcileOrFail } from './recovery/resume.ts';

/** Takes the held funds of an authorization: all of them, or a part. The rest is released. */

interface Capture {
  readonly company_id: string;
  readonly order_id: string;
  readonly id: string;
  readonly reference: string;
  readonly sending: number;
  readonly amount: number;
  /** The request that created it. */
  readonly request_id: string | null;
}

interface OpenedCapture extends Capture, Opened {
  readonly numbered: Numbered;
}

export async function captureOrder(
  charging: Charging,
  context: RequestContext,
  orderId: string,
  input: OrderCapture,
  phased: PhasedRequest,
): Promise<PhasedAnswer> {
  return runPhased(context.db, phased, {
    keepAnswer: true,
    begin: async () => {
      failpoint('capture.before_intent');
      const begun = await charging.db.transaction(async (transaction) => {
        const state = await lockOrder(transaction, context.company.id, orderId);
        if (!state) throw notFound('order');
        const id = newId(context.nowMs);
        if (!(await claimKey(transaction, phased.key, id))) return undefined;
        await refuseUnlessHeld(transaction, context, state.order);
        const amount = amountOf(state.order, input);
        return { state, capture: await openCapture(transaction, context, state, id, amount) };
      });
      return begun && capture(charging, begun.state, begun.capture);
    },
    resume: (captureId) => resumeCapture(charging, context.company.id, orderId, captureId),
  });
}

/** In the sandbox the clock of the company decides when an authorization ends, otherwise the processor. */
async function refuseUnlessHeld(
  transaction: Database,
  { company, nowMs }: RequestContext,
  order: OrderRow,
): Promise<void> {
  if (order.status === 'pending') await refuseWhileInFlight(transaction, order);
  if (!isAuthorized(order)) throw notCapturable(`its status is ${order.status}`);
  const hasEnded = company.mode === 'sandbox' && (order.capture_before?.getTime() ?? 0) <= nowMs;
  if (hasEnded) throw notCapturable('its authorization has ended');
}

function notCapturable(why: string): ApiError {
  const message = `This order cannot be captured, because ${why}. Only the held funds of a pending order with capture_before can be captured.`;
  return new ApiError('invalid_state_transition', message, { param: 'id' });
}

function amountOf({ authorized_amount, total }: OrderRow, { amount }: OrderCapture): number {
  const held = authorized_amount ?? total;
  if (amount !== undefined && amount > held) {
    throw invalidField('amount', `must be at most ${held}, the authorized amount of this order`);
  }
  return amount ?? held;
}

async function openCapture(
  transaction: Database,
  { nowMs, company, requestId }: RequestContext,
  { order, transactions }: OrderState,
  id: string,
  amount: number,
): Promise<OpenedCapture> {
  const { company_id, id: order_id } = order;
  // Numbered within the order, and not by an idempotency key: so two keys cannot capture twice, even after a restore.
  const taken = new Set(transactions.map(({ reference }) => reference));
  const numbered = nextFree(company_id, { subject: subjects.capture(order_id), number: 0 }, taken);
  const reference = deriveReference(company_id, numbered);
  const intent = { company_id, order_id, id, reference, amount, request_id: requestId };
  const opened = await insertOpen(
    transaction,
    openOperation(order, { ...intent, type: 'sale', cause: 'capture', numbered, updated_at: new Date(nowMs) }),
    lockMs[company.mode],
  );
  if (!opened) throw inUse();
  return { ...intent, ...opened, numbered };
}

/** Sends a capture whose intent is recorded to the processor, and records the outcome. */
async function capture(charging: Charging, state: OrderState, opened: OpenedCapture): Promise<Order> {
  failpoint('capture.after_intent');
  const sent = await sendCapture(charging, state, opened);
  failpoint('capture.after_processor');
  if (!sent) return currentOrder(charging, opened);
  const { intent, outcome } = sent;
  const end = await endFollowing(charging, 'capture', opened.numbered.subject, sent);
  if (end === 'taken over') return currentOrder(charging, intent);
  if (end) throw end;
  if (outcome.outcome !== 'approved' && outcome.outcome !== 'declined') throw new Error('a capture has no outcome');
  const recorded = await recordResult(charging, intent, (there) => recordCapture(there, intent, outcome));
  failpoint('capture.after_record');
  return recorded ?? currentOrder(charging, intent);
}

async function sendCapture(
  charging: Charging,
  state: OrderState,
  intent: OpenedCapture,
): Promise<Sent<OpenedCapture> | undefined> {
  const { company_id: companyId, currency } = state.order;
  const { mode } = state;
  const charge = chargeOf(state);
  if (!charge)
    return { intent, outcome: { outcome: 'not_sent', reason: 'there is no authorization' }, step: 'discard' };
  return send(charging, {
    mode,
    cause: 'capture',
    intent,
    subject: intent.numbered.subject,
    call: (sending) => {
      const { reference, validUntilMs, amount } = sending;
      const operation = { companyId, mode, reference, validUntilMs, ...connectionOf(sending) };
      return charging.vault.capture({ ...operation, ...charge, amount, currency });
    },
  });
}

/** Returns the order after another process recorded the outcome first. */
async function currentOrder(charging: Charging, captured: Capture): Promise<Order> {
  const { company_id, order_id, id } = captured;
  const { db } = await whereItIs(charging, captured);
  const state = await findOrder(db, company_id, order_id);
  if (!state?.transactions.some((one) => one.id === id)) throw notSentError('capture');
  const open = await findOpenOf(db, company_id, order_id);
  if (open.some((one) => one.id === id)) throw gatewayError('capture');
  return toWire(state);
}

async function resumeCapture(
  charging: Charging,
  companyId: string,
  orderId: string,
  captureId: string,
): Promise<Order | undefined> {
  await reconcileOrFail(charging, companyId, orderId, (open) => open.id === captureId);
  const state = await findOrder(charging.db, companyId, orderId);
  return state?.transactions.some(({ id }) => id === captureId) ? toWire(state) : undefined;
}

type Known = Extract<Outcome | LookupOutcome, { outcome: 'approved' | 'declined' | 'not_found' }>;

/**
 * Records the outcome of a capture, with its effects on the order. A refused one leaves the order pending while its funds are
 * held. Returns the order; undefined if another process has recorded an outcome.
 */
export async function recordCapture(charging: Charging, intent: Capture, known: Known): Promise<Order | undefined> {
  if (known.outcome === 'not_found') {
    await discardOpen(charging.db, intent);
    return undefined;
  }
  const { company_id, order_id } = intent;
  const isRecorded = await charging.db.transaction(async (transaction) => {
    const state = await lockOrder(transaction, company_id, order_id);
    if (!state) return undefined;
    const at = new Date(charging.clock.nowMs() + state.clockOffsetMs);
    const isApproved = known.outcome === 'approved';
    const change = isApproved ? 'approved' : 'declined';
    const failure = isApproved
      ? { failureCode: null, failureReason: null }
      : { failureCode: known.failureCode, failureReason: known.failureReason };
    const closed = await closeOpen(transaction, intent, { change, response: known.response, ...failure, at });
    if (!closed) return undefined;
    const transactions = withTransaction(state.transactions, {
      id: intent.id,
      reference: intent.reference,
      type: 'sale',
      status: transactionChanges[change].to,
      amount: intent.amount,
      currency: state.order.currency,
      processor_transaction_id: known.response.transaction_id,
      failure_code: failure.failureCode,
      failure_reason: failure.failureReason,
    });
    const after = { ...state, transactions };
    const circumstances = { at, requestId: intent.request_id };
    if (isApproved) await recordCaptured(transaction, after, intent, circumstances);
    else if (known.isOver) await recordReleased(transaction, after, circumstances);
    else await touchOrder(transaction, company_id, order_id, at);
    if (isApproved && known.chargebackAfterMs !== undefined) {
      const dueAt = new Date(at.getTime() + known.chargebackAfterMs);
      await scheduleChargeback(transaction, company_id, order_id, dueAt);
    }
    return state;
  });
  if (!isRecorded) return undefined;
  countCharge(isRecorded.mode, known);
  const state = await findOrder(charging.db, company_id, order_id);
  return state && toWire(state);
}
