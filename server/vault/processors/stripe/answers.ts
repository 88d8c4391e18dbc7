import { ownEntry } from '../../../platform/own-entry.ts';
import { type Answer, jsonOf, type Silence, silentOutcome } from '../exchange.ts';
import {
  type LookupOutcome,
  type Money,
  type NeedsCustomer,
  type Outcome,
  type Preparation,
  type ProcessorResponse,
} from '../processor.ts';
import type { CustomerAction } from '../authentication.ts';
import { amountAtStripe } from './amounts.ts';
import { authenticationFailed, authenticationIn, redirectIn } from './authentication.ts';
import { authentication, avsOf, cvvOf, meaningOf, notConfirmed } from './codes.ts';
import { blockedByRadar, cleanText, type Declined, declined, declinedAs, declinedBy } from './declines.ts';
import {
  type Card,
  type Charge,
  idOf,
  type Intent,
  objectOf,
  type PaymentError,
  readError,
  readIntent,
  readNamed,
  type StripeError,
} from './objects.ts';
import { idempotencyHeader, referenceName } from './requests.ts';

/** Stripe's answers as outcomes. An answer that proves nothing is `unknown`. */

export type Approved = Extract<Outcome, { outcome: 'approved' }>;
type Conflict = Extract<Outcome, { outcome: 'conflict' }>;
export type Unknown = Extract<Outcome, { outcome: 'unknown' }>;

export const unknown = (reason: string): Unknown => ({ outcome: 'unknown', reason });
export const notSent = (reason: string): Extract<Outcome, { outcome: 'not_sent' }> => ({ outcome: 'not_sent', reason });

/** The intent of a reference is cancelled for good: it can never be charged. */
export const cancelled: Outcome = { ...notSent('the payment was cancelled before it was confirmed'), isFinal: true };

export const unclear = (answer: Answer | Silence): string =>
  'reason' in answer ? answer.reason : `the response with status ${answer.status} does not contain an outcome`;

/** Sent instead of Stripe's own message, which contains a part of the key. */
export const wrongKeyText = 'Stripe rejects the secret key, or the key lacks a permission.';

const refusedStatuses = [401, 403];

/** The permission that a restricted key lacks, which Stripe names in its message, for example `rak_charge_write`. */
export const lackedPermission = (answer: Answer | Silence): string | undefined =>
  'reason' in answer || answer.status !== 403
    ? undefined
    : /'(rak_\w{1,60})'/.exec(readError(jsonOf(answer))?.message ?? '')?.[1];

/** Stripe refuses a key before it executes anything. A proxy can answer with the same status, but not with an error of Stripe. */
export function refusedKey(answer: Answer | Silence): Declined | undefined {
  if ('reason' in answer || !refusedStatuses.includes(answer.status) || !readError(jsonOf(answer))) return undefined;
  const permission = lackedPermission(answer);
  const response_text = permission ? `The restricted key at Stripe lacks the permission ${permission}.` : wrongKeyText;
  const refused = declined('invalid_merchant_configuration', { response_text }, true);
  return { ...refused, refusesCredentials: true, ...(permission && { rejection: response_text }) };
}

/** Why a lookup has no result. Only a key that Stripe does not know is refused for every call. */
export function unanswered(answer: Answer | Silence): Unknown {
  const isRefused = !('reason' in answer) && answer.status === 401 && refusedKey(answer) !== undefined;
  return isRefused ? { ...unknown(wrongKeyText), refusesCredentials: true } : unknown(unclear(answer));
}

/** The error of a request that Stripe rejected for its content. */
export const rejectionIn = (answer: Answer): StripeError | undefined =>
  [400, 402, 404].includes(answer.status) ? readError(jsonOf(answer)) : undefined;

/** The key of the request was used for another one. */
export const isKeyReuse = ({ type }: StripeError): boolean => type === 'idempotency_error';

/** Stripe opens its API for card numbers only to accounts that have shown that they may handle them. */
const isRawCardRefusal = ({ message }: StripeError): boolean =>
  /sending credit card numbers directly/i.test(message ?? '');

const cardOf = (charge: Charge | undefined): Card | undefined => charge?.payment_method_details?.card;

