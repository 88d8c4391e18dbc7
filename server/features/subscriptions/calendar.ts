/**
 * Computes the billing dates of a subscription. Every date is computed from the start and the anchor, never from the
 * previous date: so 31 January is followed by 28 February and then by 31 March.
 */
import { dayMs } from '../../platform/durations.ts';

export interface BillingCycle {
  readonly interval: 'day' | 'month';
  readonly interval_count: number;
  readonly anchor_day: number | 'signup_date';
}

/** Returns this day of the month, or the last day of a shorter month, at the time of day of `timeMs`. */
function dayOfMonth(monthIndex: number, day: number, timeMs: number): number {
  const date = new Date(0);
  date.setUTCFullYear(0, monthIndex, Math.min(day, lastDayOf(monthIndex)));
  return date.getTime() + (((timeMs % dayMs) + dayMs) % dayMs);
}

/** Months are counted from the year 0, so that adding them never needs a carry. */
function lastDayOf(monthIndex: number): number {
  const date = new Date(0);
  date.setUTCFullYear(0, monthIndex + 1, 0);
  return date.getUTCDate();
}

function monthIndexOf(ms: number): number {
  const date = new Date(ms);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

export function isLastDayOfMonth(ms: number): boolean {
  return new Date(ms).getUTCDate() === lastDayOf(monthIndexOf(ms));
}

/** Returns the same day of a later month, or the last day of a shorter month. */
export function monthsLater(ms: number, months: number): number {
  return dayOfMonth(monthIndexOf(ms) + months, new Date(ms).getUTCDate(), ms);
}

/** Returns the nth date: 0 is the start, with the first charge; 1 is the first renewal. */
export function billingDate(startMs: number, cycle: BillingCycle, n: number): number {
  if (n === 0) return startMs;
  if (cycle.interval === 'day') return startMs + n * cycle.interval_count * dayMs;
  const anchor = cycle.anchor_day === 'signup_date' ? new Date(startMs).getUTCDate() : cycle.anchor_day;
  const firstMonth = firstRenewalMonth(startMs, cycle.interval_count, anchor);
  return dayOfMonth(firstMonth + (n - 1) * cycle.interval_count, anchor, startMs);
}

/**
 * Returns the month of the anchor date nearest to start + interval; the earlier of two equally near. Every charge is
 * in full, so the first renewal must not follow the start by a few days: for a monthly plan this rule leaves at least
 * 13 days.
 */
function firstRenewalMonth(startMs: number, months: number, anchor: number): number {
  const wholeMs = monthsLater(startMs, months);
  const distanceMs = (month: number): number => Math.abs(dayOfMonth(month, anchor, startMs) - wholeMs);
  const month = monthIndexOf(wholeMs);
  return [month - 1, month, month + 1].reduce((best, other) => (distanceMs(other) < distanceMs(best) ? other : best));
}

/**
 * About half an interval: a change of the cadence never charges in full sooner than this after the previous charge.
 */
export function shortestPeriodMs({ interval, interval_count }: BillingCycle): number {
  return interval_count * dayMs * (interval === 'day' ? 0.5 : 13);
}

/** Returns the number of the first date later than `afterMs`. */
export function firstDateAfter(startMs: number, cycle: BillingCycle, afterMs: number): number {
  let low = 1;
  let high = 1;
  while (billingDate(startMs, cycle, high) <= afterMs) high *= 2;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (billingDate(startMs, cycle, middle) > afterMs) high = middle;
    else low = middle + 1;
  }
  return low;
}
