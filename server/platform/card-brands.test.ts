import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkNumber, ruleFor } from '../../sdk/browser/src/cards.ts';
import { brandNames, brandOf } from './card-brands.ts';

/** The numbers are made of the beginnings that networks issue; what follows does not matter. */
const filled = (beginning: string, length = 16): string => beginning.padEnd(length, '0');

const beginnings: Readonly<Record<string, readonly string[]>> = {
  Elo: ['401178', '401179', '438935', '504175', '506699', '506778', '509000', '509999', '636368', '650031', '655058'],
  Hipercard: ['384100', '384140', '606282', '637095', '637612'],
  Verve: ['506099', '506198', '507865', '650002', '650027'],
  RuPay: ['508500', '508999', '606985', '607984', '608001', '608500', '652150', '653149', '817290', '353800'],
  Mir: ['2200', '2204'],
  Troy: ['9792'],
  Dankort: ['5019'],
  UnionPay: ['620000', '622126', '629999', '8100', '8171'],
  Discover: ['6011', '644', '649', '650000', '653150', '659999'],
  Maestro: ['500000', '506698', '506779', '56', '5899', '6304', '6759', '67'],
  Mastercard: ['51', '55', '2221', '2229', '223', '2699', '2719', '2720'],
  Visa: ['4', '401177', '401180', '4242', '451415'],
  'American Express': ['34', '37'],
  'Diners Club': ['300', '305', '3095', '36', '38', '39', '384101'],
  JCB: ['3528', '3529', '353', '358', '353801'],
  '': ['1', '0', '7', '2205', '2220', '2721', '8172', '9791', '306'],
};

for (const [network, all] of Object.entries(beginnings)) {
  test(`knows the beginnings of ${network || 'no network'}`, () => {
    for (const beginning of all) assert.equal(brandOf(filled(beginning)).network, network, beginning);
  });
}

test('a network that the API does not name is unknown, and not the one whose range it lies in', () => {
  for (const number of [
    '4011780000000000',
    '5067000000000000',
    '6062820000000000',
    '6521500000000000',
    '2200000000000000',
  ]) {
    assert.equal(brandOf(number).name, 'unknown', number);
    assert.ok(brandOf(number).lengths.includes(16));
  }
  assert.deepEqual(
    [
      ...new Set(
        Object.values(beginnings)
          .flat()
          .map((one) => brandOf(filled(one)).name),
      ),
    ].toSorted(),
    [...brandNames.toSorted()],
  );
});

test('the card fields use the same table', () => {
  for (const all of Object.values(beginnings)) {
    for (const beginning of all) {
      const number = filled(beginning);
      const [rule, brand] = [ruleFor(number, true), brandOf(number)];
      assert.equal(rule.brand, brand.name);
      if (brand.lengths.length > 0) assert.deepEqual(rule.lengths, brand.lengths);
    }
  }
  // Elo numbers have 16 digits; a Visa of 13 digits exists.
  assert.equal(checkNumber('4011780000000', true), 'numberIncomplete');
});
