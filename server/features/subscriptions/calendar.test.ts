import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { slowDates } from '../../../tests/support/wall-calendar.ts';
import { type BillingCycle, billingDate, firstDateAfter, monthsLater, shortestPeriodMs } from './calendar.ts';

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
  it('with an anchor begin on the anchor date nearest to start + interval, the earlier of two equally near', () => {
    for (const [start, cycle, first, second] of [
      ['2026-01-15', month(1, 1), '2026-02-01', '2026-03-01'], // 14 days before 15 Feb, and 14 after it
      ['2028-01-15', month(1, 1), '2028-02-01', '2028-03-01'],
      ['2026-01-15', month(1, 16), '2026-02-16', '2026-03-16'],
      ['2026-01-15', month(1, 14), '2026-02-14', '2026-03-14'],
      ['2026-01-15', month(1, 20), '2026-02-20', '2026-03-20'],
      ['2026-01-15', month(1, 31), '2026-02-28', '2026-03-31'],
      ['2026-01-20', month(1, 1), '2026-03-01', '2026-04-01'],
      ['2026-01-31', month(1, 1), '2026-03-01', '2026-04-01'],
      ['2026-01-31', month(1, 15), '2026-02-15', '2026-03-15'],
      ['2026-01-31', month(1), '2026-02-28', '2026-03-31'],
      ['2026-02-15', month(1, 1), '2026-03-01', '2026-04-01'],
      ['2026-12-31', month(1, 1), '2027-02-01', '2027-03-01'],
      ['2026-01-15', month(3, 1), '2026-04-01', '2026-07-01'],
      ['2026-01-20', month(3, 1), '2026-05-01', '2026-08-01'],
      ['2026-01-15', month(12, 16), '2027-01-16', '2028-01-16'],
    ] as const) {
      const found = dates(`${start}T00:00:00Z`, cycle, 3);
      assert.deepEqual(found, [start, first, second], `${start}, anchor ${cycle.anchor_day}`);
    }
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

describe('every start of four years, every anchor, every interval of up to a year', () => {
  const dayMs = 86_400_000;
  const startDay = Date.UTC(2027, 0, 1, 9);
  const anchors = Array.from({ length: 31 }, (_, index) => index + 1);
  const starts = Array.from({ length: 1461 }, (_, index) => startDay + index * dayMs);

  it('has a first period of 13 days at least, and one that is half a month off the interval at most', () => {
    const shortest = new Map<number, number>();
    for (const start of starts) {
      for (let count = 1; count <= 12; count += 1) {
        const wholeDays = (monthsLater(start, count) - start) / dayMs;
        for (const anchor of anchors) {
          const days = (billingDate(start, month(count, anchor), 1) - start) / dayMs;
          if (Math.abs(days - wholeDays) > 16) assert.fail(`${days} days instead of ${wholeDays}, anchor ${anchor}`);
          shortest.set(count, Math.min(shortest.get(count) ?? days, days));
        }
      }
    }
    assert.equal(shortest.get(1), 13);
    for (const [count, days] of shortest)
      assert.ok(days * dayMs >= shortestPeriodMs(month(count)), `${count}: ${days}`);
  });

  it('has no anchor date nearer to start + interval than the first renewal, and none as near before it', () => {
    for (const start of starts) {
      const whole = monthsLater(start, 1);
      for (const anchor of anchors) {
        const offset = billingDate(start, month(1, anchor), 1) - whole;
        const isAnchorDate = (ms: number): boolean => {
          const date = new Date(ms).getUTCDate();
          return date === anchor || (date < anchor && new Date(ms + dayMs).getUTCDate() === 1);
        };
        const nearer = Math.abs(offset) - (offset > 0 ? 0 : dayMs);
        for (let ms = whole - nearer; ms < whole + Math.abs(offset); ms += dayMs) {
          if (isAnchorDate(ms)) assert.fail(`${new Date(start).toISOString()}, anchor ${anchor}`);
        }
      }
    }
  });

  it('continues by whole intervals on the anchor day, from any date before', () => {
    for (const start of starts.filter((_, index) => index % 7 === 0)) {
      for (const anchor of anchors) {
        const first = new Date(billingDate(start, month(1, anchor), 1));
        for (const n of [2, 3, 13, 14]) {
          const found = new Date(billingDate(start, month(1, anchor), n));
          const lastDay = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + n, 0)).getUTCDate();
          assert.equal(found.getUTCDate(), Math.min(anchor, lastDay));
          assert.equal(found.getUTCMonth(), (first.getUTCMonth() + n - 1) % 12);
        }
      }
    }
  });
});

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
