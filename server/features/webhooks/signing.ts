import { createHmac, createSecretKey } from 'node:crypto';

/** How a receiver knows that a delivery is ours: our own header, and those of Standard Webhooks, from the same secret. */

const prefix = 'whsec_';

export interface SignedBody {
  readonly eventId: string;
  readonly body: string;
  readonly timestampSeconds: number;
}

export function signatureHeaders(
  secrets: readonly string[],
  { eventId, body, timestampSeconds }: SignedBody,
): Record<string, string> {
  const own = secrets.map((secret) => {
    const value = createHmac('sha256', createSecretKey(Buffer.from(secret)))
      .update(`${timestampSeconds}.${body}`)
      .digest('hex');
    return `v1=${value}`;
  });
  const standard = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64');
    return `v1,${createHmac('sha256', createSecretKey(key)).update(`${eventId}.${timestampSeconds}.${body}`).digest('base64')}`;
  });
  return {
    'SVC-Signature': [`t=${timestampSeconds}`, ...own].join(','),
    'webhook-id': eventId,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': standard.join(' '),
  };
}

export const newSigningSecret = (random: Buffer): string => prefix + random.toString('base64');
