import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { rateFor, shared, type TaxRate, taxesOf, taxOf } from './tax.ts';

const rate = (change: Partial<TaxRate> = {}): TaxRate => ({
  country: 'DE',
  region: null,
  category: null,
  name: 'VAT',
  percentage: 19,
  valid_from: '2020-01-01',
  valid_until: null,
  ...change,
});

describe('the rate of a line', () => {
  const rates = [
    rate(),
    rate({ category: 'Books', percentage: 7 }),
    rate({ region: 'Helgoland', percentage: 0 }),
    rate({ region: 'Helgoland', category: 'Books', percentage: 1 }),
    rate({ country: 'FR', percentage: 20, valid_from: '2021-01-01', valid_until: '2025-12-31' }),
    rate({ country: 'FR', percentage: 21, valid_from: '2026-01-01' }),
  ];
  const percentageOf = (country: string, region: string | null, category: string | null, day = '2026-02-11') =>
    rateFor(rates, { country, region }, category, day)?.percentage;

  it('is the most precise one of the place and the category', () => {
    assert.equal(percentageOf('DE', null, null), 19);
    assert.equal(percentageOf('DE', 'Bayern', 'Tea'), 19);
    assert.equal(percentageOf('DE', 'Bayern', 'books '), 7);
    assert.equal(percentageOf('DE', 'helgoland', 'Tea'), 0);
    assert.equal(percentageOf('DE', 'Helgoland', 'Books'), 1);
    assert.equal(percentageOf('IT', null, null), undefined);
  });

  it('is valid on its first and its last day, and on no day before or after', () => {
    const days = ['2020-12-31', '2021-01-01', '2025-12-31', '2026-01-01'];
    assert.deepEqual(
      days.map((day) => percentageOf('FR', null, null, day)),
      [undefined, 20, 20, 21],
    );
  });
});

describe('included tax', () => {
  it('rounds the net of each line to the even cent, and the tax is the rest', () => {
    assert.deepEqual(taxOf(rate(), [9800]), {
      name: 'VAT',
      percentage: 19,
      gross_amount: 9800,
      net_amount: 8235,
      tax_amount: 1565,
    });
    // 3 cents at 20% are 2.5 net: to the even cent.
    assert.deepEqual(
      [taxOf(rate({ percentage: 20 }), [3, 3]).net_amount, taxOf(rate({ percentage: 20 }), [6]).net_amount],
      [4, 5],
    );
    assert.deepEqual(
      taxesOf([
        { gross: 107, rate: rate({ percentage: 7 }) },
        { gross: 119, rate: rate() },
        { gross: 119, rate: rate() },
      ]).map(({ percentage, net_amount, tax_amount }) => [percentage, net_amount, tax_amount]),
      [
        [19, 200, 38],
        [7, 100, 7],
      ],
    );
  });

  it('never changes what was paid, with any lines and rates', () => {
    const line = fc.record({
      gross: fc.integer({ min: 0, max: 10 ** 10 }),
      percentage: fc.integer({ min: 0, max: 10_000 }),
    });
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 100 }), (lines) => {
        const taxes = taxesOf(
          lines.map(({ gross, percentage }) => ({ gross, rate: rate({ percentage: percentage / 100 }) })),
        );
        const sum = (of: (tax: (typeof taxes)[number]) => number): number =>
          taxes.reduce((total, tax) => total + of(tax), 0);
        assert.equal(
          sum((tax) => tax.net_amount + tax.tax_amount),
          lines.reduce((total, { gross }) => total + gross, 0),
        );
        for (const { net_amount, tax_amount } of taxes) assert.ok(net_amount >= 0 && tax_amount >= 0);
      }),
    );
  });

  it('is shared out without losing a cent, and to nothing that has no weight', () => {
    assert.deepEqual(shared(100, [1, 1, 1]), [34, 33, 33]);
    assert.deepEqual(shared(5, [0, 0]), [5, 0]);
    const weights = fc.array(fc.integer({ min: 0, max: 10 ** 9 }), { minLength: 1, maxLength: 100 });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 12 }), weights, (amount, parts) => {
        const shares = shared(amount, parts);
        assert.equal(
          shares.reduce((sum, share) => sum + share, 0),
          amount,
        );
        const hasWeight = parts.some((part) => part > 0);
        for (const [index, share] of shares.entries()) {
          assert.ok(share >= 0);
          if (hasWeight && parts[index] === 0) assert.equal(share, 0);
        }
      }),
    );
  });
});
