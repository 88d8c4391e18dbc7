import type { ServiceKey } from '../../platform/service-keys.ts';
import { type SigningKey, signingKey } from './signing.ts';

/** Signing secrets are stored encrypted, bound to their endpoint. */

export const aboutSecret = (companyId: string, endpointId: string): string => `${companyId}|${endpointId}|webhook`;

export function sealSecret(key: ServiceKey, companyId: string, endpointId: string, secret: string): Buffer {
  return key.seal(Buffer.from(secret), aboutSecret(companyId, endpointId));
}

/** Returns the current signing secrets as keys. */
export function keysOf(
  key: ServiceKey,
  companyId: string,
  endpointId: string,
  sealed: readonly Buffer[],
): readonly SigningKey[] {
  return sealed.map((bytes) => signingKey(key.open(bytes, aboutSecret(companyId, endpointId)).toString()));
}
