import Type from 'typebox';
import { checkOf } from '../../../platform/schema-check.ts';
import { ownEntry } from '../../../platform/own-entry.ts';
import { choice } from '../../../platform/choice.ts';
import {
  type FailureCode,
  failureReasons,
  noResponse,
  type ListedOperation,
  type OperationKind,
  operationKinds,
  type Listing,
  type LookupOutcome,
  type LookupRequest,
  type NeedsCustomer,
  type Outcome,
  type ProcessorResponse,
} from '../processor.ts';
import { type Answer, jsonOf, type Silence, silentOutcome } from '../exchange.ts';
import { authenticationStatuses, notConfirmedReason, redirectTo, wantsCustomerReason } from '../authentication.ts';
import { type DeclineCode, type ProtocolKind, protocolKinds } from './protocol.ts';

/** Parses answers of the protocol in docs/acquirer.md. An answer that proves nothing is `unknown`. */

export const failureCodes: Readonly<Record<DeclineCode, FailureCode>> = {
  '01': 'contact_bank',
  '03': 'invalid_merchant_configuration',
  '05': 'do_not_honor',
  '06': 'processor_declined',
  '12': 'transaction_not_allowed',
  '13': 'validation_error',
  '14': 'invalid_account',
  '1A': 'transaction_not_allowed',
  '1F': 'transaction_not_allowed',
  '21': 'processor_declined',
  '25': 'validation_error',
  '30': 'validation_error',
  '41': 'lost_stolen_card',
  '43': 'lost_stolen_card',
  '46': 'closed_card',
  '51': 'insufficient_funds',
  '54': 'expired_card',
  '57': 'transaction_not_allowed',
  '59': 'fraud_suspected',
  '61': 'card_limit_exceeded',
  '62': 'blocked_card',
  '65': 'card_limit_exceeded',
  '82': 'incorrect_cvv',
  '91': 'issuer_unavailable',
  '94': 'duplicate_transaction',
};

/** Why the customer has not confirmed a charge, for the merchant. */
const reasons: Readonly<Record<string, string>> = {
  ['1A' satisfies DeclineCode]: wantsCustomerReason,
  ['1F' satisfies DeclineCode]: notConfirmedReason,
};

/** Codes for which the acquirer, and not the card's bank, is to blame. */
const processorFaults: readonly string[] = ['03' satisfies DeclineCode];

const nullable = Type.Union([Type.String(), Type.Null()]);
const authenticationSchema = Type.Object({
  flow: Type.Optional(Type.Union([Type.Literal('challenge'), Type.Literal('frictionless'), Type.Null()])),
  status: choice(authenticationStatuses),
  liability_shifted: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
  version: Type.Optional(nullable),
  eci: Type.Optional(nullable),
});
const operationSchema = Type.Object({
  kind: choice(protocolKinds),
  reference: Type.String(),
  charge_reference: nullable,
  amount: Type.Union([Type.Integer(), Type.Null()]),
  currency: nullable,
  last4: nullable,
  status: choice(['approved', 'declined', 'rejected', 'needs_customer', 'ended']),
  action: Type.Optional(Type.Object({ url: Type.String({ maxLength: 8_000 }) })),
  expires_at_ms: Type.Optional(Type.Integer()),
  authentication: Type.Optional(authenticationSchema),
  settled: Type.Boolean(),
  response_code: Type.String(),
  response_text: Type.String(),
  transaction_id: Type.String(),
  authorization_code: nullable,
  avs_result: Type.Optional(nullable),
  cvv_result: Type.Optional(nullable),
  network_transaction_id: Type.Optional(nullable),
  voided: Type.Optional(Type.Boolean()),
  capture_before_ms: Type.Optional(Type.Integer()),
  taken_at_ms: Type.Optional(Type.Integer()),
  now_ms: Type.Optional(Type.Integer()),
});
type Operation = Type.Static<typeof operationSchema>;

