import { ownEntry } from '../../../platform/own-entry.ts';
import Type from 'typebox';
import { checkOf } from '../../../platform/schema-check.ts';
import { type Answer, jsonOf, type Silence, silentOutcome } from '../exchange.ts';
import { advised, networkAdviceOf } from '../advice.ts';
import { actionField, authenticationFields, authenticationIn, neededCustomer, unsuccessful } from './authentication.ts';
import { failureReasons, noResponse, type Outcome, type Preparation, type ProcessorResponse } from '../processor.ts';
import {
  authenticationWanted,
  avsLetterOf,
  cvvLetterOf,
  type Decline,
  errors,
  inProgressCode,
  refusals,
  securityCodeWanted,
} from './codes.ts';
import { type Authorization, handleOf } from './handle.ts';
import { type AdyenAmount, isSameAmount } from './money.ts';
import { keyOf } from './requests.ts';

/** Parses Adyen's answers. An answer that proves nothing is `unknown`. No text of Adyen's reaches an outcome. */

const amountSchema = Type.Object({ currency: Type.String(), value: Type.Integer() });
const text = Type.Optional(Type.String());

const additionalSchema = Type.Object({
  authCode: text,
  avsResult: text,
  cvcResult: text,
  networkTxReference: text,
  refusalReasonRaw: text,
  inferredRefusalReason: text,
  merchantAdviceCode: text,
  authorisedAmountValue: text,
  authorisedAmountCurrency: text,
  ...authenticationFields,
});
/** What a payment shows by the settings of the account. */
export const additionalCheck = checkOf(additionalSchema);

const paymentSchema = Type.Object({
  resultCode: Type.String(),
  merchantReference: text,
  pspReference: text,
  amount: Type.Optional(amountSchema),
  refusalReasonCode: text,
  additionalData: Type.Optional(additionalSchema),
  action: actionField,
});
export const paymentAnswer = checkOf(paymentSchema);
export type Payment = Type.Static<typeof paymentSchema>;

const modificationSchema = Type.Object({
  merchantAccount: Type.String(),
  pspReference: Type.String({ pattern: '^[A-Z0-9]{1,40}$' }),
  reference: Type.String(),
  status: Type.Literal('received'),
  paymentPspReference: text,
  paymentReference: text,
  amount: Type.Optional(amountSchema),
});
const modificationAnswer = checkOf(modificationSchema);

const errorSchema = Type.Object({
  status: Type.Integer(),
  errorCode: Type.String(),
  errorType: text,
});
const errorAnswer = checkOf(errorSchema);
type AdyenError = Type.Static<typeof errorSchema>;

type Unknown = Extract<Outcome, { outcome: 'unknown' }>;
type Declined = Extract<Outcome, { outcome: 'declined' }>;

export const unknown = (reason: string): Unknown => ({ outcome: 'unknown', reason });

export function declined(
  { name, failureCode, isProcessorFault = false, reason, wantsSecurityCode, ...about }: Decline,
  response: Partial<ProcessorResponse>,
): Declined {
  const { needsAuthentication, authentication } = about;
  const isAccount = failureCode === 'invalid_merchant_configuration' && !wantsSecurityCode;
  return {
    outcome: 'declined',
    response: { ...noResponse, ...response },
    failureCode,
    failureReason: reason ?? failureReasons[failureCode],
    ...(isProcessorFault && { isProcessorFault }),
    ...(wantsSecurityCode && { wantsSecurityCode }),
    ...(needsAuthentication && { needsAuthentication }),
    ...(authentication && { authentication: unsuccessful(authentication) }),
    ...(isAccount && { rejection: `Adyen refuses requests of the account: ${name}.` }),
  };
}

export const withoutOutcome = (status: number): Unknown =>
  unknown(`the response with status ${status} contains no outcome`);

/** Only short plain values are taken over from an answer. */
const plain = (value: string | undefined, form: RegExp): string | null =>
  value !== undefined && form.test(value) ? value : null;

/** Adyen repeats the key of a request in the headers of its answer. */
const keyIn = ({ headers }: Answer): string | undefined => headers['idempotency-key']?.toString();

export function errorOf(answer: Answer, key: string | undefined): AdyenError | undefined {
  const echoed = keyIn(answer);
  if (echoed !== undefined && key !== undefined && echoed !== key) return undefined;
  const body = jsonOf(answer);
  return answer.status >= 400 && errorAnswer.Check(body) && body.status === answer.status ? body : undefined;
}

