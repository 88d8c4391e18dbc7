import { ApiError } from '../../errors.ts';

/** The errors that a call to the processor can end in. */

export function gatewayError(what: string): ApiError {
  const message = `The processor did not answer, so it is not known yet whether the ${what} happened. Repeat the request with the same idempotency key; nothing is done twice.`;
  return new ApiError('gateway_error', message, { unfinished: true });
}

export function vaultUnavailable(what: string, details: { readonly unfinished: boolean }): ApiError {
  const message = `The ${what} was not sent, because the card vault cannot be reached. Repeat the request with the same idempotency key.`;
  return new ApiError('service_unavailable', message, { headers: { 'Retry-After': '2' }, ...details });
}

export function notSentError(what: string): ApiError {
  return new ApiError(
    'gateway_error',
    `The processor cannot be reached; the ${what} did not happen. Repeat the request.`,
  );
}

/** The processor has another charge under this key. A database that was restored from a backup has forgotten it. */
export function usedByAnother(): ApiError {
  const message =
    'This idempotency key was used for another charge at the processor: the amount, the currency or the card differs. Use a fresh key for a new operation.';
  return new ApiError('idempotency_key_conflict', message, { param: 'X-SVC-Idempotency-Key', stored: true });
}

export function inUse(): ApiError {
  return new ApiError('resource_in_use', 'Another operation on this order is in progress. Retry shortly.', {
    param: 'id',
    headers: { 'Retry-After': '1' },
  });
}
