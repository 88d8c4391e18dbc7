import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NotedCall } from './health.ts';
import { type NotedOperation, notedOperations, refusedBy, rejectionAfter, unnamedRejection } from './rejections.ts';

const refused = { outcome: 'declined', failureCode: 'invalid_merchant_configuration' };
const named = { ...refused, rejection: 'The account has no euros.' };
const ofBank = { outcome: 'declined', failureCode: 'do_not_honor' };
const approved = { outcome: 'approved' };
const wrongKey = { ...refused, refusesCredentials: true };
const permission = { ...named, refusesCredentials: true };

const kept = (rejection: string | null, operation: NotedOperation) => ({
  rejection,
  rejected_operation: rejection === null ? null : operation,
});

const rows: readonly (readonly [what: string, before: string | null, call: NotedCall, after: string | null])[] = [
  ['a refusal that is named', null, named, named.rejection],
  ['a refusal that is not named', null, refused, unnamedRejection],
  ['another refusal', 'before', named, named.rejection],
  ['a decline by a bank', null, ofBank, null],
  ['a decline by a bank, after a refusal', 'before', ofBank, 'before'],
  ['one that was not sent', null, { ...refused, outcome: 'not_sent' }, null],
  ['one without an answer', 'before', { outcome: 'unknown' }, 'before'],
  ['an approved one', 'before', approved, null],
  ['a lookup of an approved one', 'before', { ...approved, isLookup: true }, 'before'],
  ['a lookup of a refused one', null, { ...named, isLookup: true }, null],
  ['a missing security code', null, { ...refused, wantsSecurityCode: true }, null],
  ['refused credentials', 'before', wrongKey, null],
  ['refused credentials that lack a permission', null, permission, named.rejection],
];

for (const operation of notedOperations) {
  describe(`after a ${operation}`, () => {
    for (const [what, rejection, call, after] of rows) {
      it(`${what}: ${after ?? 'nothing'} is kept`, () => {
        assert.deepEqual(rejectionAfter(kept(rejection, operation), operation, call), kept(after, operation));
      });
    }
  });
}

const before = 'before';
const others = notedOperations.filter((operation) => operation !== 'charge');

describe('a rejection of one kind of operation', () => {
  for (const operation of others) {
    it(`stays when a ${operation} is approved and charges are refused`, () => {
      assert.deepEqual(rejectionAfter(kept(before, 'charge'), operation, approved), kept(before, 'charge'));
    });

    it(`stays when a charge is approved and a ${operation} was refused`, () => {
      assert.deepEqual(rejectionAfter(kept(before, operation), 'charge', approved), kept(before, operation));
    });

    it(`of charges is not replaced by that of a ${operation}`, () => {
      assert.deepEqual(rejectionAfter(kept(before, 'charge'), operation, named), kept(before, 'charge'));
    });

    it(`of a ${operation} is replaced by that of a charge`, () => {
      assert.deepEqual(rejectionAfter(kept(before, operation), 'charge', named), kept(named.rejection, 'charge'));
    });
  }

  it('is replaced by that of the last operation that is no charge', () => {
    assert.deepEqual(rejectionAfter(kept(before, 'refund'), 'void', named), kept(named.rejection, 'void'));
  });
});

type Kept = Parameters<typeof refusedBy>[0];
const none: Kept = kept(null, 'charge');

const credentials: readonly (readonly [string, Kept, NotedOperation, NotedCall, boolean | undefined])[] = [
  ['a charge with a wrong key', none, 'charge', wrongKey, true],
  ['a charge without the permission', none, 'charge', permission, true],
  ['a lookup with a wrong key', none, 'charge', { outcome: 'unknown', refusesCredentials: true, isLookup: true }, true],
  ['a refund with a wrong key', none, 'refund', wrongKey, true],
  ['a refund without the permission', none, 'refund', permission, undefined],
  ['a verification without the permission', none, 'verification', permission, undefined],
  ['an approved charge', none, 'charge', approved, false],
  ['a charge that a bank declines', none, 'charge', ofBank, false],
  ['an approved refund', none, 'refund', approved, false],
  ['an approved charge while charges lack a permission', kept(before, 'charge'), 'charge', approved, false],
  ['an approved refund while charges lack a permission', kept(before, 'charge'), 'refund', approved, undefined],
  ['an approved refund while voids are refused', kept(before, 'void'), 'refund', approved, false],
  ['one without an answer', none, 'charge', { outcome: 'unknown' }, undefined],
];

for (const [what, row, operation, call, expected] of credentials) {
  const shows = expected === undefined ? 'nothing' : expected ? 'refused credentials' : 'accepted credentials';
  it(`${what} shows ${shows}`, () => {
    assert.equal(refusedBy(row, operation, call), expected);
  });
}
