import { maskCardNumbers } from './platform/card-digits.ts';

/** The error catalogue: every error code of the API, and the error class. */

export const errorTypes = [
  'invalid_request_error',
  'authentication_error',
  'authorization_error',
  'rate_limit_error',
  'idempotency_error',
  'processing_error',
  'webhook_error',
] as const;
export type ErrorType = (typeof errorTypes)[number];

interface CatalogueEntry {
  readonly type: ErrorType;
  readonly status: number;
  /** Other statuses that this code can have. */
  readonly otherStatuses?: readonly number[];
  /** Whether a response with this code is stored with the idempotency key and replayed. */
  readonly stored: boolean;
  /** Defined in the contract but never returned. The meaning says why. */
  readonly reserved?: true;
  readonly meaning: string;
}

const invalidRequest = (status: number, meaning: string, rest: Partial<CatalogueEntry> = {}): CatalogueEntry => ({
  type: 'invalid_request_error',
  status,
  stored: true,
  meaning,
  ...rest,
});
const entry = (type: ErrorType, status: number, meaning: string): CatalogueEntry => ({
  type,
  status,
  stored: false,
  meaning,
});

const reserved = (type: ErrorType, status: number, meaning: string): CatalogueEntry & { readonly reserved: true } => ({
  ...entry(type, status, meaning),
  reserved: true,
});

