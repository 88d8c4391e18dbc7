import type { Database } from '../../../platform/database.ts';
import { newId } from '../../../platform/ids.ts';
import type { DisputeState, NoticedCharge, NoticedDispute } from '../../../vault/processors/notices.ts';
import { newEvent } from '../../events/service.ts';
import { changeIfPossible, type ChargebackTrigger } from '../chargebacks.ts';
import type { Charging } from '../operations/charging.ts';
import { adoptRecorded, type DisputeRow, saveDispute } from '../dispute-queries.ts';
import { type NoticedTransaction, returnRefund } from './notice-queries.ts';
import { findOpenOf } from '../operations/open-queries.ts';
import { recordReleased } from '../authorizations.ts';
import { releaseCredit } from '../credit.ts';
import { isAuthorized, type OrderState, toWire } from '../order.ts';
import { changeSale, lockOrder, moveOrder } from '../queries.ts';
import type { NoticeToApply } from './resolve-notice.ts';
import { nextOrderStatus, refundReturned, transactionChanges } from '../transitions.ts';

/** What a notice about an operation that is closed changes. */

/** `isDone` is false if what the notice is about is not recorded yet; `result` is in words. */
export interface Applied {
  readonly isDone: boolean;
  readonly result: string;
  /** Whether it is about a payment that was not made here. */
  readonly isForeign?: boolean;
  /** Whether it may be recorded weeks later: after a restore, when a request is repeated. */
  readonly isPatient?: boolean;
}

export const done = (result: string): Applied => ({ isDone: true, result });
export const later = (result: string): Applied => ({ isDone: false, result });

type Place = Pick<NoticeToApply, 'companyId' | 'connectionId'>;

/** The money of a refund came back to the merchant. */
export async function failRefund(
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

/** Cancels an authorization whose charge is not paid: it holds funds of the cardholder for nothing. */
export async function release(
  { vault }: Charging,
  place: Place,
  { reference, transactionId }: NoticedCharge,
  result: string,
): Promise<Applied> {
  if (reference === null || transactionId === null) return done(result);
  const { companyId, connectionId } = place;
  const isReleased = await vault.release({ companyId, connectionId, reference, transactionId });
  return isReleased ? done(`${result}; its funds are released`) : later(`${result}; its funds are not released yet`);
}

/**
 * The customer pays nothing, so the order is voided. A refund of the charge fails too, and is decided first. If a refund
 * was executed all the same, a person has to decide.
 */
export async function voidNotCaptured(
  charging: Charging,
  { companyId }: Place,
  charge: NoticedTransaction,
): Promise<Applied> {
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
    await releaseCredit(transaction, state.order, { type: 'order_voided', nowMs: at.getTime() });
    return done('the order is voided');
  });
}

/** The processor holds no funds any more for an order that waits for its capture. */
export async function voidReleased(
  charging: Charging,
  { companyId }: Place,
  _about: unknown,
  { order_id }: NoticedTransaction,
): Promise<Applied> {
  return charging.db.transaction(async (transaction) => {
    const state = await lockOrder(transaction, companyId, order_id);
    if (!state || !isAuthorized(state.order)) return done('no funds are held for the order');
    const open = await findOpenOf(transaction, companyId, order_id);
    if (open.length > 0) return later('another operation of the order is decided first');
    await recordReleased(transaction, state, { at: nowOf(charging, state), requestId: null });
    return done('the order is voided');
  });
}

/** What a state of a dispute means for its order, in order. A report may be the first that arrives. */
const triggers: Readonly<Record<DisputeState, readonly ChargebackTrigger[]>> = {
  inquiry: [],
  inquiry_closed: [],
  needs_response: ['chargeback_raised'],
  under_review: ['chargeback_raised'],
  won: ['chargeback_raised', 'chargeback_dismissed'],
  lost: ['chargeback_raised', 'chargeback_accepted'],
  accepted: ['chargeback_raised', 'chargeback_accepted'],
};

export async function applyDispute(
  charging: Charging,
  notice: NoticeToApply,
  charge: NoticedTransaction,
  noticed: NoticedDispute,
): Promise<Applied> {
  return charging.db.transaction((transaction) => recordDispute(charging, transaction, notice, charge, noticed));
}

export async function recordDispute(
  charging: Charging,
  transaction: Database,
  { companyId, connectionId, happenedAt }: Pick<NoticeToApply, 'companyId' | 'connectionId' | 'happenedAt'>,
  charge: NoticedTransaction,
  noticed: NoticedDispute,
): Promise<Applied> {
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
}
