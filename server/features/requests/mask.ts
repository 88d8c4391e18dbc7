import { limits } from '../../limits.ts';
import { hasCardNumber, maskCardNumbers } from '../../platform/card-digits.ts';

/** What is kept of a body: nothing that pays, signs or opens a door, and no more than a reader can take in. */

const mask = '***';

const secretNames = 'card|number|pan|cv[cv]2?|key|(?:new_)?(?:signing_)?secret|password|authorization|token|totp_code';
const isSecretName = new RegExp(`^(?:${secretNames})$`);
const secretTexts = /\b(svc_(?:test|live)_[sp]k_|cct_|whsec_|bearer )[\w+/=.-]+/gi;
const cardCodes = /(cv[cv]2?\W{0,8})\d{3,4}(?!\d)/gi;

// What every request pays is these looks before the leap, at its text in lower case: 5 µs for an order.
const quotedSecretName = new RegExp(`"(?:${secretNames})"`);
const secretMark = /svc_(?:test|live)_|cct_|whsec_|bearer |cv[cv]/;

const isSuspicious = (lower: string): boolean => secretMark.test(lower) || hasCardNumber(lower);

export function maskText(text: string): string {
  if (!isSuspicious(text.toLowerCase())) return text;
  return maskCardNumbers(text).replace(secretTexts, `$1${mask}`).replace(cardCodes, `$1${mask}`);
}

function maskValue(value: unknown): unknown {
  if (typeof value === 'string') return maskText(value);
  if (typeof value === 'number') return hasCardNumber(String(value)) ? mask : value;
  if (Array.isArray(value)) return value.map(maskValue);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]) => [
    maskText(name),
    inner !== null && isSecretName.test(name.toLowerCase()) ? mask : maskValue(inner),
  ]);
  return Object.fromEntries(entries);
}

/** Of JSON text: whether masking its values would change nothing. */
function isHarmless(text: string): boolean {
  const lower = text.toLowerCase();
  return !quotedSecretName.test(lower) && !isSuspicious(lower);
}

const cut = (text: string): string => text.slice(0, limits.requestBodyLength);

/** What PostgreSQL can keep: no half characters (a cut may leave one) and no NUL. */
export const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD');

/** Of a body or a query that was parsed. */
export function maskedJson(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  const text = JSON.stringify(value);
  return storable(cut(isHarmless(text) ? text : JSON.stringify(maskValue(value))));
}

/** Of an answer. Ours never show a card number, and only small ones a secret. */
export function maskedAnswer(text: string): string {
  if (text.length > limits.requestBodyLength) return storable(maskText(cut(text)));
  return storable(isHarmless(text) ? text : JSON.stringify(maskValue(parsed(text))));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
