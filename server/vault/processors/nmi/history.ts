import type { Notice, NoticeSubject } from '../notices.ts';
import type { ListedOperation } from '../processor.ts';
import { isCharge, isRefund, mainAction, outcomeIn } from './answers.ts';
import { isCaptured, isHeldCharge } from './held-funds.ts';
import { minorUnits } from '../../../platform/currencies.ts';
import type { Transaction } from './report.ts';

/** What the reports of a period say: the operations that NMI executed, and what happened to them later. */

/**
 * The operations of a period in the order of execution. A void is an action on its charge and has no reference, so it
 * shows only as `voided` of the charge; the capture of an authorization does not show.
 */
export function listedIn(
  transactions: readonly Transaction[],
  { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
): ListedOperation[] {
  const orderIds = new Map(transactions.filter(isCharge).map(({ id, orderId }) => [id, orderId]));
  const listed = transactions.flatMap((transaction) => listedOf(transaction, orderIds) ?? []);
  return listed
    .filter(({ executedAtMs }) => executedAtMs >= fromMs && executedAtMs < untilMs)
    .toSorted((one, other) => one.executedAtMs - other.executedAtMs || byId(one, other));
}

function kindOf(transaction: Transaction): 'charge' | 'authorization' | 'refund' | undefined {
  if (isHeldCharge(transaction)) return 'authorization';
  if (isCharge(transaction)) return 'charge';
  return isRefund(transaction) ? 'refund' : undefined;
}

/** Returns undefined for a transaction without a reference or a time, and for one that is not an operation. */
function listedOf(transaction: Transaction, orderIds: ReadonlyMap<string, string>): ListedOperation | undefined {
  const action = mainAction(transaction);
  const kind = kindOf(transaction);
  const { id, orderId, originalId, currency, last4, condition } = transaction;
  if (action?.atMs === undefined || !kind || orderId === '') return undefined;
  const isVoided = condition === 'canceled';
  return {
    kind,
    reference: orderId,
    chargeReference: orderIds.get(originalId ?? '') || null,
    amount: minorUnits(action.amount, currency) ?? null,
    currency: currency || null,
    last4,
    approved:
      outcomeIn(transaction, undefined, kind === 'authorization').outcome === 'approved' ||
      (isVoided && action.success === true),
    voided: kind !== 'refund' && isVoided,
    transactionId: id,
    executedAtMs: action.atMs,
  };
}

const byId = (one: ListedOperation, other: ListedOperation): number =>
  one.transactionId.length - other.transactionId.length || (one.transactionId < other.transactionId ? -1 : 1);

/** NMI's documents list no action for chargebacks. Where a processor reports one to NMI, it has this type. */
const chargebackType = 'chargeback';

/** Notices have the same id in every poll, so that a repetition has no effect. */
export function noticesIn(transactions: readonly Transaction[], nowMs: number | undefined): Notice[] {
  return transactions.flatMap((transaction) => [
    ...conditionNotices(transaction, nowMs),
    ...chargebackNotices(transaction),
  ]);
}

function conditionNotices(transaction: Transaction, nowMs: number | undefined): Notice[] {
  const { id, orderId, condition, actions } = transaction;
  const main = mainAction(transaction);
  const notice = (about: NoticeSubject): Notice[] => {
    const atMs = Math.max(0, ...actions.map((action) => action.atMs ?? 0));
    return [{ id: `${id}:${condition}`, type: condition, atMs, about }];
  };
  if (!['complete', 'failed', 'canceled'].includes(condition) || !main) return [];
  const charge = { reference: orderId || null, transactionId: id };
  if (isRefund(transaction)) {
    const found = outcomeIn(transaction, nowMs);
    return orderId === '' || found.outcome === 'unknown'
      ? []
      : notice({ kind: 'operation', reference: orderId, found });
  }
  if (!isCharge(transaction) || main.success !== true) return [];
  if (isHeldCharge(transaction) && !isCaptured(transaction)) return notice({ kind: 'released', charge });
  return notice({ kind: condition === 'complete' ? 'settled' : 'not_captured', charge });
}

function chargebackNotices({ id, orderId, currency, actions }: Transaction): Notice[] {
  return actions.flatMap(({ type, amount: text, atMs = 0 }): Notice[] => {
    const amount = type === chargebackType ? minorUnits(text, currency) : undefined;
    if (amount === undefined) return [];
    const charge = { reference: orderId || null, transactionId: id };
    // NMI takes no evidence, and the acquirer's deadline is unknown here.
    const rest = {
      state: 'needs_response',
      reason: 'general',
      networkReasonCode: null,
      evidenceDueAtMs: null,
    } as const;
    const dispute = { disputeId: `${id}:${chargebackType}`, charge, amount, currency, ...rest };
    return [{ id: `${id}:${chargebackType}`, type, atMs, about: { kind: 'dispute', dispute } }];
  });
}
