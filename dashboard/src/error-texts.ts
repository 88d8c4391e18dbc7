import { money, words } from './format.ts';

/** Errors of the API are for programs: they name fields and idempotency keys. These are the same errors as sentences for people. */

interface WrongField {
  readonly field: string;
  readonly message: string;
}

const hasEnd = (text: string): boolean => /[.!?…]$/.test(text);
const ended = (text: string): string => (hasEnd(text) ? text : `${text}.`);

/** An error that is shown at its field: `must be a URL` → `Must be a URL.`, `is too long` → `This is too long.` */
export function fieldSentence(message: string): string {
  const isPredicate = /^(is|has|contains|belongs)\b/.test(message);
  return ended(isPredicate ? `This ${message}` : message.charAt(0).toUpperCase() + message.slice(1));
}

/** The API counts in the smallest unit: `Must be at most 99999999.` → `Must be at most $999,999.99.` */
export const moneySentence = (message: string, currency: string): string =>
  message.replaceAll(
    /\b(at most|at least|more than|less than) (\d+)\b/g,
    (_whole, limit: string, digits: string) => `${limit} ${money(Number(digits), currency)}`,
  );

/** `items[0].product_id` → `Product ID` */
const nameOf = (field: string): string => words(field.replace(/\[\d+\]$/, '').replace(/^.*\./, ''));

/** An error that is shown for the whole form: `end_date: must be in the future` → `End date must be in the future.` */
export function errorText(message: string, fields: readonly WrongField[]): string {
  if (fields.length === 0) return message.replace(/ Repeat the request\b.*$/, '');
  return fields.map((one) => ended(`${nameOf(one.field)} ${one.message}`)).join(' ');
}
