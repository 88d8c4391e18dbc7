import { limits } from '../../limits.ts';
import { hasCardNumber, maskCardNumbers } from '../../platform/card-digits.ts';
import { maskNamedValues, withPlainCharacters } from './cut-json.ts';

/** Prepares a body for the request log: without card data, secrets and credentials, and at a readable length. */

const mask = '***';

const secretNames =
  /card|number|pan|cv[cv]2?|cavv|key|(?:new_)?(?:signing_)?secret|password|authorization|token|totp_code/;
const isSecretName = new RegExp(`^(?:${secretNames.source})$`);
const secretTexts = /\b(svc_(?:test|rehearsal|live)_[sp]k_|cct_|whsec_|bearer )[\w+/=.-]+/gi;
/** Links to pages for customers: having one is enough to use it. */
const linkTokens = /(\/(?:checkout|customer|confirm|receipts)\/|signature=)[\w.-]{20,}/g;
const cardCodes = /(cv[cv]2?\W{0,8})\d{3,4}(?!\d)/gi;

// These quick checks of the lower-case text run for every request: 5 µs for an order.
const quotedSecretName = new RegExp(`"(?:${secretNames.source})"`);
const secretMark =
  /svc_(?:test|rehearsal|live)_|cct_|whsec_|bearer |cv[cv]|\/checkout\/|\/customer\/|\/confirm\/|\/receipts\/|signature=/;

const isSuspicious = (lower: string): boolean => secretMark.test(lower) || hasCardNumber(lower);

export function maskText(text: string): string {
  if (!isSuspicious(text.toLowerCase())) return text;
  return maskCardNumbers(text)
    .replace(secretTexts, `$1${mask}`)
    .replace(linkTokens, `$1${mask}`)
    .replace(cardCodes, `$1${mask}`);
}

function maskValue(value: unknown): unknown {
  if (typeof value === 'string') return maskText(value);
  if (typeof value === 'number') return hasCardNumber(String(value)) ? mask : value;
  if (Array.isArray(value)) return isSplitNumber(value) ? [mask] : value.map(maskValue);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]) => [
    maskText(name),
    inner !== null && isSecretName.test(name.toLowerCase()) ? mask : maskValue(inner),
  ]);
  return Object.fromEntries(entries);
}

/** Whether the digits of one card number are split over several entries. */
function isSplitNumber(entries: readonly unknown[]): boolean {
  return entries.every((entry) => typeof entry !== 'object') && hasCardNumber(entries.join(' '));
}

/** Whether masking the values of this JSON text would change nothing. */
function isHarmless(text: string): boolean {
  const lower = text.toLowerCase();
  return !quotedSecretName.test(lower) && !isSuspicious(lower);
}

/** Removes what PostgreSQL cannot store: lone surrogates, which a cut may leave, and NUL. */
export const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD');

const keptLength = limits.requestBodyLength;
// A value that begins before the cut is scanned as a whole, and the rest of a long text is not scanned: 1 MiB of
// digits took 100 ms.
const margin = 256;
const scannedLength = keptLength + margin;

/** How many characters `maskedBody` needs of a longer body. */
export const beginningLength = scannedLength + 1;

/**
 * For JSON text that is too long to store: masks first, then cuts, so that no part of a number or a secret remains at
 * the end.
 */
function maskedBeginning(text: string): string {
  const scanned = text.slice(0, scannedLength);
  const masked = isHarmless(scanned) ? scanned : maskText(maskNamedValues(scanned, secretNames, mask));
  const unseen = text.length > scannedLength ? margin : 0;
  return masked.slice(0, Math.min(keptLength, masked.length - unseen));
}

function maskedWhole(text: string): string {
  if (isHarmless(text)) return text;
  const masked = JSON.stringify(maskValue(parsed(text)));
  // A card number may be split over several values.
  return (hasCardNumber(masked) ? maskText(masked) : masked).slice(0, keptLength);
}

/** Masks a query. */
export function maskedQuery(value: object | undefined): string | null {
  return value === undefined ? null : maskedAnswer(JSON.stringify(value));
}

/** Masks a body: a short one by its value, a long one by the beginning of its text. */
export function maskedBody(value: unknown, beginning: string | null): string | null {
  if (beginning !== null) return storable(maskedBeginning(withPlainCharacters(beginning)));
  if (value === undefined || value === null) return null;
  return maskedAnswer(JSON.stringify(value));
}

/** Masks a response. */
export function maskedAnswer(text: string): string {
  return storable(text.length > keptLength ? maskedBeginning(text) : maskedWhole(text));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
