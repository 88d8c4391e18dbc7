import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { errorText, fieldSentence, moneySentence } from '../dashboard/src/error-texts.ts';

/** The errors that a merchant reads in the dashboard. */

test('an error at a field is a sentence that ends with a period', () => {
  for (const [message, expected] of [
    ['must be a URL, for example https://shop.example.com', 'Must be a URL, for example https://shop.example.com.'],
    ['is not your current password', 'This is not your current password.'],
    ['is an archived plan. Choose an active plan', 'This is an archived plan. Choose an active plan.'],
    ['A team member with this email address already exists.', 'A team member with this email address already exists.'],
    ['issuer must be known', 'Issuer must be known.'],
  ] as const) {
    assert.equal(fieldSentence(message), expected);
  }
});

test('an error of an amount has its limit in money, not in the smallest unit', () => {
  for (const [message, currency, expected] of [
    ['Must be at most 99999999.', 'usd', 'Must be at most $999,999.99.'],
    ['Must be at most 99999999.', 'jpy', 'Must be at most ¥99,999,999.'],
    ['Must be at least 1.', 'eur', 'Must be at least €0.01.'],
    [
      'Must be at most 1250, the remaining balance of this order.',
      'kwd',
      'Must be at most KWD\u00a01.250, the remaining balance of this order.',
    ],
    ['Must not cost more than 1000000000000 in total.', 'usd', 'Must not cost more than $10,000,000,000.00 in total.'],
    ['This field is required.', 'usd', 'This field is required.'],
  ] as const) {
    assert.equal(moneySentence(message, currency), expected);
  }
});

test('an error of a whole form names the fields in words, and has no advice for programs', () => {
  const wrong = (field: string, message: string) => ({ field, message });
  assert.equal(
    errorText('2 fields are invalid.', [
      wrong('end_date', 'must be after the start date'),
      wrong('items[0].product_id', 'is required'),
    ]),
    'End date must be after the start date. Product ID is required.',
  );
  assert.equal(errorText('Not sent. Repeat the request with the same idempotency key.', []), 'Not sent.');
  assert.equal(errorText('The card was declined.', []), 'The card was declined.');
});

test('the texts of the dashboard that ask to correct a field end with a period', async () => {
  const folder = new URL('../dashboard/src/texts/', import.meta.url);
  const files = await readdir(folder);
  const modules = await Promise.all(files.map((name) => import(new URL(name, folder).href) as Promise<object>));
  const found = modules.flatMap(textsIn).filter((text) => /^(Enter|This field|Must|Cannot)\b/.test(text));
  assert.ok(found.length > 5, `${found.length} texts`);
  assert.deepEqual(
    found.filter((text) => !text.endsWith('.')),
    [],
  );
});

/** Every text without parts that are filled in. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(textsIn) : [];
}
