import { isRightToLeft } from '../customer-texts/messages.ts';
import { escaped } from '../platform/html.ts';

/** Puts the texts of one language into the document of a page. */

type TextTree = Readonly<Record<string, unknown>>;

/** `messages` are all texts, for the script of the page, as an attribute in single quotes. */
export const withTexts = (document: string, texts: TextTree): string =>
  document
    .replaceAll(/\{\{texts\.(\w+)\}\}/g, (_place, key: string) => textOf(texts, key))
    .replaceAll('{{messages}}', () => attribute(JSON.stringify(texts)));

export const inLocale = (document: string, locale: string): string =>
  document.replaceAll('{{locale}}', locale).replaceAll('{{dir}}', isRightToLeft(locale) ? 'rtl' : 'ltr');

function textOf(texts: TextTree, key: string): string {
  const text = texts[key];
  if (typeof text !== 'string') throw new Error(`There is no text ${key}.`);
  return escaped(text);
}

const attribute = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll("'", '&#39;').replaceAll('<', '&lt;');
