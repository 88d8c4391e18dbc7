import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { parse, TYPE, type MessageFormatElement } from '@formatjs/icu-messageformat-parser';
import { amountText } from '../server/customer-texts/formats.ts';
import { compiledMessage } from '../server/customer-texts/compile.ts';
import { card } from '../server/customer-texts/languages/en/card.ts';
import { chosenLocale, type Language, languageOf, languages, localeOfTag } from '../server/customer-texts/languages.ts';
import { fill, type Template } from '../server/customer-texts/messages.ts';

/** The texts of all languages, as they are in the repository. */

const folder = new URL('../server/customer-texts/languages/', import.meta.url);

type Texts = ReadonlyMap<string, string>;

async function textsOf(language: Language): Promise<Texts> {
  const { texts } = (await import(new URL(`${language.toLowerCase()}/texts.ts`, folder).href)) as { texts: object };
  return new Map(leavesOf(texts, ''));
}

function leavesOf(value: unknown, path: string): (readonly [path: string, text: string])[] {
  if (typeof value === 'string') return [[path, value]];
  return Object.entries(value as object).flatMap(([key, child]) => leavesOf(child, path ? `${path}.${key}` : key));
}

const english = await textsOf('en');
const others = await Promise.all(
  languages
    .filter((language) => language !== 'en')
    .map(async (language) => ({ language, texts: await textsOf(language) })),
);

interface Found {
  readonly names: Set<string>;
  readonly choices: { readonly name: string; readonly keys: readonly string[]; readonly isPlural: boolean }[];
}

/** The values that a message needs, and its choices, at any depth. */
function partsOf(elements: readonly MessageFormatElement[], found: Found = { names: new Set(), choices: [] }): Found {
  for (const element of elements) {
    if (element.type === TYPE.literal || element.type === TYPE.pound) continue;
    if (!('value' in element)) continue;
    found.names.add(element.value);
    if (element.type !== TYPE.plural && element.type !== TYPE.select) continue;
    const keys = Object.keys(element.options);
    found.choices.push({ name: element.value, keys, isPlural: element.type === TYPE.plural });
    for (const option of Object.values(element.options)) partsOf(option.value, found);
  }
  return found;
}

const namesOf = (text: string): string[] => [...partsOf(parse(text)).names].toSorted();

/** The forms that whole numbers have in a language: `many` of French, for example, is for millions. */
const formsOf = (language: string): string[] => {
  const rules = new Intl.PluralRules(language);
  return [...new Set(Array.from({ length: 200 }, (_, number) => rules.select(number)))].toSorted();
};

