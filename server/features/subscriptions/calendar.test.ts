import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { slowDates } from '../../../tests/support/wall-calendar.ts';
import { type BillingCycle, billingDate, firstDateAfter } from './calendar.ts';

const month = (interval_count: number, anchor_day: BillingCycle['anchor_day'] = 'signup_date'): BillingCycle => ({
  interval: 'month',
  interval_count,
  anchor_day,
});
const days = (interval_count: number): BillingCycle => ({ interval: 'day', interval_count, anchor_day: 'signup_date' });

function dates(start: string, cycle: BillingCycle, count: number): string[] {
  return Array.from({ length: count }, (_, n) =>
    new Date(billingDate(Date.parse(start), cycle, n)).toISOString().slice(0, 10),
  );
}

describe('billing dates', () => {
  it('of a 31st fall on the last day of shorter months, and come back', () => {
    const found = dates('2026-01-31T10:00:00Z', month(1), 5);
    assert.deepEqual(found, ['2026-01-31', '2026-02-28', '2026-03-31', '2026-04-30', '2026-05-31']);
  });

  it('know leap years', () => {
    assert.deepEqual(dates('2027-11-30T00:00:00Z', month(1), 5)[3], '2028-02-29');
    assert.deepEqual(dates('2028-02-29T00:00:00Z', month(12), 3), ['2028-02-29', '2029-02-28', '2030-02-28']);
  });

  it('with an anchor: 15 Jan, monthly, on the 1st: 1 Feb first; every three months: 1 Apr first', () => {
    assert.deepEqual(dates('2026-01-15T00:00:00Z', month(1, 1), 3), ['2026-01-15', '2026-02-01', '2026-03-01']);
    assert.deepEqual(dates('2026-01-15T00:00:00Z', month(3, 1), 3), ['2026-01-15', '2026-04-01', '2026-07-01']);
  });

  it('with an anchor later in the month begin in the same month', () => {
    assert.deepEqual(dates('2026-01-15T00:00:00Z', month(1, 20), 3), ['2026-01-15', '2026-01-20', '2026-02-20']);
  });

  it('of a start on the last day of a short month, with the 31st as anchor, are a whole interval apart', () => {
    assert.deepEqual(dates('2026-02-28T00:00:00Z', month(1, 31), 3), ['2026-02-28', '2026-03-31', '2026-04-30']);
    assert.deepEqual(dates('2026-02-28T00:00:00Z', month(3, 31), 2), ['2026-02-28', '2026-05-31']);
  });

  it('of days ignore the anchor', () => {
    assert.deepEqual(dates('2026-02-27T00:00:00Z', { ...days(7), anchor_day: 3 }, 3), [
      '2026-02-27',
      '2026-03-06',
      '2026-03-13',
    ]);
  });
});

const anyStart = fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2032, 11, 31) });
const anyCycle: fc.Arbitrary<BillingCycle> = fc.oneof(
  fc.record({
    interval: fc.constant('month' as const),
    interval_count: fc.integer({ min: 1, max: 60 }),
    anchor_day: fc.oneof(fc.constant('signup_date' as const), fc.integer({ min: 1, max: 31 })),
  }),
  fc.record({
    interval: fc.constant('day' as const),
    interval_count: fc.integer({ min: 1, max: 365 }),
    anchor_day: fc.constant('signup_date' as const),
  }),
);

describe('any cadence', () => {
  it('has the dates of a wall calendar', () => {
    fc.assert(
      fc.property(anyStart, anyCycle, (start, cycle) => {
        const count = cycle.interval_count > 12 ? 4 : 8;
        const fast = Array.from({ length: count }, (_, n) => billingDate(start, cycle, n));
        assert.deepEqual(fast, slowDates(start, cycle, count));
      }),
      { numRuns: 300 },
    );
  });

  it('never repeats a date, and each is at the time of day of the start', () => {
    fc.assert(
      fc.property(anyStart, anyCycle, fc.integer({ min: 0, max: 200 }), (start, cycle, n) => {
        const [one, next] = [billingDate(start, cycle, n), billingDate(start, cycle, n + 1)];
        assert.ok(next > one);
        assert.equal(next % 86_400_000, start % 86_400_000);
      }),
    );
  });

  it('finds the first date after a moment', () => {
    fc.assert(
      fc.property(anyStart, anyCycle, fc.integer({ min: 0, max: 4_000 }), (start, cycle, laterDays) => {
        const afterMs = start + laterDays * 86_400_000;
        const n = firstDateAfter(start, cycle, afterMs);
        assert.ok(billingDate(start, cycle, n) > afterMs);
        assert.ok(n === 1 || billingDate(start, cycle, n - 1) <= afterMs);
      }),
    );
  });
});
