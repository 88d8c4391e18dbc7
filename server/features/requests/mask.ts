import { limits } from '../../limits.ts';
import { hasCardNumber, maskCardNumbers } from '../../platform/card-digits.ts';
import { maskNamedValues, withPlainCharacters } from './cut-json.ts';

/** What is kept of a body: nothing that pays, signs or opens a door, and no more than a reader can take in. */

const mask = '***';

const secretNames = /card|number|pan|cv[cv]2?|key|(?:new_)?(?:signing_)?secret|password|authorization|token|totp_code/;
const isSecretName = new RegExp(`^(?:${secretNames.source})$`);
const secretTexts = /\b(svc_(?:test|live)_[sp]k_|cct_|whsec_|bearer )[\w+/=.-]+/gi;
const cardCodes = /(cv[cv]2?\W{0,8})\d{3,4}(?!\d)/gi;

// What every request pays is these looks before the leap, at its text in lower case: 5 µs for an order.
const quotedSecretName = new RegExp(`"(?:${secretNames.source})"`);
const secretMark = /svc_(?:test|live)_|cct_|whsec_|bearer |cv[cv]/;

const isSuspicious = (lower: string): boolean => secretMark.test(lower) || hasCardNumber(lower);

export function maskText(text: string): string {
  if (!isSuspicious(text.toLowerCase())) return text;
  return maskCardNumbers(text).replace(secretTexts, `$1${mask}`).replace(cardCodes, `$1${mask}`);
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

/** A number with one or a few of its digits in each entry. */
function isSplitNumber(entries: readonly unknown[]): boolean {
  return entries.every((entry) => typeof entry !== 'object') && hasCardNumber(entries.join(' '));
}

/** Of JSON text: whether masking its values would change nothing. */
function isHarmless(text: string): boolean {
  const lower = text.toLowerCase();
  return !quotedSecretName.test(lower) && !isSuspicious(lower);
}

/** What PostgreSQL can keep: no half characters (a cut may leave one) and no NUL. */
export const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD');

const keptLength = limits.requestBodyLength;
// What begins before the cut is looked at as a whole, and the rest of a long text not at all: 1 MiB of digits took 100 ms.
const margin = 256;
const scannedLength = keptLength + margin;

/** How much of a body `maskedBody` wants as text, where the body is longer than that. */
export const beginningLength = scannedLength + 1;

/** Of JSON text that is too long to keep: masked first, then cut, so that no half of a number or a secret is left at the end. */
function maskedBeginning(text: string): string {
  const scanned = text.slice(0, scannedLength);
  const masked = isHarmless(scanned) ? scanned : maskText(maskNamedValues(scanned, secretNames, mask));
  const unseen = text.length > scannedLength ? margin : 0;
  return masked.slice(0, Math.min(keptLength, masked.length - unseen));
}

function maskedWhole(text: string): string {
  if (isHarmless(text)) return text;
  const masked = JSON.stringify(maskValue(parsed(text)));
  // A number may be spread over several values.
  return (hasCardNumber(masked) ? maskText(masked) : masked).slice(0, keptLength);
}

/** Of a query. */
export function maskedQuery(value: object | undefined): string | null {
  return value === undefined ? null : maskedAnswer(JSON.stringify(value));
}

/** Of a body, by its value when it is short and by the beginning of its text when it is long. */
export function maskedBody(value: unknown, beginning: string | null): string | null {
  if (beginning !== null) return storable(maskedBeginning(withPlainCharacters(beginning)));
  if (value === undefined || value === null) return null;
  return maskedAnswer(JSON.stringify(value));
}

/** Of an answer. */
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
