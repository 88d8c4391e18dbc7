export { Svc } from './client.ts';
export {
  AuthenticationError,
  AuthorizationError,
  ConnectionError,
  IdempotencyError,
  InvalidRequestError,
  type LocalErrorCode,
  ProcessingError,
  RateLimitError,
  SvcError,
  TimeoutError,
  WebhookError,
  WebhookSignatureError,
} from './errors.ts';
export { apiVersion } from './generated/operations.ts';
export type * from './generated/types/index.ts';
export type { ErrorCode, ErrorType, FieldError } from './generated/errors.ts';
export type { AfterResponse, BeforeRequest, Hooks } from './hooks.ts';
export { responseOf, type SvcResponse, versionOf } from './responses.ts';
export type { Page, PagePromise } from './paging.ts';
export type { FileContent, RequestInput, RequestOptions, SvcOptions } from './request.ts';
export type { Chosen, Shown } from './shown.ts';
export {
  type DeliveryHeaders,
  type RawBody,
  type SignedDelivery,
  type SignOptions,
  type VerifyOptions,
  type Webhooks,
  webhooks,
} from './webhooks.ts';
