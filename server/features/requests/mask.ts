import { limits } from '../../limits.ts';
import { maskCardNumbers } from '../../platform/card-digits.ts';

/** What is kept of a body: nothing that pays, signs or opens a door, and no more than a reader can take in. */

const mask = '***';

const secretNames = [
  ...['card', 'number', 'cvc', 'cvv', 'cvc2', 'cvv2', 'pan'],
  ...['key', 'secret', 'signing_secret', 'new_signing_secret', 'password', 'authorization', 'token', 'totp_code'],
];
const isSecretName = new RegExp(`^(?:${secretNames.join('|')})$`, 'i');
const secretTexts = /\b(svc_(?:test|live)_[sp]k_|cct_|whsec_|Bearer )[\w+/=.-]+/g;
const cardCodes = /(cv[cv]2?\W{0,8})\d{3,4}(?!\d)/gi;
/** A cheap look at JSON text: whether taking it apart could change anything. */
const suspicious = new RegExp(
  `"(?:${secretNames.join('|')})"|${secretTexts.source}|${cardCodes.source}|\\d(?:(?:[\\s-]|\\\\[a-z])?\\d){11}`,
  'i',
);

export function maskText(text: string): string {
  return maskCardNumbers(text).replace(secretTexts, `$1${mask}`).replace(cardCodes, `$1${mask}`);
}

function maskValue(value: unknown): unknown {
  if (typeof value === 'string') return maskText(value);
  if (typeof value === 'number') return maskText(String(value)) === String(value) ? value : mask;
  if (Array.isArray(value)) return value.map(maskValue);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]) => [
    maskText(name),
    isSecretName.test(name) && inner !== null ? mask : maskValue(inner),
  ]);
  return Object.fromEntries(entries);
}

const cut = (text: string): string =>
  text.length > limits.requestBodyLength ? text.slice(0, limits.requestBodyLength) : text;

/** What PostgreSQL can keep: no half characters (a cut may leave one) and no NUL. */
export const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD');

/** Of a body or a query that was parsed. */
export function maskedJson(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  const text = JSON.stringify(value);
  return storable(cut(suspicious.test(text) ? JSON.stringify(maskValue(value)) : text));
}

/** Of an answer. Ours never show a card number, and only small ones a secret. */
export function maskedAnswer(text: string): string {
  if (text.length > limits.requestBodyLength) return storable(maskText(cut(text)));
  if (!suspicious.test(text)) return storable(text);
  return storable(JSON.stringify(maskValue(parsed(text))));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
