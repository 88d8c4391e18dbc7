import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as fc from 'fast-check';
import { created, day, dayMs, moveTo, openScene, ordersOf, type Scene } from '../../../tests/support/billing.ts';
import { startTestService, type TestService } from '../../../tests/support/service.ts';
import { readSubscription } from '../../../tests/support/subscriptions.ts';
import { slowDates } from '../../../tests/support/wall-calendar.ts';
import { newId } from '../../platform/ids.ts';
import { type BillingCycle, billingDate, monthsLater, shortestPeriodMs } from './calendar.ts';
import { findSubscription, insertSubscription } from './queries.ts';
import { cycleOf, regularDate, withCadence, withCycleBegun, withNextDue, withPassedDatesLeftOut } from './schedule.ts';
import type { SubscriptionRow } from './subscription.ts';

/** Renewals on a day of the month other than the start's: after a change of the cadence, and across an upgrade. */

let service: TestService;
let at: Scene;
let template: SubscriptionRow;
before(async () => {
  service = await startTestService();
  at = await openScene(service);
  await moveTo(service, at.key, '2029-01-20T10:00:00.000Z');
  const { id } = await created(service, at, { billing_cycle: { interval: 'month', interval_count: 1, anchor_day: 1 } });
  const found = await findSubscription(service.db, at.company.id, id);
  assert.ok(found);
  template = found;
});
after(() => service.stop());

const months = fc.record({
  interval: fc.constant('month' as const),
  interval_count: fc.integer({ min: 1, max: 12 }),
  anchor_day: fc.oneof(fc.constant('signup_date' as const), fc.integer({ min: 1, max: 31 })),
});
const days = fc.record({
  interval: fc.constant('day' as const),
  interval_count: fc.integer({ min: 1, max: 60 }),
  anchor_day: fc.constant('signup_date' as const),
});
const anyStart = fc.integer({ min: Date.UTC(2027, 0, 1), max: Date.UTC(2029, 0, 1) });
const show = (ms: number): string => new Date(ms).toISOString();

function begun(startMs: number, cycle: BillingCycle, cycles: number): SubscriptionRow {
  const start = new Date(startMs);
  const anchor_day = cycle.anchor_day === 'signup_date' ? null : cycle.anchor_day;
  let row: SubscriptionRow = {
    ...template,
    interval: cycle.interval,
    interval_count: cycle.interval_count,
    anchor_day,
    start_at: start,
    base_at: start,
    next_number: 0,
    current_cycle: 0,
  };
  for (let n = 0; n < cycles; n += 1) row = withCycleBegun(row);
  return withNextDue(row);
}

describe('a change of the billing cycle', () => {
  it('bills on the first future date of the new cycle that is half an interval after the last charge', () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    const cycles = fc.integer({ min: 1, max: 5 });
    const any = fc.property(
      anyStart,
      months,
      fc.oneof(months, days),
      cycles,
      share,
      share,
      (start, from, to, n, paid, then) => {
        const row = begun(start, from, n);
        const [beganMs, endMs] = [row.current_period_start?.getTime() ?? 0, row.current_period_end?.getTime() ?? 0];
        // Paid some time after the period began, changed some time after that.
        const chargedMs = Math.floor(beganMs + paid ** 3 * (endMs - beganMs));
        const nowMs = Math.floor(chargedMs + then * (endMs - chargedMs));
        const moved = withCadence(row, to, nowMs, chargedMs);
        const nextMs = regularDate(moved, moved.next_number);
        assert.ok(nextMs > nowMs);
        assert.ok(nextMs - chargedMs >= shortestPeriodMs(to), `${show(chargedMs)} then ${show(nextMs)}`);
        if (to.interval === 'month') assert.ok(nextMs - chargedMs >= 13 * dayMs);
        assert.equal(moved.current_period_end?.getTime(), nextMs);
        assert.equal(moved.due_at?.getTime(), nextMs);
        assert.equal(moved.current_cycle, row.current_cycle);
        if (to.anchor_day === 'signup_date' && to.interval === 'month') return;
        const dates = slowDates(beganMs, to, moved.next_number + 2);
        assert.equal(nextMs, dates[moved.next_number], 'a date of the wall calendar from the start of the period');
        assert.equal(regularDate(moved, moved.next_number + 1), dates[moved.next_number + 1]);
        const sooner = dates.slice(1, moved.next_number).filter((date) => date > nowMs);
        assert.ok(
          sooner.every((date) => date - chargedMs < shortestPeriodMs(to)),
          'none that may be billed is left out',
        );
      },
    );
    fc.assert(any, { numRuns: 500 });
  });
});