function cardResponse(card: Card | undefined): Pick<ProcessorResponse, 'avs_result' | 'cvv_result'> {
  return { avs_result: avsOf(card?.checks), cvv_result: cvvOf(card?.checks) };
}

export function executionOf(seconds: number | undefined, askedAtMs: number | undefined): Pick<Approved, 'executed'> {
  if (seconds === undefined || askedAtMs === undefined) return {};
  const atMs = seconds * 1_000;
  return { executed: { atMs, ageMs: Math.max(0, askedAtMs - atMs) } };
}

/** What we sent, or looked for. Undefined fields are not known, so they are not compared. */
export interface SentCharge {
  readonly reference: string;
  readonly handle?: string | undefined;
  readonly money?: Money | undefined;
  readonly last4?: string | null | undefined;
}

/** An intent that has moved no money: it is not confirmed yet, or was cancelled before. */
type Idle =
  | {
      readonly outcome: 'unconfirmed';
      /** The bank waits for the customer. */
      readonly wantsCustomer?: true;
      /** Where the customer is led to, if a browser can be led there without a script of Stripe. */
      readonly redirect?: CustomerAction | undefined;
    }
  | { readonly outcome: 'canceled' };

export function hasMoney(
  { amount, currency }: { amount: number; currency: string },
  money: Money | undefined,
): boolean {
  return !money || (currency === money.currency && amount === amountAtStripe(money.amount, money.currency));
}

function settlementOf(charge: Charge | undefined): Pick<Approved, 'settled'> {
  const balance = objectOf(charge?.balance_transaction);
  return balance ? { settled: balance.status === 'available' } : {};
}

function approvedIntent(
  intent: Pick<Intent, 'id'>,
  charge: Charge | undefined,
  askedAtMs: number | undefined,
): Approved {
  const card = cardOf(charge);
  return {
    outcome: 'approved',
    response: {
      transaction_id: intent.id,
      authorization_code: card?.authorization_code ?? null,
      ...cardResponse(card),
      response_code: charge?.outcome?.network_status ?? null,
      response_text: cleanText(charge?.outcome?.seller_message),
    },
    ...settlementOf(charge),
    ...(card?.network_transaction_id && { networkTransactionId: card.network_transaction_id }),
    ...authenticationIn(card),
    ...executionOf(charge?.created, askedAtMs),
  };
}

const errorOf = ({ failure_code, failure_message }: Partial<Charge>): Pick<PaymentError, 'code' | 'message'> => ({
  code: failure_code ?? null,
  message: failure_message ?? null,
});
function heldUntil(charge: Charge | undefined): Pick<Approved, 'captureBeforeMs'> {
  const seconds = cardOf(charge)?.capture_before;
  return typeof seconds === 'number' ? { captureBeforeMs: seconds * 1_000 } : {};
}

/** Of a capture, or of the release of an authorization. */
export const capturedIntent = (
  intent: Pick<Intent, 'id'>,
  charge: Charge | undefined,
  askedAtMs: number | undefined,
): Approved => {
  // The time of the charge is that of its authorization.
  const {
    executed: _,
    networkTransactionId: __,
    authentication: ___,
    ...found
  } = approvedIntent(intent, charge, askedAtMs);
  return found;
};

function declinedIntent(
  intent: Pick<Intent, 'id'>,
  error: PaymentError | null | undefined,
  charge: Charge | undefined,
  askedAtMs: number | undefined,
): Declined {
  const card = cardOf(charge) ?? error?.payment_method?.card;
  const response = { transaction_id: intent.id, ...cardResponse(card) };
  const isUnconfirmed = meaningOf(error?.code) === notConfirmed;
  const known = isUnconfirmed ? authenticationFailed : authenticationIn(cardOf(charge));
  const execution = { ...known, ...executionOf(charge?.created, askedAtMs) };
  const { type, network_status, ...said } = charge?.outcome ?? {};
  if (type === 'blocked') return { ...blockedByRadar(said, response), ...execution };
  return { ...declinedBy({ ...said, ...(error ?? errorOf(charge ?? {})) }, response, network_status), ...execution };
}

