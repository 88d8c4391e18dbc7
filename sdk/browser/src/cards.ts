import { type BrandName, brandOf, passesLuhn } from '../../../server/platform/card-brands.ts';

/** Rules for card numbers, expiry dates and security codes. Without the DOM, so that Node can test them. */

export interface BrandRule extends Look {
  readonly brand: BrandName;
  readonly lengths: readonly number[];
  readonly cvcLengths: readonly number[];
}

interface Look {
  readonly name: string;
  /** The usual length. When it is reached, the next field gets the focus. */
  readonly usualLength: number;
  readonly groups: readonly number[];
}

export type NumberProblem = 'numberRequired' | 'numberIncomplete' | 'numberInvalid';
export type ExpiryProblem = 'expiryRequired' | 'expiryIncomplete' | 'expiryInvalid' | 'expiryPast';
export type CvcProblem = 'cvcRequired' | 'cvcIncomplete' | 'cvcInvalid';

const shortestNumber = 12;
const longestNumber = 19;
const fours = [4, 4, 4, 4, 4];

/** The service decides which numbers belong to a brand. This is how the field formats them. */
const looks: Readonly<Record<BrandName, Look>> = {
  visa: { name: 'Visa', usualLength: 16, groups: fours },
  mastercard: { name: 'Mastercard', usualLength: 16, groups: fours },
  amex: { name: 'American Express', usualLength: 15, groups: [4, 6, 5, 4] },
  discover: { name: 'Discover', usualLength: 16, groups: fours },
  diners: { name: 'Diners Club', usualLength: 14, groups: fours },
  jcb: { name: 'JCB', usualLength: 16, groups: fours },
  unionpay: { name: 'UnionPay', usualLength: 16, groups: fours },
  maestro: { name: 'Maestro', usualLength: 16, groups: fours },
  unknown: { name: '', usualLength: 16, groups: fours },
};

const anyLength = Array.from({ length: longestNumber - shortestNumber + 1 }, (_, index) => shortestNumber + index);
const anyCvcLength = [3, 4];
/** From this many digits on, the brand is shown. Networks of one country are known two digits later. */
const decisiveDigits = 4;

/** A sandbox accepts any number, so only the format of the brand applies. */
export function ruleFor(number: string, live: boolean): BrandRule {
  const found = brandOf(number);
  const decided = number.length >= decisiveDigits;
  // Maestro has every number with a 6 that no other network has, so the start of a Discover number would show its icon.
  const brand = found.name === 'maestro' && !decided ? 'unknown' : found.name;
  const known = live && (decided || brand !== 'unknown');
  return {
    brand,
    ...looks[brand],
    lengths: known && found.lengths.length > 0 ? found.lengths : anyLength,
    cvcLengths: known ? [found.cvcLength] : anyCvcLength,
  };
}

/** Converts digits of other scripts: Arabic, Persian, full width. */
function asciiDigits(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/[٠-٩]/g, (digit) => String(digit.charCodeAt(0) - 0x660))
    .replace(/[۰-۹]/g, (digit) => String(digit.charCodeAt(0) - 0x6f0));
}

export function digitsOf(text: string, maxDigits = Infinity): string {
  return asciiDigits(text).replace(/\D/g, '').slice(0, maxDigits);
}

export function formatNumber(number: string, { groups, brand }: BrandRule): string {
  const shortDiners = brand === 'diners' && number.length <= 14;
  const parts: string[] = [];
  let start = 0;
  for (const length of shortDiners ? [4, 6, 4] : groups) {
    if (start >= number.length) break;
    parts.push(number.slice(start, start + length));
    start += length;
  }
  return parts.join(' ');
}

export function longestFor({ lengths }: BrandRule): number {
  return Math.max(...lengths);
}

export function checkNumber(number: string, live: boolean): NumberProblem | undefined {
  if (number === '') return 'numberRequired';
  const rule = ruleFor(number, live);
  if (number.length > longestFor(rule)) return 'numberInvalid';
  if (!rule.lengths.includes(number.length)) return 'numberIncomplete';
  return live && !passesLuhn(number) ? 'numberInvalid' : undefined;
}

/** Month and year as four digits, from typed (`5` `1230` `122030`), pasted (`5/30`, `2030-05`) or autofilled text. */
export function expiryDigits(text: string): string {
  const plain = asciiDigits(text).trim();
  const yearFirst = /^20(\d\d)\D+(\d{1,2})$/.exec(plain);
  if (yearFirst) return `${yearFirst[2]?.padStart(2, '0')}${yearFirst[1]}`;
  const digits = plain.replace(/\D/g, '');
  const shortMonth = /^[2-9]/.test(digits) || /^\d\D/.test(plain);
  const padded = shortMonth ? `0${digits}` : digits;
  const longYear = /^(\d\d)20(\d\d)/.exec(padded);
  if (longYear) return `${longYear[1]}${longYear[2]}`;
  // A third digit means that the user is typing a four-digit year.
  return padded.slice(0, padded.slice(2, 4) === '20' ? 5 : 4);
}

export function formatExpiry(digits: string): string {
  return digits.length < 2 ? digits : `${digits.slice(0, 2)} / ${digits.slice(2)}`;
}

export interface Month {
  readonly year: number;
  readonly month: number;
}

export function readExpiry(digits: string): Month {
  return { month: Number(digits.slice(0, 2)), year: 2000 + Number(digits.slice(2, 4)) };
}

export function checkExpiry(digits: string, today: Month): ExpiryProblem | undefined {
  if (digits === '') return 'expiryRequired';
  const { month, year } = readExpiry(digits);
  if (digits.length >= 2 && (month < 1 || month > 12)) return 'expiryInvalid';
  if (digits.length !== 4) return 'expiryIncomplete';
  return year < today.year || (year === today.year && month < today.month) ? 'expiryPast' : undefined;
}

export function checkCvc(cvc: string, { cvcLengths }: BrandRule): CvcProblem | undefined {
  if (cvc === '') return 'cvcRequired';
  if (cvcLengths.includes(cvc.length)) return undefined;
  return cvc.length < (cvcLengths[0] ?? 0) ? 'cvcIncomplete' : 'cvcInvalid';
}

export interface Edit {
  readonly text: string;
  readonly caret: number;
}

export interface Notation {
  readonly digits: (text: string) => string;
  readonly format: (digits: string) => string;
}

/** The text of the field after an edit, and the caret position: after the same digit as before. */
export function afterEdit(edited: Edit, textBefore: string, inputType: string, { digits, format }: Notation): Edit {
  const deletes = inputType.startsWith('delete');
  const head = digits(edited.text.slice(0, edited.caret)).length;
  let caretDigits = head;
  let all = digits(edited.text);
  // If only a separator was deleted, formatting would restore it. So delete the digit beside it.
  if (deletes && edited.text.length < textBefore.length && all === digits(textBefore)) {
    if (!inputType.endsWith('Forward')) caretDigits = Math.max(0, head - 1);
    all = all.slice(0, caretDigits) + all.slice(caretDigits + 1);
  }
  const text = format(all);
  return { text, caret: caretAfter(text, Math.min(caretDigits, all.length), all.length, deletes) };
}

function caretAfter(text: string, digitCount: number, digitTotal: number, stayBeforeSeparator: boolean): number {
  if (digitCount === digitTotal) return text.length;
  let caret = 0;
  for (let seen = 0; seen < digitCount; caret += 1) if (/\d/.test(text[caret] ?? '')) seen += 1;
  if (stayBeforeSeparator) return caret;
  while (/\D/.test(text[caret] ?? '')) caret += 1;
  return caret;
}
