import type { BrandName } from '../platform/card-brands.ts';
import { formatLocale } from './messages.ts';
import { decimalsOf, decimalText } from '../platform/currencies.ts';

/**
 * How amounts, dates, addresses and cards are written for the customers of a merchant. This folder has every text that they read
 * in emails, on receipts and in answers of the service. For another language, translate this folder.
 */

const locale = 'en-US';

export function amountText(amount: number, currency: string): string {
  const decimals = decimalsOf(currency);
  const format = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: currency.toUpperCase(),
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return format.format(decimalText(amount, currency) as Intl.StringNumericLiteral);
}

// Loading the data of a locale takes as long as loading the rest of the service's texts, so it waits for the first use.
const dateFormatsMax = 100;
const dateFormats = new Map<string, Intl.DateTimeFormat>();
let countryNames: Intl.DisplayNames | undefined;

export function dateText(at: Date | string, inLocale = locale): string {
  const format =
    dateFormats.get(inLocale) ??
    new Intl.DateTimeFormat(formatLocale(inLocale), { dateStyle: 'long', timeZone: 'UTC' });
  // Countries in the header of a browser can be invented.
  if (dateFormats.size >= dateFormatsMax) dateFormats.clear();
  dateFormats.set(inLocale, format);
  return format.format(new Date(at));
}

export const monthText = (year: number, month: number): string =>
  new Intl.DateTimeFormat(locale, { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(
    Date.UTC(year, month - 1),
  );

function countryName(code: string): string {
  countryNames ??= new Intl.DisplayNames(locale, { type: 'region' });
  return countryNames.of(code) ?? code;
}

interface PostalAddress {
  readonly line1: string | null;
  readonly line2: string | null;
  readonly city: string | null;
  readonly state: string | null;
  readonly postal_code: string | null;
  readonly country: string | null;
}

const joined = (texts: readonly (string | null)[], between: string): string => texts.filter(Boolean).join(between);

/** An address as it is written on a letter: the postal code follows a state and otherwise comes before the city. */
export function addressLines(address: PostalAddress | null): string[] {
  if (!address) return [];
  const { line1, line2, city, state, postal_code, country } = address;
  const town = state ? joined([city, joined([state, postal_code], ' ')], ', ') : joined([postal_code, city], ' ');
  const lines = [line1, line2, town, country && countryName(country)];
  return lines.filter((line): line is string => Boolean(line));
}

const brandTexts: Readonly<Record<BrandName, string>> = {
  amex: 'American Express',
  diners: 'Diners Club',
  jcb: 'JCB',
  discover: 'Discover',
  unionpay: 'UnionPay',
  mastercard: 'Mastercard',
  maestro: 'Maestro',
  visa: 'Visa',
  unknown: 'Card',
};

export const cardText = (brand: string, lastFour: string): string =>
  `${brandTexts[brand as BrandName] ?? brandTexts.unknown} ending in ${lastFour}`;
