import type { Readable } from '../../server/customer-texts/languages.ts';

/** The texts of a page, which its document has in one language only. */
export const pageTexts = <Source>(): Readable<Source> =>
  JSON.parse(document.body.dataset.texts ?? '{}') as Readable<Source>;

/** The locale of the page, for example `de-AT`. */
export const pageLocale = (): string => document.documentElement.lang;

/** What the address of the page says about its language, which each request repeats. The browser says the rest again. */
const asked = new URLSearchParams(location.search);
const kept = ['locale', 'fallback'].flatMap((name) => {
  const value = asked.get(name);
  return value ? [`${name}=${encodeURIComponent(value)}`] : [];
});

export const inPageLocale = (path: string): string =>
  kept.length > 0 ? `${path}${path.includes('?') ? '&' : '?'}${kept.join('&')}` : path;

/** What the service says about a request for programs is English. In another language the page has words of its own for it. */
export const inWords = (english: string, own: string): string => (/^en\b/.test(pageLocale()) ? english : own);
