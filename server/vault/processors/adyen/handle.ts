import { authenticationStatuses } from '../authentication.ts';
import type { AuthenticationResult, ProcessorResponse } from '../processor.ts';
import type { AdyenAmount } from './money.ts';

/**
 * The handle of a prepared charge. It contains what only the answer to the authorization said, because Adyen has no
 * request that returns a payment.
 */

export interface Authorization extends Pick<ProcessorResponse, 'authorization_code' | 'avs_result' | 'cvv_result'> {
  readonly pspReference: string;
  readonly amount: AdyenAmount;
  readonly networkTransactionId: string | null;
  readonly authentication?: AuthenticationResult;
}

function authenticationText({ flow, status, liabilityShifted, version, eci }: AuthenticationResult): string {
  return [flow, status, liabilityShifted, version, eci].map((part) => part ?? '').join(',');
}

const truths: Readonly<Record<string, boolean>> = { true: true, false: false };

function readAuthentication(text: string): AuthenticationResult | undefined {
  const [flow, given, liabilityShifted = '', version, eci] = text.split(',');
  const status = authenticationStatuses.find((one) => one === given);
  if (!status) return undefined;
  return {
    flow: flow === 'challenge' || flow === 'frictionless' ? flow : null,
    status,
    liabilityShifted: truths[liabilityShifted] ?? null,
    version: known(version),
    eci: known(eci),
  };
}

export function handleOf(authorization: Authorization): string {
  const { pspReference, amount, authorization_code, avs_result, cvv_result, networkTransactionId } = authorization;
  const more = authorization.authentication ? [authenticationText(authorization.authentication)] : [];
  return [pspReference, amount.value, amount.currency, authorization_code, avs_result, cvv_result, networkTransactionId]
    .concat(more)
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

const known = (part: string | undefined): string | null => part || null;

/** Returns undefined if it is not such a handle. */
export function readHandle(handle: string): Authorization | undefined {
  const parts = handle.split('|').map(decoded);
  const [pspReference, value, currency, authorizationCode, avs, cvv, networkId, authenticated = ''] = parts;
  const authentication = readAuthentication(authenticated);
  const isWhole = parts.length === (authentication ? 8 : 7) && /^\d+$/.test(value ?? '');
  if (!isWhole || !pspReference || !currency) return undefined;
  return {
    pspReference,
    amount: { value: Number(value), currency },
    authorization_code: known(authorizationCode),
    avs_result: known(avs),
    cvv_result: known(cvv),
    networkTransactionId: known(networkId),
    ...(authentication && { authentication }),
  };
}
