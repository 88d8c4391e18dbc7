import { ownEntry } from '../../../platform/own-entry.ts';
import { type Answer, type Silence, silentOutcome } from '../exchange.ts';
import { accountRefusalIn } from '../account-refusal.ts';
import {
  type LookupOutcome,
  type LookupRequest,
  noResponse,
  type Outcome,
  type ProcessorResponse,
  type Verification,
} from '../processor.ts';
import { approvedCode, declined, meaningOf, shownText } from './codes.ts';
import { minorUnits } from '../../../platform/currencies.ts';
import type { Action, Transaction } from './report.ts';

/** Converts answers of NMI to outcomes. An answer that proves nothing is `unknown`. */

/**
 * What an answer of `transact.php` says. With `mustCheck`, NMI may have executed the same request before, or may not
 * know: then the report of the transaction decides, and the outcome counts only if the report has nothing.
 */
export interface Reading {
  readonly outcome: Outcome;
  readonly mustCheck: boolean;
}

interface SentOperation {
  readonly type: 'sale' | 'auth' | 'capture' | 'refund' | 'void' | 'validate';
  /** The order id that the answer names, if it names one; null for a void or a capture, which have none. */
  readonly reference: string | null;
  /** The charge of a void or the authorization of a capture, which keeps its transaction id. */
  readonly transactionId?: string;
  /** The amount as it was sent. */
  readonly amount?: string;
  /** Whether it was sent with the security code. Only for a sale. */
  readonly hasCode?: boolean;
}

type Unknown = Extract<Outcome, { outcome: 'unknown' }>;
type Approved = Extract<Outcome, { outcome: 'approved' }>;

const unknown = (reason: string): Unknown => ({ outcome: 'unknown', reason });
const certain = (outcome: Outcome): Reading => ({ outcome, mustCheck: false });
const notUnderstood = (status: number): Unknown =>
  unknown(`the response with status ${status} does not contain an outcome`);

const isTransactionId = (text: string): boolean => /^[\w-]{1,40}$/.test(text) && !/^0+$/.test(text);
const letters = (text: string): string | null => (/^[A-Za-z0-9]{1,2}$/.test(text) ? text : null);
const codeOf = (text: string): string | null => (/^[\w -]{1,20}$/.test(text) ? text : null);

interface AnswerFields {
  readonly response: string;
  readonly code: string;
  readonly text: string;
  readonly orderId: string;
  readonly transactionId: string;
  readonly type: string;
  readonly amountAuthorized: string;
  readonly shown: ProcessorResponse;
}

/**
 * Which codes each response may have: approved, declined by the bank, or an error of the gateway or processor. Rules for addresses
 * and security codes decline with the code of the gateway.
 */
const codesOf: Readonly<Record<string, RegExp>> = { 1: /^100$/, 2: /^(2\d\d|300)$/, 3: /^[34]\d\d$/ };

/** Returns undefined if it is not an answer of `transact.php`, or if it contradicts itself. */
function fieldsOf({ status, text }: Answer): AnswerFields | undefined {
  if (status !== 200) return undefined;
  const fields = new URLSearchParams(text.trim());
  const one = (name: string): string => fields.get(name) ?? '';
  const decisive = ['response', 'response_code', 'orderid', 'transactionid', 'type', 'responsetext'];
  if (decisive.some((name) => fields.getAll(name).length > 1)) return undefined;
  const response = one('response');
  const code = one('response_code');
  if (ownEntry(codesOf, response)?.test(code) !== true) return undefined;
  const transactionId = one('transactionid');
  return {
    response,
    code,
    text: one('responsetext'),
    orderId: one('orderid'),
    transactionId,
    type: one('type'),
    amountAuthorized: one('amount_authorized'),
    shown: {
      transaction_id: isTransactionId(transactionId) ? transactionId : null,
      authorization_code: codeOf(one('authcode')),
      avs_result: letters(one('avsresponse')),
      cvv_result: letters(one('cvvresponse')),
      response_code: code,
      response_text: shownText(one('responsetext')),
    },
  };
}

