// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'authorization_error'
  | 'rate_limit_error'
  | 'idempotency_error'
  | 'processing_error'
  | 'webhook_error';

/** Every code that an operation is documented to answer with. */
export type ErrorCode =
  | 'already_canceled'
  | 'api_version_sunset'
  | 'customer_has_active_subscriptions'
  | 'customer_not_configured'
  | 'email_already_exists'
  | 'environment_mismatch'
  | 'expired_api_key'
  | 'field_locked'
  | 'gateway_error'
  | 'global_rate_limit_exceeded'
  | 'idempotency_key_conflict'
  | 'insufficient_permissions'
  | 'internal_error'
  | 'invalid_api_key'
  | 'invalid_api_key_format'
  | 'invalid_api_version'
  | 'invalid_idempotency_key'
  | 'invalid_request'
  | 'invalid_state_transition'
  | 'ip_not_allowed'
  | 'merchant_not_configured'
  | 'missing_api_key'
  | 'missing_idempotency_key'
  | 'not_implemented'
  | 'phone_already_exists'
  | 'product_in_active_plans'
  | 'rate_limit_exceeded'
  | 'replacement_required'
  | 'request_in_progress'
  | 'resource_already_exists'
  | 'resource_in_use'
  | 'resource_not_found'
  | 'revoked_api_key'
  | 'service_unavailable'
  | 'sku_already_exists'
  | 'subscription_completed'
  | 'subscription_not_modifiable'
  | 'too_many_requests'
  | 'validation_error'
  | 'webhook_endpoint_invalid';

export interface FieldError {
  readonly field: string;
  readonly code:
  | 'required_field'
  | 'invalid_value'
  | 'invalid_format'
  | 'contains_html';
  readonly message: string;
}
