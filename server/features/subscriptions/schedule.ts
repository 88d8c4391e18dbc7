import { type BillingCycle, billingDate, firstDateAfter, isLastDayOfMonth, shortestPeriodMs } from './calendar.ts';
import { dayMs } from '../../platform/durations.ts';
import { coversCycle, discountOf, termsOf } from '../coupons/service.ts';
import type { SubscriptionRow } from './subscription.ts';
import { withTerms } from './terms.ts';

/** Computes which cycle is billed when, and for how much. Billing and previews both use it. */

export interface PlannedBill {
  readonly cycle: number;
  readonly atMs: number;
}

/** The billing cycle of its columns. */
export function cycleOf(row: Pick<SubscriptionRow, 'interval' | 'interval_count' | 'anchor_day'>): BillingCycle {
  return {
    interval: row.interval,
    interval_count: row.interval_count,
    anchor_day: row.anchor_day ?? 'signup_date',
  };
}

type Dates = Pick<SubscriptionRow, 'start_at' | 'base_at' | 'interval' | 'interval_count' | 'anchor_day'> & {
  readonly restarted_at?: Date | null;
};

/** If the sign-up day counts, a base on the last day of a short month represents a later day. */
function datedCycle(row: Dates): BillingCycle {
  const cycle = cycleOf(row);
  if (row.anchor_day !== null || row.interval === 'day') return cycle;
  const startDay = (row.restarted_at ?? row.start_at).getUTCDate();
  const baseDay = row.base_at.getUTCDate();
  const standsForLater = startDay > baseDay && isLastDayOfMonth(row.base_at.getTime());
  return standsForLater ? { ...cycle, anchor_day: startDay } : cycle;
}

export function regularDate(row: Dates, number: number): number {
  return billingDate(row.base_at.getTime(), datedCycle(row), number);
}

/** Returns the number of the first regular date later than `afterMs`. */
function firstRegularDateAfter(row: Dates, afterMs: number): number {
  return firstDateAfter(row.base_at.getTime(), datedCycle(row), afterMs);
}

/** No cycle begins on the end date or later. */
export function isEnded({ end_date }: Pick<SubscriptionRow, 'end_date'>, atMs: number): boolean {
  return end_date !== null && atMs >= Date.parse(`${end_date}T00:00:00Z`);
}

type Course = Dates & Pick<SubscriptionRow, 'current_cycle' | 'next_number' | 'end_date' | 'billing_cycles'>;

/** No cycle begins after the end date or beyond `billing_cycles`. */
function mayBegin(row: Course, { cycle, atMs }: PlannedBill): boolean {
  return !isEnded(row, atMs) && (row.billing_cycles === 0 || cycle <= row.billing_cycles);
}

/** Whether no other cycle may begin at this time. */
export const isLastCycle = (row: SubscriptionRow, atMs: number): boolean =>
  row.renewal_ended_at !== null || !mayBegin(row, { cycle: row.current_cycle + 1, atMs });

/** Returns the cycle that is billed next, if any. After the renewal has ended there is none, even if something else changes. */
export function nextCharge(row: SubscriptionRow): PlannedBill | undefined {
  return row.renewal_ended_at ? undefined : plannedCharges(row, 1)[0];
}

export function plannedCharges(row: Course, count: number): PlannedBill[] {
  const planned = Array.from({ length: count }, (_, index) => ({
    cycle: row.current_cycle + 1 + index,
    atMs: regularDate(row, row.next_number + index),
  }));
  const end = planned.findIndex((bill) => !mayBegin(row, bill));
  return end === -1 ? planned : planned.slice(0, end);
}

export interface Amounts {
  readonly subtotal: number;
  readonly discount: number;
  readonly total: number;
}

type Price = Pick<SubscriptionRow, 'amount' | 'one_time_amount' | 'coupon'> &
  Partial<Pick<SubscriptionRow, 'current_cycle' | 'renewal_items'>>;

/** The setup fee is part of the first cycle only. Products that were added to a renewal have no discount. */
export function amountsOf(row: Price, cycle: number): Amounts {
  const price = row.amount + (cycle === 1 ? row.one_time_amount : 0);
  const terms = row.coupon && termsOf(row.coupon);
  const discount = terms && coversCycle(terms, cycle) ? discountOf(terms, price) : 0;
  const subtotal = price + addedTo(row, cycle).reduce((sum, { total }) => sum + (total ?? 0), 0);
  return { subtotal, discount, total: subtotal - discount };
}

