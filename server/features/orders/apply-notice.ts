import { isUuid, newId } from '../../platform/ids.ts';
import type { DisputeState, NoticedCharge, NoticedDispute, NoticeSubject } from '../../vault/processors/notices.ts';
import type { LookupOutcome } from '../../vault/processors/processor.ts';
import { newEvent } from '../events/service.ts';
import { isAfterRestore } from '../restores/service.ts';
import { changeIfPossible, type Dispute } from './chargebacks.ts';
import type { Charging } from './charging.ts';
import { adoptRecorded, type DisputeRow, saveDispute } from './dispute-queries.ts';
import {
  findByReference,
  findCharge,
  hasOpenSale,
  markSettled,
  type NoticedTransaction,
  returnRefund,
} from './notice-queries.ts';
import { claimWaiting, findOpenByReference, findOpenOf, type OpenTransaction } from './open-queries.ts';
import { type OrderState, toWire } from './order.ts';
import { changeSale, findOrder, lockOrder, moveOrder } from './queries.ts';
import { mayBeForgotten } from './other-connections.ts';
import { askOthers, recordElsewhere } from './reconcile.ts';
import { applyAnswer } from './apply-answer.ts';
import { claimStopped } from './due-queries.ts';
import { isOpenSale, type OpenSale } from './sales.ts';
import { lockMs } from './timing.ts';
import { nextOrderStatus, refundReturned, transactionChanges } from './transitions.ts';

/** Applies what a processor reports later. The same notice may be applied any number of times, and in any order. */

export interface NoticeToApply {
  readonly companyId: string;
  readonly connectionId: string;
  readonly about: NoticeSubject;
  /** By the processor's clock. */
  readonly happenedAt: Date;
}

/** `isDone` is false if what the notice is about is not recorded yet; `result` is in words. */
export interface Applied {
  readonly isDone: boolean;
  readonly result: string;
  /** Whether it is about a payment that was not made here: other software can use the same account. */
  readonly isForeign?: boolean;
  /** Whether it may be recorded weeks later: after a restore, when a request is repeated. */
  readonly isPatient?: boolean;
}

const done = (result: string): Applied => ({ isDone: true, result });
const later = (result: string): Applied => ({ isDone: false, result });

/**
 * Every intent is recorded before it is sent, so what no intent or charge is known of was not made here. Only a restored
 * database may have forgotten it, and a charge without a reference may be one whose outcome is not known.
 */
async function unknownTo(
  { db }: Charging,
  { companyId, connectionId }: Pick<NoticeToApply, 'companyId' | 'connectionId'>,
  reference: string | null,
): Promise<Applied> {
  if (await isAfterRestore(db, companyId))
    return { ...later('no charge of this connection has this id, and the database was restored'), isPatient: true };
  if (await hasOpenSale(db, companyId, connectionId, reference)) return later('the charge is not decided yet');
  return { isDone: false, isForeign: true, result: 'no charge of this connection has this id' };
}

export async function applyNotice(charging: Charging, notice: NoticeToApply): Promise<Applied> {
  const { about } = notice;
  if (about.kind === 'operation') return applyOutcome(charging, notice, about);
  if (about.kind === 'dispute') return applyDispute(charging, notice, about.dispute);
  if (about.kind === 'settled') return applySettlement(charging, notice, about.charge);
  if (about.kind === 'authorized') return applyAuthorized(charging, notice, about.charge);
  if (about.kind === 'not_captured') return applyNotCaptured(charging, notice, about.charge);
  return done('this type has no effect');
}