export const errorCatalogue = {
  validation_error: invalidRequest(400, 'One or more fields are invalid. `field_errors` lists them.'),
  invalid_request: invalidRequest(
    400,
    'The request is invalid. `message` says why; `param` names the field or header, if one is the cause.',
    {
      otherStatuses: [405, 413, 415, 422],
    },
  ),
  invalid_api_version: invalidRequest(400, 'The `SVC-Version` header is not a known version.', { stored: false }),
  api_version_sunset: invalidRequest(400, 'The requested API version is retired.', { stored: false }),
  environment_mismatch: invalidRequest(400, 'The card token and the API key are not both sandbox or both live.'),
  missing_idempotency_key: invalidRequest(400, 'This request requires the `X-SVC-Idempotency-Key` header.', {
    stored: false,
  }),
  invalid_idempotency_key: invalidRequest(
    400,
    'The idempotency key is empty, too long or contains invalid characters.',
    {
      stored: false,
    },
  ),
  customer_has_active_subscriptions: invalidRequest(400, 'The customer has active or paused subscriptions.'),
  product_in_active_plans: invalidRequest(400, 'The product is part of an active plan.'),
  subscription_not_modifiable: invalidRequest(400, 'Only active or paused subscriptions can be changed.'),
  resource_not_found: invalidRequest(404, 'The object does not exist, or it belongs to another company.'),
  resource_already_exists: invalidRequest(409, 'An object with this unique value already exists.'),
  resource_in_use: invalidRequest(409, 'Another operation on this object is in progress. Retry shortly.', {
    stored: false,
  }),
  resource_changed: invalidRequest(
    412,
    'The object has changed since the version that `If-Match` names was read. Nothing was done. Read the object again.',
    { stored: false },
  ),
  email_already_exists: invalidRequest(409, 'Another customer has this email address.'),
  phone_already_exists: invalidRequest(409, 'Another customer has this phone number.'),
  sku_already_exists: invalidRequest(409, 'Another product has this SKU.'),
  already_canceled: invalidRequest(409, 'The subscription is already canceled.'),
  subscription_completed: invalidRequest(409, 'The subscription is already completed.'),
  invalid_state_transition: invalidRequest(422, 'The status of the object does not allow this operation.', {
    otherStatuses: [400],
  }),
  field_locked: invalidRequest(
    422,
    'The field can no longer be changed, because the coupon was redeemed or has started.',
  ),

  missing_api_key: entry('authentication_error', 401, 'The `Authorization: Bearer <API_KEY>` header is missing.'),
  invalid_api_key: entry('authentication_error', 401, 'The API key does not exist.'),
  invalid_api_key_format: entry('authentication_error', 401, 'The API key is malformed.'),
  expired_api_key: entry('authentication_error', 401, 'The API key has expired.'),
  revoked_api_key: entry('authentication_error', 401, 'The API key was revoked.'),
  insufficient_permissions: entry(
    'authorization_error',
    403,
    'The API key or team member does not have the required permission.',
  ),
  ip_not_allowed: entry('authorization_error', 403, 'The API key cannot be used from this IP address.'),

  request_in_progress: entry(
    'idempotency_error',
    409,
    'A request with this idempotency key is in progress. Retry shortly.',
  ),
  idempotency_key_conflict: entry(
    'idempotency_error',
    422,
    'The idempotency key was used for a different request. Use a new key.',
  ),

  rate_limit_exceeded: entry('rate_limit_error', 429, 'Too many requests of this type.'),
  global_rate_limit_exceeded: entry('rate_limit_error', 429, 'Too many requests in total.'),
  too_many_requests: entry(
    'rate_limit_error',
    429,
    'Too many coupon validations, or too many sign-in attempts in the dashboard.',
  ),

  customer_not_configured: {
    ...entry('processing_error', 400, 'The customer has no card on file.'),
    stored: true,
  },
  merchant_not_configured: {
    ...entry('processing_error', 400, 'No payment processor is connected to the live company.'),
    stored: true,
  },
  replacement_required: {
    ...entry('processing_error', 400, 'A replacement payment method is required.'),
    stored: true,
  },
  gateway_error: entry('processing_error', 502, 'The processor did not respond. Retry with the same idempotency key.'),
  gateway_delete_failed: reserved(
    'processing_error',
    502,
    'The service removes a deleted card from the vault in the background, so the request cannot fail for this reason.',
  ),
  internal_error: entry(
    'processing_error',
    500,
    'An error occurred in the service. Retry with the same idempotency key.',
  ),
  not_implemented: entry('processing_error', 501, 'This operation is not enabled.'),
  restore_in_progress: entry(
    'processing_error',
    503,
    'The database was restored from a backup. Requests that move money are closed until the records of the company are compared with its processors. Nothing was done. Retry with the same idempotency key after the time in `Retry-After`.',
  ),
  service_unavailable: entry(
    'processing_error',
    503,
    'The service is overloaded, shutting down, or cannot reach its database or vault. Retry shortly.',
  ),

  webhook_endpoint_invalid: { ...entry('webhook_error', 400, 'The endpoint URL is not allowed.'), stored: true },
  webhook_delivery_failed: reserved(
    'webhook_error',
    502,
    'Failed deliveries are reported in the response of `test` and in the delivery logs.',
  ),
  webhook_signature_failed: reserved(
    'webhook_error',
    400,
    'The signature does not match. Only the SDK raises this error.',
  ),
} as const satisfies Record<string, CatalogueEntry>;

/** Errors that only the dashboard returns, besides those of the API. */
export const dashboardErrors = {
  missing_session: entry('authentication_error', 401, 'You are not signed in to the dashboard.'),
  session_expired: entry('authentication_error', 401, 'The dashboard session has ended.'),
  invalid_credentials: entry('authentication_error', 401, 'The email address, the password or the code is wrong.'),
  totp_required: entry('authentication_error', 401, 'The account requires a code from the authenticator app.'),
  step_up_required: entry('authorization_error', 403, 'The action requires that the member confirms their password.'),
  cross_site_request: entry('authorization_error', 403, 'The request was sent by a page of another website.'),
} as const satisfies Record<string, CatalogueEntry>;

const everyError = { ...errorCatalogue, ...dashboardErrors };

type Catalogue = typeof errorCatalogue;
type ReservedCode = {
  [Code in keyof Catalogue]: Catalogue[Code] extends { reserved: true } ? Code : never;
}[keyof Catalogue];

