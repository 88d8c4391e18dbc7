import { filled } from './dom.ts';

/** How often a subscription is charged, in words. */

export interface PeriodTexts {
  readonly perDay: string;
  readonly perDays: string;
  readonly perWeek: string;
  readonly perMonth: string;
  readonly perMonths: string;
  readonly perYear: string;
}

interface Period {
  readonly interval: 'day' | 'month';
  readonly interval_count: number;
}

export function periodText({ interval, interval_count: count }: Period, words: PeriodTexts): string {
  if (interval === 'day' && count === 7) return words.perWeek;
  if (interval === 'month' && count === 12) return words.perYear;
  if (count === 1) return interval === 'day' ? words.perDay : words.perMonth;
  return filled(interval === 'day' ? words.perDays : words.perMonths, { count });
}