const isFirst = ({ type }: Pick<SentOperation, 'type'>): boolean => type === 'sale' || type === 'auth';

function isOfOrder(
  { type: named, orderId }: AnswerFields,
  type: SentOperation['type'],
  reference: string | null,
): boolean {
  const needsNoOrder = !isFirst({ type }) && named === type && orderId === '';
  return reference === null || orderId === reference || needsNoOrder;
}

/**
 * A rejection often names no order, and of the others only the answer to a sale surely does. Each request has a connection of its
 * own, so the answer still belongs to it.
 */
function isAbout(fields: AnswerFields, { type, reference, transactionId }: SentOperation): boolean {
  if (fields.type !== '' && fields.type !== type) return false;
  const namesOrder = isOfOrder(fields, type, reference);
  const namesTransaction = transactionId === undefined || fields.transactionId === transactionId;
  if (fields.response === '3') {
    return (
      (fields.orderId === '' || namesOrder) && (fields.transactionId === '' || reference !== null || namesTransaction)
    );
  }
  return namesOrder && namesTransaction;
}

const sameAmount = (one: string, other: string): boolean => Number(one) === Number(other);

function refusedCredentials(status: number): Outcome {
  const response_text = `NMI refused the credentials of the connection with status ${status}.`;
  const meaning = { failureCode: 'invalid_merchant_configuration', isProcessorFault: true } as const;
  return declined({ ...meaning, refusesCredentials: true }, { response_text });
}

function rejectedReading({ response, code, text, shown }: AnswerFields, { type, hasCode }: SentOperation): Reading {
  const meaning = meaningOf(code, text, !isFirst({ type }) || hasCode);
  if (meaning.isInDoubt) return { outcome: unknown(`NMI answered ${code}: ${meaning.meaning}`), mustCheck: true };
  if (meaning.isNotExecuted)
    return certain({ outcome: 'not_sent', reason: `NMI answered ${code}: ${meaning.meaning}` });
  // NMI refuses the repetition of a refund or void that it has executed, so the refusal alone proves nothing.
  const isFollowUp = type === 'refund' || type === 'void' || type === 'capture';
  const mayBeRepetition = response === '3' && isFollowUp && !meaning.refusesCredentials;
  return { outcome: declined(meaning, shown), mustCheck: mayBeRepetition };
}

export function readingOf(answer: Answer | Silence, sent: SentOperation): Reading {
  if ('reason' in answer) return certain(silentOutcome(answer));
  const { status } = answer;
  if ([401, 403].includes(status)) return certain(refusedCredentials(status));
  const fields = fieldsOf(answer);
  if (!fields || !isAbout(fields, sent)) return certain(notUnderstood(status));
  if (fields.response !== '1') return rejectedReading(fields, sent);
  const { shown, amountAuthorized } = fields;
  if (shown.transaction_id === null) return certain(notUnderstood(status));
  const isPartial = sent.amount !== undefined && amountAuthorized !== '' && !sameAmount(amountAuthorized, sent.amount);
  if (isPartial) return { outcome: unknown('NMI authorized another amount'), mustCheck: true };
  const ofCharge = isFirst(sent) && { networkTransactionId: shown.transaction_id };
  return certain({ outcome: 'approved', response: shown, settled: false, ...ofCharge });
}

/** The card data decides; a problem of the account says nothing about the card. */
export function verificationOf(answer: Answer | Silence, reference: string): Verification {
  const { outcome } = readingOf(answer, { type: 'validate', reference });
  if (outcome.outcome === 'approved' || (outcome.outcome === 'declined' && !outcome.isProcessorFault)) {
    const { avs_result, cvv_result, transaction_id } = outcome.response;
    const isVerified = outcome.outcome === 'approved';
    return {
      outcome: isVerified ? 'verified' : 'declined',
      avsResult: avs_result,
      cvvResult: cvv_result,
      networkTransactionId: isVerified ? transaction_id : null,
    };
  }
  const reason = 'reason' in outcome ? outcome.reason : 'NMI rejected the configuration of the connection';
  return { outcome: 'unknown', reason, ...(outcome.outcome === 'declined' && accountRefusalIn(outcome)) };
}