/** The products that were added to the order of this cycle, which is the next one. */
export function addedTo(
  { current_cycle, renewal_items }: Partial<Pick<SubscriptionRow, 'current_cycle' | 'renewal_items'>>,
  cycle: number,
): NonNullable<SubscriptionRow['renewal_items']> {
  return current_cycle !== undefined && cycle === current_cycle + 1 ? (renewal_items ?? []) : [];
}

/**
 * The subscription as its next cycle begins: with the change that is scheduled for it. A new billing cycle counts from the
 * date of that renewal.
 */
export function forNextCycle(row: SubscriptionRow): SubscriptionRow {
  const change = row.scheduled_change;
  if (!change) return row;
  const next = { ...withTerms(row, change), scheduled_change: null };
  return change.cycle ? restarted(next, regularDate(row, row.next_number)) : next;
}

/** The next cycle begins at this time, and later dates are counted from there as from a new start. */
export function restarted(row: SubscriptionRow, atMs: number): SubscriptionRow {
  const at = new Date(atMs);
  return { ...row, base_at: at, restarted_at: at, next_number: 0 };
}

/** The next cycle begins at this time. A regular date keeps the dates; any other is a new start. */
export function beginningAt(row: SubscriptionRow, atMs: number): SubscriptionRow {
  const number = firstRegularDateAfter(row, atMs - 1);
  return regularDate(row, number) === atMs ? { ...row, next_number: number } : restarted(row, atMs);
}

/** When a cycle begins on this day: at its regular date, if that is on the day. */
export function momentOn(row: SubscriptionRow, day: string): number {
  const startMs = Date.parse(`${day}T00:00:00Z`);
  const regularMs = regularDate(row, firstRegularDateAfter(row, startMs - 1));
  return regularMs < startMs + dayMs ? regularMs : startMs;
}

export interface UpcomingCharge extends PlannedBill, Amounts {}

/** The next charges if nothing else changes. */
export function upcomingCharges(row: SubscriptionRow, count: number): UpcomingCharge[] {
  const next = forNextCycle(row);
  return plannedCharges(next, count).map((bill) => ({ ...bill, ...amountsOf(next, bill.cycle) }));
}

/** Starts the next cycle: its period runs to the next regular date. */
export function withCycleBegun(row: SubscriptionRow): SubscriptionRow {
  return {
    ...row,
    current_cycle: row.current_cycle + 1,
    current_period_start: new Date(regularDate(row, row.next_number)),
    current_period_end: new Date(regularDate(row, row.next_number + 1)),
    next_number: row.next_number + 1,
  };
}

/** Skips dates that have passed: the current period becomes the regular one that contains `nowMs`. */
export function withPassedDatesLeftOut(row: SubscriptionRow, nowMs: number): SubscriptionRow {
  const begun = row.current_cycle > 0;
  if (!begun && row.base_at.getTime() > nowMs) return row;
  const number = firstRegularDateAfter(row, nowMs);
  if (number <= row.next_number) return row;
  if (!begun) return { ...row, next_number: number };
  return {
    ...row,
    next_number: number,
    current_period_start: new Date(regularDate(row, number - 1)),
    current_period_end: new Date(regularDate(row, number)),
  };
}

/** Sets the next due time of an active subscription: its next bill, or its completion when the last period ends. */
export function withNextDue(row: SubscriptionRow): SubscriptionRow {
  const next = nextCharge(row);
  return { ...row, due_at: next ? new Date(next.atMs) : (row.current_period_end ?? row.start_at) };
}

/**
 * Restarts the dates from the start of the current period. Nothing is charged now; the next date is the first one in
 * the future. A renewal may have been paid days after its date, so a date within half an interval after that payment
 * is skipped too.
 */
export function withCadence(
  row: SubscriptionRow,
  cycle: BillingCycle,
  nowMs: number,
  chargedMs: number | undefined,
): SubscriptionRow {
  const changedCycle = {
    interval: cycle.interval,
    interval_count: cycle.interval_count,
    anchor_day: cycle.anchor_day === 'signup_date' ? null : cycle.anchor_day,
  };
  const begun = row.current_period_start;
  if (!begun) return { ...row, ...changedCycle };
  const rebased = { ...row, ...changedCycle, base_at: begun };
  const soonestMs = chargedMs === undefined ? nowMs : Math.max(nowMs, chargedMs + shortestPeriodMs(cycle) - 1);
  const next_number = firstRegularDateAfter(rebased, soonestMs);
  const moved = { ...rebased, next_number };
  const current_period_end = new Date(regularDate(moved, next_number));
  // A charge in flight sets the next due time when its outcome is recorded, and a pause ends when it was to end.
  const dated = { ...moved, current_period_end };
  return row.due_at === null || row.status === 'paused' ? dated : withNextDue(dated);
}
