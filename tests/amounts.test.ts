import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { amountText, readAmount, readPercentage } from '../dashboard/src/amounts.ts';
import { money, shortMoney } from '../dashboard/src/format.ts';
import { currencies, decimalsOf } from '../server/platform/currencies.ts';

/** What is typed into a money field of the dashboard, and how amounts are shown. */

const accepted: readonly (readonly [currency: string, text: string, amount: number])[] = [
  ['usd', '12.50', 1250],
  ['usd', '12,50', 1250],
  ['usd', '5,00', 500],
  ['usd', '12,5', 1250],
  ['usd', '12.5', 1250],
  ['usd', '12', 1200],
  ['usd', '1234', 123_400],
  ['usd', '0.05', 5],
  ['usd', '0,05', 5],
  ['usd', '0', 0],
  ['usd', ' 12.50 ', 1250],
  ['usd', '1,234.50', 123_450],
  ['usd', '1.234,50', 123_450],
  ['usd', '1 234,50', 123_450],
  ['usd', '1 234.50', 123_450],
  ['usd', '1\u00a0234,50', 123_450],
  ['usd', '1\u202f234,50', 123_450],
  ['usd', "1'234.50", 123_450],
  ['usd', '1’234.50', 123_450],
  ['usd', '1 234', 123_400],
  ['usd', '1,234,567', 123_456_700],
  ['usd', '1.234.567', 123_456_700],
  ['usd', '1.234.567,8', 123_456_780],
  ['usd', '999,999.99', 99_999_999],
  ['USD', '12,50', 1250],
  ['usd', '.5', 50],
  ['usd', '.50', 50],
  ['usd', ',50', 50],
  ['usd', '$12', 1200],
  ['usd', '$ 12.50', 1250],
  ['usd', '$.5', 50],
  ['usd', '12$', 1200],
  ['usd', '12.50 usd', 1250],
  ['usd', 'USD 1,234.50', 123_450],
  ['usd', 'US$12', 1200],
  ['usd', '$12 USD', 1200],
  ['eur', '€12,50', 1250],
  ['eur', '12,50 €', 1250],
  ['eur', '€ 1.234,50', 123_450],
  ['eur', '12 EUR', 1200],
  ['gbp', '£12', 1200],
  ['cad', '$12', 1200],
  ['cad', 'CA$12', 1200],
  ['sek', '12 kr', 1200],
  ['jpy', '¥1,500', 1500],
  ['kwd', 'KWD 1.250', 1250],
  [' jpy ', '1500', 1500],
  ['jpy', '1500', 1500],
  ['jpy', '1,500', 1500],
  ['jpy', '1.500', 1500],
  ['jpy', '1 500', 1500],
  ['kwd', '1.234', 1234],
  ['kwd', '12.5', 12_500],
  ['kwd', '0,005', 5],
  ['kwd', '1,234.567', 1_234_567],
  ['kwd', '1.234,567', 1_234_567],
  ['kwd', '1 234,567', 1_234_567],
  ['kwd', '1.234.567', 1_234_567_000],
];

const refused: readonly (readonly [currency: string, text: string, problem: string])[] = [
  ['usd', '1,234', '“1,234” could mean 1234.00 or 1.23. Enter one of these instead.'],
  ['usd', '1.234', '“1.234” could mean 1234.00 or 1.23. Enter one of these instead.'],
  ['usd', '12,345', '“12,345” could mean 12345.00 or 12.34. Enter one of these instead.'],
  ['kwd', '1,234', '“1,234” could mean 1234.000 or 1.234. Enter one of these instead.'],
  ['usd', '0,123', 'USD has 2 decimals. Enter an amount, for example 12.50.'],
  ['usd', '12.3456', 'USD has 2 decimals. Enter an amount, for example 12.50.'],
  ['usd', '1,234.567', 'USD has 2 decimals. Enter an amount, for example 12.50.'],
  ['usd', '1 234,567', 'USD has 2 decimals. Enter an amount, for example 12.50.'],
  ['kwd', '1.2345', 'KWD has 3 decimals. Enter an amount, for example 12.500.'],
  ['jpy', '12.50', 'JPY has no decimals. Enter a whole amount, for example 1250.'],
  ['jpy', '12,5', 'JPY has no decimals. Enter a whole amount, for example 1250.'],
  ['jpy', '1,500.00', 'JPY has no decimals. Enter a whole amount, for example 1250.'],
  ...[
    '',
    ' ',
    '.',
    ',',
    '12.',
    '12,',
    '$',
    'usd',
    '$-5',
    '12 apples',
    'x12',
    '-5',
    '+5',
    '5-',
    '1e3',
    '12..50',
    '12,50,',
    '1,23,456',
    '12,34.50',
    '1234,567.00',
    '0,123,456',
    '1 23',
    '1  234',
    "1'234 567",
    '1,234.567,89',
    '1.234,567.89',
    '１２',
    '١٢',
    'twelve',
    '99999999999999999999',
  ].map((text) => ['usd', text, 'Enter an amount, for example 12.50.'] as const),
  ['eur', '$12', 'This amount is in EUR, not in $. Enter it without a sign, for example 12.50.'],
  ['usd', '€12,50', 'This amount is in USD, not in €. Enter it without a sign, for example 12.50.'],
  ['usd', '12 EUR', 'This amount is in USD, not in EUR. Enter it without a sign, for example 12.50.'],
  ['usd', '€12 USD', 'This amount is in USD, not in €. Enter it without a sign, for example 12.50.'],
  ['jpy', '$12', 'This amount is in JPY, not in $. Enter it without a sign, for example 1250.'],
  ['usd', '$1,234', '“1,234” could mean 1234.00 or 1.23. Enter one of these instead.'],
  ['usd', '.123', 'USD has 2 decimals. Enter an amount, for example 12.50.'],
  ['jpy', '.5', 'JPY has no decimals. Enter a whole amount, for example 1250.'],
  ['kwd', 'x', 'Enter an amount, for example 12.500.'],
  ['jpy', 'x', 'Enter an amount, for example 1250.'],
];