const operationAnswer = checkOf(operationSchema);
const conflictAnswer = checkOf(
  Type.Object({
    error: Type.Literal('reference_used'),
    operation: operationSchema,
    now_ms: Type.Optional(Type.Integer()),
  }),
);
const listAnswer = checkOf(
  Type.Object({
    operations: Type.Array(
      Type.Intersect([operationSchema, Type.Object({ kind: choice(operationKinds), taken_at_ms: Type.Integer() })]),
    ),
    next: nullable,
    now_ms: Type.Integer(),
  }),
);
const errorAnswer = checkOf(
  Type.Object({
    error: Type.String(),
    reference: Type.Optional(Type.String()),
    now_ms: Type.Optional(Type.Integer()),
  }),
);

/**
 * The operation that was sent. An answer about another operation is ignored: a connection that is out of step can
 * return the answer to another request.
 */
interface SentOperation {
  readonly kind: ProtocolKind;
  readonly reference: string;
  readonly chargeReference: string | null;
  readonly money?: { readonly amount: number; readonly currency: string };
  readonly last4: string | null;
}

function isAbout(operation: Operation, sent: SentOperation): boolean {
  return (
    operation.kind === sent.kind &&
    operation.reference === sent.reference &&
    operation.charge_reference === sent.chargeReference &&
    operation.last4 === sent.last4 &&
    (!sent.money || (operation.amount === sent.money.amount && operation.currency === sent.money.currency))
  );
}

const unknown = (reason: string): Extract<Outcome, { outcome: 'unknown' }> => ({ outcome: 'unknown', reason });

function declined(
  failureCode: FailureCode,
  response: Partial<ProcessorResponse>,
): Extract<Outcome, { outcome: 'declined' }> {
  const failureReason = failureReasons[failureCode];
  return { outcome: 'declined', response: { ...noResponse, ...response }, failureCode, failureReason };
}

export type Approved = Extract<Outcome, { outcome: 'approved' }>;
/** Without an action, a browser cannot be led there. */
export interface Waiting extends Partial<Omit<NeedsCustomer, 'outcome'>> {
  readonly outcome: 'needs_customer';
}
interface Ended {
  readonly outcome: 'ended';
}
type Result = Extract<Outcome, { outcome: 'approved' | 'declined' }> | Waiting | Ended;
const ended: Ended = { outcome: 'ended' };

/** Given up before the customer confirmed: it can never be executed. */
const givenUp = { outcome: 'not_sent', reason: 'the customer did not confirm in time', isFinal: true } as const;
const neverExecuted = { outcome: 'not_found', isFinal: true } as const;

/** When an operation was executed, by the clock of the acquirer. */
function executionOf(
  { taken_at_ms: atMs }: Operation,
  nowMs: number | undefined,
): Pick<Extract<Outcome, { outcome: 'approved' }>, 'executed'> {
  return atMs === undefined || nowMs === undefined ? {} : { executed: { atMs, ageMs: Math.max(0, nowMs - atMs) } };
}

/** Only short plain values are taken over. */
const plain = (value: string | null | undefined): string | null =>
  value && /^[\w.-]{1,20}$/.test(value) ? value : null;

function authenticationOf({ authentication }: Operation): Pick<Approved, 'authentication'> {
  if (!authentication) return {};
  const { flow = null, status, liability_shifted: liabilityShifted = null, version, eci } = authentication;
  return { authentication: { flow, status, liabilityShifted, version: plain(version), eci: plain(eci) } };
}

/** The customer is at the bank, or the operation was given up: nothing was executed. */
function waitingOf({ status, action, expires_at_ms: expiresAtMs }: Operation): Waiting | Ended | undefined {
  if (status === 'ended') return ended;
  if (status !== 'needs_customer') return undefined;
  const redirect = redirectTo(action?.url);
  return {
    outcome: 'needs_customer',
    ...(redirect && { action: redirect }),
    ...(expiresAtMs !== undefined && { expiresAtMs }),
  };
}

