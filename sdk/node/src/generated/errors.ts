// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'authorization_error'
  | 'rate_limit_error'
  | 'idempotency_error'
  | 'processing_error'
  | 'webhook_error';

export type ErrorCode =
  | 'validation_error'
  | 'invalid_request'
  | 'invalid_api_version'
  | 'api_version_sunset'
  | 'environment_mismatch'
  | 'missing_idempotency_key'
  | 'invalid_idempotency_key'
  | 'customer_has_active_subscriptions'
  | 'product_in_active_plans'
  | 'subscription_not_modifiable'
  | 'resource_not_found'
  | 'resource_already_exists'
  | 'resource_in_use'
  | 'email_already_exists'
  | 'phone_already_exists'
  | 'sku_already_exists'
  | 'already_canceled'
  | 'subscription_completed'
  | 'invalid_state_transition'
  | 'field_locked'
  | 'missing_api_key'
  | 'invalid_api_key'
  | 'invalid_api_key_format'
  | 'expired_api_key'
  | 'revoked_api_key'
  | 'insufficient_permissions'
  | 'ip_not_allowed'
  | 'request_in_progress'
  | 'idempotency_key_conflict'
  | 'rate_limit_exceeded'
  | 'global_rate_limit_exceeded'
  | 'too_many_requests'
  | 'customer_not_configured'
  | 'merchant_not_configured'
  | 'replacement_required'
  | 'gateway_error'
  | 'gateway_delete_failed'
  | 'internal_error'
  | 'not_implemented'
  | 'service_unavailable'
  | 'webhook_endpoint_invalid'
  | 'webhook_delivery_failed'
  | 'webhook_signature_failed';

export type FieldErrorCode =
  | 'required_field'
  | 'invalid_value'
  | 'invalid_format'
  | 'contains_html';

export interface FieldError {
  readonly field: string;
  readonly code: FieldErrorCode;
  readonly message: string;
}