describe('an amount that is typed', () => {
  for (const [currency, text, amount] of accepted) {
    it(`“${text}” is ${amount} in ${currency.trim()}`, () => assert.deepEqual(readAmount(text, currency), { amount }));
  }
  for (const [currency, text, problem] of refused) {
    it(`“${text}” is refused in ${currency}`, () => assert.deepEqual(readAmount(text, currency), { problem }));
  }

  it('is the amount that was shown for editing, in every currency', () => {
    for (const currency of currencies.keys()) {
      fc.assert(
        fc.property(fc.integer({ min: 0, max: 10 ** 12 }), (amount) => {
          assert.deepEqual(readAmount(amountText(amount, currency), currency), { amount });
        }),
        { numRuns: 50 },
      );
    }
  });

  it('in the form of each country is that amount or refused, never another one', () => {
    const locales = fc.constantFrom('en-US', 'en-GB', 'de-DE', 'fr-FR', 'de-CH', 'es-ES', 'pl-PL', 'pt-BR', 'sv-SE');
    const currency = fc.constantFrom(...currencies.keys());
    const amounts = fc.oneof(fc.integer({ min: 0, max: 10 ** 6 }), fc.integer({ min: 0, max: 10 ** 12 }));
    let refusals = 0;
    fc.assert(
      fc.property(locales, currency, amounts, (locale, code, amount) => {
        const decimals = decimalsOf(code);
        const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
        const text = new Intl.NumberFormat(locale, digits).format(amount / 10 ** decimals);
        const reading = readAmount(text, code);
        if (reading.amount === undefined) refusals += 1;
        else assert.equal(reading.amount, amount, `${text} ${code}`);
        // Only three decimals after a comma look like thousands.
        if (reading.amount === undefined) assert.match(text, /^[1-9]\d{0,2},\d{3}$/);
      }),
      { numRuns: 5_000 },
    );
    assert.ok(refusals < 250, `${refusals} refusals`);
  });

  it('is whole units without a comma or point; one or two digits after a mark are decimals', () => {
    fc.assert(
      fc.property(fc.nat(10 ** 9), fc.nat(99), fc.constantFrom('.', ','), (units, cents, mark) => {
        assert.equal(readAmount(`${units}`, 'usd').amount, units * 100);
        const text = `${units}${mark}${String(cents).padStart(2, '0')}`;
        assert.equal(readAmount(text, 'usd').amount, units * 100 + cents);
      }),
    );
  });
});

describe('a percentage that is typed', () => {
  for (const [text, percentage] of [
    ['10', 10],
    ['12.5', 12.5],
    ['12,5', 12.5],
    ['12,25', 12.25],
    ['100', 100],
    ['1', 1],
    ['12,5 %', 12.5],
    ['12.5%', 12.5],
  ] as const) {
    it(`“${text}” is ${percentage}`, () => assert.deepEqual(readPercentage(text), { amount: percentage }));
  }
  for (const text of ['', '0', '0.5', '0,99', '101', '1,000', '1.000', '12.345', '-5', 'x', '100.01', '5 000']) {
    it(`“${text}” is refused`, () => {
      assert.deepEqual(readPercentage(text), { problem: 'Enter a percentage from 1 to 100, for example 12.5.' });
    });
  }
});

describe('an amount that is shown', () => {
  for (const [amount, currency, text, short, typed] of [
    [1250, 'usd', '$12.50', '$12.5', '12.50'],
    [1500, 'jpy', '¥1,500', '¥1.5K', '1500'],
    [1250, 'kwd', 'KWD\u00a01.250', 'KWD\u00a01.3', '1.250'],
    [5, 'usd', '$0.05', '$0.1', '0.05'],
    [5, 'kwd', 'KWD\u00a00.005', 'KWD\u00a00', '0.005'],
    [0, 'jpy', '¥0', '¥0', '0'],
    [99_999_999, 'usd', '$999,999.99', '$1M', '999999.99'],
    // Intl shows no decimals of these, which would hide a part of the amount.
    [125_000, 'huf', 'HUF\u00a01,250.00', 'HUF\u00a01.3K', '1250.00'],
    [125_000, 'clp', 'CLP\u00a0125,000', 'CLP\u00a0125K', '125000'],
  ] as const) {
    it(`${amount} ${currency} is ${text}`, () => {
      assert.equal(money(amount, currency), text);
      assert.equal(shortMoney(amount, currency), short);
      assert.equal(amountText(amount, currency), typed);
    });
  }

  it('is shown while the code of the currency is still being typed', () => {
    for (const code of ['', 'u', 'us', 'usdx', '1$2']) assert.equal(money(1250, code), '12.50');
  });
});

describe('the table of currencies', () => {
  it('has the decimals of ISO 4217', () => {
    const without = [...currencies].filter(([, decimals]) => decimals === 0).map(([code]) => code);
    const three = [...currencies].filter(([, decimals]) => decimals === 3).map(([code]) => code);
    assert.equal(without.join(' '), 'bif clp djf gnf isk jpy kmf krw pyg rwf ugx vnd vuv xaf xof xpf');
    assert.equal(three.join(' '), 'bhd iqd jod kwd lyd omr tnd');
    assert.equal(currencies.size, 155);
  });
});
