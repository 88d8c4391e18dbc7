import { minorUnits } from '../../../platform/currencies.ts';
import type { LookupOutcome, Money, Outcome } from '../processor.ts';
import { isCharge, mainAction, outcomeIn } from './answers.ts';
import { declined } from './codes.ts';
import type { Transaction } from './report.ts';

/**
 * Captures of authorizations in reports. A capture is an action on its authorization and has no reference, so any capture of the
 * same amount is the one we asked for: an authorization has only one.
 */

/** An authorization that is to be captured on request. A sale is one transaction without an `auth`. */
export const isHeldCharge = (transaction: Transaction): boolean =>
  isCharge(transaction) && mainAction(transaction)?.type === 'auth';

const captureIn = ({ actions }: Transaction) =>
  actions.findLast(({ type, success }) => type === 'capture' && success === true);

export const isCaptured = (transaction: Transaction): boolean => captureIn(transaction) !== undefined;

const over = (): Outcome & LookupOutcome => ({
  ...declined({ failureCode: 'transaction_not_allowed' }, { response_text: 'The authorization was voided.' }),
  isOver: true,
});
export const captured = (): Outcome & LookupOutcome =>
  declined({ failureCode: 'duplicate_transaction' }, { response_text: 'The authorization was captured.' });

/** What the report of an authorization says about its capture; undefined while it is held. */
export function capturedOutcomeIn(
  transaction: Transaction,
  money: Money | undefined,
  nowMs: number | undefined,
): (Outcome & LookupOutcome) | undefined {
  if (transaction.condition === 'canceled') return over();
  const capture = captureIn(transaction);
  if (!capture) return undefined;
  const isSame = money === undefined || minorUnits(capture.amount, transaction.currency) === money.amount;
  if (!isSame) return captured();
  const found = outcomeIn(transaction, nowMs, isHeldCharge(transaction));
  if (found.outcome !== 'approved') return found;
  const { executed: _, networkTransactionId: __, ...outcome } = found;
  return outcome;
}
