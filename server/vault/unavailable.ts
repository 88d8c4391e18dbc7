import { ApiError } from '../errors.ts';

/** No vault answered the call. */
export class VaultUnavailable extends ApiError {
  constructor() {
    const message = 'The card vault is unavailable. Retry shortly with the same idempotency key.';
    super('service_unavailable', message, { headers: { 'Retry-After': '1' } });
  }
}
