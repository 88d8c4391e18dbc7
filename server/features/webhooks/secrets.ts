import { openBytes, sealBytes } from '../../platform/sealing.ts';
import { type SigningKey, signingKey } from './signing.ts';

/** Signing secrets are stored encrypted, bound to their endpoint. */

const about = (companyId: string, endpointId: string): string => `${companyId}|${endpointId}|webhook`;

export function sealSecret(key: Buffer, companyId: string, endpointId: string, secret: string): Buffer {
  return sealBytes(key, Buffer.from(secret), about(companyId, endpointId));
}

/** Returns the current signing secrets as keys. */
export function keysOf(
  key: Buffer,
  companyId: string,
  endpointId: string,
  sealed: readonly Buffer[],
): readonly SigningKey[] {
  return sealed.map((bytes) => signingKey(openBytes(key, bytes, about(companyId, endpointId)).toString()));
}
