import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { NotedCall } from './health.ts';
import { rejectionAfter, unnamedRejection } from './rejections.ts';

const refused = { outcome: 'declined', failureCode: 'invalid_merchant_configuration' };
const named = { ...refused, rejection: 'The account has no euros.' };

const rows: readonly (readonly [what: string, before: string | null, call: NotedCall, after: string | null])[] = [
  ['a refusal that is named', null, named, named.rejection],
  ['a refusal that is not named', null, refused, unnamedRejection],
  ['another refusal', 'before', named, named.rejection],
  ['a decline by a bank', null, { outcome: 'declined', failureCode: 'do_not_honor' }, null],
  ['a decline by a bank, after a refusal', 'before', { outcome: 'declined', failureCode: 'do_not_honor' }, 'before'],
  ['a charge that was not sent', null, { ...refused, outcome: 'not_sent' }, null],
  ['a charge without an answer', 'before', { outcome: 'unknown' }, 'before'],
  ['an approved charge', 'before', { outcome: 'approved' }, null],
  ['a lookup of an approved charge', 'before', { outcome: 'approved', isLookup: true }, 'before'],
  ['a lookup of a refused charge', null, { ...named, isLookup: true }, null],
  ['a missing security code', null, { ...refused, wantsSecurityCode: true }, null],
  ['refused credentials', 'before', { ...refused, refusesCredentials: true }, null],
  ['refused credentials that lack a permission', null, { ...named, refusesCredentials: true }, named.rejection],
];

for (const [what, rejection, call, after] of rows) {
  it(`${what}: ${after ?? 'nothing'} is kept`, () => {
    assert.equal(rejectionAfter({ rejection }, call), after);
  });
}