/** The answer to a payment that Radar blocked says only this; the charge says more. */
export const mayBeBlocked = (outcome: Outcome | undefined): boolean =>
  outcome?.outcome === 'declined' && outcome.response.response_code === 'fraudulent' && !outcome.isUnseenByBank;

/** The bank wants the customer to confirm a payment that is cancelled now. */
export const unauthenticated = (handle: string): Declined =>
  declinedAs(authentication, { transaction_id: handle, response_code: 'requires_action' });

/** An intent with its last charge, if Stripe shows it. */
interface Payment {
  readonly intent: Intent;
  readonly charge: Charge | undefined;
  readonly askedAtMs: number | undefined;
}

type Standing = Approved | Declined | Unknown | Idle;

const unconfirmed = (): Idle => ({ outcome: 'unconfirmed' });
const declinedPayment = ({ intent, charge, askedAtMs }: Payment): Declined =>
  declinedIntent(intent, intent.last_payment_error, charge, askedAtMs);

/** Of a payment that is captured later, a part may be captured. */
export const isManual = ({ capture_method }: Pick<Intent, 'capture_method'>): boolean => capture_method === 'manual';

/** By the status of the intent. */
const standings: Readonly<Record<string, (payment: Payment) => Standing>> = {
  requires_capture: ({ intent, charge, askedAtMs }) =>
    isManual(intent)
      ? { ...approvedIntent(intent, charge, askedAtMs), ...heldUntil(charge) }
      : unknown('the payment waits for a capture that was not requested'),
  succeeded: ({ intent, charge, askedAtMs }) =>
    intent.amount_received === undefined || intent.amount_received === intent.amount || isManual(intent)
      ? approvedIntent(intent, charge, askedAtMs)
      : unknown('only a part of the amount was received'),
  requires_confirmation: unconfirmed,
  requires_action: ({ intent }) => ({
    outcome: 'unconfirmed',
    wantsCustomer: true,
    redirect: redirectIn(intent.next_action),
  }),
  requires_payment_method: (payment) => {
    const { intent, charge } = payment;
    if (intent.last_payment_error || charge?.status === 'failed') return declinedPayment(payment);
    return intent.latest_charge === null ? unconfirmed() : unknown('the last attempt is not shown');
  },
  canceled: (payment) => {
    const { intent, charge } = payment;
    if (charge?.status === 'failed') return declinedPayment(payment);
    // An authorization that was released, or has ended: it was approved.
    if (isManual(intent) && charge) return approvedIntent(intent, charge, payment.askedAtMs);
    return intent.latest_charge === null ? { outcome: 'canceled' } : unknown('a cancelled payment has a charge');
  },
};

function isAsSent({ intent, charge }: Payment, { money, last4 }: SentCharge): boolean {
  const shown = cardOf(charge)?.last4;
  return hasMoney(intent, money) && (!last4 || !shown || last4 === shown);
}

/** What an intent says, if it is the one of our reference. */
function standingOf(intent: Intent, sent: SentCharge, askedAtMs: number | undefined): Standing | Conflict {
  const { reference, handle = intent.id } = sent;
  if (intent.metadata?.[referenceName] !== reference || handle !== intent.id) {
    return unknown('the response is about another payment');
  }
  const payment = { intent, charge: objectOf(intent.latest_charge), askedAtMs };
  const standing = ownEntry(standings, intent.status)?.(payment) ?? unknown(`the payment is ${intent.status}`);
  if (standing.outcome === 'unknown' || isAsSent(payment, sent)) return standing;
  return {
    outcome: 'conflict',
    approved: standing.outcome === 'approved',
    ...executionOf(payment.charge?.created, askedAtMs),
  };
}

/** The payment's state, from an answer to GET. */
export function intentStanding(answer: Answer | Silence, sent: SentCharge): ReturnType<typeof standingOf> {
  if ('reason' in answer) return unknown(answer.reason);
  const intent = answer.status === 200 ? readIntent(jsonOf(answer)) : undefined;
  return intent ? standingOf(intent, sent, answer.askedAtMs) : unanswered(answer);
}

