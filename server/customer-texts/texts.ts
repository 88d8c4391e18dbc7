import { compiled } from './compile.ts';
import { defaultLocale, type Language, languageOf, type ReadableTexts, type Texts } from './languages.ts';

/** The texts of each language, loaded when they are needed first. A release contains them compiled. */
const sources: Readonly<Record<Language, () => Promise<{ readonly texts: Texts }>>> = {
  en: () => import('./languages/en/texts.ts'),
  de: () => import('./languages/de/texts.ts'),
  fr: () => import('./languages/fr/texts.ts'),
  es: () => import('./languages/es/texts.ts'),
  it: () => import('./languages/it/texts.ts'),
  nl: () => import('./languages/nl/texts.ts'),
  'pt-BR': () => import('./languages/pt-br/texts.ts'),
  'pt-PT': () => import('./languages/pt-pt/texts.ts'),
  pl: () => import('./languages/pl/texts.ts'),
  sv: () => import('./languages/sv/texts.ts'),
  da: () => import('./languages/da/texts.ts'),
  ja: () => import('./languages/ja/texts.ts'),
  ar: () => import('./languages/ar/texts.ts'),
};

const loaded = new Map<Language, Promise<ReadableTexts>>();

/** The texts for a locale such as `de-AT`; English if there are none. */
export function textsFor(locale: string): Promise<ReadableTexts> {
  const language = languageOf(locale) ?? defaultLocale;
  const known = loaded.get(language);
  if (known) return known;
  const loading = sources[language]().then(({ texts }) => compiled(texts) as unknown as ReadableTexts);
  loaded.set(language, loading);
  return loading;
}
