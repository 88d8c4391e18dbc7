import { ApiError } from '../../../errors.ts';

/** The errors that can follow a call to the processor. */

export function gatewayError(what: string): ApiError {
  const message = `The processor did not respond, so the outcome of the ${what} is unknown. Repeat the request with the same idempotency key; it is never processed twice.`;
  return new ApiError('gateway_error', message, { unfinished: true });
}

export function vaultUnavailable(what: string, details: { readonly unfinished: boolean }): ApiError {
  const message = `The ${what} was not sent, because the card vault is unavailable. Repeat the request with the same idempotency key.`;
  return new ApiError('service_unavailable', message, { headers: { 'Retry-After': '2' }, ...details });
}

/** Nothing was sent now, but the processor may have executed it before a restore. */
export function notCompared(what: string): ApiError {
  const message = `The ${what} was not sent, because its processor does not take it at present. The database was restored from a backup, and the processor may have executed the ${what} before. Repeat the request later with the same idempotency key.`;
  return new ApiError('restore_in_progress', message, { headers: { 'Retry-After': '30' }, unfinished: true });
}

export function refusedInDoubt(what: string): ApiError {
  const message = `The processor refuses the credentials of the connection, so the outcome of the ${what} is unknown. Replace them in the dashboard under Settings, Processors, then repeat the request with the same idempotency key; it is never processed twice.`;
  return new ApiError('gateway_error', message, { unfinished: true });
}

export function misconfigured(): ApiError {
  const message =
    'The charge was not executed, because the processor refuses the credentials of the connection, or no connection takes it. It is sent again when the connection is corrected.';
  return new ApiError('gateway_error', message);
}

export function credentialsRefused(what: string): ApiError {
  const message = `The ${what} was not executed, because the processor refuses the credentials of its connection. Replace them in the dashboard under Settings, Processors, then repeat the request.`;
  return new ApiError('gateway_error', message);
}

export function notSentError(what: string, { failureCode }: { readonly failureCode?: string } = {}): ApiError {
  if (failureCode === 'invalid_merchant_configuration') {
    const message = `The ${what} was not executed, because the credentials of the processor that made the charge were removed. Use the dashboard of the processor.`;
    return new ApiError('invalid_state_transition', message);
  }
  return new ApiError(
    'gateway_error',
    `The processor is unavailable, so the ${what} was not executed. Repeat the request.`,
  );
}

/** The processor has another charge under this key. A database that was restored from a backup has forgotten it. */
export function usedByAnother(): ApiError {
  const message =
    'This idempotency key was used at the processor for a charge with another amount, currency or card. Use a new key for a new operation.';
  return new ApiError('idempotency_key_conflict', message, { param: 'X-SVC-Idempotency-Key', stored: true });
}

/** A database that was restored from a backup has forgotten the first capture. */
export function capturedOtherwise(): ApiError {
  const message =
    'The processor has captured another amount of this authorization. The order is updated when its processor was compared with our records.';
  return new ApiError('invalid_state_transition', message, { param: 'id' });
}

export function inUse(): ApiError {
  return new ApiError('resource_in_use', 'Another operation on this order is in progress. Retry shortly.', {
    param: 'id',
    headers: { 'Retry-After': '1' },
  });
}

/** The page leads the customer there. */
export function customerAsked(): ApiError {
  const message = 'The bank of the customer wants to confirm this payment. The page of the payment leads to the bank.';
  return new ApiError('resource_in_use', message, { unfinished: true, headers: { 'Retry-After': '5' } });
}
