import type { BillingCycle } from '../../server/features/subscriptions/calendar.ts';

/** Computes dates day by day, as with a wall calendar. */
export function slowDates(startMs: number, cycle: BillingCycle, count: number): number[] {
  const dayMs = 86_400_000;
  const time = startMs % dayMs;
  const midnight = startMs - time;
  const found = [startMs];
  if (cycle.interval === 'day') {
    for (let day = 1; found.length < count; day += 1) {
      if (day % cycle.interval_count === 0) found.push(startMs + day * dayMs);
    }
    return found;
  }
  const start = new Date(startMs);
  const anchor = cycle.anchor_day === 'signup_date' ? start.getUTCDate() : cycle.anchor_day;
  const isAnchorDate = (ms: number): boolean => {
    const tomorrow = new Date(ms + dayMs).getUTCDate();
    const today = new Date(ms).getUTCDate();
    return today === anchor || (tomorrow === 1 && today < anchor);
  };
  const monthsSince = (ms: number): number => {
    const date = new Date(ms);
    return (date.getUTCFullYear() - start.getUTCFullYear()) * 12 + date.getUTCMonth() - start.getUTCMonth();
  };
  // A whole interval after the start: the same day of the month, or the last day of a shorter one.
  let whole = midnight;
  while (monthsSince(whole) < cycle.interval_count) whole += dayMs;
  while (new Date(whole).getUTCDate() < start.getUTCDate() && new Date(whole + dayMs).getUTCDate() !== 1)
    whole += dayMs;
  // From there it checks one day earlier and later, then two, and so on, to the nearest anchor date.
  let away = 0;
  while (!isAnchorDate(whole - away) && !isAnchorDate(whole + away)) away += dayMs;
  const first = isAnchorDate(whole - away) ? whole - away : whole + away;
  for (let ms = midnight + dayMs; found.length < count; ms += dayMs) {
    const months = monthsSince(ms) - monthsSince(first);
    if (isAnchorDate(ms) && months >= 0 && months % cycle.interval_count === 0) found.push(ms + time);
  }
  return found;
}
