import type { ErrorCode, ErrorType, FieldError } from './generated/errors.ts';

/** One class per kind of error. All of them say which code it was and which request to ask about. */

/** Codes of errors that the service did not answer with. */
export type LocalErrorCode = 'connection_failed' | 'timed_out' | 'unreadable_answer' | 'webhook_signature_failed';

export interface ErrorFacts {
  readonly message: string;
  readonly type: ErrorType | 'connection_error';
  /** New codes may come; the ones known today complete in an editor. */
  readonly code: ErrorCode | LocalErrorCode | (string & {});
  readonly status?: number | undefined;
  readonly param?: string | null | undefined;
  readonly requestId?: string | null | undefined;
  readonly fieldErrors?: readonly FieldError[] | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly cause?: unknown;
}

export class SvcError extends Error {
  readonly type: ErrorFacts['type'];
  readonly code: ErrorFacts['code'];
  /** The HTTP status; absent when there was no answer. */
  readonly status: number | undefined;
  /** The field or parameter that is most responsible. */
  readonly param: string | null;
  readonly requestId: string | null;
  /** Every wrong field of the request, with a path such as `items[0].quantity`. */
  readonly fieldErrors: readonly FieldError[];
  readonly retryAfterSeconds: number | undefined;
  /** The key the request was made with: send it again to continue the same operation. */
  readonly idempotencyKey: string | undefined;

  constructor(facts: ErrorFacts) {
    super(facts.message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = new.target.name;
    this.type = facts.type;
    this.code = facts.code;
    this.status = facts.status;
    this.param = facts.param ?? null;
    this.requestId = facts.requestId ?? null;
    this.fieldErrors = facts.fieldErrors ?? [];
    this.retryAfterSeconds = facts.retryAfterSeconds;
    this.idempotencyKey = facts.idempotencyKey;
  }
}

/** The request is wrong, or the object is not in a state that allows it. */
export class InvalidRequestError extends SvcError {}
/** The API key is missing, wrong, expired or revoked. */
export class AuthenticationError extends SvcError {}
/** The API key is not allowed to do this. */
export class AuthorizationError extends SvcError {}
/** Too many requests, even after the retries. */
export class RateLimitError extends SvcError {}
/** The idempotency key belongs to another request, or to one that is still under way. */
export class IdempotencyError extends SvcError {}
/** The service or the payment processor could not do it. */
export class ProcessingError extends SvcError {}
/** A webhook endpoint could not be used. */
export class WebhookError extends SvcError {}
/** A delivery does not come from the service, or is too old. */
export class WebhookSignatureError extends WebhookError {}
/** No answer came. What happened to the request is not known; the same idempotency key is safe to send again. */
export class ConnectionError extends SvcError {}
/** No answer came within `timeoutMs`. */
export class TimeoutError extends ConnectionError {}

const classes: Readonly<Record<ErrorType, typeof SvcError>> = {
  invalid_request_error: InvalidRequestError,
  authentication_error: AuthenticationError,
  authorization_error: AuthorizationError,
  rate_limit_error: RateLimitError,
  idempotency_error: IdempotencyError,
  processing_error: ProcessingError,
  webhook_error: WebhookError,
};

export interface ReceivedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** The error that an answer other than 2xx stands for. */
export function errorOf(answer: ReceivedAnswer, idempotencyKey: string | undefined): SvcError {
  const { status, headers } = answer;
  const common = {
    status,
    retryAfterSeconds: retryAfterSeconds(headers.get('retry-after')),
    idempotencyKey,
  };
  const body = errorBodyOf(answer.text);
  if (!body) {
    return new ProcessingError({
      ...common,
      message: `The answer with status ${status} is not one of the service.`,
      type: 'processing_error',
      code: 'unreadable_answer',
      requestId: headers.get('svc-request-id'),
    });
  }
  const { type, code, message, param, request_id: requestId, field_errors: fieldErrors } = body;
  const ErrorClass = classes[type] ?? SvcError;
  return new ErrorClass({ ...common, message, type, code, param, requestId, fieldErrors });
}

interface ErrorBody {
  readonly type: ErrorType;
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  readonly request_id: string;
  readonly field_errors: readonly FieldError[];
}

/** Something between here and the service may have answered instead of it. */
function errorBodyOf(text: string): ErrorBody | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: ErrorBody };
    return typeof error?.type === 'string' && typeof error.code === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}

/** Seconds, or a date that something between here and the service may have written. */
export function retryAfterSeconds(header: string | null, nowMs = Date.now()): number | undefined {
  if (!header) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - nowMs) / 1_000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}
