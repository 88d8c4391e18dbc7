import type { BrandName } from '../platform/card-brands.ts';
import { formatLocale, moneyText } from './messages.ts';
import { decimalsOf, decimalText } from '../platform/currencies.ts';

/** How amounts, dates, addresses and cards are written for the customers of a merchant, and in English for the merchant. */

const merchantLocale = 'en-US';

export function amountText(amount: number, currency: string, locale = merchantLocale): string {
  const decimals = decimalsOf(currency);
  const format = new Intl.NumberFormat(formatLocale(locale), {
    style: 'currency',
    currency: currency.toUpperCase(),
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return moneyText(format.format(decimalText(amount, currency) as Intl.StringNumericLiteral), locale);
}

// Loading the data of a locale takes as long as loading the rest of the service's texts, so it waits for the first use.
const dateFormatsMax = 100;
const dateFormats = new Map<string, Intl.DateTimeFormat>();

export function dateText(at: Date | string, locale = merchantLocale): string {
  const format =
    dateFormats.get(locale) ?? new Intl.DateTimeFormat(formatLocale(locale), { dateStyle: 'long', timeZone: 'UTC' });
  // Countries in the header of a browser can be invented.
  if (dateFormats.size >= dateFormatsMax) dateFormats.clear();
  dateFormats.set(locale, format);
  return format.format(new Date(at));
}

/** The day in a time zone, as an invoice names it. */
export const dayText = (at: number, timeZone: string, locale: string): string =>
  new Intl.DateTimeFormat(formatLocale(locale), { dateStyle: 'long', timeZone }).format(at);

/** With at most two decimals. */
export const percentText = (percentage: number, locale: string): string =>
  new Intl.NumberFormat(formatLocale(locale), { style: 'percent', maximumFractionDigits: 2 }).format(percentage / 100);

export const monthText = (year: number, month: number, locale = merchantLocale): string =>
  new Intl.DateTimeFormat(formatLocale(locale), { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(
    Date.UTC(year, month - 1),
  );

const countryName = (code: string, locale: string): string =>
  new Intl.DisplayNames(locale, { type: 'region' }).of(code) ?? code;

export interface PostalAddress {
  readonly line1: string | null;
  readonly line2: string | null;
  readonly city: string | null;
  readonly state: string | null;
  readonly postal_code: string | null;
  readonly country: string | null;
}

const joined = (texts: readonly (string | null)[], between: string): string => texts.filter(Boolean).join(between);

/** An address as it is written on a letter: the postal code follows a state and otherwise comes before the city. */
export function addressLines(address: PostalAddress | null, locale = merchantLocale): string[] {
  if (!address) return [];
  const { line1, line2, city, state, postal_code, country } = address;
  const town = state ? joined([city, joined([state, postal_code], ' ')], ', ') : joined([postal_code, city], ' ');
  const lines = [line1, line2, town, country && countryName(country, locale)];
  return lines.filter((line): line is string => Boolean(line));
}

/** Without a name for cards of unknown brands, which differs by language. */
export const brandTexts: Readonly<Record<Exclude<BrandName, 'unknown'>, string> & { readonly unknown?: undefined }> = {
  amex: 'American Express',
  diners: 'Diners Club',
  jcb: 'JCB',
  discover: 'Discover',
  unionpay: 'UnionPay',
  mastercard: 'Mastercard',
  maestro: 'Maestro',
  visa: 'Visa',
};

export const cardText = (brand: string, lastFour: string): string =>
  `${brandTexts[brand as BrandName] ?? 'Card'} ending in ${lastFour}`;
