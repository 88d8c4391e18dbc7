import { ApiError, notFound } from '../../errors.ts';
import { claimKey } from '../../http/key-queries.ts';
import { type PhasedRequest, runPhased } from '../../http/phases.ts';
import type { PhasedAnswer } from '../../http/route.ts';
import type { Database } from '../../platform/database.ts';
import { failpoint } from '../../platform/failpoints.ts';
import { newId } from '../../platform/ids.ts';
import type { LookupOutcome, Outcome } from '../../vault/processors/processor.ts';
import { newEvent } from '../events/service.ts';
import { connectionOf } from './operations/connection.ts';
import { capturedFromCard, chargeOf, isAuthorized, type OrderRow, type OrderState, toWire } from './order.ts';
import { releaseCredit } from './credit.ts';
import { recordReleased } from './authorizations.ts';
import { changeSale, countVoids, findOrder, findVoid, insertVoid, lockOrder, moveOrder } from './queries.ts';
import { endFollowing } from './operations/following.ts';
import { send } from './operations/sending.ts';
import type { Order } from './schemas.ts';
import { nextOrderStatus, transactionChanges } from './transitions.ts';
import type { Charging } from './operations/charging.ts';
import { gatewayError, inUse } from './operations/errors.ts';
import { discardOpen, insertOpen, type Opened } from './operations/open-queries.ts';
import { openOperation } from './operations/open-operation.ts';
import { deriveReference, subjects } from './operations/reference.ts';
import { refuseWhileInFlight } from './refunds.ts';
import { whereItIs, recordResult } from './operations/record-result.ts';
import { reconcileOrFail } from './recovery/resume.ts';
import { lockMs } from './operations/timing.ts';
import type { RequestContext } from '../../request-context.ts';

interface VoidIntent {
  readonly company_id: string;
  readonly order_id: string;
  readonly id: string;
  readonly reference: string;
  readonly sending: number;
  /** The request that created it. */
  readonly request_id: string | null;
}

/** Voids a charge that has not settled, which the cardholder never sees, or releases the funds of an authorization. */
export async function voidOrder(
  charging: Charging,
  context: RequestContext,
  orderId: string,
  phased: PhasedRequest,
): Promise<PhasedAnswer> {
  return runPhased(context.db, phased, {
    keepAnswer: true,
    begin: async () => {
      failpoint('void.before_intent');
      const begun = await charging.db.transaction(async (transaction) => {
        const state = await lockOrder(transaction, context.company.id, orderId);
        if (!state) throw notFound('order');
        const { order } = state;
        const id = newId(context.nowMs);
        if (!(await claimKey(transaction, phased.key, id))) return undefined;
        const isPaid = nextOrderStatus(order.status, 'void_approved') !== undefined && order.sale_id !== null;
        if (!isPaid && order.status !== 'pending') throw notVoidable(`its status is ${order.status}`);
        await refuseWhileInFlight(transaction, order);
        if (!isPaid && !isAuthorized(order)) throw notVoidable('no funds are held for it');
        return { state, intent: await openVoid(transaction, context, order, id) };
      });
      return begun && sendVoid(charging, begun.state, begun.intent);
    },
    resume: (voidId) => resumeVoid(charging, context.company.id, orderId, voidId),
  });
}

function notVoidable(why: string): ApiError {
  return new ApiError('invalid_state_transition', `This order cannot be voided: ${why}`, { param: 'id' });
}

/** Who voids, and when. A request has all of it. */
type Circumstances = Pick<RequestContext, 'nowMs' | 'auditFirst'> & {
  readonly company: Pick<RequestContext['company'], 'mode'>;
  readonly requestId: string | null;
};

export async function openVoid(
  transaction: Database,
  { nowMs, company, requestId, auditFirst }: Circumstances,
  order: OrderRow,
  id: string,
): Promise<VoidIntent & Opened> {
  const { company_id, total } = order;
  // Declined voids count too: a new attempt needs a new reference.
  const numbered = { subject: subjects.void(order.id), number: await countVoids(transaction, company_id, order.id) };
  const reference = deriveReference(company_id, numbered);
  const intent = { company_id, order_id: order.id, id, reference, request_id: requestId };
  const opened = await insertOpen(
    transaction,
    openOperation(order, {
      ...intent,
      type: 'void',
      cause: 'void',
      numbered,
      amount: total,
      updated_at: new Date(nowMs),
    }),
    lockMs[company.mode],
  );
  if (!opened) throw inUse();
  await auditFirst?.(transaction);
  return { ...intent, ...opened };
}