describe('the texts for customers', () => {
  test('exist in each language that the service offers', () => {
    const folders = readdirSync(folder).toSorted();
    assert.deepEqual(folders, languages.map((language) => language.toLowerCase()).toSorted());
    assert.equal(languages.length, 13);
  });

  test('have the same keys in every language', () => {
    for (const { language, texts } of others) {
      const keys = [...english.keys()];
      assert.deepEqual(
        keys.filter((key) => !texts.has(key)),
        [],
        `missing in ${language}`,
      );
      assert.deepEqual(
        [...texts.keys()].filter((key) => !english.has(key)),
        [],
        `extra in ${language}`,
      );
    }
  });

  test('have places for the same values in every language', () => {
    for (const { language, texts } of others) {
      for (const [key, text] of texts) {
        assert.deepEqual(namesOf(text), namesOf(english.get(key) ?? ''), `${language}: ${key}`);
      }
    }
  });

  test('have each plural form that their language uses for whole numbers', () => {
    for (const { language, texts } of [...others, { language: 'en', texts: english }]) {
      const forms = formsOf(language);
      for (const [key, text] of texts) {
        for (const { keys, isPlural, name } of partsOf(parse(text)).choices) {
          assert.ok(keys.includes('other'), `${language}: ${key} has no other`);
          if (!isPlural) continue;
          // A number such as =1 covers the form that only it has.
          const given = keys.includes('=1') && formsOf(language).includes('one') ? [...keys, 'one'] : keys;
          const missing = forms.filter((form) => !given.includes(form));
          assert.deepEqual(missing, [], `${language}: ${key}, ${name}`);
        }
      }
    }
  });

  test('are translated: no text of another language is the English sentence', () => {
    for (const { language, texts } of others) {
      const same = [...texts].filter(([key, text]) => /\w \w+ \w/.test(text) && text === english.get(key));
      assert.deepEqual(
        same.map(([key]) => key).filter((key) => !key.endsWith('Placeholder')),
        [],
        language,
      );
    }
  });

  test('have no quotation marks of programs, which ICU takes for an escape, and no spaces at their ends', () => {
    for (const { language, texts } of [...others, { language: 'en', texts: english }]) {
      const wrong = [...texts].filter(([, text]) => /['"]|^\s|\s$|\s\s/.test(text));
      assert.deepEqual(wrong, [], language);
    }
  });

  test('say in English card fields what the package for pages says', async () => {
    // Its types are those of a browser.
    const { englishTexts } = (await import(new URL('../sdk/browser/src/texts.ts', import.meta.url).href)) as {
      readonly englishTexts: object;
    };
    assert.deepEqual(card, englishTexts);
  });
});

const filled = (text: string, values: Record<string, string | number>, locale: string): string =>
  fill(compiledMessage(text) as unknown as Template, values, locale);

describe('a message', () => {
  test('chooses the plural form of its language', () => {
    const polish = '{n, plural, one {# plik} few {# pliki} many {# plików} other {# pliku}}';
    assert.deepEqual(
      [1, 2, 5, 22, 112].map((n) => filled(polish, { n }, 'pl')),
      ['1 plik', '2 pliki', '5 plików', '22 pliki', '112 plików'],
    );
    assert.equal(filled('{n, plural, =1 {per day} other {every # days}}', { n: 1 }, 'en'), 'per day');
    assert.equal(filled('{n, plural, one {# day} other {# days}}', { n: 1_500 }, 'de'), '1.500 days');
  });

  test('keeps a value as it is, also with the signs of a message in it', () => {
    assert.equal(filled('Pay {name}', { name: '{name} $& <b>' }, 'en'), 'Pay {name} $& <b>');
    assert.equal(filled('Pay {name}', {}, 'en'), 'Pay {name}');
    assert.equal(filled('{k, select, a {A {name}} other {B {name}}}', { k: 'x', name: 'Ada' }, 'en'), 'B Ada');
  });

  test('isolates values of another direction in Arabic, and has the digits of prices', () => {
    assert.equal(filled('إلى {name}', { name: 'Acme' }, 'ar'), 'إلى \u2068Acme\u2069');
    assert.equal(filled('{n, plural, few {# أيام} other {# يوم}}', { n: 3 }, 'ar'), '\u20683\u2069 أيام');
  });

  test('writes a price with its currency in one piece in Arabic', () => {
    assert.match(amountText(4900, 'usd', 'ar'), /US\$\u200e/);
    assert.equal(amountText(4900, 'eur', 'de').replaceAll('\u00a0', ' '), '49,00 €');
    assert.doesNotMatch(amountText(4900, 'usd', 'fr'), /\u200e/);
  });

  test('cannot format numbers or dates itself, and reports what is no message', () => {
    for (const text of [
      '{n, number}',
      '{n, selectordinal, other {#}}',
      '{n, plural, offset:1 other {#}}',
      '{n',
      '{}',
    ]) {
      assert.throws(() => compiledMessage(text), text);
    }
  });
});

describe('the locale', () => {
  test('is that of the session or link, then that of the browser, then that of the company, then English', () => {
    assert.equal(chosenLocale({ asked: 'fr', header: 'de-AT,de;q=0.9', company: 'it' }), 'fr');
    assert.equal(chosenLocale({ header: 'de-AT,de;q=0.9', company: 'it' }), 'de-AT');
    assert.equal(chosenLocale({ header: 'fi,de;q=0.2,es;q=0.7', company: 'it' }), 'es');
    assert.equal(chosenLocale({ header: 'fi,zh-CN;q=0.5', company: 'it' }), 'it');
    assert.equal(chosenLocale({ asked: 'tlh', header: '*' }), 'en');
    assert.equal(chosenLocale({ header: 'de;q=0,en-GB;q=0.1' }), 'en-GB');
  });

  test('has the texts of its country, and nothing of a tag that is no language or country', () => {
    assert.deepEqual(['pt', 'pt-BR', 'pt-AO', 'pt-pt', 'zh-Hans-CN', 'english', ''].map(languageOf), [
      'pt-BR',
      'pt-BR',
      'pt-PT',
      'pt-PT',
      undefined,
      undefined,
      undefined,
    ]);
    assert.equal(localeOfTag('DE-at-1996-u-nu-thai'), 'de-AT');
    assert.equal(localeOfTag('es-419'), 'es-419');
    assert.equal(localeOfTag('de"><script>'), undefined);
    assert.equal(localeOfTag('x'.repeat(100_000)), undefined);
  });
});
