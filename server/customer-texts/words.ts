import type { BrandName } from '../platform/card-brands.ts';
import { greetable } from '../greeting.ts';
import {
  addressLines,
  amountText,
  brandTexts,
  dateText,
  dayText,
  monthText,
  percentText,
  type PostalAddress,
} from './formats.ts';
import { defaultLocale, type ReadableTexts } from './languages.ts';
import { fill, isRightToLeft, type Template, type Values } from './messages.ts';
import { textsFor } from './texts.ts';

/** The texts and formats of one locale, for emails, receipts and invoices. */
export interface Words {
  readonly locale: string;
  readonly direction: 'ltr' | 'rtl';
  readonly texts: ReadableTexts;
  fill(template: Template | string, values: Values): string;
  amount(amount: number, currency: string): string;
  date(at: Date | string): string;
  /** The day in a time zone. */
  day(at: number, timeZone: string): string;
  percent(percentage: number): string;
  month(year: number, month: number): string;
  card(brand: string, lastFour: string): string;
  address(address: PostalAddress | null): string[];
  /** The first line of an email. */
  greeting(firstName: string | undefined): string;
}

interface Speaker {
  readonly locale?: string | null;
}

/** For what is written to a customer whose language may be unknown. Then the company decides. */
export const wordsToCustomer = (customer: Speaker | undefined, company: Speaker): Promise<Words> =>
  wordsFor(customer?.locale ?? company.locale ?? defaultLocale);

export async function wordsFor(locale: string): Promise<Words> {
  const texts = await textsFor(locale);
  const { emails, formats } = texts;
  const filled = (template: Template | string, values: Values): string => fill(template, values, locale);
  return {
    locale,
    direction: isRightToLeft(locale) ? 'rtl' : 'ltr',
    texts,
    fill: filled,
    amount: (amount, currency) => amountText(amount, currency, locale),
    date: (at) => dateText(at, locale),
    day: (at, timeZone) => dayText(at, timeZone, locale),
    percent: (percentage) => percentText(percentage, locale),
    month: (year, month) => monthText(year, month, locale),
    card: (brand, last4) =>
      filled(formats.card, { brand: brandTexts[brand as BrandName] ?? formats.unknownCard, last4 }),
    address: (address) => addressLines(address, locale),
    greeting: (firstName) =>
      greetable(firstName) ? filled(emails.greeting, { name: firstName ?? '' }) : emails.greetingUnknown,
  };
}