async function applyOutcome(
  charging: Charging,
  { companyId, connectionId }: Pick<NoticeToApply, 'companyId' | 'connectionId'>,
  { reference, found }: Extract<NoticeSubject, { kind: 'operation' }>,
): Promise<Applied> {
  if (!isUuid(reference)) return done('this is no reference of ours');
  if (found.outcome === 'unknown') return done('it says nothing certain');
  const open = await findOpenByReference(charging.db, companyId, reference);
  if (!open) return applyToClosed(charging, { companyId, connectionId }, reference, found);
  if (open.connection_id !== connectionId) return applyElsewhere(charging, connectionId, open, found);
  if (isBeingSent(open) || open.state === 'waiting') return later('the operation is being sent');
  const state = await findOrder(charging.db, companyId, open.order_id);
  if (!state) return later('the order is not recorded yet');
  if (found.outcome === 'not_found' && open.held) return later('the records are being compared after a restore');
  if (found.outcome === 'not_found' && isOpenSale(open) && isForgettable(charging, state, open)) {
    const elsewhere = await askOthers(charging, open, false);
    if (elsewhere.kind === 'executed') {
      await recordElsewhere(charging, state, open, elsewhere);
      return done('another connection executed it');
    }
    const isCertain = elsewhere.kind === 'not_executed' && elsewhere.prepared.length === 0;
    if (!isCertain) return later('another connection may have executed it');
  }
  const claimed = open.state === 'sending' ? await claimStopped(charging.db, open) : open;
  if (!claimed) return later('the operation is being sent');
  await applyAnswer(charging, state, { open: claimed, found, isNotice: true });
  return done(`the operation is ${found.outcome}`);
}

const isForgettable = (charging: Charging, state: OrderState, open: OpenSale): boolean =>
  state.mode === 'live' && (open.held || mayBeForgotten(charging, open));

/** The process that sends it is about to record the answer. */
const isBeingSent = (open: OpenTransaction): boolean => open.locked && open.state === 'sending';

/** A restored database may have forgotten that this connection executed the charge, and have recorded another one. */
async function applyElsewhere(
  charging: Charging,
  connectionId: string,
  open: OpenTransaction,
  found: Exclude<LookupOutcome, { outcome: 'unknown' }>,
): Promise<Applied> {
  const isOther = done('the operation is of another connection');
  if (!isOpenSale(open) || found.outcome !== 'approved') return isOther;
  const state = await findOrder(charging.db, open.company_id, open.order_id);
  if (!state) return later('the order is not recorded yet');
  if (!isForgettable(charging, state, open)) return isOther;
  if (isBeingSent(open)) return later('the operation is being sent');
  const claimed = open.state === 'waiting' ? await claimWaiting(charging.db, open, lockMs[state.mode], true) : {};
  if (!claimed) return later('the operation is being sent');
  const { reference } = open;
  await recordElsewhere(charging, state, { ...open, ...claimed }, { kind: 'executed', connectionId, reference, found });
  return done('this connection executed it');
}

async function applyToClosed(
  charging: Charging,
  { companyId, connectionId }: Pick<NoticeToApply, 'companyId' | 'connectionId'>,
  reference: string,
  found: Extract<NoticeSubject, { kind: 'operation' }>['found'],
): Promise<Applied> {
  const closed = await findByReference(charging.db, companyId, reference);
  if (!closed) return unknownTo(charging, { companyId, connectionId }, reference);
  if (closed.connection_id !== connectionId) return done('the operation is of another connection');
  const isReturned = closed.type === 'refund' && closed.status === 'succeeded' && found.outcome === 'declined';
  if (!isReturned) return done('the outcome was known');
  await failRefund(charging, companyId, closed, { code: found.failureCode, reason: found.failureReason });
  return done('the refund failed after it had settled');
}

/** The money of a refund came back to the merchant. */
async function failRefund(
  charging: Charging,
  companyId: string,
  { id, order_id, amount }: NoticedTransaction,
  failure: Parameters<typeof returnRefund>[3],
): Promise<void> {
  await charging.db.transaction(async (transaction) => {
    const state = await lockOrder(transaction, companyId, order_id);
    if (!state) return;
    const at = nowOf(charging, state);
    if (!(await returnRefund(transaction, companyId, id, failure, at))) return;
    const { order } = state;
    const to = {
      ...order,
      status: nextOrderStatus(order.status, 'refund_rejected') ?? order.status,
      refunded_amount: order.refunded_amount - amount,
      sequence: order.sequence + 1,
      updated_at: at,
    };
    const status = refundReturned.to;
    const changed = { status, failure_code: failure.code, failure_reason: failure.reason };
    const transactions = state.transactions.map((entry) => (entry.id === id ? { ...entry, ...changed } : entry));
    const object = toWire({ ...state, order: to, transactions });
    const event = newEvent(companyId, at.getTime(), 'order.refund_failed', object, to.sequence, null);
    if (!(await moveOrder(transaction, { from: order, to, events: [event] }))) {
      throw new Error('a locked order has changed');
    }
  });
}

