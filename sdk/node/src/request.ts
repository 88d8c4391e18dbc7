import { ConnectionError, errorOf, type ReceivedAnswer, TimeoutError } from './errors.ts';
import { apiVersion } from './generated/operations.ts';
import { pathOf, queryOf } from './query.ts';
import { type Patience, usualPatience, withRetries } from './retry.ts';

/** One call of an operation: its attempts, their time limit, and what comes back. */

export interface Operation {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Whether the service keeps the answer under an idempotency key. Without that the operation changes nothing. */
  readonly keyed: boolean;
  /** The resource whose fields can be chosen, as in `fields[orders]`. */
  readonly fieldsOf?: string;
}

export interface RequestOptions {
  /** Made for you when absent. Give your own to continue an operation after your process was restarted. */
  readonly idempotencyKey?: string | undefined;
  /** For each attempt. */
  readonly timeoutMs?: number | undefined;
  readonly retryForMs?: number | undefined;
  readonly maxRetries?: number | undefined;
  /** Ends the call, and its retries, with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export type FileContent = Blob | Uint8Array | ArrayBuffer;

interface CallInput {
  readonly body?: object | undefined;
  readonly query?: object | undefined;
  readonly file?: FileContent | undefined;
}

export type Call = <Answer>(
  operation: Operation,
  ids: readonly string[],
  input?: CallInput,
  options?: RequestOptions,
) => Promise<Answer>;

export interface SvcOptions {
  /** Where the service is, such as `https://pay.example.com`. */
  readonly baseUrl: string;
  /** Where raw cards go, when that is not `{baseUrl}/capture`. */
  readonly captureUrl?: string | undefined;
  /** For each attempt; a minute when absent. */
  readonly timeoutMs?: number | undefined;
  /** How long after the first failure a call is still repeated; 45 seconds when absent, 0 for not at all. */
  readonly retryForMs?: number | undefined;
  /** Attempts after the first one, at most; bounded by `retryForMs` alone when absent, 0 for none. */
  readonly maxRetries?: number | undefined;
  /** Instead of the global one. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

const usualTimeoutMs = 60_000;
/** A timer that is set to more goes off at once. */
const timerMsMax = 2_147_483_647;

/** The key is known to the returned function only, so that a printed client does not show it. */
export function createCall(apiKey: string, settings: SvcOptions): Call {
  const baseUrl = settings.baseUrl.replace(/\/+$/, '');
  const send = settings.fetch ?? globalThis.fetch.bind(globalThis);

  return async <Answer>(
    operation: Operation,
    ids: readonly string[],
    input: CallInput = {},
    options: RequestOptions = {},
  ) => {
    const path = pathOf(operation.path, ids) + queryOf(input.query ?? {}, operation.fieldsOf);
    const url = operation.path === '/capture' && settings.captureUrl ? settings.captureUrl : baseUrl + path;
    const idempotencyKey = operation.keyed ? (options.idempotencyKey ?? crypto.randomUUID()) : undefined;
    const timeoutMs = options.timeoutMs ?? settings.timeoutMs ?? usualTimeoutMs;
    if (!(timeoutMs > 0)) throw new RangeError('timeoutMs has to be more than 0');
    const patience = patienceOf(settings, options);
    const { signal } = options;
    const request = (): RequestInit => ({
      method: operation.method,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${apiKey}`,
        // The types are those of this version, whatever is pinned for the company.
        'svc-version': apiVersion,
        ...(idempotencyKey !== undefined && { 'x-svc-idempotency-key': idempotencyKey }),
        ...(input.body && { 'content-type': 'application/json' }),
      },
      // The service does not redirect; a key must not follow someone who does.
      redirect: 'manual',
      ...bodyOf(input),
    });

    return withRetries(
      async () => {
        const answer = await exchange(send, url, request(), { timeoutMs, signal, idempotencyKey });
        if (answer.status < 200 || answer.status > 299) throw errorOf(answer, idempotencyKey);
        return readAnswer(answer, idempotencyKey) as Answer;
      },
      patience,
      signal,
    );
  };
}

function patienceOf(settings: SvcOptions, options: RequestOptions): Patience {
  const retryForMs = options.retryForMs ?? settings.retryForMs ?? usualPatience.retryForMs;
  const maxRetries = options.maxRetries ?? settings.maxRetries ?? usualPatience.maxRetries;
  if (!(retryForMs >= 0)) throw new RangeError('retryForMs has to be 0 or more');
  if (!(maxRetries >= 0)) throw new RangeError('maxRetries has to be 0 or more');
  return { retryForMs, maxRetries };
}

function bodyOf({ body, file }: CallInput): Pick<RequestInit, 'body'> {
  if (body) return { body: JSON.stringify(body) };
  if (!file) return {};
  const form = new FormData();
  form.set('file', file instanceof Blob ? file : new Blob([file as ArrayBuffer]), 'image');
  return { body: form };
}

interface ExchangeOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly idempotencyKey: string | undefined;
}

/** One attempt, to the last byte of its answer. */
async function exchange(
  send: typeof globalThis.fetch,
  url: string,
  request: RequestInit,
  { timeoutMs, signal, idempotencyKey }: ExchangeOptions,
): Promise<ReceivedAnswer> {
  signal?.throwIfAborted();
  const attempt = new AbortController();
  let timedOut = false;
  const timer = setTimeout(
    () => {
      timedOut = true;
      attempt.abort();
    },
    Math.min(timeoutMs, timerMsMax),
  );
  const giveUp = (): void => attempt.abort();
  signal?.addEventListener('abort', giveUp, { once: true });
  try {
    const response = await send(url, { ...request, signal: attempt.signal });
    return { status: response.status, headers: response.headers, text: await response.text() };
  } catch (cause) {
    signal?.throwIfAborted();
    const facts = { type: 'connection_error', idempotencyKey, cause } as const;
    if (timedOut) {
      throw new TimeoutError({ ...facts, message: `No answer within ${timeoutMs} ms.`, code: 'timed_out' });
    }
    const message = `The service could not be reached at ${new URL(url).origin}.`;
    throw new ConnectionError({ ...facts, message, code: 'connection_failed' });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', giveUp);
  }
}

function readAnswer(answer: ReceivedAnswer, idempotencyKey: string | undefined): unknown {
  try {
    return JSON.parse(answer.text);
  } catch {
    throw errorOf(answer, idempotencyKey);
  }
}
