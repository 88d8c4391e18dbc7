/** Which font prints which characters. The fonts are packages of npm; each of their files ("slices") has a part of the characters. */

export interface FontFamily {
  /** The folder in `node_modules/@fontsource-variable`. */
  readonly package: string;
  /** The names of the slices to use, or all that have a number. */
  readonly slices: readonly string[] | 'numbered';
  /** OpenType features to turn off. */
  readonly without?: readonly string[];
}

/** Inter would print the x of "10x20" as a multiplication sign. */
const inter: FontFamily = {
  package: 'inter',
  slices: ['latin', 'latin-ext', 'vietnamese', 'greek', 'greek-ext', 'cyrillic', 'cyrillic-ext'],
  without: ['calt'],
};
const emoji: FontFamily = { package: 'noto-emoji', slices: 'numbered' };
const chinese: FontFamily = { package: 'noto-sans-sc', slices: 'numbered' };
const cantonese: FontFamily = { package: 'noto-sans-hk', slices: 'numbered' };
const japanese: FontFamily = { package: 'noto-sans-jp', slices: 'numbered' };
const korean: FontFamily = { package: 'noto-sans-kr', slices: 'numbered' };

/** A script and the font for it. A slice has the name of its script. */
const notoFor = (script: string): FontFamily => ({ package: `noto-sans-${script}`, slices: [script] });

const scripts: readonly (readonly [pattern: RegExp, family: FontFamily])[] = [
  [/[\p{scx=Arabic}\p{Script=Arabic}]/u, notoFor('arabic')],
  [/\p{scx=Hebrew}/u, notoFor('hebrew')],
  [/\p{scx=Devanagari}/u, notoFor('devanagari')],
  [/\p{scx=Bengali}/u, notoFor('bengali')],
  [/\p{scx=Gurmukhi}/u, notoFor('gurmukhi')],
  [/\p{scx=Gujarati}/u, notoFor('gujarati')],
  [/\p{scx=Tamil}/u, notoFor('tamil')],
  [/\p{scx=Telugu}/u, notoFor('telugu')],
  [/\p{scx=Kannada}/u, notoFor('kannada')],
  [/\p{scx=Malayalam}/u, notoFor('malayalam')],
  [/\p{scx=Sinhala}/u, notoFor('sinhala')],
  [/\p{scx=Thai}/u, notoFor('thai')],
  [/\p{scx=Lao}/u, notoFor('lao')],
  [/\p{scx=Khmer}/u, notoFor('khmer')],
  [/\p{scx=Myanmar}/u, notoFor('myanmar')],
  [/\p{scx=Ethiopic}/u, notoFor('ethiopic')],
  [/\p{scx=Georgian}/u, notoFor('georgian')],
  [/\p{scx=Armenian}/u, notoFor('armenian')],
];

export const allFamilies: readonly FontFamily[] = [
  inter,
  emoji,
  chinese,
  cantonese,
  japanese,
  korean,
  ...scripts.map(([, family]) => family),
];

const eastAsian = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}\uff00-\uffef]/u;
const pictograph = /\p{Emoji_Presentation}|\ufe0f/u;

/**
 * Chinese, Japanese and Korean write some of their common characters in different shapes. The other writing of a document tells
 * which are expected.
 */
export function eastAsianOrder(texts: Iterable<string>): readonly FontFamily[] {
  const all = [...texts].join(' ');
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(all)) return [japanese, chinese, cantonese, korean];
  if (/\p{Script=Hangul}/u.test(all)) return [korean, japanese, chinese, cantonese];
  return [chinese, cantonese, japanese, korean];
}

/** The families to try for a character as a reader sees it (a grapheme cluster), in this order. */
export function familiesFor(cluster: string, before: FontFamily | undefined, han: readonly FontFamily[]): FontFamily[] {
  if (pictograph.test(cluster)) return [emoji, inter];
  const first = String.fromCodePoint(cluster.codePointAt(0) ?? 0);
  if (first <= '\u024f') return [inter];
  if (eastAsian.test(first)) return [...han, inter];
  const matching = scripts.filter(([pattern]) => pattern.test(first)).map(([, family]) => family);
  // Several scripts share a few signs, which look best in the font of the text around them.
  const isShared = before !== undefined && matching.includes(before);
  return [...(isShared ? [before] : []), ...matching, inter, emoji];
}