const nowOf = ({ clock }: Charging, { clockOffsetMs }: OrderState): Date => new Date(clock.nowMs() + clockOffsetMs);

async function applySettlement(
  charging: Charging,
  { companyId, connectionId, happenedAt }: NoticeToApply,
  noticed: NoticedCharge,
): Promise<Applied> {
  const charge = await findCharge(charging.db, companyId, connectionId, ours(noticed));
  if (!charge) return unknownTo(charging, { companyId, connectionId }, ours(noticed).reference);
  await markSettled(charging.db, companyId, charge.id, happenedAt);
  return done('the charge is settled');
}

/** An authorization whose charge was decided and is not paid holds funds of the cardholder for nothing. */
async function applyAuthorized(
  charging: Charging,
  { companyId, connectionId }: NoticeToApply,
  noticed: NoticedCharge,
): Promise<Applied> {
  const { reference } = ours(noticed);
  if (reference === null) return done('this is no reference of ours');
  if (await findOpenByReference(charging.db, companyId, reference)) return later('the charge is not decided yet');
  const charge = await findByReference(charging.db, companyId, reference);
  if (!charge) return unknownTo(charging, { companyId, connectionId }, reference);
  const isUnpaid = charge.status === 'failed' || charge.status === transactionChanges.voided.to;
  if (charge.connection_id === connectionId && !isUnpaid) return done('the charge is paid');
  return release(charging, { companyId, connectionId }, noticed, 'the charge is not paid');
}

async function release(
  { vault }: Charging,
  place: Pick<NoticeToApply, 'companyId' | 'connectionId'>,
  { reference, transactionId }: NoticedCharge,
  result: string,
): Promise<Applied> {
  if (reference === null || transactionId === null) return done(result);
  const isReleased = await vault.release({ ...place, reference, transactionId });
  return isReleased ? done(`${result}; its funds are released`) : later(`${result}; its funds are not released yet`);
}

/** Not every reference at a shared account is ours. */
const ours = ({ reference, transactionId }: NoticedCharge): NoticedCharge => ({
  reference: reference !== null && isUuid(reference) ? reference : null,
  transactionId,
});

/**
 * The customer pays nothing, so the order is voided. A refund of the charge fails too, and is decided first. If a refund
 * was executed all the same, a person has to decide.
 */
async function applyNotCaptured(
  charging: Charging,
  place: Pick<NoticeToApply, 'companyId' | 'connectionId'>,
  noticed: NoticedCharge,
): Promise<Applied> {
  const applied = await voidNotCaptured(charging, place, ours(noticed));
  return applied.isDone ? release(charging, place, ours(noticed), applied.result) : applied;
}