/** The last anchor date that is after the start and not after start + interval: the rule before. */
function formerDate(startMs: number, { interval_count, anchor_day }: BillingCycle, n: number): number {
  const start = new Date(startMs);
  const anchor = Number(anchor_day);
  const dateIn = (month: number): number => {
    const last = new Date(Date.UTC(start.getUTCFullYear(), month + 1, 0)).getUTCDate();
    return Date.UTC(start.getUTCFullYear(), month, Math.min(anchor, last)) + (startMs % dayMs);
  };
  const wholeMonth = start.getUTCMonth() + interval_count;
  const regular = dateIn(start.getUTCMonth()) === startMs || dateIn(wholeMonth) <= monthsLater(startMs, interval_count);
  return dateIn((regular ? wholeMonth : wholeMonth - 1) + (n - 1) * interval_count);
}

/** As the program before the change left it in the database, in its nth period. */
function formerRow(startMs: number, cycle: BillingCycle, n: number): SubscriptionRow {
  const next = new Date(formerDate(startMs, cycle, n));
  return {
    ...begun(startMs, cycle, 1),
    id: newId(startMs),
    current_cycle: n,
    completed_cycles: n,
    next_number: n,
    current_period_start: n === 1 ? new Date(startMs) : new Date(formerDate(startMs, cycle, n - 1)),
    current_period_end: next,
    due_at: next,
  };
}

async function upgrade(): Promise<void> {
  const [file = ''] = globSync(fileURLToPath(new URL('../../migrations/*_anchor_days.sql', import.meta.url)));
  const statements = await readFile(file, 'utf8');
  await service.db.query(statements);
}

describe('an upgrade', () => {
  it('moves no date of a subscription from before it: every start day, anchor, interval and period', async () => {
    const rows: [SubscriptionRow, number[]][] = [];
    const begin = Date.UTC(2027, 0, 1, 9, 30, 15, 250);
    for (let index = 0; index < 730; index += 1) {
      const startMs = begin + index * dayMs;
      for (const step of [0, 7, 19]) {
        const anchor_day = ((index + step) % 31) + 1;
        const cycle = { interval: 'month', interval_count: ((index + step) % 12) + 1, anchor_day } as const;
        const n = (index % 3) + 1;
        rows.push([formerRow(startMs, cycle, n), [0, 1, 2, 3].map((more) => formerDate(startMs, cycle, n + more))]);
      }
    }
    await service.db.transaction(async (db) => {
      for (const [row] of rows) await insertSubscription(db, row);
    });
    const differ = rows.filter(
      ([row, dates]) => billingDate(row.base_at.getTime(), cycleOf(row), row.next_number) !== dates[0],
    );
    assert.ok(differ.length > 300, `the rules differ on ${differ.length} of these`);
    await upgrade();
    for (const [before, dates] of rows) {
      const row = await findSubscription(service.db, at.company.id, before.id);
      assert.ok(row);
      const found = [0, 1, 2, 3].map((more) => show(regularDate(row, row.next_number + more)));
      assert.deepEqual(found, dates.map(show), `${before.start_at.toISOString()}, anchor ${before.anchor_day}`);
      assert.deepEqual([row.due_at, row.current_period_end], [before.due_at, before.current_period_end]);
      // One that was paused or past due over two dates goes on with the third.
      const late = withPassedDatesLeftOut(row, dates[1] ?? 0);
      assert.equal(late.current_period_start?.getTime(), dates[1]);
      assert.equal(late.current_period_end?.getTime(), dates[2]);
    }
    await service.db.query('DELETE FROM subscriptions WHERE id = ANY($1::uuid[])', [rows.map(([row]) => row.id)]);
  });

  it('charges each cycle of such a subscription once, on the dates that were announced', async () => {
    const { id } = template;
    const startMs = template.start_at.getTime();
    const cycle = cycleOf(template);
    assert.equal(day((await readSubscription(service, id, at)).next_billing_at), '2029-03-01');
    const former = formerRow(startMs, cycle, 1);
    await service.db.query(
      'UPDATE subscriptions SET next_number = 1, base_at = start_at, current_period_end = $2, due_at = $2 WHERE id = $1',
      [id, former.due_at],
    );
    await upgrade();
    assert.equal(day((await readSubscription(service, id, at)).next_billing_at), '2029-02-01', 'as announced');
    await moveTo(service, at.key, '2029-04-02T00:00:00.000Z');
    const orders = (await ordersOf(service, at)).map(({ created_at, subscription_cycle }) => [
      subscription_cycle,
      day(created_at),
    ]);
    assert.deepEqual(orders, [
      [1, '2029-01-20'],
      [2, '2029-02-01'],
      [3, '2029-03-01'],
      [4, '2029-04-01'],
    ]);
  });

  it('leaves one that has not begun to the new rule', async () => {
    const body = await created(service, at, {
      start_date: '2029-05-20',
      billing_cycle: { interval: 'month', interval_count: 1, anchor_day: 1 },
    });
    await upgrade();
    const planned = await service.call('GET', `/v1/subscriptions/${body.id}/upcoming?count=3`, { key: at.key });
    assert.deepEqual(
      planned.body.data.map(({ date }: { date: string }) => day(date)),
      ['2029-05-20', '2029-07-01', '2029-08-01'],
    );
  });
});
