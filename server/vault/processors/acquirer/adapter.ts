import * as http from 'node:http';
import * as https from 'node:https';
import Type from 'typebox';
import { Compile } from 'typebox/compile';
import type { Secret } from '../../../platform/secret.ts';
import { CardNumber } from '../../card-number.ts';
import {
  type FailureCode,
  type LookupOutcome,
  failureReasons,
  type ListedOperation,
  type LookupRequest,
  type Outcome,
  type Processor,
  type ProcessorResponse,
} from '../processor.ts';
import { type DeclineCode, type OperationKind, operationKinds } from './protocol.ts';
import { choice } from '../../../platform/choice.ts';

export interface AcquirerOptions {
  readonly url: string;
  readonly secret: Secret<string>;
  readonly timeoutMs?: number;
}

const answerBytesMax = 64 * 1024;
const listBytesMax = 4 * 1024 * 1024;
/** Less than any server keeps an idle connection: what is written to one that closes just then is in doubt. */
const idleConnectionMs = 4_000;

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

const nullable = Type.Union([Type.String(), Type.Null()]);
const toldOperation = Type.Object({
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
  voided: Type.Optional(Type.Boolean()),
  taken_at_ms: Type.Optional(Type.Integer()),
  now_ms: Type.Optional(Type.Integer()),
});
type ToldOperation = Type.Static<typeof toldOperation>;

const operationAnswer = Compile(toldOperation);
const conflictAnswer = Compile(
  Type.Object({
    error: Type.Literal('reference_used'),
    operation: toldOperation,
    now_ms: Type.Optional(Type.Integer()),
  }),
);
const listAnswer = Compile(
  Type.Object({
    operations: Type.Array(Type.Intersect([toldOperation, Type.Object({ taken_at_ms: Type.Integer() })])),
    next: nullable,
    now_ms: Type.Integer(),
  }),
);
const errorAnswer = Compile(
  Type.Object({
    error: Type.String(),
    reference: Type.Optional(Type.String()),
    now_ms: Type.Optional(Type.Integer()),
  }),
);

interface Answer {
  readonly status: number;
  readonly body: unknown;
  /** By the Date header: what the clock of the acquirer showed when we asked, or a little less. */
  readonly askedAtMs: number | undefined;
}
type Silence = { readonly mayHaveArrived: boolean; readonly reason: string };

/** What an answer has to speak of to be an answer to us: a connection out of step can bring that of another. */
interface Asked {
  readonly kind: OperationKind;
  readonly reference: string;
  readonly chargeReference: string | null;
  readonly money?: { readonly amount: number; readonly currency: string };
  readonly last4: string | null;
}

function speaksOf(operation: ToldOperation, asked: Asked): boolean {
  return (
    operation.kind === asked.kind &&
    operation.reference === asked.reference &&
    operation.charge_reference === asked.chargeReference &&
    operation.last4 === asked.last4 &&
    (!asked.money || (operation.amount === asked.money.amount && operation.currency === asked.money.currency))
  );
}

const unknown = (reason: string): Extract<Outcome, { outcome: 'unknown' }> => ({ outcome: 'unknown', reason });

const noResponse: ProcessorResponse = {
  transaction_id: null,
  authorization_code: null,
  avs_result: null,
  cvv_result: null,
  response_code: null,
  response_text: null,
};

function declined(
  failureCode: FailureCode,
  response: Partial<ProcessorResponse>,
): Extract<Outcome, { outcome: 'declined' }> {
  const failureReason = failureReasons[failureCode];
  return { outcome: 'declined', response: { ...noResponse, ...response }, failureCode, failureReason };
}

/** When an operation was executed, by the clock of the acquirer. */
function executionOf(
  { taken_at_ms: atMs }: ToldOperation,
  nowMs: number | undefined,
): Pick<Extract<Outcome, { outcome: 'approved' }>, 'executed'> {
  return atMs === undefined || nowMs === undefined ? {} : { executed: { atMs, ageMs: Math.max(0, nowMs - atMs) } };
}

