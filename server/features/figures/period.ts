import { invalidField } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { dayMs } from '../../platform/durations.ts';

/** Periods of whole days, as dates. The time zone is the concern of the database. */

export const ranges = ['today', '7d', '30d', '90d', '12m', 'month', 'quarter', 'year'] as const;
type Range = (typeof ranges)[number];
export const intervals = ['day', 'week', 'month'] as const;
export type Interval = (typeof intervals)[number];

const msOf = (date: string): number => Date.parse(`${date}T00:00:00Z`);
const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
export const daysLater = (date: string, days: number): string => dateOf(msOf(date) + days * dayMs);
const daysBetween = (from: string, to: string): number => Math.round((msOf(to) - msOf(from)) / dayMs);

const startOfMonth = (date: string, step = 1): string => {
  const [year = 0, month = 1] = date.split('-').map(Number);
  return dateOf(Date.UTC(year, month - 1 - ((month - 1) % step), 1));
};
/** Weeks start on Monday. */
const startOfWeek = (date: string): string => daysLater(date, -((new Date(msOf(date)).getUTCDay() + 6) % 7));

const firstDay: Readonly<Record<Range, (today: string) => string>> = {
  today: (today) => today,
  '7d': (today) => daysLater(today, -6),
  '30d': (today) => daysLater(today, -29),
  '90d': (today) => daysLater(today, -89),
  '12m': (today) => daysLater(today, -364),
  month: (today) => startOfMonth(today),
  quarter: (today) => startOfMonth(today, 3),
  year: (today) => startOfMonth(today, 12),
};

export interface Period {
  readonly from: string;
  readonly to: string;
  readonly length: number;
}

export interface Wanted {
  readonly range?: Range;
  readonly from?: string;
  readonly to?: string;
}

/** A custom period ends today at the latest. Both days are included. */
export function periodOf({ range = '30d', from, to }: Wanted, today: string): Period {
  const last = to !== undefined && to < today ? to : today;
  const first = from ?? (to === undefined ? firstDay[range](today) : daysLater(last, -29));
  const length = daysBetween(first, last) + 1;
  if (length < 1 || length > limits.statisticsDays) {
    throw invalidField('from', `must be at most ${limits.statisticsDays} days before to, and not after to or today`);
  }
  return { from: first, to: last, length };
}

/** As many days, immediately before. */
export const previousOf = ({ from, length }: Period): Period => ({
  from: daysLater(from, -length),
  to: daysLater(from, -1),
  length,
});

/** The intervals that give a readable number of points; the first one is the best. */
export function intervalsFor(length: number): readonly Interval[] {
  if (length <= 14) return ['day'];
  if (length <= 45) return ['day', 'week'];
  if (length <= 180) return ['week', 'day', 'month'];
  return ['month', 'week', 'day'];
}

export interface Bucket {
  readonly from: string;
  readonly to: string;
}

const startOf: Readonly<Record<Interval, (date: string) => string>> = {
  day: (date) => date,
  week: startOfWeek,
  month: (date) => startOfMonth(date),
};
const nextOf: Readonly<Record<Interval, (start: string) => string>> = {
  day: (start) => daysLater(start, 1),
  week: (start) => daysLater(start, 7),
  month: (start) => startOfMonth(daysLater(start, 31)),
};

/** The parts of a period. The first and the last may be shorter than the interval. */
export function bucketsOf({ from, to }: Period, interval: Interval): Bucket[] {
  const buckets: Bucket[] = [];
  for (let start = from; start <= to; ) {
    const next = nextOf[interval](startOf[interval](start));
    const last = daysLater(next, -1);
    buckets.push({ from: start, to: last < to ? last : to });
    start = next;
  }
  return buckets;
}
