import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  afterEdit,
  checkCvc,
  checkExpiry,
  checkNumber,
  digitsOf,
  expiryDigits,
  formatExpiry,
  formatNumber,
  ruleFor,
} from '../../sdk/browser/src/cards.ts';
import { readCard } from '../../server/vault/read-card.ts';

/** What the card fields know of numbers, dates and codes, without a browser. */

test('a number is grouped as its brand prints it', () => {
  const shown = (number: string): string => formatNumber(number, ruleFor(number, true));
  assert.equal(shown('4242424242424242'), '4242 4242 4242 4242');
  assert.equal(shown('42424'), '4242 4');
  assert.equal(shown('378282246310005'), '3782 822463 10005');
  assert.equal(shown('36227206271667'), '3622 720627 1667');
  assert.equal(shown('3622720627166712'), '3622 7206 2716 6712');
  assert.equal(shown('6200000000000000003'), '6200 0000 0000 0000 003');
});

test('the first digits determine the brand', () => {
  const brands = {
    '4': 'visa',
    '51': 'mastercard',
    '2221': 'mastercard',
    '2720': 'mastercard',
    '2721': 'unknown',
    '34': 'amex',
    '6011': 'discover',
    '65': 'discover',
    '36': 'diners',
    '3528': 'jcb',
    '62': 'unionpay',
    '6759': 'maestro',
    '9': 'unknown',
    '': 'unknown',
  };
  for (const [digits, brand] of Object.entries(brands)) assert.equal(ruleFor(digits, true).brand, brand, digits);
});

test('a live number needs its check digit and the length of its brand', () => {
  assert.equal(checkNumber('', true), 'numberRequired');
  assert.equal(checkNumber('4242', true), 'numberIncomplete');
  assert.equal(checkNumber('424242424242424', true), 'numberIncomplete');
  assert.equal(checkNumber('4242424242424241', true), 'numberInvalid');
  assert.equal(checkNumber('4242424242424242', true), undefined);
  assert.equal(checkNumber('4222222222222', true), undefined);
  assert.equal(checkNumber('378282246310005', true), undefined);
  assert.equal(checkNumber('55555555555544440', true), 'numberInvalid');
});

test('a sandbox takes any 12 to 19 digits and a code of 3 or 4', () => {
  assert.equal(checkNumber('11111111111', false), 'numberIncomplete');
  for (const length of [12, 15, 16, 19]) assert.equal(checkNumber('4'.repeat(length), false), undefined);
  assert.equal(checkNumber('4'.repeat(20), false), 'numberInvalid');
  for (const cvc of ['123', '1234']) assert.equal(checkCvc(cvc, ruleFor('4', false)), undefined);
});

test('the code has as many digits as the brand prints', () => {
  assert.equal(checkCvc('', ruleFor('4', true)), 'cvcRequired');
  assert.equal(checkCvc('12', ruleFor('4', true)), 'cvcIncomplete');
  assert.equal(checkCvc('1234', ruleFor('4', true)), 'cvcInvalid');
  assert.equal(checkCvc('123', ruleFor('34', true)), 'cvcIncomplete');
  assert.equal(checkCvc('1234', ruleFor('34', true)), undefined);
});

test('the card fields accept exactly the numbers and codes that the service accepts', () => {
  const start = fc.constantFrom(
    '30',
    '34',
    '35',
    '36',
    '38',
    '4',
    '50',
    '51',
    '56',
    '59',
    '60',
    '6011',
    '62',
    '81',
    '9',
  );
  const digits = (minLength: number, maxLength: number) =>
    fc.string({ unit: fc.constantFrom(...'0123456789'), minLength, maxLength });
  const card = fc.tuple(start, digits(8, 18), digits(3, 4), fc.boolean());
  const check = ([first, rest, cvc, live]: [string, string, string, boolean]): void => {
    const number = `${first}${rest}`;
    const rule = ruleFor(number, live);
    const ofFields = [checkNumber(number, live) && 'card.number', checkCvc(cvc, rule) && 'card.cvc'].filter(Boolean);
    const read = readCard({ number, cvc, exp_month: '12', exp_year: '2040' }, live ? 'live' : 'sandbox', 0);
    assert.deepEqual(ofFields, 'problems' in read ? read.problems.map(({ field }) => field) : [], number);
    if ('brand' in read) assert.equal(rule.brand, read.brand, number);
  };
  fc.assert(fc.property(card, check), { numRuns: 3_000 });
});

test('an expiry date is read from all that people type, paste and fill in', () => {
  const readings = {
    '1': '1',
    '5': '05 / ',
    '12': '12 / ',
    '1/': '01 / ',
    '1230': '12 / 30',
    '12/30': '12 / 30',
    '5/30': '05 / 30',
    '12 / 2030': '12 / 30',
    '122030': '12 / 30',
    '12203': '12 / 203',
    '2030-05': '05 / 30',
    '2030-12': '12 / 30',
    '١٢/٣٠': '12 / 30',
    '': '',
  };
  for (const [text, shown] of Object.entries(readings)) assert.equal(formatExpiry(expiryDigits(text)), shown, text);
});

test('a card is good until the end of its month', () => {
  const today = { year: 2030, month: 6 };
  assert.equal(checkExpiry('0630', today), undefined);
  assert.equal(checkExpiry('0530', today), 'expiryPast');
  assert.equal(checkExpiry('1229', today), 'expiryPast');
  assert.equal(checkExpiry('1330', today), 'expiryInvalid');
  assert.equal(checkExpiry('0030', today), 'expiryInvalid');
  assert.equal(checkExpiry('12', today), 'expiryIncomplete');
  assert.equal(checkExpiry('', today), 'expiryRequired');
});

test('the caret stays behind the digit it was behind', () => {
  const notation = { digits: digitsOf, format: (digits: string) => formatNumber(digits, ruleFor(digits, true)) };
  // `|` is the caret: before the browser's edit, after it, and as the field then shows it.
  const edits: [before: string, edited: string, inputType: string, shown: string][] = [
    ['4242|', '42425|', 'insertText', '4242 5|'],
    ['42|42 4242', '429|42 4242', 'insertText', '429|4 2424 2'],
    ['4242 |4242', '4242| 4242', 'insertText', '4242 |4242'],
    ['4242 |4242', '4242|4242', 'deleteContentBackward', '424|4 242'],
    ['4242| 4242', '4242|4242', 'deleteContentForward', '4242| 242'],
    ['4242 4|', '4242 |', 'deleteContentBackward', '4242|'],
    ['|', '4242-4242-4242-4242|', 'insertFromPaste', '4242 4242 4242 4242|'],
    ['4242 4242|', '|', 'deleteContentBackward', '|'],
  ];
  const bare = (text: string): string => text.replace('|', '');
  for (const [before, edited, inputType, shown] of edits) {
    const edit = { text: bare(edited), caret: edited.indexOf('|') };
    const shownEdit = afterEdit(edit, bare(before), inputType, notation);
    assert.deepEqual(shownEdit, { text: bare(shown), caret: shown.indexOf('|') }, `${before} → ${edited}`);
  }
});
