/** Fills in the messages that `compile.ts` has read. Without other code, because the pages of customers contain it. */

declare const compiled: unique symbol;

/** A text with places for values. It is shown only after `fill` has put the values in. */
export interface Template {
  readonly [compiled]: true;
}

/** `{name}` stands for a value; a choice is a list of a name and the texts by plural form, by number (`=1`) or by word. */
export type Message = string | readonly (string | Choice)[];
export type Choice = readonly [name: string, kind: 'plural' | 'select', options: Readonly<Record<string, Message>>];

export type Values = Readonly<Record<string, string | number>>;

/** The locale for numbers and dates. Arabic has the digits of card numbers and prices, so that amounts can be compared. */
export const formatLocale = (locale: string): string => (isRightToLeft(locale) ? `${locale}-u-nu-latn` : locale);

export const isRightToLeft = (locale: string): boolean => /^ar\b/.test(locale);

/** A value keeps its own direction inside of Arabic: a name, an email address or an amount. */
const isolated = (text: string, locale: string): string => (isRightToLeft(locale) ? `\u2068${text}\u2069` : text);

/** The `$` of `US$` belongs to the letters before it, which without the mark it does not in Arabic. */
export const moneyText = (text: string, locale: string): string =>
  isRightToLeft(locale) ? text.replaceAll(/(?<=[A-Z])\p{Sc}/gu, '$&\u200e') : text;

/** A place without a value stays as it is. */
export function fill(template: Template | string, values: Values, locale: string): string {
  return textOf(template as Message, values, locale);
}

function textOf(message: Message, values: Values, locale: string): string {
  if (typeof message !== 'string') {
    return message
      .map((part) => textOf(typeof part === 'string' ? part : chosen(part, values, locale), values, locale))
      .join('');
  }
  return message.replace(/\{(\w+)(#?)\}/g, (place, name: string, isNumber: string) => {
    const value = values[name];
    if (value === undefined) return place;
    const text = isNumber ? new Intl.NumberFormat(formatLocale(locale)).format(Number(value)) : String(value);
    return isolated(text, locale);
  });
}

function chosen([name, kind, options]: Choice, values: Values, locale: string): Message {
  const value = String(values[name]);
  const form = kind === 'plural' ? new Intl.PluralRules(locale).select(Number(value)) : value;
  return (kind === 'plural' ? options[`=${value}`] : undefined) ?? options[form] ?? options['other'] ?? '';
}
