import { openBytes, sealBytes } from '../../platform/sealing.ts';
import { type SigningKey, signingKey } from './signing.ts';

/** Signing secrets are kept sealed, for their own endpoint. */

const about = (companyId: string, endpointId: string): string => `${companyId}|${endpointId}|webhook`;

export function sealSecret(key: Buffer, companyId: string, endpointId: string, secret: string): Buffer {
  return sealBytes(key, Buffer.from(secret), about(companyId, endpointId));
}

/** Those that sign now, made ready. */
export function keysOf(
  key: Buffer,
  companyId: string,
  endpointId: string,
  sealed: readonly Buffer[],
): readonly SigningKey[] {
  return sealed.map((bytes) => signingKey(openBytes(key, bytes, about(companyId, endpointId)).toString()));
}