const isOf = (transaction: Transaction, ...types: readonly string[]): boolean =>
  transaction.actions.some(({ type }) => types.includes(type));

const chargeActions = ['sale', 'auth', 'capture'] as const;
export const isCharge = (transaction: Transaction): boolean => isOf(transaction, ...chargeActions);
export const isRefund = (transaction: Transaction): boolean =>
  isOf(transaction, 'refund', 'credit') && !isCharge(transaction);

/** The action that is the operation itself; undefined if the report has none or several. */
export function mainAction(transaction: Transaction): Action | undefined {
  const types = isCharge(transaction) ? ['sale', 'auth'] : ['refund', 'credit'];
  const [action, ...more] = transaction.actions.filter(({ type }) => types.includes(type));
  return more.length === 0 ? action : undefined;
}

function executionOf({ atMs }: Pick<Action, 'atMs'>, nowMs: number | undefined): Pick<Approved, 'executed'> {
  return atMs === undefined || nowMs === undefined ? {} : { executed: { atMs, ageMs: Math.max(0, nowMs - atMs) } };
}

function responseOf(transaction: Transaction, { code, text }: Pick<Action, 'code' | 'text'>): ProcessorResponse {
  return {
    transaction_id: transaction.id,
    authorization_code: codeOf(transaction.authorizationCode),
    avs_result: letters(transaction.avs),
    cvv_result: letters(transaction.cvv),
    response_code: codeOf(code),
    response_text: shownText(text),
  };
}

const moneyTaken = ['pendingsettlement', 'complete'];
/** Of an authorization: `pending` until it is captured. */
const isTaken = (condition: string, type: string): boolean =>
  moneyTaken.includes(condition) || (type === 'auth' && condition === 'pending');

/**
 * The outcome of a charge, a refund or an authorization, which only holds funds, in its report. A charge that was voided, or that failed at settlement, moved no
 * money; so it is declined.
 */
export function outcomeIn(transaction: Transaction, nowMs: number | undefined, isHeld = false): Found {
  const action = mainAction(transaction);
  if (!action || (action.type === 'auth') !== isHeld)
    return unknown('NMI reports this operation in a way that is not understood');
  const { condition, id } = transaction;
  const response = responseOf(transaction, action);
  const execution = executionOf(action, nowMs);
  if (isTaken(condition, action.type) && action.success === true) {
    const ofCharge = isCharge(transaction) && { networkTransactionId: id };
    return { outcome: 'approved', response, settled: condition === 'complete', ...ofCharge, ...execution };
  }
  const refused = refusedIn(condition, action, response);
  return refused
    ? { ...refused, ...execution }
    : unknown(`NMI reports the condition ${shownText(condition) ?? 'unknown'}`);
}

/** An operation that was declined, voided or rejected at settlement. */
function refusedIn(condition: string, action: Action, response: ProcessorResponse) {
  if (condition === 'failed' && action.success === false) {
    return declined(meaningOf(action.code, action.text), response);
  }
  if (!['failed', 'canceled'].includes(condition) || action.success !== true) return undefined;
  const response_text = condition === 'canceled' ? 'It was voided at NMI.' : 'It failed at settlement.';
  return declined({ failureCode: 'processor_declined' }, { ...response, response_text });
}

/** What a report that has the operation says. */
type Found = Exclude<LookupOutcome, { outcome: 'not_found' }>;

export type Sought = Pick<LookupRequest, 'reference' | 'sent' | 'chargeTransactionId'>;

/** Whether the transaction has the content that was sent under our reference. */
function isAsSent(transaction: Transaction, { sent, chargeTransactionId }: Sought): boolean {
  const { originalId, currency, last4 } = transaction;
  if (isRefund(transaction) && originalId !== null && chargeTransactionId && originalId !== chargeTransactionId) {
    return false;
  }
  if (!sent) return true;
  const amount = mainAction(transaction)?.amount ?? '';
  return (
    currency === sent.currency.toLowerCase() &&
    minorUnits(amount, currency) === sent.amount &&
    (sent.last4 === null || last4 === null || last4 === sent.last4)
  );
}

