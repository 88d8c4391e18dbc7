import type { Readable } from '../../server/customer-texts/languages.ts';

/** The texts of a page, which its document has in one language only. */
export const pageTexts = <Source>(): Readable<Source> =>
  JSON.parse(document.body.dataset.texts ?? '{}') as Readable<Source>;

/** The locale of the page, for example `de-AT`. */
export const pageLocale = (): string => document.documentElement.lang;

/** The language that the address of the page asks for, which each request repeats. Otherwise the browser's decides. */
const askedLocale = new URLSearchParams(location.search).get('locale');

export const inPageLocale = (path: string): string =>
  askedLocale ? `${path}${path.includes('?') ? '&' : '?'}locale=${encodeURIComponent(askedLocale)}` : path;

/** What the service says about a request for programs is English. In another language the page has words of its own for it. */
export const inWords = (english: string, own: string): string => (/^en\b/.test(pageLocale()) ? english : own);
