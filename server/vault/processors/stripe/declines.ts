import { type Advice, advised, networkAdviceOf } from '../advice.ts';
import { failureReasons, type FailureCode, noResponse, type Outcome, type ProcessorResponse } from '../processor.ts';
import {
  authentication,
  blockedBy,
  declines,
  type Meaning,
  meaningOf,
  meaningWithoutCode,
  notConfirmed,
} from './codes.ts';
import type { Charge, StripeError } from './objects.ts';

/** Declines, from the codes of Stripe, of the card network and of Radar. */

export type Declined = Extract<Outcome, { outcome: 'declined' }>;

/** Stripe quotes what it was sent in some messages. Keys and card numbers are removed from every message. */
export function cleanText(message: string | null | undefined): string | null {
  if (!message) return null;
  const withoutKeys = message.replace(/\b(?:sk|rk|pk|whsec)_[\w*]+/g, '***');
  return withoutKeys.replace(/(?:\d[ -]?){11,18}\d/g, '***').slice(0, 300);
}

export function declined(
  failureCode: FailureCode,
  response: Partial<ProcessorResponse>,
  isProcessorFault = false,
): Declined {
  return {
    outcome: 'declined',
    response: { ...noResponse, ...response },
    failureCode,
    failureReason: failureReasons[failureCode],
    ...(isProcessorFault && { isProcessorFault }),
  };
}

type ErrorCodes = Partial<
  Pick<
    StripeError,
    | 'type'
    | 'code'
    | 'decline_code'
    | 'param'
    | 'message'
    | 'advice_code'
    | 'network_advice_code'
    | 'network_decline_code'
  >
>;

const stripeAdvice = ['do_not_try_again', 'try_again_later', 'confirm_card_data'] as const;

function adviceOf({ advice_code, network_advice_code, network_decline_code }: ErrorCodes): Advice | undefined {
  return (
    stripeAdvice.find((advice) => advice === advice_code) ?? networkAdviceOf(network_advice_code, network_decline_code)
  );
}

export function declinedAs(
  { failureCode, failureReason, isProcessorFault, needsAuthentication }: Meaning,
  response: Partial<ProcessorResponse>,
): Declined {
  const found = {
    ...declined(failureCode, response, isProcessorFault),
    ...(needsAuthentication && { needsAuthentication }),
  };
  return failureReason === undefined ? found : { ...found, failureReason };
}

/** The advice of the card network, unless only the customer can make the payment succeed. */
function meaningAdvised(meaning: Meaning, error: ErrorCodes): Meaning {
  if (meaning === authentication || meaning === notConfirmed) return meaning;
  const failureCode = advised(meaning.failureCode, adviceOf(error));
  if (failureCode === meaning.failureCode) return meaning;
  return { failureCode, ...(meaning.isProcessorFault && { isProcessorFault: true }) };
}

/** The name of a parameter of Stripe, which contains nothing that a customer or merchant has entered. */
const parameterName = /^[a-z_]{1,40}(\[[a-z_]{1,40}\]){0,3}$/;

function rejectionOf({ code, decline_code, param }: ErrorCodes): string {
  const known = [decline_code, code].find((one) => one && declines.has(one));
  if (known) return `Stripe refuses requests of the account: ${known}.`;
  return param && parameterName.test(param)
    ? `Stripe refuses ${param} for the account, without a code.`
    : 'Stripe refuses requests of the account, without a code.';
}

export function declinedBy(
  error: ErrorCodes,
  response: Partial<ProcessorResponse> = {},
  network_status?: string | null,
): Declined {
  const { type, code, decline_code, message } = error;
  const response_code = decline_code ?? code ?? null;
  const meaning = meaningOf(decline_code, code) ?? meaningWithoutCode({ type, code: response_code, network_status });
  const shown = { ...response, response_code, response_text: cleanText(message) };
  const found = declinedAs(meaningAdvised(meaning, error), shown);
  return found.failureCode === 'invalid_merchant_configuration' ? { ...found, rejection: rejectionOf(error) } : found;
}

export function blockedByRadar(
  { reason, seller_message }: Pick<NonNullable<Charge['outcome']>, 'reason' | 'seller_message'>,
  response: Partial<ProcessorResponse>,
): Declined {
  const shown = { ...response, response_code: reason ?? 'blocked', response_text: cleanText(seller_message) };
  return { ...declinedAs(blockedBy(reason), shown), isUnseenByBank: true };
}