/** Sends a void to the processor. The intent is already recorded. */
export async function sendVoid(
  charging: Charging,
  state: OrderState,
  opened: VoidIntent & Opened,
  /** The time by the company's clock, if it is not now. */
  atMs?: number,
): Promise<Order> {
  const { order, mode } = state;
  failpoint('void.after_intent');
  const charge = chargeOf(state) ?? { chargeReference: '' };
  const charged = isAuthorized(order)
    ? { ofAuthorization: true }
    : { charged: { amount: capturedFromCard(order), currency: order.currency } };
  const sent = await send(charging, {
    mode,
    cause: 'void',
    intent: opened,
    subject: subjects.void(order.id),
    call: (sending) => {
      const { reference, validUntilMs } = sending;
      const operation = { companyId: order.company_id, mode, reference, validUntilMs, ...connectionOf(sending) };
      return charging.vault.void({ ...operation, ...charge, ...charged });
    },
  });
  failpoint('void.after_processor');
  if (!sent) return currentOrder(charging, opened);
  const { intent, outcome } = sent;
  const end = await endFollowing(charging, 'void', subjects.void(order.id), sent);
  if (end === 'taken over') return currentOrder(charging, intent);
  if (end) throw end;
  if (outcome.outcome !== 'approved' && outcome.outcome !== 'declined') throw new Error('a void has no outcome');
  await recordResult(charging, intent, (there) => recordVoid(there, intent, outcome, atMs));
  failpoint('void.after_record');
  const there = await whereItIs(charging, intent);
  const recorded = await recordedVoid(there, intent.company_id, intent.order_id, intent.id);
  if (!recorded) throw new Error('the record of a void is missing');
  return recorded;
}

/** Returns the order after another process recorded the outcome first. */
async function currentOrder(charging: Charging, voided: VoidIntent): Promise<Order> {
  const { company_id, order_id, id } = voided;
  const recorded = await recordedVoid(await whereItIs(charging, voided), company_id, order_id, id);
  if (recorded) return recorded;
  throw gatewayError('void');
}

/** Returns the recorded outcome of a void; undefined if it never reached the processor. */
async function recordedVoid(
  { db }: Charging,
  companyId: string,
  orderId: string,
  voidId: string,
): Promise<Order | undefined> {
  const recorded = await findVoid(db, companyId, voidId);
  if (!recorded) return undefined;
  if (recorded.failure_reason !== null) throw notVoidable(recorded.failure_reason);
  const state = await findOrder(db, companyId, orderId);
  return state && toWire(state);
}

async function resumeVoid(
  charging: Charging,
  companyId: string,
  orderId: string,
  voidId: string,
): Promise<Order | undefined> {
  await reconcileOrFail(charging, companyId, orderId, (open) => open.id === voidId);
  return recordedVoid(charging, companyId, orderId, voidId);
}

type Known = Extract<Outcome | LookupOutcome, { outcome: 'approved' | 'declined' | 'not_found' }>;

/** Records the outcome of a void, with its effects on the order. */
export async function recordVoid(charging: Charging, intent: VoidIntent, known: Known, atMs?: number): Promise<void> {
  await charging.db.transaction(async (transaction) => {
    const state = await lockOrder(transaction, intent.company_id, intent.order_id);
    if (!state || !(await discardOpen(transaction, intent)) || known.outcome === 'not_found') return;
    const { order } = state;
    const at = new Date(atMs ?? charging.clock.nowMs() + state.clockOffsetMs);
    if (isAuthorized(order)) return recordRelease(transaction, state, intent, known, at);
    await insertVoid(transaction, intent, known.outcome === 'approved' ? null : known.failureReason, at);
    const status = known.outcome === 'approved' ? nextOrderStatus(order.status, 'void_approved') : undefined;
    if (!status || !order.sale_id) return;
    await changeSale(transaction, order.company_id, order.sale_id, 'voided', at);
    const to: OrderRow = { ...order, status, sequence: order.sequence + 1, updated_at: at };
    await releaseCredit(transaction, order, { type: 'order_voided', nowMs: at.getTime() });
    const transactions = state.transactions.map((entry) =>
      entry.id === order.sale_id ? { ...entry, status: transactionChanges.voided.to } : entry,
    );
    const object = toWire({ ...state, order: to, transactions });
    const event = newEvent(order.company_id, at.getTime(), 'order.voided', object, to.sequence, intent.request_id);
    await moveOrder(transaction, { from: order, to, events: [event] });
  });
}

/** Funds that are not held any more are released, also if the processor refused to release them again. */
async function recordRelease(
  transaction: Database,
  state: OrderState,
  intent: VoidIntent,
  known: Exclude<Known, { outcome: 'not_found' }>,
  at: Date,
): Promise<void> {
  const isOver = known.outcome === 'approved' || known.isOver === true;
  await insertVoid(transaction, intent, isOver ? null : known.failureReason, at);
  if (isOver) await recordReleased(transaction, state, { at, requestId: intent.request_id });
}