function becameOf(
  operation: ToldOperation,
  nowMs: number | undefined,
): Extract<Outcome, { outcome: 'approved' | 'declined' }> {
  const { transaction_id, authorization_code, response_code, response_text } = operation;
  const response = { ...noResponse, transaction_id, authorization_code, response_code, response_text };
  const execution = executionOf(operation, nowMs);
  if (operation.status === 'approved') {
    return { outcome: 'approved', response, settled: operation.settled, ...execution };
  }
  // A code that is not ours to read: the charge was declined, and why is not known.
  return {
    ...declined((failureCodes as Record<string, FailureCode>)[response_code] ?? 'unknown', response),
    ...execution,
  };
}

function conflictWith(operation: ToldOperation, nowMs: number | undefined): Extract<Outcome, { outcome: 'conflict' }> {
  const holdsMoney = operation.status === 'approved' && operation.voided !== true;
  return { outcome: 'conflict', approved: holdsMoney, ...executionOf(operation, nowMs) };
}

function outcomeOf(answer: Answer | Silence, asked: Asked): Outcome {
  if ('reason' in answer) {
    return answer.mayHaveArrived ? unknown(answer.reason) : { outcome: 'not_sent', reason: answer.reason };
  }
  const { status, body, askedAtMs } = answer;
  if (status === 200 && operationAnswer.Check(body) && speaksOf(body, asked)) {
    return becameOf(body, body.now_ms ?? askedAtMs);
  }
  if (status === 409 && conflictAnswer.Check(body) && body.operation.reference === asked.reference) {
    // Our reference is held by something whose content is not what we sent now. If it moves our money on our card,
    // it is our own operation, sent before the card got another expiry: what became of that is the truth, and
    // calling it a conflict would lose a charge. Neither is in doubt, so neither is `unknown`.
    const nowMs = body.now_ms ?? askedAtMs;
    return speaksOf(body.operation, asked) ? becameOf(body.operation, nowMs) : conflictWith(body.operation, nowMs);
  }
  if (errorAnswer.Check(body)) {
    const { error, reference } = body;
    if (status === 401 && error === 'unauthorized') {
      return declined('invalid_merchant_configuration', { response_text: 'The secret of the acquirer is wrong.' });
    }
    if (status === 400 && error === 'invalid' && reference === asked.reference) {
      return declined('validation_error', { response_text: 'A field of the request is invalid.' });
    }
    if (status === 400 && error === 'expired' && reference === asked.reference) {
      const nowMs = body.now_ms ?? askedAtMs;
      return { outcome: 'expired', ...(nowMs !== undefined && { nowMs }) };
    }
  }
  return unknown(`the response with status ${status} does not contain an outcome`);
}