function resultOf(operation: Operation, nowMs: number | undefined): Result {
  return waitingOf(operation) ?? executedOf(operation, nowMs);
}

function executedOf(
  operation: Operation,
  nowMs: number | undefined,
): Extract<Outcome, { outcome: 'approved' | 'declined' }> {
  const { transaction_id, authorization_code, response_code, response_text } = operation;
  const { avs_result = null, cvv_result = null, network_transaction_id: networkTransactionId } = operation;
  const { capture_before_ms: captureBeforeMs } = operation;
  const response = { transaction_id, authorization_code, avs_result, cvv_result, response_code, response_text };
  const execution = { ...authenticationOf(operation), ...executionOf(operation, nowMs) };
  if (operation.status === 'approved') {
    const known = networkTransactionId ? { networkTransactionId } : {};
    const held = captureBeforeMs === undefined ? {} : { captureBeforeMs };
    return { outcome: 'approved', response, settled: operation.settled, ...known, ...held, ...execution };
  }
  // The charge was declined with a code that is not in the table.
  return {
    ...declined((failureCodes as Record<string, FailureCode>)[response_code] ?? 'unknown', response),
    ...(reasons[response_code] && { failureReason: reasons[response_code] }),
    ...(response_code === ('1A' satisfies DeclineCode) && { needsAuthentication: true as const }),
    ...(processorFaults.includes(response_code) && { isProcessorFault: true }),
    ...execution,
  };
}

/** The authorization of this capture or void has ended, or was released: an acquirer says so with code 12. */
export function overOf(outcome: Outcome | LookupOutcome | Waiting): { readonly isOver?: true } {
  const isOver = outcome.outcome === 'declined' && outcome.response.response_code === ('12' satisfies DeclineCode);
  return isOver ? { isOver } : {};
}

function conflictWith(operation: Operation, nowMs: number | undefined): Extract<Outcome, { outcome: 'conflict' }> {
  const holdsMoney = operation.status === 'approved' && operation.voided !== true;
  return { outcome: 'conflict', approved: holdsMoney, ...executionOf(operation, nowMs) };
}

const withoutOutcome = ({ status }: Answer) =>
  unknown(`the response with status ${status} does not contain an outcome`);

/** An operation in an answer, and the clock of the acquirer. */
interface Shown {
  readonly operation: Operation;
  readonly nowMs: number | undefined;
}

function operationIn(answer: Answer): Shown | undefined {
  const body = answer.status === 200 ? jsonOf(answer) : undefined;
  return operationAnswer.Check(body) ? { operation: body, nowMs: body.now_ms ?? answer.askedAtMs } : undefined;
}

/** The other operation that has the reference. */
function holderIn(answer: Answer): Shown | undefined {
  const body = answer.status === 409 ? jsonOf(answer) : undefined;
  if (!conflictAnswer.Check(body)) return undefined;
  return { operation: body.operation, nowMs: body.now_ms ?? answer.askedAtMs };
}

interface ShownError {
  /** With its status, for example `404 not_found`. */
  readonly name: string;
  readonly reference: string | undefined;
  readonly nowMs: number | undefined;
}

function errorIn(answer: Answer): ShownError | undefined {
  const body = jsonOf(answer);
  if (!errorAnswer.Check(body)) return undefined;
  const { error, reference, now_ms: nowMs = answer.askedAtMs } = body;
  return { name: `${answer.status} ${error}`, reference, nowMs };
}

const wrongSecret = '401 unauthorized';
const wrongSecretText = 'The secret of the acquirer is wrong.';

/** The errors that name the operation which was sent. */
const rejections: Readonly<Record<string, (error: ShownError) => Exclude<Outcome, NeedsCustomer>>> = {
  '400 invalid': () => declined('validation_error', { response_text: 'A field of the request is invalid.' }),
  '501 not_supported': () => ({
    outcome: 'not_sent',
    reason: 'the acquirer does not support this operation',
    failureCode: 'invalid_merchant_configuration',
  }),
  '400 expired': ({ nowMs }) => ({ outcome: 'expired', ...(nowMs !== undefined && { nowMs }) }),
};

