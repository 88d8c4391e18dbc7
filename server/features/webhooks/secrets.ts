import { openBytes, sealBytes } from '../../platform/sealing.ts';

/** Signing secrets are kept sealed, for their own endpoint. */

const about = (companyId: string, endpointId: string): string => `${companyId}|${endpointId}|webhook`;

export function sealSecret(key: Buffer, companyId: string, endpointId: string, secret: string): Buffer {
  return sealBytes(key, Buffer.from(secret), about(companyId, endpointId));
}

/** Those that sign now, the current one first. */
export function secretsOf(
  key: Buffer,
  companyId: string,
  endpointId: string,
  sealed: { readonly secret: Buffer; readonly previous_secret: Buffer | null },
): string[] {
  const secrets = sealed.previous_secret ? [sealed.secret, sealed.previous_secret] : [sealed.secret];
  return secrets.map((bytes) => openBytes(key, bytes, about(companyId, endpointId)).toString());
}
