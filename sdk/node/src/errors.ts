import type { ErrorCode, ErrorType, FieldError } from './generated/errors.ts';

/** One class per type of error. Each has the error code and the request ID. */

/** Codes of errors that do not come from the service. */
export type LocalErrorCode = 'connection_failed' | 'timed_out' | 'unreadable_answer' | 'webhook_signature_failed';

export interface ErrorFacts {
  readonly message: string;
  readonly type: ErrorType | 'connection_error';
  /** Newer versions may have more codes. The known ones complete in an editor. */
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
  /** The HTTP status; undefined if there was no response. */
  readonly status: number | undefined;
  /** The most relevant field or parameter. */
  readonly param: string | null;
  readonly requestId: string | null;
  /** Every invalid field of the request, with a path such as `items[0].quantity`. */
  readonly fieldErrors: readonly FieldError[];
  readonly retryAfterSeconds: number | undefined;
  /** The idempotency key of the request. Send it again to continue the same operation. */
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

/** The request is invalid, or the status of the object does not allow it. */
export class InvalidRequestError extends SvcError {}
/** The API key is missing, invalid, expired or revoked. */
export class AuthenticationError extends SvcError {}
/** The API key does not have the permission. */
export class AuthorizationError extends SvcError {}
/** Too many requests, even after the retries. */
export class RateLimitError extends SvcError {}
/** The idempotency key was used for another request, or that request is still in progress. */
export class IdempotencyError extends SvcError {}
/** The service or the payment processor failed. */
export class ProcessingError extends SvcError {}
/** A webhook endpoint is not allowed. */
export class WebhookError extends SvcError {}
/** A delivery is forged or too old. */
export class WebhookSignatureError extends WebhookError {}
/** There was no response, so the outcome is unknown. It is safe to send the same idempotency key again. */
export class ConnectionError extends SvcError {}
/** There was no response within `timeoutMs`. */
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

/** Converts a response other than 2xx to an error. */
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
      message: `The response with status ${status} does not come from the service.`,
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

/** The response may come from a proxy instead of the service. */
function errorBodyOf(text: string): ErrorBody | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: ErrorBody };
    return typeof error?.type === 'string' && typeof error.code === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}

/** Seconds, or a date if a proxy has written the header. */
export function retryAfterSeconds(header: string | null, nowMs = Date.now()): number | undefined {
  if (!header) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - nowMs) / 1_000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}
