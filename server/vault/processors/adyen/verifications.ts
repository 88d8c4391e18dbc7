import type { Answer, Silence } from '../exchange.ts';
import { accountRefusalIn } from '../account-refusal.ts';
import type { Verification } from '../processor.ts';
import {
  checksOf,
  configurationProblemOf,
  networkIdOf,
  paymentIn,
  refused,
  refusedResults,
  rejectionOf,
  unknown,
  withoutOutcome,
} from './answers.ts';
import { keyOf } from './requests.ts';

/** Adyen's answers to authorizations with an amount of zero, which check cards. */

export function verificationOf(answer: Answer | Silence, reference: string): Verification {
  if ('reason' in answer) return unknown(answer.reason);
  const payment = paymentIn(answer, reference);
  if (!payment) return rejectedVerification(answer, reference);
  const isVerified = payment.resultCode === 'Authorised';
  if (!isVerified && !refusedResults.includes(payment.resultCode)) {
    return unknown('the card can be checked only if the cardholder authenticates the check');
  }
  const refusal = refused(payment);
  if (refusal?.rejection !== undefined)
    return { ...unknown('Adyen refused the account'), ...accountRefusalIn(refusal) };
  const { avs_result: avsResult, cvv_result: cvvResult } = checksOf(payment);
  const networkTransactionId = isVerified ? networkIdOf(payment) : null;
  return { outcome: isVerified ? 'verified' : 'declined', avsResult, cvvResult, networkTransactionId };
}

/** A wrong card number is an answer about the card; a wrong API key is not. */
function rejectedVerification(answer: Answer, reference: string): Verification {
  const key = keyOf(reference);
  const rejected = rejectionOf(answer, key, false) ?? configurationProblemOf(answer, key, false);
  if (!rejected) return withoutOutcome(answer.status);
  const isCard = !['invalid_merchant_configuration', 'validation_error'].includes(rejected.failureCode);
  const reason = rejected.response.response_text ?? withoutOutcome(answer.status).reason;
  if (!isCard) return { ...unknown(reason), ...accountRefusalIn(rejected) };
  return { outcome: 'declined', avsResult: null, cvvResult: null, networkTransactionId: null };
}
