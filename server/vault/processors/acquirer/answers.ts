import Type from 'typebox';
import { checkOf } from '../../../platform/schema-check.ts';
import { choice } from '../../../platform/choice.ts';
import {
  type FailureCode,
  failureReasons,
  noResponse,
  type ListedOperation,
  type Listing,
  type LookupOutcome,
  type LookupRequest,
  type Outcome,
  type ProcessorResponse,
} from '../processor.ts';
import { type Answer, jsonOf, type Silence } from '../exchange.ts';
import { type DeclineCode, type OperationKind, operationKinds } from './protocol.ts';

/** Parses answers of the protocol in docs/acquirer.md. An answer that proves nothing is `unknown`. */

export const failureCodes: Readonly<Record<DeclineCode, FailureCode>> = {
  '01': 'contact_bank',
  '03': 'invalid_merchant_configuration',
  '05': 'do_not_honor',
  '06': 'processor_declined',
  '12': 'transaction_not_allowed',
  '13': 'validation_error',
  '14': 'invalid_account',
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

/** Codes for which the acquirer, and not the card's bank, is to blame. */
const processorFaults: readonly string[] = ['03' satisfies DeclineCode];

const nullable = Type.Union([Type.String(), Type.Null()]);
const operationSchema = Type.Object({
  kind: choice(operationKinds),
  reference: Type.String(),
  charge_reference: nullable,
  amount: Type.Union([Type.Integer(), Type.Null()]),
  currency: nullable,
  last4: nullable,
  status: choice(['approved', 'declined', 'rejected']),
  settled: Type.Boolean(),
  response_code: Type.String(),
  response_text: Type.String(),
  transaction_id: Type.String(),
  authorization_code: nullable,
  avs_result: Type.Optional(nullable),
  cvv_result: Type.Optional(nullable),
  network_transaction_id: Type.Optional(nullable),
  voided: Type.Optional(Type.Boolean()),
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
    operations: Type.Array(Type.Intersect([operationSchema, Type.Object({ taken_at_ms: Type.Integer() })])),
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
  readonly kind: OperationKind;
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

/** When an operation was executed, by the clock of the acquirer. */
function executionOf(
  { taken_at_ms: atMs }: Operation,
  nowMs: number | undefined,
): Pick<Extract<Outcome, { outcome: 'approved' }>, 'executed'> {
  return atMs === undefined || nowMs === undefined ? {} : { executed: { atMs, ageMs: Math.max(0, nowMs - atMs) } };
}

function resultOf(
  operation: Operation,
  nowMs: number | undefined,
): Extract<Outcome, { outcome: 'approved' | 'declined' }> {
  const { transaction_id, authorization_code, response_code, response_text } = operation;
  const { avs_result = null, cvv_result = null, network_transaction_id: networkTransactionId } = operation;
  const response = { transaction_id, authorization_code, avs_result, cvv_result, response_code, response_text };
  const execution = executionOf(operation, nowMs);
  if (operation.status === 'approved') {
    const known = networkTransactionId ? { networkTransactionId } : {};
    return { outcome: 'approved', response, settled: operation.settled, ...known, ...execution };
  }
  // The charge was declined with a code that is not in the table.
  return {
    ...declined((failureCodes as Record<string, FailureCode>)[response_code] ?? 'unknown', response),
    ...(processorFaults.includes(response_code) && { isProcessorFault: true }),
    ...execution,
  };
}

function conflictWith(operation: Operation, nowMs: number | undefined): Extract<Outcome, { outcome: 'conflict' }> {
  const holdsMoney = operation.status === 'approved' && operation.voided !== true;
  return { outcome: 'conflict', approved: holdsMoney, ...executionOf(operation, nowMs) };
}

const wrongSecretText = 'The secret of the acquirer is wrong.';

export function outcomeOf(answer: Answer | Silence, sent: SentOperation): Outcome {
  if ('reason' in answer) {
    return answer.mayHaveArrived ? unknown(answer.reason) : { outcome: 'not_sent', reason: answer.reason };
  }
  const { status, askedAtMs } = answer;
  const body = jsonOf(answer);
  if (status === 200 && operationAnswer.Check(body) && isAbout(body, sent)) {
    return resultOf(body, body.now_ms ?? askedAtMs);
  }
  if (status === 409 && conflictAnswer.Check(body) && body.operation.reference === sent.reference) {
    // Another operation has our reference. If it has our amount and our card, it is our own charge, sent before the
    // expiry of the card changed. Its result counts; treating it as a conflict would lose a charge.
    const nowMs = body.now_ms ?? askedAtMs;
    return isAbout(body.operation, sent) ? resultOf(body.operation, nowMs) : conflictWith(body.operation, nowMs);
  }
  if (errorAnswer.Check(body)) {
    const { error, reference } = body;
    if (status === 401 && error === 'unauthorized') {
      const refused = declined('invalid_merchant_configuration', { response_text: wrongSecretText });
      return { ...refused, isProcessorFault: true, refusesCredentials: true };
    }
    if (status === 400 && error === 'invalid' && reference === sent.reference) {
      return declined('validation_error', { response_text: 'A field of the request is invalid.' });
    }
    if (status === 400 && error === 'expired' && reference === sent.reference) {
      const nowMs = body.now_ms ?? askedAtMs;
      return { outcome: 'expired', ...(nowMs !== undefined && { nowMs }) };
    }
  }
  return unknown(`the response with status ${status} does not contain an outcome`);
}

export function lookupOutcomeOf(
  answer: Answer | Silence,
  { reference, chargeReference, sent }: LookupRequest,
): LookupOutcome {
  if ('reason' in answer) return unknown(answer.reason);
  const { status } = answer;
  const body = jsonOf(answer);
  if (status === 200 && operationAnswer.Check(body) && body.reference === reference) {
    const isOurs =
      (chargeReference === undefined || chargeReference === body.charge_reference) &&
      (!sent || (sent.amount === body.amount && sent.currency === body.currency && sent.last4 === body.last4));
    const nowMs = body.now_ms ?? answer.askedAtMs;
    return isOurs ? resultOf(body, nowMs) : conflictWith(body, nowMs);
  }
  const isNotFound = status === 404 && errorAnswer.Check(body) && body.error === 'not_found';
  if (isNotFound && body.reference === reference) {
    const atMs = body.now_ms ?? answer.askedAtMs;
    return { outcome: 'not_found', ...(atMs !== undefined && { atMs }) };
  }
  if (status === 401 && errorAnswer.Check(body) && body.error === 'unauthorized') {
    return { ...unknown(wrongSecretText), refusesCredentials: true };
  }
  return unknown(`the response with status ${status} does not contain an outcome`);
}

function listedOperation(operation: Operation & { readonly taken_at_ms: number }): ListedOperation {
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
