import Format from 'typebox/format';
import { languages, localeOfTag } from '../customer-texts/languages.ts';
import { countries } from '../platform/countries.ts';
import { currencies } from '../platform/currencies.ts';
import { isTaxId, taxIdPattern } from '../platform/tax-ids.ts';

/** Text formats, with the error message for a value that does not match. */

interface TextFormat {
  readonly message: string;
  /**
   * For code generators and validators, which support only the standard formats. It uses only regular expression
   * syntax that every language supports: no lookaround, no Unicode classes.
   */
  readonly pattern: string;
  /** An additional check, if the pattern accepts too much or is slow. */
  readonly accepts?: (value: string) => boolean;
}

/** Matches text with at least one visible character. */
export const visiblePattern = '\\S';

const html = /<[a-z/!]/i;
// The same without lookaround: no `<` before a letter, `/` or `!`.
const plainCharacter = '(?:[^<]|<+[^<A-Za-z/!])';
const plainText = `^${plainCharacter}*<*$`;

// One line with at least one visible character; and the same without HTML.
const control = '\\x00-\\x1F\\x7F';
const visibleLine = `^[^${control}]*[^\\s${control}][^${control}]*$`;
const plainOfLine = `(?:[^<${control}]|<+[^<A-Za-z/!${control}])`;
const blank = `[^\\S${control}]`;
const visiblePlainLine = `^${blank}*(?:[^<\\s${control}]|<+[^<A-Za-z/!${control}])${plainOfLine}*<*$|^${blank}*<+$`;

export const textFormats = {
  'plain-text': { message: 'must not contain HTML', pattern: plainText, accepts: (value) => !html.test(value) },
  'not-blank': { message: 'must not be blank', pattern: visiblePattern },
  phone: {
    message:
      'must be an international number with + and the country code, 7 to 15 digits in total, for example +15551234567',
    pattern: '^\\+[1-9](?:[ ().-]*[0-9]){6,14}[ ().-]*$',
  },
  'us-phone': {
    message: 'must be a US number with +1 and 10 digits, for example +15551234567',
    pattern: '^\\+1[0-9]{10}$',
  },
  currency: {
    message: 'must be a lowercase ISO 4217 currency code, for example usd',
    pattern: '^[a-z]{3}$',
    accepts: (value) => currencies.has(value),
  },
  country: {
    message: 'must be an uppercase ISO 3166-1 alpha-2 country code, for example US',
    pattern: '^[A-Z]{2}$',
    accepts: (value) => countries.has(value),
  },
  'tax-id': {
    message:
      'must be a tax ID in the form of its country, with the letters of the country if it has them, for example DE123456789',
    pattern: taxIdPattern,
    accepts: isTaxId,
  },
  locale: {
    message: `must be one of ${languages.join(', ')}, with a country if you like, for example de-AT`,
    pattern: '^[a-z]{2}(-([A-Z]{2}|[0-9]{3}))?$',
    accepts: (value) => localeOfTag(value) === value,
  },
  tag: {
    message: 'must not be blank, begin or end with a space, or contain a comma',
    pattern: '^[^\\s,](?:[^,]*[^\\s,])?$',
  },
  'code-prefix': { message: 'must contain only letters, digits, - and _', pattern: '^[A-Za-z0-9_-]*$' },
  color: { message: 'must be a color as #rrggbb, for example #0a7d5c', pattern: '^#[0-9A-Fa-f]{6}$' },
  slug: {
    message: 'must contain only lowercase letters, digits and single hyphens, for example tea-house',
    pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
  },
  sku: {
    message: 'must contain only lowercase letters, digits, hyphens and underscores',
    pattern: '^[a-z0-9_-]+$',
  },
} as const satisfies Readonly<Record<string, TextFormat>>;

export type TextFormatName = keyof typeof textFormats;

for (const [name, { pattern, accepts }] of Object.entries<TextFormat>(textFormats)) {
  const expression = new RegExp(pattern, 'u');
  Format.Set(name, accepts ?? ((value) => expression.test(value)));
}

// Quoted addresses would allow line breaks and spaces, which must not occur in a mail address. A domain without a dot
// is a name in a private network.
Format.Set('email', (value) => Format.IsEmail(value) && /^[!#-~]+@[!#-~]*\.[!#-~]+$/.test(value));
// The database cannot store a leap second, or a time before the year 1 or after 9999 UTC.
const [firstMoment, lastMoment] = [Date.parse('0001-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')];
const momentLengthMax = 64;
Format.Set('date-time', (value) => {
  // Date.parse is slow for a megabyte of text.
  if (value.length > momentLengthMax) return false;
  const ms = Date.parse(value);
  return Format.IsDateTime(value) && ms >= firstMoment && ms <= lastMoment;
});
// The code that uses a URL checks it and reports its own error.
Format.Set('uri', () => true);

const usualMessages: Readonly<Record<string, string>> = {
  email: 'must be an email address, for example ada@example.com',
  uuid: 'must be a UUID',
  'date-time': 'must be an ISO 8601 date and time, for example 2026-02-11T09:30:00Z',
  date: 'must be a date, for example 2026-02-11',
};

export const formatMessages: Readonly<Record<string, string>> = {
  ...usualMessages,
  ...Object.fromEntries(Object.entries(textFormats).map(([name, { message }]) => [name, message])),
};

/**
 * Returns the pattern that the API reference shows for a custom format; `given` is the pattern of the schema itself.
 */
export function documentedPattern(format: string, given: string | undefined): string | undefined {
  if (format === 'plain-text' && given === visiblePattern) return visiblePlainLine;
  if (format === 'not-blank') return visibleLine;
  return given ?? (Object.hasOwn(textFormats, format) ? textFormats[format as TextFormatName].pattern : undefined);
}
