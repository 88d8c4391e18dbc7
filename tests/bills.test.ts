import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cyclesOf, joinFree } from '../dashboard/src/bills.ts';

const runsOf = (amounts: readonly number[]): string[] =>
  joinFree(
    amounts.map((amount, index) => ({ amount, cycle: index + 1 })),
    ({ amount }) => amount,
  ).map((run) => `${cyclesOf(run)}: ${run.first.amount}`);

test('joins free payments that follow each other, and no others', () => {
  assert.deepEqual(runsOf([0, 0, 0]), ['1–3: 0']);
  assert.deepEqual(runsOf([0, 0, 900, 900, 0]), ['1–2: 0', '3: 900', '4: 900', '5: 0']);
  assert.deepEqual(runsOf([900, 0, 0]), ['1: 900', '2–3: 0']);
  assert.deepEqual(runsOf([]), []);
});
