import { defaultLocale, type Language, languageOf, languages } from '../../customer-texts/languages.ts';
import { invalidField } from '../../errors.ts';
import type { OwnTexts, Profile, ProfileUpdate } from './schemas.ts';

/** What the merchant says in its own words, by language. A language without a text has that of the company's language. */

/** As they are stored: without languages and fields that are not set. */
export type StoredTexts = { readonly [Name in Language]?: Partial<OwnTexts> };

const noTexts: OwnTexts = { thank_you: null, support: null, terms_text: null, terms_url: null, terms_version: null };

export const textsOfAll = (stored: StoredTexts): Profile['texts'] =>
  Object.fromEntries(
    languages.map((language) => [language, stored[language] ? { ...noTexts, ...stored[language] } : null]),
  ) as Profile['texts'];

type Given = NonNullable<ProfileUpdate['texts']>;

/** Null clears a field, or all of a language. `day` is the version of terms without one. */
export function changedTexts(
  stored: StoredTexts,
  given: Given,
  day: string,
  checkedUrl: (field: string, url: string | null | undefined) => string | null | undefined,
): StoredTexts {
  const changed = Object.entries(given).map(([language, texts]) => {
    const before = { ...noTexts, ...stored[language as Language] };
    const field = (name: string): string => `texts.${language}.${name}`;
    const after = texts === null ? noTexts : { ...before, ...texts };
    const url = checkedUrl(field('terms_url'), after.terms_url) ?? null;
    const terms = termsAfter(before, { terms_url: url, terms_version: texts?.terms_version }, day, field);
    return [language, withoutEmpty({ ...after, ...terms })] as const;
  });
  return withoutEmpty({ ...stored, ...Object.fromEntries(changed) });
}

/** Trims texts, and leaves out what is empty. */
const withoutEmpty = <Some extends object>(values: Some): Some =>
  Object.fromEntries(
    Object.entries(values)
      .map(([name, value]) => [name, typeof value === 'string' ? value.trim() : value] as const)
      .filter(([, value]) => value && (typeof value === 'string' || Object.keys(value as object).length > 0)),
  ) as Some;

type Terms = Pick<OwnTexts, 'terms_url' | 'terms_version'>;

/** Terms at another address have a version of their own: without one, the day of the change. */
export function termsAfter(
  before: Terms,
  given: { [Name in keyof Terms]: Terms[Name] | undefined },
  day: string,
  field = (name: string): string => name,
): Terms {
  const { terms_url = before.terms_url } = given;
  if (terms_url === null) {
    if (!given.terms_version?.trim()) return { terms_url, terms_version: null };
    throw invalidField(field('terms_version'), `needs the address of the terms in ${field('terms_url')}`);
  }
  const kept = terms_url === before.terms_url && given.terms_version === undefined ? before.terms_version : null;
  return { terms_url, terms_version: given.terms_version?.trim() || kept || day };
}

export interface OwnText {
  readonly text: string;
  /** The language of the text, which can be another one than that of the page. */
  readonly locale: string;
}

type Speaker = Pick<Profile, 'texts' | 'locale'>;

const textsIn = ({ texts }: Speaker, locale: string): OwnTexts | null => texts[languageOf(locale) ?? defaultLocale];

/** For a page or an email in this locale. Null if the merchant has no text of its own. */
export function ownText(
  profile: Speaker,
  name: 'thank_you' | 'support' | 'terms_text',
  locale: string,
): OwnText | null {
  const usual = profile.locale ?? defaultLocale;
  const found = [locale, usual].find((one) => textsIn(profile, one)?.[name]);
  const text = found && textsIn(profile, found)?.[name];
  return text ? { text, locale: found } : null;
}

/** The terms in the language of a page, or those for all languages. */
export function termsIn(
  profile: Speaker & Pick<Profile, 'terms_url' | 'terms_version'>,
  locale: string,
): { readonly url: string; readonly version: string } | null {
  const own = textsIn(profile, locale);
  const { terms_url: url, terms_version: version } = own?.terms_url ? own : profile;
  return url !== null && version !== null ? { url, version } : null;
}