/** What an event about a payment says; undefined if that decides nothing. */
export function intentNotice(intent: Intent, reference: string): LookupOutcome | undefined {
  // A lookup tells until when the funds are held, which an event does not.
  if (intent.status === 'requires_capture' || intent.status === 'canceled') return undefined;
  const executed = executedOnly(standingOf(intent, { reference }, undefined));
  return executed?.outcome === 'unknown' ? undefined : executed;
}

/** What an event about a charge says: as the payment, but with the details of the card. */
export function chargeNotice(charge: Charge): LookupOutcome | undefined {
  const intent = { id: idOf(charge.payment_intent) ?? charge.id };
  if (charge.status === 'failed') return declinedIntent(intent, undefined, charge, undefined);
  return charge.status === 'succeeded' && charge.captured !== false
    ? approvedIntent(intent, charge, undefined)
    : undefined;
}

/** Undefined for an intent that has moved no money. */
export function executedOnly(standing: ReturnType<typeof standingOf>): Exclude<typeof standing, Idle> | undefined {
  return standing.outcome === 'unconfirmed' || standing.outcome === 'canceled' ? undefined : standing;
}

/** The customer is led to the bank, if that is possible. */
export const neededCustomer = (standing: ReturnType<typeof standingOf>): NeedsCustomer | undefined =>
  standing.outcome === 'unconfirmed' && standing.redirect
    ? { outcome: 'needs_customer', action: standing.redirect }
    : undefined;

/** Whether the answer is to the request with this key: Stripe repeats the key in a header. */
export const isAnswerTo = ({ headers }: Answer, key: string): boolean => headers[idempotencyHeader] === key;

/** Errors that say how the key was used, and nothing about the operation. */
export const isAboutKey = (error: StripeError): boolean =>
  isKeyReuse(error) || error.code === 'payment_intent_unexpected_state';

/** Returns undefined if the answer proves nothing, but the state of the payment will. */
export function confirmOutcome(answer: Answer | Silence, sent: SentCharge): Outcome | undefined {
  if ('reason' in answer) return silentOutcome(answer);
  const refused = refusedKey(answer);
  // A key without a permission may confirm the payment and be refused a part of the answer.
  if (refused) return answer.status === 401 ? refused : undefined;
  if (answer.status === 200) return executedOnly(intentStanding(answer, sent));
  const error = rejectionIn(answer);
  return error ? rejectedConfirmation(answer, error, sent) : unknown(unclear(answer));
}

/** The payment decides, if the error shows it. */
function rejectedConfirmation(answer: Answer, error: StripeError, sent: SentCharge): Outcome | undefined {
  const intent = readIntent(error.payment_intent);
  const standing = intent ? standingOf(intent, sent, answer.askedAtMs) : unknown('the payment is not shown');
  if (standing.outcome === 'canceled') return cancelled;
  const isUnconfirmed = standing.outcome === 'unconfirmed';
  if (!isUnconfirmed && standing.outcome !== 'unknown') return standing;
  const isDecline = !isAboutKey(error) && (isUnconfirmed || isAnswerTo(answer, sent.reference));
  return isDecline ? declinedBy(error) : undefined;
}

/** The id of the new object; a failure is certain to have moved no money. */
export function created(
  answer: Answer | Silence,
  object: 'payment_method' | 'payment_intent' | 'file' | 'customer',
): { readonly id: string; readonly isReplay: boolean } | Exclude<Preparation, { outcome: 'prepared' }> {
  if ('reason' in answer) return notSent(answer.reason);
  const body = jsonOf(answer);
  const named = answer.status === 200 ? readNamed(body) : undefined;
  if (named?.object === object) return { id: named.id, isReplay: answer.headers['idempotent-replayed'] === 'true' };
  const error = readError(body);
  if (!error) return notSent(unclear(answer));
  const refused = refusedKey(answer);
  if (refused) return refused;
  if (isKeyReuse(error)) return { outcome: 'conflict' };
  if (isRawCardRefusal(error)) {
    const response_text = 'Stripe does not accept card numbers from this account. Ask Stripe for raw card data access.';
    return { ...declined('invalid_merchant_configuration', { response_text }, true), rejection: response_text };
  }
  return rejectionIn(answer) ? declinedBy(error) : notSent(unclear(answer));
}