/** A change of a payment was received. Whether it is executed is in a notice. */
export function isAccepted(answer: Answer | Silence): boolean {
  return !('reason' in answer) && answer.status === 201 && modificationAnswer.Check(jsonOf(answer));
}

/** Another request with the same key is under way, and Adyen asks to repeat this one later. */
export function isInProgress(answer: Answer | Silence): boolean {
  if ('reason' in answer || answer.headers['transient-error'] !== 'true' || answer.status >= 500) return false;
  return errorOf(answer, undefined)?.errorCode === inProgressCode;
}

const notAuthorized: Decline = {
  name: 'Unauthorized',
  failureCode: 'invalid_merchant_configuration',
  isProcessorFault: true,
};
const notValid: Decline = { name: 'Invalid request', failureCode: 'validation_error' };

/** Adyen refuses the API key before it executes anything. */
export const isRefusal = (answer: Answer | Silence): boolean =>
  'status' in answer && [401, 403].includes(answer.status);

const wrongKeyText = 'Adyen does not accept the API key. It may be wrong or revoked.';
const wrongAccountText =
  'The API key may not do this for the merchant account. Check the account and the roles of the key.';

function refusedKey({ status }: Answer): Declined {
  const response_text = status === 401 ? wrongKeyText : wrongAccountText;
  const { rejection: _, ...decline } = declined(notAuthorized, { response_text });
  // A key without a role may still charge, so what it lacks is kept with the operation.
  return { ...decline, refusesCredentials: true, ...(status === 403 && { rejection: response_text }) };
}

/** The error of a request that Adyen rejected. Undefined if the request may have been executed. */
function rejectedFor(answer: Answer, key: string): AdyenError | undefined {
  const error = [400, 422].includes(answer.status) ? errorOf(answer, key) : undefined;
  return error?.errorCode === inProgressCode || error?.errorType === 'internal' ? undefined : error;
}

const configurationErrors = ['configuration', 'security'];

const declineOf = ({ errorCode, errorType = '' }: AdyenError): Decline =>
  ownEntry(errors, errorCode) ?? (configurationErrors.includes(errorType) ? notAuthorized : notValid);

/**
 * Returns undefined if the answer does not say that the request was rejected. A wrong key or account says nothing about
 * an earlier request with the same key, hence `isRepeat`.
 */
export function rejectionOf(answer: Answer, key: string, isRepeat: boolean): Declined | undefined {
  if (isRefusal(answer)) return isRepeat ? undefined : refusedKey(answer);
  const error = rejectedFor(answer, key);
  if (!error) return undefined;
  const found = declineOf(error);
  if (isRepeat && found.isProcessorFault) return undefined;
  const response_code = plain(error.errorCode, /^[\w.-]{1,12}$/);
  const response_text = found === notValid ? 'Adyen rejected a field of the request.' : found.name;
  return declined(found, { response_code, response_text });
}

/** An answer that says nothing about an earlier request with the same key. */
export function undecidedBy(answer: Answer, key: string): Unknown {
  if (answer.status !== 401 || !errorOf(answer, key)) return withoutOutcome(answer.status);
  return { ...unknown(wrongKeyText), refusesCredentials: true };
}

export const refusedResults = ['Refused', 'Error', 'Cancelled'];
const authenticationResults = ['RedirectShopper', 'ChallengeShopper', 'IdentifyShopper', 'PresentToShopper'];

export function checksOf({ pspReference, additionalData }: Payment): ProcessorResponse {
  return {
    ...noResponse,
    transaction_id: plain(pspReference, /^[A-Z0-9]{1,40}$/),
    authorization_code: plain(additionalData?.authCode, /^[A-Za-z0-9]{1,10}$/),
    avs_result: avsLetterOf(additionalData?.avsResult),
    cvv_result: cvvLetterOf(additionalData?.cvcResult),
  };
}

export const networkIdOf = ({ additionalData }: Payment): string | null =>
  plain(additionalData?.networkTxReference, /^[A-Za-z0-9 _-]{1,60}$/);

