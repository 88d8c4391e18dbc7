import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

/**
 * Signs deliveries, so that a receiver can verify them: with our own header, and with those of Standard Webhooks,
 * from the same secret.
 */

const prefix = 'whsec_';

/** A prepared secret: as text for our own header, and as the decoded bytes for that of Standard Webhooks. */
export interface SigningKey {
  readonly own: KeyObject;
  readonly standard: KeyObject;
}

export function signingKey(secret: string): SigningKey {
  return {
    own: createSecretKey(Buffer.from(secret)),
    standard: createSecretKey(Buffer.from(secret.slice(prefix.length), 'base64')),
  };
}

export interface SignedBody {
  readonly eventId: string;
  readonly body: string;
  readonly timestampSeconds: number;
}

const hmac = (key: KeyObject, text: string, encoding: 'hex' | 'base64'): string =>
  createHmac('sha256', key).update(text).digest(encoding);

export function signatureHeaders(
  keys: readonly SigningKey[],
  { eventId, body, timestampSeconds }: SignedBody,
): Record<string, string> {
  const signed = `${timestampSeconds}.${body}`;
  const own = keys.map((key) => `v1=${hmac(key.own, signed, 'hex')}`);
  const standard = keys.map((key) => `v1,${hmac(key.standard, `${eventId}.${signed}`, 'base64')}`);
  return {
    'SVC-Signature': [`t=${timestampSeconds}`, ...own].join(','),
    'webhook-id': eventId,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': standard.join(' '),
  };
}

export const newSigningSecret = (random: Buffer): string => prefix + random.toString('base64');
