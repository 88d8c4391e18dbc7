import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createdAtQuery, daysOf, hasDays, type Now } from '../dashboard/src/list-days.ts';

/** The date filters of lists: days of the company's time zone, as times for the API. */

const at = (iso: string, zone: string): Now => ({ ms: Date.parse(iso), zone });
const spanOf = (address: Record<string, string>, now: Now): unknown[] => {
  const query = createdAtQuery(daysOf(address, now), now.zone);
  return [query['created_at[gte]'], query['created_at[lt]']];
};

describe('a range of days', () => {
  it('begins and ends at midnight in the zone, also where the clocks change', () => {
    const cases: [zone: string, from: string, to: string, gte: string, lt: string][] = [
      ['UTC', '2026-02-11', '2026-02-11', '2026-02-11T00:00:00.000Z', '2026-02-12T00:00:00.000Z'],
      ['Europe/Berlin', '2026-03-29', '2026-03-29', '2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z'],
      ['Europe/Berlin', '2026-10-25', '2026-10-25', '2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z'],
      ['America/New_York', '2026-11-01', '2026-11-30', '2026-11-01T04:00:00.000Z', '2026-12-01T05:00:00.000Z'],
      ['Asia/Kolkata', '2026-01-01', '2026-12-31', '2025-12-31T18:30:00.000Z', '2026-12-31T18:30:00.000Z'],
      ['Pacific/Kiritimati', '2026-01-01', '2026-01-01', '2025-12-31T10:00:00.000Z', '2026-01-01T10:00:00.000Z'],
    ];
    for (const [zone, from, to, gte, lt] of cases) {
      assert.deepEqual(spanOf({ from, to }, at('2026-06-01T12:00:00Z', zone)), [gte, lt], `${zone} ${from}`);
    }
  });

  it('can be open, and is ignored if it is no day', () => {
    const now = at('2026-06-01T12:00:00Z', 'UTC');
    assert.deepEqual(spanOf({ from: '2026-02-11' }, now), ['2026-02-11T00:00:00.000Z', undefined]);
    for (const address of [{ to: 'soon' }, { date: 'last_week' }, { from: '2026-02-31' }, { from: '2026' }]) {
      assert.deepEqual(spanOf(address, now), [undefined, undefined]);
      assert.equal(hasDays(address), false, 'no chip shows it');
    }
    for (const address of [{ to: '2026-02-11' }, { date: 'today' }]) assert.ok(hasDays(address));
  });
});

describe('a preset', () => {
  it('moves with the time of the company, in its zone', () => {
    const [auckland, honolulu] = ['Pacific/Auckland', 'Pacific/Honolulu'];
    const iso = '2027-01-01T10:30:00Z';
    assert.deepEqual(spanOf({ date: 'today' }, at(iso, auckland)), [
      '2026-12-31T11:00:00.000Z',
      '2027-01-01T11:00:00.000Z',
    ]);
    assert.deepEqual(spanOf({ date: 'today' }, at(iso, honolulu)), [
      '2027-01-01T10:00:00.000Z',
      '2027-01-02T10:00:00.000Z',
    ]);
    const utc = at('2027-01-15T10:30:00Z', 'UTC');
    const expected = {
      last_7_days: ['2027-01-09', '2027-01-16'],
      last_30_days: ['2026-12-17', '2027-01-16'],
      this_month: ['2027-01-01', '2027-01-16'],
      last_month: ['2026-12-01', '2027-01-01'],
      this_year: ['2027-01-01', '2027-01-16'],
    };
    for (const [date, days] of Object.entries(expected)) {
      assert.deepEqual(
        spanOf({ date }, utc),
        days.map((day) => `${day}T00:00:00.000Z`),
        date,
      );
    }
  });
});
