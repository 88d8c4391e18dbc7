import { maskCardNumbers } from './platform/card-digits.ts';

/** The error catalogue: every code the API can answer with, and the error that carries one. */

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
  /** Statuses besides `status` that a use of this code may carry. */
  readonly otherStatuses?: readonly number[];
  /** Whether the idempotency store keeps an answer with this code and replays it. */
  readonly stored: boolean;
  /** Named in the contract, and no call answers with it; the meaning says why. */
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
  validation_error: invalidRequest(400, 'One or more fields are wrong; `field_errors` lists each of them.'),
  invalid_request: invalidRequest(400, 'The request as a whole cannot be served; `param` names what is responsible.', {
    otherStatuses: [405, 413, 415, 422],
  }),
  invalid_api_version: invalidRequest(400, 'The `SVC-Version` header is not the date of a release.', { stored: false }),
  api_version_sunset: invalidRequest(400, 'The requested version is retired.', { stored: false }),
  environment_mismatch: invalidRequest(400, 'The publishable key and the secret key are of different environments.'),
  missing_idempotency_key: invalidRequest(400, 'This call needs the `X-SVC-Idempotency-Key` header.', {
    stored: false,
  }),
  invalid_idempotency_key: invalidRequest(400, 'The idempotency key is empty, too long or has wrong characters.', {
    stored: false,
  }),
  customer_has_active_subscriptions: invalidRequest(400, 'The customer has active or paused subscriptions.'),
  product_in_active_plans: invalidRequest(400, 'The product is part of an active plan.'),
  subscription_not_modifiable: invalidRequest(400, 'Only active or paused subscriptions can be changed.'),
  resource_not_found: invalidRequest(404, 'No such object, or it belongs to another merchant.'),
  resource_already_exists: invalidRequest(409, 'An object with this unique value exists.'),
  resource_in_use: invalidRequest(409, 'Another operation on this object is under way; retry shortly.', {
    stored: false,
  }),
  email_already_exists: invalidRequest(409, 'Another customer has this e-mail address.'),
  phone_already_exists: invalidRequest(409, 'Another customer has this phone number.'),
  sku_already_exists: invalidRequest(409, 'Another product has this SKU.'),
  already_canceled: invalidRequest(409, 'The subscription is already canceled.'),
  subscription_completed: invalidRequest(409, 'The subscription has run to its end.'),
  invalid_state_transition: invalidRequest(422, 'The object is not in a status that allows this.', {
    otherStatuses: [400],
  }),
  field_locked: invalidRequest(422, 'The field cannot change after the first redemption.'),

  missing_api_key: entry('authentication_error', 401, 'No `Authorization: Bearer <API_KEY>` header was sent.'),
  invalid_api_key: entry('authentication_error', 401, 'No such API key.'),
  invalid_api_key_format: entry('authentication_error', 401, 'What was sent is not shaped like an API key.'),
  expired_api_key: entry('authentication_error', 401, 'The API key has expired.'),
  revoked_api_key: entry('authentication_error', 401, 'The API key was revoked.'),
  insufficient_permissions: entry('authorization_error', 403, 'The API key lacks the permission this call needs.'),
  ip_not_allowed: entry('authorization_error', 403, 'The API key may not be used from this address.'),

  request_in_progress: entry('idempotency_error', 409, 'A request with this key is under way; retry shortly.'),
  idempotency_key_conflict: entry('idempotency_error', 422, 'The key was used for another request; use a fresh one.'),

  rate_limit_exceeded: entry('rate_limit_error', 429, 'Too many requests of this category.'),
  global_rate_limit_exceeded: entry('rate_limit_error', 429, 'Too many requests of this merchant in all.'),
  too_many_requests: entry('rate_limit_error', 429, 'Too many coupon validations.'),

  customer_not_configured: {
    ...entry('processing_error', 400, 'The customer has no card on file.'),
    stored: true,
  },
  merchant_not_configured: {
    ...entry('processing_error', 400, 'The live company has no payment processor yet.'),
    stored: true,
  },
  replacement_required: {
    ...entry('processing_error', 400, 'Name a replacement payment method.'),
    stored: true,
  },
  gateway_error: entry('processing_error', 502, 'The processor did not answer; safe to retry with the same key.'),
  gateway_delete_failed: reserved(
    'processing_error',
    502,
    'Deleting a card does not wait for the vault: the card is gone at once, and the vault erases it as soon as it can.',
  ),
  internal_error: entry('processing_error', 500, 'Something broke on our side; safe to retry with the same key.'),
  not_implemented: entry('processing_error', 501, 'This operation is not enabled.'),
  service_unavailable: entry('processing_error', 503, 'The service is busy or shutting down; retry shortly.'),

  webhook_endpoint_invalid: { ...entry('webhook_error', 400, 'The endpoint URL is not acceptable.'), stored: true },
  webhook_delivery_failed: reserved(
    'webhook_error',
    502,
    'A failed delivery is a result: `test` reports it in its answer, and a replay in the events and delivery logs.',
  ),
  webhook_signature_failed: reserved('webhook_error', 400, 'The signature does not match; raised by the SDK.'),
} as const satisfies Record<string, CatalogueEntry>;

/** What only the dashboard answers with, beside those of the API. */
export const dashboardErrors = {
  missing_session: entry('authentication_error', 401, 'Nobody is signed in to the dashboard.'),
  session_expired: entry('authentication_error', 401, 'The session of the dashboard has ended.'),
  invalid_credentials: entry('authentication_error', 401, 'The e-mail address, the password or the code is wrong.'),
  totp_required: entry('authentication_error', 401, 'The account asks for a code of the authenticator app.'),
  step_up_required: entry('authorization_error', 403, 'The dashboard asks for the password once more.'),
  cross_site_request: entry('authorization_error', 403, 'A page of another site sent this to the dashboard.'),
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
  /** The operation has begun and is still open: repeating the request continues it. */
  readonly unfinished?: boolean;
  readonly param?: string | null;
  readonly fieldErrors?: readonly FieldError[];
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Overrides what the catalogue says about keeping the answer under an idempotency key. */
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
  };
}

/** What a client sent as a name may be a card number in the wrong place: no answer repeats one. */
export function errorBody(error: ApiError, requestId: string): ErrorBody {
  return {
    error: {
      type: error.type,
      code: error.code,
      message: maskCardNumbers(error.message),
      param: error.param && maskCardNumbers(error.param),
      request_id: requestId,
      field_errors: error.fieldErrors.map(({ field, code, message }) => ({
        field: maskCardNumbers(field),
        code,
        message: maskCardNumbers(message),
      })),
    },
  };
}

/** `unnamed` counts unknown fields beyond those that are listed. */
export function validationError(fieldErrors: readonly FieldError[], unnamed = 0): ApiError {
  const [first] = fieldErrors;
  const message =
    fieldErrors.length === 1 && first
      ? `${first.field}: ${first.message}`
      : `${fieldErrors.length} fields are invalid.`;
  const more = unnamed > 0 ? ` There are ${unnamed} more unknown fields.` : '';
  return new ApiError('validation_error', message + more, { fieldErrors });
}

export function invalidField(field: string, message: string, code: FieldErrorCode = 'invalid_value'): ApiError {
  return validationError([{ field, code, message }]);
}

/** The same body for an id that never existed and for another merchant's object. */
export function notFound(what: string, param = 'id'): ApiError {
  return new ApiError('resource_not_found', `No ${what} with this id exists.`, { param });
}
