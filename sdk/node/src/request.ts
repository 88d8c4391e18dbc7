import { ConnectionError, errorOf, type ReceivedAnswer, TimeoutError } from './errors.ts';
import { apiVersion, sdkVersion } from './generated/operations.ts';
import type { Hooks } from './hooks.ts';
import { keepResponse, responseWith } from './responses.ts';
import { pathOf, queryOf } from './query.ts';
import { type Patience, usualPatience, withRetries } from './retry.ts';

/** One call of an operation, with its attempts and timeouts. */

export interface Operation {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Whether the operation uses an idempotency key. Operations without one change nothing. */
  readonly keyed: boolean;
  /** The resource name in `fields[orders]`. */
  readonly fieldsOf?: string;
}

export interface RequestOptions {
  /** Default: a new key. Pass your own to continue an operation after a restart of your process. */
  readonly idempotencyKey?: string | undefined;
  /**
   * The version that the object must still have, from `versionOf(object)`. If it has changed, an update does nothing and throws an
   * `InvalidRequestError` with the code `resource_changed`. Omit the option for an update without this condition: undefined is
   * rejected, because such an update could take back a change.
   */
  readonly ifMatch?: string | undefined;
  /** For each attempt. */
  readonly timeoutMs?: number | undefined;
  readonly retryForMs?: number | undefined;
  readonly maxRetries?: number | undefined;
  /** Aborts the call and its retries, with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export type FileContent = Blob | Uint8Array | ArrayBuffer;

export interface RequestInput {
  readonly body?: object | undefined;
  readonly query?: object | undefined;
}

interface CallInput extends RequestInput {
  readonly file?: FileContent | undefined;
}

export type Call = <Answer>(
  operation: Operation,
  ids: readonly string[],
  input?: CallInput,
  options?: RequestOptions,
) => Promise<Answer>;

export interface SvcOptions {
  /** URL of the service, for example `https://pay.example.com`. */
  readonly baseUrl: string;
  /** URL for raw cards. Default: `{baseUrl}/capture`. */
  readonly captureUrl?: string | undefined;
  /** Timeout of each attempt. Default: one minute. */
  readonly timeoutMs?: number | undefined;
  /** How long a call is retried after the first failure. Default: 45 seconds; 0 for no retries. */
  readonly retryForMs?: number | undefined;
  /** Maximum number of retries. Default: limited only by `retryForMs`; 0 for none. */
  readonly maxRetries?: number | undefined;
  /** Functions that see every attempt. */
  readonly hooks?: Hooks | undefined;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

const userAgent = `svc-payments-node/${sdkVersion}`;
const usualTimeoutMs = 60_000;
/** The maximum of a timer. A longer one fires immediately. */
const timerMsMax = 2_147_483_647;

/** Only the returned function has the key, so that a logged client does not show it. */
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
    if (!(timeoutMs > 0)) throw new RangeError('timeoutMs must be greater than 0');
    const patience = patienceOf(settings, options);
    checkIfMatch(options);
    const { signal } = options;
    const ownHeaders = {
      accept: 'application/json',
      authorization: `Bearer ${apiKey}`,
      'user-agent': userAgent,
      // The types match this version, not the one that the company is pinned to.
      'svc-version': apiVersion,
      ...(idempotencyKey !== undefined && { 'x-svc-idempotency-key': idempotencyKey }),
      ...(options.ifMatch !== undefined && { 'if-match': options.ifMatch }),
      ...(input.body && { 'content-type': 'application/json' }),
    };
    const request = (added: Headers): RequestInit => ({
      method: operation.method,
      headers: { ...Object.fromEntries(added), ...ownHeaders },
      // The service never redirects. The key must not follow a redirect from elsewhere.
      redirect: 'manual',
      ...bodyOf(input),
    });

    let attempt = 0;
    return withRetries(
      async () => {
        attempt += 1;
        const about = { method: operation.method, url, attempt };
        const answer = await watched(settings.hooks, about, (added) =>
          exchange(send, url, request(added), { timeoutMs, signal, idempotencyKey }),
        );
        if (answer.status < 200 || answer.status > 299) throw errorOf(answer, idempotencyKey);
        const body = readAnswer(answer, idempotencyKey);
        keepResponse(body, responseWith(answer.status, answer.headers));
        return body as Answer;
      },
      patience,
      signal,
    );
  };
}

/** Calls the hooks around an attempt. */
async function watched(
  hooks: Hooks | undefined,
  about: { readonly method: string; readonly url: string; readonly attempt: number },
  send: (added: Headers) => Promise<ReceivedAnswer>,
): Promise<ReceivedAnswer> {
  const headers = new Headers();
  if (!hooks) return send(headers);
  await hooks.beforeRequest?.({ ...about, headers });
  const sentAtMs = performance.now();
  const report = async (answer: ReceivedAnswer | undefined): Promise<void> => {
    const durationMs = performance.now() - sentAtMs;
    const requestId = answer?.headers.get('svc-request-id') ?? undefined;
    await hooks.afterResponse?.({ ...about, durationMs, requestId, status: answer?.status, headers: answer?.headers });
  };
  let answer: ReceivedAnswer;
  try {
    answer = await send(headers);
  } catch (error) {
    await report(undefined);
    throw error;
  }
  await report(answer);
  return answer;
}

/** `versionOf` returns undefined for an object without a known version. The update must not become unconditional by that. */
function checkIfMatch(options: RequestOptions): void {
  if (!('ifMatch' in options) || options.ifMatch !== undefined) return;
  throw new TypeError(
    'ifMatch is undefined. Read the object with get() or update(): objects of lists, created objects and copies have no version',
  );
}

function patienceOf(settings: SvcOptions, options: RequestOptions): Patience {
  const retryForMs = options.retryForMs ?? settings.retryForMs ?? usualPatience.retryForMs;
  const maxRetries = options.maxRetries ?? settings.maxRetries ?? usualPatience.maxRetries;
  if (!(retryForMs >= 0)) throw new RangeError('retryForMs must be 0 or greater');
  if (!(maxRetries >= 0)) throw new RangeError('maxRetries must be 0 or greater');
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

/** One attempt, including the complete response. */
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
      throw new TimeoutError({ ...facts, message: `No response within ${timeoutMs} ms.`, code: 'timed_out' });
    }
    const message = `The service is unreachable at ${new URL(url).origin}.`;
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
