import { type Answer, jsonOf, type Silence, silentOutcome } from '../exchange.ts';
import { type LookupOutcome, type Money, noResponse, type Outcome } from '../processor.ts';
import {
  type Approved,
  executionOf,
  hasMoney,
  isAnswerTo,
  isKeyReuse,
  refusedKey,
  rejectionIn,
  unclear,
  type Unknown,
  unknown,
} from './answers.ts';
import { refundFailures } from './codes.ts';
import { cleanText, type Declined, declined, declinedBy } from './declines.ts';
import { idOf, readError, readRefund, type Refund, type StripeError } from './objects.ts';
import { kindName, referenceName } from './requests.ts';

/** Stripe's answers about refunds. */

export interface SentRefund {
  readonly kind?: 'refund' | 'void' | undefined;
  readonly reference: string;
  readonly intent: string;
  readonly money?: Money | undefined;
}

const isRefundOf = (refund: Refund, { reference, intent }: SentRefund): boolean =>
  refund.metadata?.[referenceName] === reference && idOf(refund.payment_intent) === intent;

export function refundStanding(refund: Refund, askedAtMs: number | undefined): Approved | Declined | Unknown {
  const { id: transaction_id, status, failure_reason } = refund;
  const response = { ...noResponse, transaction_id, response_code: status ?? null };
  const execution = executionOf(refund.created, askedAtMs);
  if (status === 'succeeded' || status === 'pending' || status === 'requires_action') {
    return { outcome: 'approved', response, settled: status === 'succeeded', ...execution };
  }
  if (status !== 'failed' && status !== 'canceled') return unknown(`the refund is ${status ?? 'without a status'}`);
  const code = failure_reason ?? status;
  const failureCode = refundFailures.get(code) ?? (status === 'canceled' ? 'transaction_not_allowed' : 'unknown');
  return { ...declined(failureCode, { ...response, response_code: code }), ...execution };
}

/** The outcome of a refund, or a conflict if our reference has another content. */
export function foundRefund(
  refund: Refund,
  sent: SentRefund,
  askedAtMs: number | undefined,
): Exclude<LookupOutcome, { outcome: 'not_found' }> {
  const standing = refundStanding(refund, askedAtMs);
  const isOurs =
    hasMoney(refund, sent.money) &&
    (sent.kind === undefined || (refund.metadata?.[kindName] ?? 'refund') === sent.kind);
  if (isOurs || standing.outcome === 'unknown') return standing;
  return {
    outcome: 'conflict',
    approved: standing.outcome === 'approved',
    ...executionOf(refund.created, askedAtMs),
  };
}

/**
 * Whether Stripe has answered an earlier request with this reference, and keeps that answer: this one was not executed.
 * Stripe keeps errors too.
 */
export function isSpent(answer: Answer | Silence, reference: string): boolean {
  if ('reason' in answer || !isAnswerTo(answer, reference)) return false;
  const { status, headers } = answer;
  if (status >= 500) return headers['idempotent-replayed'] === 'true';
  const error = status === 400 ? readError(jsonOf(answer)) : undefined;
  return error !== undefined && isKeyReuse(error);
}

/** Stripe has no code for an amount that is larger than what remains of the charge. */
function refusedRefund(error: StripeError): Declined {
  const isAmount = !error.code && error.type === 'invalid_request_error';
  return isAmount ? declined('validation_error', { response_text: cleanText(error.message) }) : declinedBy(error);
}

/** Returns undefined if the answer proves nothing, but the list of refunds will. */
export function refundOutcome(answer: Answer | Silence, sent: SentRefund): Outcome | undefined {
  if ('reason' in answer) return silentOutcome(answer);
  const body = jsonOf(answer);
  const refund = answer.status === 200 ? readRefund(body) : undefined;
  if (refund && isRefundOf(refund, sent)) return foundRefund(refund, sent, answer.askedAtMs);
  const error = readError(body);
  if (!error) return unknown(unclear(answer));
  const refused = refusedKey(answer);
  if (refused) return refused;
  if (isSpent(answer, sent.reference)) return undefined;
  if (!rejectionIn(answer)) return unknown(unclear(answer));
  if (isKeyReuse(error) || !isAnswerTo(answer, sent.reference)) return undefined;
  return refusedRefund(error);
}

export function findRefund(refunds: readonly unknown[], sent: SentRefund): Refund | undefined {
  return refunds.map(readRefund).find((refund) => refund !== undefined && isRefundOf(refund, sent));
}