export type ApiErrorCode = Exclude<keyof Catalogue, ReservedCode>;
export type ErrorCode = keyof typeof everyError;
export const apiErrorCodes = Object.keys(errorCatalogue) as ApiErrorCode[];

export const fieldErrorCodes = ['required_field', 'invalid_value', 'invalid_format', 'contains_html'] as const;
export type FieldErrorCode = (typeof fieldErrorCodes)[number];

export interface FieldError {
  readonly field: string;
  readonly code: FieldErrorCode;
  readonly message: string;
}

interface ErrorDetails {
  /** The operation is still in progress. Repeating the request continues it. */
  readonly unfinished?: boolean;
  readonly param?: string | null;
  readonly fieldErrors?: readonly FieldError[];
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Overrides `stored` of the catalogue. */
  readonly stored?: boolean;
}

export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly param: string | null;
  readonly fieldErrors: readonly FieldError[];
  readonly headers: Readonly<Record<string, string>>;
  readonly stored: boolean;
  readonly unfinished: boolean;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message);
    this.name = 'ApiError';
    this.code = code;
    this.status = details.status ?? everyError[code].status;
    this.fieldErrors = details.fieldErrors ?? [];
    this.param = details.param ?? this.fieldErrors[0]?.field ?? null;
    this.headers = details.headers ?? {};
    this.stored = details.stored ?? everyError[code].stored;
    this.unfinished = details.unfinished ?? false;
  }

  get type(): ErrorType {
    return everyError[this.code].type;
  }
}

export interface ErrorBody {
  error: {
    type: ErrorType;
    code: ErrorCode;
    message: string;
    param: string | null;
    request_id: string;
    field_errors: FieldError[];
    doc_url: string;
  };
}

/**
 * A text that is not ours, as a message can repeat it: a name or value that the caller sent, or an answer of a
 * processor. A client may send a card number in the wrong place, and no response repeats it. Our own text, with its
 * limits and amounts, stays as it is.
 */
export const quoted = (text: string): string => maskCardNumbers(text);

/** The paragraph about a code, in the guides of this installation. */
export const docUrlOf = (baseUrl: string, code: ErrorCode): string => `${baseUrl}/docs/errors#${code}`;

/** The names of fields are quoted: a caller can send fields with any name. */
export function errorBody(error: ApiError, requestId: string, baseUrl: string): ErrorBody {
  return {
    error: {
      type: error.type,
      code: error.code,
      message: error.message,
      param: error.param && quoted(error.param),
      request_id: requestId,
      field_errors: error.fieldErrors.map(({ field, code, message }) => ({
        field: quoted(field),
        code,
        message,
      })),
      doc_url: docUrlOf(baseUrl, error.code),
    },
  };
}

/** `unnamed` counts unknown fields beyond those that are listed. */
export function validationError(fieldErrors: readonly FieldError[], unnamed = 0): ApiError {
  const [first] = fieldErrors;
  const message =
    fieldErrors.length === 1 && first
      ? `${quoted(first.field)}: ${first.message}`
      : `${fieldErrors.length} fields are invalid.`;
  const more = unnamed > 0 ? ` ${unnamed} more fields are unknown.` : '';
  return new ApiError('validation_error', message + more, { fieldErrors });
}

export function invalidField(field: string, message: string, code: FieldErrorCode = 'invalid_value'): ApiError {
  return validationError([{ field, code, message }]);
}

/** Nothing was done, so the client can send the same request again. */
export function unavailable(message: string): ApiError {
  return new ApiError('service_unavailable', message, { headers: { 'Retry-After': '1' } });
}

export function tooManyRequests(message: string, retryAfterSeconds: number): ApiError {
  return new ApiError('too_many_requests', message, { headers: { 'Retry-After': String(retryAfterSeconds) } });
}

/** The same body for an unknown ID and for another merchant's object, so that IDs cannot be probed. */
export function notFound(what: string, param = 'id'): ApiError {
  return new ApiError('resource_not_found', `No ${what} with this ID exists.`, { param });
}
