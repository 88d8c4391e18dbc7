import { timingSafeEqual } from 'node:crypto';
import type { ServiceKey } from './service-keys.ts';

/** Links that anyone who has them may open until they expire. Nothing about them is stored. */

/** What a link is for; part of the signature, so that no link opens anything else. */
type LinkPurpose =
  | 'receipt'
  | 'receipt-without-customer'
  | 'receipt-to-customer'
  | 'invoice'
  | 'invoice-without-customer'
  | 'invoice-month'
  | 'invoice-month-without-customer'
  | 'email-preview'
  | 'email-preview-without-customer'
  | 'unsubscribe';

const signedText = (purpose: LinkPurpose, path: string, expires: string, reader: string | undefined): string =>
  [purpose, path, expires, ...(reader === undefined ? [] : [reader])].join('\n');

/** Returns the path with its expiry and signature. A link for one reader names the reader by a hash. */
export function signLink(
  key: ServiceKey,
  purpose: LinkPurpose,
  path: string,
  expiresAtMs: number,
  reader?: string,
): string {
  const expires = String(Math.ceil(expiresAtMs / 1000));
  const signature = key.hash(signedText(purpose, path, expires, reader)).toString('base64url');
  return `${path}?expires=${expires}&signature=${signature}${reader === undefined ? '' : `&reader=${reader}`}`;
}

export interface LinkQuery {
  /** As they arrived: a missing or repeated parameter is invalid. */
  readonly expires?: unknown;
  readonly signature?: unknown;
  readonly reader?: unknown;
}

export function isValidLink(
  key: ServiceKey,
  purpose: LinkPurpose,
  path: string,
  { expires, signature, reader }: LinkQuery,
  nowMs: number,
): boolean {
  if (typeof expires !== 'string' || typeof signature !== 'string' || !/^\d{1,12}$/.test(expires)) return false;
  if (reader !== undefined && typeof reader !== 'string') return false;
  // Compares the text, not the decoded bytes: several base64 texts decode to the same bytes.
  const given = Buffer.from(signature);
  const expected = key.hashTexts(signedText(purpose, path, expires, reader)).map((hash) => Buffer.from(hash));
  if (!expected.some((one) => given.length === one.length && timingSafeEqual(given, one))) return false;
  return nowMs < Number(expires) * 1000;
}