/** The outcome of our reference in the report of its order id; undefined if the report is empty. */
export function foundIn(
  transactions: readonly Transaction[],
  kind: 'charge' | 'authorization' | 'refund',
  sought: Sought,
  nowMs: number | undefined,
): Found | undefined {
  if (transactions.length === 0) return undefined;
  const isKind = kind === 'refund' ? isRefund : isCharge;
  const own = transactions.filter((one) => one.orderId === sought.reference && isKind(one));
  const found = own.map((transaction) => ({
    transaction,
    outcome: outcomeIn(transaction, nowMs, kind === 'authorization'),
  }));
  const approved = found.filter(({ outcome }) => outcome.outcome === 'approved');
  if (approved.length > 1) {
    const ids = approved.map(({ transaction }) => transaction.id).join(', ');
    return unknown(`NMI executed this reference more than once: ${ids}`);
  }
  const doubtful = found.find(({ outcome }) => outcome.outcome === 'unknown');
  const chosen = approved[0] ?? doubtful ?? found.at(-1);
  if (!chosen) return unknown('the report is about other transactions');
  const { transaction, outcome } = chosen;
  if (outcome.outcome === 'unknown' || isAsSent(transaction, sought)) return outcome;
  const execution = 'executed' in outcome && outcome.executed ? { executed: outcome.executed } : {};
  return { outcome: 'conflict', approved: outcome.outcome === 'approved', ...execution };
}

export interface OfCharge {
  readonly chargeReference?: string | undefined;
  readonly chargeTransactionId?: string | undefined;
}

/** The charge of a refund or void in a report. */
export function chargeIn(
  transactions: readonly Transaction[],
  { chargeReference, chargeTransactionId }: OfCharge,
): Transaction | undefined {
  const charges = transactions.filter(isCharge);
  if (chargeTransactionId !== undefined) return charges.find(({ id }) => id === chargeTransactionId);
  const own = charges.filter(({ orderId }) => orderId === chargeReference);
  return own.find(({ condition }) => condition !== 'failed') ?? own.at(-1);
}

/** Any void of the charge is the void we asked for: it has no reference of its own, and a charge has only one. */
export function voidIn(charge: Transaction, nowMs: number | undefined): Approved | undefined {
  if (charge.condition !== 'canceled') return undefined;
  const action = charge.actions.findLast(({ type, success }) => type === 'void' && success !== false);
  const { code = approvedCode, text = '', atMs } = action ?? {};
  const response = { ...noResponse, ...responseOf(charge, { code, text }), avs_result: null, cvv_result: null };
  return { outcome: 'approved', response, settled: false, ...executionOf({ atMs }, nowMs) };
}

/** NMI's clock is exact to the second, and ours may differ. */
const sentMarginMs = 300_000;

/**
 * Whether the charge has a refund that names no order of its own and may be the one we look for: then nothing is
 * known. An earlier refund by the service has its own order id and does not count.
 */
export function hasStrayRefund(
  transactions: readonly Transaction[],
  charge: Transaction,
  { sent, ageMs, nowMs }: Pick<LookupRequest, 'sent' | 'ageMs'> & { readonly nowMs: number | undefined },
): boolean {
  const children = transactions.filter(
    (one) =>
      isRefund(one) &&
      (one.originalId === null || one.originalId === charge.id) &&
      (one.orderId === '' || one.orderId === charge.orderId),
  );
  const sinceMs = ageMs === undefined || nowMs === undefined ? undefined : nowMs - ageMs - sentMarginMs;
  return [charge, ...children].some(({ actions, currency }) =>
    actions.some(
      ({ type, success, amount, atMs }) =>
        (type === 'refund' || type === 'credit') &&
        success !== false &&
        (!sent || minorUnits(amount, currency) === sent.amount) &&
        (sinceMs === undefined || atMs === undefined || atMs >= sinceMs),
    ),
  );
}
