import type { ProcessorResponse } from '../processor.ts';
import type { AdyenAmount } from './money.ts';

/**
 * The handle of a prepared charge. It contains what only the answer to the authorization said, because Adyen has no
 * request that returns a payment.
 */

export interface Authorization extends Pick<ProcessorResponse, 'authorization_code' | 'avs_result' | 'cvv_result'> {
  readonly pspReference: string;
  readonly amount: AdyenAmount;
  readonly networkTransactionId: string | null;
}

export function handleOf(authorization: Authorization): string {
  const { pspReference, amount, authorization_code, avs_result, cvv_result, networkTransactionId } = authorization;
  return [pspReference, amount.value, amount.currency, authorization_code, avs_result, cvv_result, networkTransactionId]
    .map((part) => encodeURIComponent(part ?? ''))
    .join('|');
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Returns undefined if it is not such a handle. */
export function readHandle(handle: string): Authorization | undefined {
  const parts = handle.split('|').map(decoded);
  const [pspReference, value, currency, authorizationCode, avs, cvv, networkId] = parts;
  if (parts.length !== 7 || !pspReference || !currency || !/^\d+$/.test(value ?? '')) return undefined;
  return {
    pspReference,
    amount: { value: Number(value), currency },
    authorization_code: authorizationCode || null,
    avs_result: avs || null,
    cvv_result: cvv || null,
    networkTransactionId: networkId || null,
  };
}