function findingOf(answer: Answer | Silence, { reference, chargeReference, sent }: LookupRequest): LookupOutcome {
  if ('reason' in answer) return unknown(answer.reason);
  const { status, body } = answer;
  if (status === 200 && operationAnswer.Check(body) && body.reference === reference) {
    const isOurs =
      (chargeReference === undefined || chargeReference === body.charge_reference) &&
      (!sent || (sent.amount === body.amount && sent.currency === body.currency && sent.last4 === body.last4));
    const nowMs = body.now_ms ?? answer.askedAtMs;
    return isOurs ? becameOf(body, nowMs) : conflictWith(body, nowMs);
  }
  const isNotFound = status === 404 && errorAnswer.Check(body) && body.error === 'not_found';
  if (isNotFound && body.reference === reference) {
    const atMs = body.now_ms ?? answer.askedAtMs;
    return { outcome: 'not_found', ...(atMs !== undefined && { atMs }) };
  }
  return unknown(`the response with status ${status} does not contain an outcome`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function dateOf(header: string | undefined, elapsedMs: number): number | undefined {
  const ms = header === undefined ? Number.NaN : Date.parse(header);
  return Number.isNaN(ms) ? undefined : Math.floor(ms - elapsedMs);
}

const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'failed';

function listed(operation: ToldOperation & { readonly taken_at_ms: number }): ListedOperation {
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

/** A processor that speaks the protocol of docs/acquirer.md. It sends each request once and never repeats one. */
export function acquirerProcessor(options: AcquirerOptions): Processor {
  const { secret, timeoutMs = 10_000 } = options;
  const base = new URL(options.url);
  const isSecure = base.protocol === 'https:';
  const client = isSecure ? https : http;
  const agent = new client.Agent({ keepAlive: true, timeout: idleConnectionMs });

  function send(
    method: 'GET' | 'POST',
    path: readonly string[],
    sent?: { readonly body: object; readonly validUntilMs: number },
    query?: URLSearchParams,
  ): Promise<Answer | Silence> {
    const startedAtMs = performance.now();
    const text = sent && JSON.stringify(sent.body);
    const pathname = [base.pathname.replace(/\/+$/, ''), ...path.map(encodeURIComponent)].join('/');
    const request = client.request(new URL(query ? `${pathname}?${query.toString()}` : pathname, base), {
      method,
      agent,
      headers: {
        authorization: `Bearer ${secret.reveal()}`,
        ...(text && {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(text),
          'x-valid-until-ms': sent.validUntilMs,
        }),
      },
    });
    return new Promise((resolve) => {
      let mayHaveArrived = false;
      let answered: http.IncomingMessage | undefined;
      const end = (result: Answer | Silence): void => {
        clearTimeout(deadline);
        resolve(result);
      };
      const giveUp = (reason: string): void => {
        end({ mayHaveArrived, reason });
        request.destroy();
      };
      const deadline = setTimeout(() => giveUp(`no response within ${timeoutMs} ms`), timeoutMs);

      request.on('socket', (socket) => {
        // Nothing is written before a new connection stands. On one that was used before, it is written at once.
        if (!socket.connecting) mayHaveArrived = true;
        else socket.once(isSecure ? 'secureConnect' : 'connect', () => (mayHaveArrived = true));
      });
      request.on('error', (error) => {
        // Bytes after a whole answer break the connection, not the answer.
        if (!answered?.complete) giveUp(`the connection failed: ${errorCode(error)}`);
      });
      request.on('response', (response) => {
        answered = response;
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          const bytesMax = query ? listBytesMax : answerBytesMax;
          if (bytes > bytesMax) giveUp(`the response is longer than ${bytesMax} bytes`);
          else chunks.push(chunk);
        });
        response.on('error', (error) => giveUp(`the response is incomplete: ${errorCode(error)}`));
        response.on('end', () =>
          end({
            status: response.statusCode ?? 0,
            body: parse(Buffer.concat(chunks).toString('utf8')),
            // It looked after we asked and before it dated its answer, so it is the earlier of the two that counts.
            askedAtMs: dateOf(response.headers.date, performance.now() - startedAtMs),
          }),
        );
      });
      request.end(text);
    });
  }

  async function exchange(...request: Parameters<typeof send>): Promise<Answer | Silence> {
    try {
      return await send(...request);
    } catch (error) {
      return { mayHaveArrived: false, reason: `the request could not be sent: ${errorCode(error)}` };
    }
  }

  return {
    async charge({ reference, amount, currency, card, validUntilMs }) {
      const sentCard = { number: CardNumber.open(card.number), exp_month: card.expMonth, exp_year: card.expYear };
      const body = { reference, amount, currency, card: sentCard };
      const answer = await exchange('POST', ['charges'], { body, validUntilMs });
      const { last4 } = card.number;
      return outcomeOf(answer, {
        kind: 'charge',
        reference,
        chargeReference: null,
        money: { amount, currency },
        last4,
      });
    },
    async refund({ reference, chargeReference, amount, currency, validUntilMs }) {
      const body = { reference, charge_reference: chargeReference, amount, currency };
      const answer = await exchange('POST', ['refunds'], { body, validUntilMs });
      return outcomeOf(answer, {
        kind: 'refund',
        reference,
        chargeReference,
        money: { amount, currency },
        last4: null,
      });
    },
    async void({ reference, chargeReference, validUntilMs }) {
      const body = { reference, charge_reference: chargeReference };
      const answer = await exchange('POST', ['voids'], { body, validUntilMs });
      return outcomeOf(answer, { kind: 'void', reference, chargeReference, last4: null });
    },
    async lookup(request) {
      return findingOf(await exchange('GET', ['operations', request.reference]), request);
    },
    async list({ fromMs, untilMs, after }) {
      const query = new URLSearchParams({
        from_ms: String(fromMs),
        until_ms: String(untilMs),
        ...(after && { after }),
      });
      const answer = await exchange('GET', ['operations'], undefined, query);
      if ('reason' in answer) throw new Error(`the acquirer did not list its operations: ${answer.reason}`);
      const { status, body } = answer;
      if (status !== 200 || !listAnswer.Check(body))
        throw new Error(`the acquirer answered ${status} for its operations`);
      return { operations: body.operations.map(listed), next: body.next, nowMs: body.now_ms };
    },
  };
}
