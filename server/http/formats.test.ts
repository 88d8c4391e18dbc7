import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import Format from 'typebox/format';
import { rounds } from '../../tests/support/random.ts';
import { documentedPattern, type TextFormatName, textFormats } from './formats.ts';

/** What each format takes and refuses; the pattern beside it decides alike, except where it is said to be wider. */
const cases: Readonly<Record<TextFormatName, { takes: string[]; refuses: string[]; patternTakes?: string[] }>> = {
  'plain-text': {
    takes: ['', 'tea', 'a < b', '<3', '<<', 'a <', '1<2<3', '< b>', 'two\nlines <'],
    refuses: ['<b>', 'x</b>', '<!-- -->', '<<a', 'a\n<B', '<3 and <i'],
  },
  'not-blank': { takes: ['a', ' a ', '\n.'], refuses: ['', ' ', '\t\n\u00a0'] },
  phone: {
    takes: ['+15551234567', '+1 (555) 123-4567', '+49 30 1234567', '+1234567', '+123456789012345', '+1555123456. '],
    refuses: [
      '15551234567',
      '+0555123456',
      '+123456',
      '+1234567890123456',
      '+1555x234567',
      '+',
      '+1 555',
      '+ 15551234567',
    ],
  },
  'us-phone': { takes: ['+15551234567'], refuses: ['+1555123456', '+155512345678', '+25551234567', '15551234567'] },
  currency: { takes: ['usd', 'eur', 'jpy'], refuses: ['USD', 'us', 'dollar', ''], patternTakes: ['zzz'] },
  country: { takes: ['US', 'DE'], refuses: ['us', 'USA', ''], patternTakes: ['QQ'] },
  'tax-id': {
    takes: ['DE123456789', 'DE 123 456 789', 'CHE-123.456.789 MWST', '12-3456789', '12.345.678/0001-90'],
    refuses: ['', ' 12', '12 ', 'evil.example/12', '12--34', '１２３４'],
    patternTakes: ['none', 'DE12345', '1'],
  },
  locale: {
    takes: ['de', 'de-AT', 'pt-BR', 'es-419', 'ar'],
    refuses: ['DE', 'de_AT', 'de-at', 'german', 'tlh', ''],
    patternTakes: ['xx', 'fi-FI'],
  },
  tag: { takes: ['vip', 'a b', 'é'], refuses: ['', ' vip', 'vip ', 'a,b', ','] },
  'code-prefix': { takes: ['', 'TEA-', 'a_1'], refuses: ['TEA ', 'é', 'a.b'] },
  color: { takes: ['#0a7d5c', '#FFFFFF'], refuses: ['red', '#fff', '#0a7d5cff', '#0a7d5g'] },
  slug: { takes: ['tea-house', '2026'], refuses: ['', 'Tea', '-tea', 'tea-', 'tea--pot', 'tea_pot', 'té', '..'] },
  sku: { takes: ['tea-pot_6'], refuses: ['', 'Tea', 'tea pot', 'té'] },
};

describe('a text format', () => {
  for (const [name, { takes, refuses, patternTakes = [] }] of Object.entries(cases)) {
    const expression = new RegExp(textFormats[name as TextFormatName].pattern, 'u');
    const decide = (values: readonly string[]) =>
      values.map((value) => ({ value, format: Format.Test(name, value), pattern: expression.test(value) }));

    it(`${name} takes and refuses what its pattern does`, () => {
      for (const { value, ...by } of decide(takes)) assert.deepEqual(by, { format: true, pattern: true }, value);
      for (const { value, ...by } of decide(refuses)) assert.deepEqual(by, { format: false, pattern: false }, value);
      for (const { value, ...by } of decide(patternTakes)) {
        assert.deepEqual(by, { format: false, pattern: true }, value);
      }
    });

    it(`${name} takes nothing that its pattern refuses`, () => {
      const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'<>a/! +1(.-,\n') }));
      const holds = fc.property(text, (value) => !Format.Test(name, value) || expression.test(value));
      fc.assert(holds, { numRuns: rounds(200) });
    });
  }

  it('is refused in a time that grows no faster than the text', () => {
    const hostile = ['<'.repeat(20_000), '+1' + ' '.repeat(20_000), 'a'.repeat(20_000) + '<a', ' '.repeat(20_000)];
    const patterns = [...Object.values(textFormats).map(({ pattern }) => pattern), visiblePattern];
    const startedAt = performance.now();
    for (const pattern of patterns) for (const text of hostile) new RegExp(pattern, 'u').test(`${text}<a,`);
    assert.ok(performance.now() - startedAt < 1000);
  });
});

const visiblePattern = documentedPattern('plain-text', '\\S') ?? '';

describe('text that must be visible and plain', () => {
  const expression = new RegExp(visiblePattern, 'u');
  it('is known by its pattern', () => {
    const text = fc.string({ unit: fc.constantFrom(...'<>a/! \n1\u00a0') });
    const holds = fc.property(text, (value) => {
      const isLine = /\S/.test(value) && !/[\x00-\x1f]/.test(value);
      assert.equal(expression.test(value), isLine && !/<[a-z/!]/i.test(value), JSON.stringify(value));
    });
    fc.assert(holds, { numRuns: rounds(1000) });
  });
});