/** Adyen tells a lost or stolen card and a closed account only in the additional data. */
function refusalOf({ refusalReasonCode = '', additionalData }: Payment): Decline {
  const found = ownEntry(refusals, refusalReasonCode) ?? {
    name: 'Refused',
    failureCode: 'unknown' as const,
  };
  const { refusalReasonRaw, merchantAdviceCode } = additionalData ?? {};
  if (/^(41|43)\b/.test(refusalReasonRaw ?? '')) return { ...found, failureCode: 'lost_stolen_card' };
  if (additionalData?.inferredRefusalReason === 'Closed Account') return { ...found, failureCode: 'closed_card' };
  const advice = networkAdviceOf(merchantAdviceCode, refusalReasonRaw);
  return { ...found, failureCode: advised(found.failureCode, advice) };
}

export function refused(payment: Payment): Declined | undefined {
  const { resultCode, refusalReasonCode } = payment;
  const isAuthentication = authenticationResults.includes(resultCode);
  if (!isAuthentication && !refusedResults.includes(resultCode)) return undefined;
  const decline = isAuthentication ? authenticationWanted : refusalOf(payment);
  const found = declined(decline, {
    ...checksOf(payment),
    response_code: plain(refusalReasonCode, /^[\w.-]{1,12}$/),
    response_text: decline.name,
  });
  return { ...authenticationIn(payment.additionalData, null), ...found };
}

/** The payment of our reference, in an answer to an authorization or verification. */
export function paymentIn(answer: Answer, reference: string): Payment | undefined {
  const body = answer.status === 200 ? jsonOf(answer) : undefined;
  if (!paymentAnswer.Check(body)) return undefined;
  const key = keyIn(answer);
  if (body.merchantReference !== undefined) return body.merchantReference === reference ? body : undefined;
  // Not every answer repeats the reference. The key of the request then says which payment it is about.
  const isOurs = key === keyOf(reference) || (key === undefined && authenticationResults.includes(body.resultCode));
  return isOurs ? body : undefined;
}

/** Not every account repeats the amount. Without one it is as it was sent: a smaller one has a result of its own. */
function authorizedAmountOf({ amount, additionalData }: Payment, sent: AdyenAmount): AdyenAmount {
  const { authorisedAmountValue: value, authorisedAmountCurrency: currency = sent.currency } = additionalData ?? {};
  return amount ?? (value === undefined ? sent : { currency, value: Number(value) });
}

interface SentPayment {
  readonly reference: string;
  readonly amount: AdyenAmount;
  readonly hasCode?: boolean;
  /** The customer can be led to the bank. */
  readonly isPresent?: boolean;
}

/** A partial authorization is `partial`: it has to be cancelled. */
export type AuthorizationOutcome = Preparation | { readonly outcome: 'partial'; readonly pspReference: string };

export function authorizationOutcomeOf(
  answer: Answer | Silence,
  { reference, amount, hasCode = false, isPresent = false }: SentPayment,
  isRepeat = false,
): AuthorizationOutcome {
  if ('reason' in answer) return silentOutcome(answer);
  const payment = paymentIn(answer, reference);
  const outcome = payment
    ? ((isPresent ? neededCustomer(payment) : undefined) ?? authorizationIn(payment, amount, 'frictionless'))
    : chargeRejectionOf(answer, reference, { isRepeat, hasCode });
  return outcome ?? withoutOutcome(answer.status);
}

/** Without a security code, its length cannot be wrong. */
const missingCodeErrors = ['103'];

/**
 * Adyen answers some mistakes in the configuration of the account with status 500. If it did execute the authorization after
 * all, the notice about it leads to its release: only this answer would have allowed its capture.
 */
export function configurationProblemOf(answer: Answer, key: string, isRepeat: boolean): Declined | undefined {
  const error = answer.status === 500 && !isRepeat ? errorOf(answer, key) : undefined;
  if (error?.errorType !== 'configuration') return undefined;
  const { name } = ownEntry(errors, error.errorCode) ?? notAuthorized;
  const response_code = plain(error.errorCode, /^[\w.-]{1,12}$/);
  return declined({ ...notAuthorized, name }, { response_code, response_text: name });
}

function chargeRejectionOf(
  answer: Answer,
  reference: string,
  { isRepeat, hasCode }: { readonly isRepeat: boolean; readonly hasCode: boolean },
): Declined | undefined {
  const key = keyOf(reference);
  const rejected = rejectionOf(answer, key, isRepeat) ?? configurationProblemOf(answer, key, isRepeat);
  const { response_code = null } = rejected?.response ?? {};
  if (hasCode || response_code === null || !missingCodeErrors.includes(response_code)) return rejected;
  return isRepeat ? undefined : declined(securityCodeWanted, { response_code, response_text: securityCodeWanted.name });
}

