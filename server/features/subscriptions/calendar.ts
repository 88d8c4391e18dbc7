/**
 * When a subscription is billed. Every date is computed from the start and the anchor, never from the date before it: so
 * 31 January is followed by 28 February and then by 31 March.
 */

export interface BillingCycle {
  readonly interval: 'day' | 'month';
  readonly interval_count: number;
  readonly anchor_day: number | 'signup_date';
}

const dayMs = 86_400_000;

/** The day of the month, or its last one where the month is shorter; at the time of day of `timeMs`. */
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

/** The same day of a later month, or its last one where that is shorter. */
export function monthsLater(ms: number, months: number): number {
  return dayOfMonth(monthIndexOf(ms) + months, new Date(ms).getUTCDate(), ms);
}

/** The nth date: 0 is the start itself, which is the first charge; 1 is the first renewal. */
export function billingDate(startMs: number, cycle: BillingCycle, n: number): number {
  if (n === 0) return startMs;
  if (cycle.interval === 'day') return startMs + n * cycle.interval_count * dayMs;
  const startDay = new Date(startMs).getUTCDate();
  const anchor = cycle.anchor_day === 'signup_date' ? startDay : cycle.anchor_day;
  const firstMonth = firstRenewalMonth(startMs, cycle.interval_count, startDay, anchor);
  return dayOfMonth(firstMonth + (n - 1) * cycle.interval_count, anchor, startMs);
}

/** The month of the last anchor date that is after the start and not after start + interval. */
function firstRenewalMonth(startMs: number, months: number, startDay: number, anchor: number): number {
  const startMonth = monthIndexOf(startMs);
  // 28 February is the anchor date of an anchor on the 31st: such a start is a regular date itself.
  if (Math.min(anchor, lastDayOf(startMonth)) === startDay) return startMonth + months;
  const endMs = dayOfMonth(startMonth + months, startDay, startMs);
  const endMonth = startMonth + months;
  return dayOfMonth(endMonth, anchor, startMs) <= endMs ? endMonth : endMonth - 1;
}

/** The number of the first date that is later than a moment. */
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