function rejectionOf(answer: Answer, { reference }: SentOperation): Exclude<Outcome, NeedsCustomer> | undefined {
  const error = errorIn(answer);
  if (error?.name === wrongSecret) {
    const refused = declined('invalid_merchant_configuration', { response_text: wrongSecretText });
    return { ...refused, isProcessorFault: true, refusesCredentials: true };
  }
  return error?.reference === reference ? ownEntry(rejections, error.name)?.(error) : undefined;
}

export function outcomeOf(answer: Answer | Silence, sent: SentOperation): Exclude<Outcome, NeedsCustomer> | Waiting {
  if ('reason' in answer) return silentOutcome(answer);
  const executed = operationIn(answer);
  if (executed && isAbout(executed.operation, sent)) return sentResult(executed);
  const holder = holderIn(answer);
  if (holder?.operation.reference !== sent.reference) return rejectionOf(answer, sent) ?? withoutOutcome(answer);
  // Another operation has our reference. If it has our amount and our card, it is our own charge, sent before the
  // expiry of the card changed. Its result counts; treating it as a conflict would lose a charge.
  const { operation, nowMs } = holder;
  return isAbout(operation, sent) ? sentResult(holder) : conflictWith(operation, nowMs);
}

function sentResult({ operation, nowMs }: Shown): Exclude<Result, Ended> | typeof givenUp {
  const result = resultOf(operation, nowMs);
  return result.outcome === 'ended' ? givenUp : result;
}

/** Whether the operation has the content that was sent, as far as it is known. */
function isAsSent(operation: Operation, { chargeReference, sent }: LookupRequest): boolean {
  const { charge_reference, amount, currency, last4 } = operation;
  if (chargeReference !== undefined && chargeReference !== charge_reference) return false;
  return !sent || (sent.amount === amount && sent.currency === currency && sent.last4 === last4);
}

export function lookupOutcomeOf(answer: Answer | Silence, request: LookupRequest): LookupOutcome | Waiting {
  if ('reason' in answer) return unknown(answer.reason);
  const found = operationIn(answer);
  if (found?.operation.reference === request.reference) {
    const { operation, nowMs } = found;
    if (!isAsSent(operation, request)) return conflictWith(operation, nowMs);
    const result = resultOf(operation, nowMs);
    return result.outcome === 'ended' ? neverExecuted : result;
  }
  const error = errorIn(answer);
  if (error?.name === wrongSecret) return { ...unknown(wrongSecretText), refusesCredentials: true };
  if (error?.name !== '404 not_found' || error.reference !== request.reference) return withoutOutcome(answer);
  return { outcome: 'not_found', ...(error.nowMs !== undefined && { atMs: error.nowMs }) };
}

function listedOperation(
  operation: Operation & { readonly kind: OperationKind; readonly taken_at_ms: number },
): ListedOperation {
  const { kind, reference, charge_reference, amount, currency, last4, transaction_id, taken_at_ms } = operation;
  return {
    kind,
    reference,
    chargeReference: charge_reference,
    amount,
    currency,
    last4,
    approved: operation.status === 'approved',
    voided: operation.voided === true,
    transactionId: transaction_id,
    executedAtMs: taken_at_ms,
  };
}

/** Throws if the answer is not a list. */
export function listingOf(answer: Answer | Silence): Listing {
  if ('reason' in answer) throw new Error(`the acquirer did not list its operations: ${answer.reason}`);
  const { status } = answer;
  const body = jsonOf(answer);
  if (status !== 200 || !listAnswer.Check(body)) throw new Error(`the acquirer answered ${status} for its operations`);
  return { operations: body.operations.map(listedOperation), next: body.next, nowMs: body.now_ms };
}