export function authorizationIn(
  payment: Payment,
  amount: AdyenAmount,
  flow: 'frictionless' | 'challenge' | null,
): AuthorizationOutcome | undefined {
  const { transaction_id: pspReference, authorization_code, avs_result, cvv_result } = checksOf(payment);
  if (payment.resultCode === 'PartiallyAuthorised' && pspReference !== null) {
    return { outcome: 'partial', pspReference };
  }
  if (payment.resultCode !== 'Authorised') return refused(payment);
  if (pspReference === null) return undefined;
  if (!isSameAmount(authorizedAmountOf(payment, amount), amount)) return { outcome: 'conflict' };
  const networkTransactionId = networkIdOf(payment);
  const checks = { authorization_code, avs_result, cvv_result };
  const authenticated = authenticationIn(payment.additionalData, flow);
  const authorization = { pspReference, amount, ...checks, networkTransactionId, ...authenticated };
  return { outcome: 'prepared', handle: handleOf(authorization) };
}

/** A capture, refund, cancellation or reversal as it was sent. */
export interface SentModification {
  readonly merchantAccount: string;
  readonly key: string;
  readonly reference: string;
  /** The `pspReference` of the payment; undefined for a cancellation by our reference. */
  readonly payment: string | undefined;
  readonly amount?: AdyenAmount;
  /** An earlier request with this key may have been executed. */
  readonly isRepeat?: boolean;
}

/** A cancellation by our reference names no other payment. */
function isAbout(
  body: Type.Static<typeof modificationSchema>,
  { merchantAccount, reference, payment }: SentModification,
): boolean {
  if (body.merchantAccount !== merchantAccount || body.reference !== reference) return false;
  return payment !== undefined || (body.paymentPspReference === undefined && body.paymentReference === reference);
}

/** Returns the `pspReference` of a modification that Adyen accepted. */
export function modificationOf(
  answer: Answer | Silence,
  sent: SentModification,
): { readonly outcome: 'received'; readonly pspReference: string } | Exclude<Outcome, { outcome: 'approved' }> {
  const { key, payment, amount, isRepeat = false } = sent;
  if ('reason' in answer) return silentOutcome({ ...answer, mayHaveArrived: answer.mayHaveArrived || isRepeat });
  const { status } = answer;
  if (status !== 201) return rejectionOf(answer, key, isRepeat) ?? undecidedBy(answer, key);
  const body = jsonOf(answer);
  if (!modificationAnswer.Check(body) || !isAbout(body, sent)) return withoutOutcome(status);
  if (body.paymentPspReference !== payment) return { outcome: 'conflict' };
  const received = { outcome: 'received', pspReference: body.pspReference } as const;
  if (!amount) return received;
  if (!body.amount) return withoutOutcome(status);
  return isSameAmount(body.amount, amount) ? received : { outcome: 'conflict' };
}

/** A refund or void is approved when Adyen accepts it. Whether it succeeded is in a notice. */
export function followUpOutcomeOf(answer: Answer | Silence, sent: SentModification): Outcome {
  const found = modificationOf(answer, sent);
  if (found.outcome !== 'received') return found;
  const response = { ...noResponse, transaction_id: found.pspReference, response_text: 'received' };
  return { outcome: 'approved', response, settled: false };
}

/** A charge is approved when it was authorized and Adyen accepted the capture. */
export function captureOutcomeOf(
  answer: Answer | Silence,
  sent: SentModification,
  { pspReference, networkTransactionId, authorization_code, avs_result, cvv_result, authentication }: Authorization,
): Outcome {
  // Only Adyen itself can say that a capture was not executed, and only a key that it does not know proves it.
  if (!('reason' in answer) && isRefusal(answer) && (answer.status !== 401 || !errorOf(answer, sent.key))) {
    return withoutOutcome(answer.status);
  }
  const found = modificationOf(answer, sent);
  if (found.outcome !== 'received') return found;
  const checks = { authorization_code, avs_result, cvv_result };
  return {
    outcome: 'approved',
    response: { ...noResponse, transaction_id: pspReference, ...checks, response_text: 'Authorised' },
    settled: false,
    ...(networkTransactionId !== null && { networkTransactionId }),
    ...(authentication && { authentication }),
  };
}
