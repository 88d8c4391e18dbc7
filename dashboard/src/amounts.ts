import { currencies, decimalsOf, decimalText } from '../../server/platform/currencies.ts';
import { amounts } from './texts/amounts.ts';

/** An amount in a form or an export: `12.50`. */
export { decimalText as amountText };

/**
 * Reads amounts and percentages that people type. A comma can be a decimal mark or a thousands separator, and a wrong guess
 * is off by a factor of 100 or 1,000. So both readings are tried, and a text with two readings is rejected.
 */

export type Reading =
  | { readonly amount: number; readonly problem?: undefined }
  | { readonly amount?: undefined; readonly problem: string };

const whole = String.raw`(?:\d+|[1-9]\d{0,2}(?<group>[.,' ])\d{3}(?:\k<group>\d{3})*)`;
const asWhole = new RegExp(`^${whole}$`);
const asDecimal = new RegExp(String.raw`^(?<whole>${whole})(?<mark>[.,])(?<fraction>\d+)$`);

interface Parts {
  readonly whole: string;
  readonly fraction: string;
}

const digitsOf = (text: string): string => text.replaceAll(/\D/g, '');

function decimalParts(text: string): (Parts & { readonly mark: string }) | undefined {
  const { group, mark = '', fraction = '', whole: before = '' } = asDecimal.exec(text)?.groups ?? {};
  return mark === '' || group === mark ? undefined : { whole: digitsOf(before), fraction, mark };
}

type Found = { readonly parts: Parts } | { readonly wrong: 'unreadable' | 'ambiguous' | 'too_precise' };

function read(input: string, decimals: number): Found {
  // In some countries, spaces and apostrophes separate thousands. They are never a decimal mark. `.5` is 0.5.
  const text = input
    .trim()
    .replaceAll(/\s/g, ' ')
    .replaceAll('’', "'")
    .replace(/^(?=[.,])/, '0');
  const integer = asWhole.test(text) ? { whole: digitsOf(text), fraction: '' } : undefined;
  const decimal = decimalParts(text);
  if (!decimal) return integer ? { parts: integer } : { wrong: 'unreadable' };
  // A currency without decimals has only one reading. For three decimals, the dashboard itself writes 1.234.
  if (integer && decimals === 0) return { parts: integer };
  if (integer && !(decimals === 3 && decimal.mark === '.')) return { wrong: 'ambiguous' };
  return decimal.fraction.length > decimals ? { wrong: 'too_precise' } : { parts: decimal };
}

const scaled = ({ whole: units, fraction }: Parts, decimals: number): number =>
  Number(units + fraction.padEnd(decimals, '0'));

const asSigned = /^(?<before>[\p{L}\p{Sc}]*)\s*(?<number>[\d.,'’\s]*\d)\s*(?<after>[\p{L}\p{Sc}]*)$/u;

/** How people write the currency beside an amount: `$`, `US$`, `USD`. */
function signsOf(currency: string): string[] {
  const shown = ['en-US', 'en-CA'].flatMap((locale) =>
    (['narrowSymbol', 'symbol', 'code'] as const).flatMap((currencyDisplay) =>
      new Intl.NumberFormat(locale, { style: 'currency', currency, currencyDisplay }).formatToParts(0),
    ),
  );
  return shown.filter(({ type }) => type === 'currency').map(({ value }) => value.toLowerCase());
}

const isSign = (text: string): boolean => /\p{Sc}/u.test(text) || currencies.has(text.toLowerCase());

/** The number without the sign of its currency. A sign of another currency is a mistake. */
function withoutSign(text: string, currency: string): { readonly number: string } | { readonly otherSign: string } {
  const { before = '', number, after = '' } = asSigned.exec(text.trim())?.groups ?? {};
  const signs = [before, after].filter(Boolean);
  if (number === undefined || signs.length === 0) return { number: text };
  const own = currencies.has(currency.trim().toLowerCase()) ? signsOf(currency.trim()) : [];
  const others = signs.filter((sign) => !own.includes(sign.toLowerCase()));
  if (others.length === 0) return { number };
  const otherSign = others.find(isSign);
  return otherSign ? { otherSign } : { number: text };
}

/** Returns the amount in the smallest unit of the currency, or an error message. */
export function readAmount(typed: string, currency: string): Reading {
  const decimals = decimalsOf(currency);
  const example = decimalText(125 * 10 ** Math.max(decimals - 1, 1), currency);
  const unsigned = withoutSign(typed, currency);
  if ('otherSign' in unsigned) {
    return { problem: amounts.otherCurrency(currency.trim().toUpperCase(), unsigned.otherSign, example) };
  }
  const text = unsigned.number;
  const found = read(text, decimals);
  if ('parts' in found) {
    const amount = scaled(found.parts, decimals);
    return Number.isSafeInteger(amount) ? { amount } : { problem: amounts.invalid(example) };
  }
  if (found.wrong === 'too_precise') return { problem: amounts.tooPrecise(currency.toUpperCase(), decimals, example) };
  if (found.wrong === 'unreadable') return { problem: amounts.invalid(example) };
  const [units = '', fraction = ''] = text.trim().split(/[.,]/);
  const asUnits = decimalText(Number(units + fraction) * 10 ** decimals, currency);
  return { problem: amounts.ambiguous(text.trim(), asUnits, `${units}.${fraction.slice(0, decimals)}`) };
}

/** A percentage up to 100 with at most two decimals. */
export function readPercentage(text: string, least = 1): Reading {
  const found = read(text.trim().replace(/\s*%$/, ''), 2);
  const amount = 'parts' in found ? scaled(found.parts, 2) / 100 : Number.NaN;
  return amount >= least && amount <= 100 ? { amount } : { problem: amounts.invalidPercentage(least) };
}