async function voidNotCaptured(
  charging: Charging,
  { companyId, connectionId }: Pick<NoticeToApply, 'companyId' | 'connectionId'>,
  noticed: NoticedCharge,
): Promise<Applied> {
  const charge = await findCharge(charging.db, companyId, connectionId, noticed);
  if (!charge) return applyNotCapturedInDoubt(charging, { companyId, connectionId }, noticed);
  if (charge.status === transactionChanges.voided.to) return done('the order is voided');
  return charging.db.transaction(async (transaction) => {
    const state = await lockOrder(transaction, companyId, charge.order_id);
    if (!state || state.order.sale_id !== charge.id) return done('the charge is not the one that was paid');
    const open = await findOpenOf(transaction, companyId, charge.order_id);
    if (open.length > 0) return later('another operation of the order is decided first');
    const status = state.order.refunded_amount === 0 && nextOrderStatus(state.order.status, 'not_captured');
    if (!status) {
      const context = { company_id: companyId, order_id: charge.order_id, status: state.order.status };
      charging.log.error(context, 'a charge was not captured, and the status of its order does not show it');
      return done('the status of the order does not allow it');
    }
    const at = nowOf(charging, state);
    await changeSale(transaction, companyId, charge.id, 'voided', at);
    const to = { ...state.order, status, sequence: state.order.sequence + 1, updated_at: at };
    const transactions = state.transactions.map((entry) =>
      entry.id === charge.id ? { ...entry, status: transactionChanges.voided.to } : entry,
    );
    const object = toWire({ ...state, order: to, transactions });
    const event = newEvent(companyId, at.getTime(), 'order.voided', object, to.sequence, null);
    if (!(await moveOrder(transaction, { from: state.order, to, events: [event] }))) {
      throw new Error('a locked order has changed');
    }
    return done('the order is voided');
  });
}

/** A charge in doubt that was not captured did not happen. */
async function applyNotCapturedInDoubt(
  charging: Charging,
  place: Pick<NoticeToApply, 'companyId' | 'connectionId'>,
  { reference }: NoticedCharge,
): Promise<Applied> {
  const found = { outcome: 'not_found', isFinal: true } as const;
  const open = reference === null ? undefined : await findOpenByReference(charging.db, place.companyId, reference);
  return open
    ? applyOutcome(charging, place, { kind: 'operation', reference: open.reference, found })
    : unknownTo(charging, place, reference);
}

/** What a state of a dispute means for its order, in order. A report may be the first that arrives. */
const triggers: Readonly<Record<DisputeState, readonly Dispute[]>> = {
  inquiry: [],
  inquiry_closed: [],
  needs_response: ['chargeback_raised'],
  under_review: ['chargeback_raised'],
  won: ['chargeback_raised', 'chargeback_dismissed'],
  lost: ['chargeback_raised', 'chargeback_accepted'],
  accepted: ['chargeback_raised', 'chargeback_accepted'],
};

async function applyDispute(
  charging: Charging,
  { companyId, connectionId, happenedAt }: NoticeToApply,
  noticed: NoticedDispute,
): Promise<Applied> {
  const charge = await findCharge(charging.db, companyId, connectionId, ours(noticed.charge));
  if (!charge) return unknownTo(charging, { companyId, connectionId }, ours(noticed.charge).reference);
  const result = await charging.db.transaction(async (transaction) => {
    const state = await lockOrder(transaction, companyId, charge.order_id);
    if (!state) return later('the order is not recorded yet');
    // A void in progress decides first whether there is anything to dispute.
    if (state.voiding) return later('the charge is being voided');
    const at = nowOf(charging, state);
    const reported: DisputeRow = {
      company_id: companyId,
      id: newId(at.getTime()),
      order_id: charge.order_id,
      transaction_id: charge.id,
      connection_id: connectionId,
      processor_id: noticed.disputeId,
      state: noticed.state,
      amount: noticed.amount,
      currency: noticed.currency,
      reason: noticed.reason,
      network_reason_code: noticed.networkReasonCode,
      evidence_due_at: noticed.evidenceDueAtMs === null ? null : new Date(noticed.evidenceDueAtMs),
      state_at: happenedAt,
      created_at: at,
      updated_at: at,
    };
    const changes = triggers[noticed.state];
    if (changes.length > 0) await adoptRecorded(transaction, reported);
    if (!(await saveDispute(transaction, reported))) return done('a later report is known');
    const about = { companyId, orderId: charge.order_id, requestId: null, isReported: true };
    for (const trigger of changes) {
      await changeIfPossible(charging, transaction, { ...about, trigger });
    }
    return done(`the dispute is ${noticed.state}`);
  });
  return result;
}
