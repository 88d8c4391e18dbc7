import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  changesOf,
  checkCovered,
  editedFields,
  mergeDrafts,
  namesInBody,
  nested,
  typedMoney,
  typedTime,
} from '../dashboard/src/edits.ts';
import { editing } from '../dashboard/src/texts/editing.ts';

/** What a form of the dashboard sends, and what it does with the changes of others. */

interface Draft {
  name: string;
  amount: string;
  currency: string;
  active: boolean;
  tags: string[];
}

const fields = editedFields<Draft>({
  name: 'Name',
  price: {
    label: 'Price',
    of: ['amount', 'currency'],
    path: 'pricing.amount',
    show: ({ amount, currency }) => typedMoney(amount, currency),
  },
  active: 'Active',
  tags: 'Tags',
});
const [name, price, active, tags] = fields;
const base: Draft = { name: 'Cup', amount: '10.00', currency: 'usd', active: true, tags: [] };
const bodyOf = ({ amount, currency, ...rest }: Draft) => ({ ...rest, pricing: { amount, currency } });

describe('the changes of others', () => {
  it('are taken over in fields that the user has not changed', () => {
    const merged = mergeDrafts(fields, base, { ...base, name: 'Mug' }, { ...base, active: false });
    assert.deepEqual(merged, { draft: { ...base, name: 'Mug', active: false }, taken: [active], conflicts: [] });
  });

  it('are in conflict if the user has changed the same field to another value', () => {
    const merged = mergeDrafts(fields, base, { ...base, name: 'Mug' }, { ...base, name: 'Bowl' });
    assert.deepEqual(merged, { draft: { ...base, name: 'Mug' }, taken: [], conflicts: [name] });
    const same = mergeDrafts(fields, base, { ...base, name: 'Mug' }, { ...base, name: 'Mug' });
    assert.deepEqual([same.taken, same.conflicts], [[], []]);
  });

  it('are in conflict as a whole if a field has several parts', () => {
    const merged = mergeDrafts(fields, base, { ...base, amount: '12.00' }, { ...base, currency: 'eur' });
    assert.deepEqual([merged.taken, merged.conflicts], [[], [price]]);
    assert.deepEqual([merged.draft.amount, merged.draft.currency], ['12.00', 'usd']);
  });

  it('never change what the user has typed, and are never lost elsewhere', () => {
    const drafts = fc.record({
      name: fc.constantFrom('Cup', 'Mug', 'Bowl'),
      amount: fc.constantFrom('10.00', '12.00', '15.00'),
      currency: fc.constantFrom('usd', 'eur'),
      active: fc.boolean(),
      tags: fc.subarray(['a', 'b']),
    });
    fc.assert(
      fc.property(drafts, drafts, drafts, (first, mine, theirs) => {
        const { draft } = mergeDrafts(fields, first, mine, theirs);
        for (const { of } of fields) {
          const part = (of_: Draft): string => JSON.stringify(of.map((one) => of_[one]));
          const isTyped = part(mine) !== part(first);
          assert.equal(part(draft), part(isTyped ? mine : theirs));
        }
      }),
    );
  });

  it('are shown as people read them', () => {
    assert.deepEqual(
      [name, price, active, tags].map((field) => field?.show({ ...base, amount: '12,5', tags: ['a', 'b'] })),
      ['“Cup”', '$12.50', editing.on, '“a, b”'],
    );
    assert.equal(name?.show({ ...base, name: ' ' }), editing.empty);
    assert.equal(price?.show({ ...base, amount: 'ten' }), '“ten”');
    assert.deepEqual(['2026-11-18T09:30', ''].map(typedTime), ['Nov 18, 2026, 9:30 AM UTC', editing.empty]);
  });

  it('are found in the audit log by the name that the field has in the API', () => {
    assert.ok(price);
    assert.deepEqual(namesInBody(price, bodyOf, base, { ...base, amount: '12.00', name: 'Mug' }), ['pricing']);
  });

  it('cannot go unnoticed in a field that a form forgot', () => {
    assert.doesNotThrow(() => checkCovered(fields, base));
    assert.throws(() => checkCovered(fields.slice(1), base), /name/);
  });
});

describe('a request', () => {
  it('has only what was changed', () => {
    assert.deepEqual(changesOf(bodyOf(base), bodyOf({ ...base, name: 'Mug' })), { name: 'Mug' });
    assert.deepEqual(changesOf(bodyOf(base), bodyOf(base)), {});
  });

  it('has settings that are changed one by one inside of their object', () => {
    const changes = { 'emails.enabled': true, 'emails.reply_to': null, name: 'Mug' };
    assert.deepEqual(nested(changes), { emails: { enabled: true, reply_to: null }, name: 'Mug' });
  });
});
