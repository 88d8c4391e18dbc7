import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addDays, addMonths, isDay, nextRange, weeksOf } from '../dashboard/src/calendar-days.ts';

test('a month has whole weeks from Sunday on', () => {
  const weeks = weeksOf('2026-02');
  assert.deepEqual([weeks.length, weeks[0]?.[0], weeks.at(-1)?.at(-1)], [4, '2026-02-01', '2026-02-28']);
  const leap = weeksOf('2028-02');
  assert.deepEqual([leap.length, leap[0]?.[0], leap.at(-1)?.at(-1)], [5, '2028-01-30', '2028-03-04']);
});

test('moves by days and months, also over the end of a year and into shorter months', () => {
  assert.equal(addDays('2026-12-31', 1), '2027-01-01');
  assert.equal(addMonths('2026-01-31', 1), '2026-02-28');
  assert.equal(addMonths('2026-01-15', -1), '2025-12-15');
  assert.deepEqual(['2026-02-11', '2026-13-01', '11.2.2026', ''].map(isDay), [true, false, false, false]);
});

test('the first pick begins a period and the second ends it, in either order', () => {
  const first = nextRange({ from: '2026-01-01', to: '2026-01-02' }, '2026-02-11');
  assert.deepEqual(first, { from: '2026-02-11', to: undefined });
  assert.deepEqual(nextRange(first, '2026-02-20'), { from: '2026-02-11', to: '2026-02-20' });
  assert.deepEqual(nextRange(first, '2026-02-01'), { from: '2026-02-01', to: '2026-02-11' });
  assert.deepEqual(nextRange(first, '2026-02-11'), { from: '2026-02-11', to: '2026-02-11' });
});
