import type { texts as english } from './languages/en/texts.ts';
import type { Template } from './messages.ts';

/** The languages in which the customers of a merchant read pages, emails and documents, and how one of them is chosen. */

export const languages = ['en', 'de', 'fr', 'es', 'it', 'nl', 'pt-BR', 'pt-PT', 'pl', 'sv', 'da', 'ja', 'ar'] as const;
export type Language = (typeof languages)[number];

type English = typeof english;

/** The texts of an area in another language: the keys of the English ones. */
export type TextsOf<Area extends keyof English> = Translated<English[Area]>;
export type Texts = Translated<English>;
type Translated<Source> = {
  readonly [Key in keyof Source]: Source[Key] extends string ? string : Translated<Source[Key]>;
};

/** Texts as pages and emails use them: those with places for values have to be filled in. */
export type Readable<Source> = {
  readonly [Key in keyof Source]: Source[Key] extends string
    ? Source[Key] extends `${string}{${string}`
      ? Template
      : string
    : Readable<Source[Key]>;
};
export type ReadableTexts = Readable<English>;

export const defaultLocale = 'en';

const tagPattern = /^([a-z]{2})(?:-[a-z]{4})?(?:-([a-z]{2}|\d{3}))?(?:-|$)/i;

/** The language of a tag such as `de-AT`. The two kinds of Portuguese differ as their countries do. */
export function languageOf(tag: string): Language | undefined {
  const [, language = '', region = ''] = tagPattern.exec(tag) ?? [];
  const found = language.toLowerCase();
  if (found === 'pt') return region === '' || region.toUpperCase() === 'BR' ? 'pt-BR' : 'pt-PT';
  return languages.find((one) => one === found);
}

/** `de-AT` of `DE-at`, without what is no language or country. Undefined if there are no texts in its language. */
export function localeOfTag(tag: string): string | undefined {
  const [, language = '', region = ''] = tagPattern.exec(tag) ?? [];
  if (!languageOf(tag)) return undefined;
  return region ? `${language.toLowerCase()}-${region.toUpperCase()}` : language.toLowerCase();
}

const headerLengthMax = 500;

/** The tags of an `Accept-Language` header, the preferred one first. */
function tagsOfHeader(header: string): string[] {
  return header
    .slice(0, headerLengthMax)
    .split(',')
    .map((part) => {
      const [tag = '', ...parameters] = part.trim().split(/\s*;\s*/);
      const quality = /^q=([\d.]+)$/i.exec(parameters.at(-1) ?? '')?.[1];
      return { tag, quality: quality === undefined ? 1 : Number(quality) };
    })
    .filter(({ quality }) => quality > 0)
    .toSorted((one, other) => other.quality - one.quality)
    .map(({ tag }) => tag);
}

interface Wishes {
  /** What the session, the link or the customer asks for. */
  readonly asked?: string | null | undefined;
  /** The `Accept-Language` header of the browser. */
  readonly header?: string | undefined;
  /** What the company writes when nothing else decides. */
  readonly company?: string | null | undefined;
}

export function chosenLocale({ asked, header, company }: Wishes): string {
  const tags = [asked ?? '', ...tagsOfHeader(header ?? ''), company ?? ''];
  return tags.map(localeOfTag).find((found) => found !== undefined) ?? defaultLocale;
}
