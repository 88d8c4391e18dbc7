import { dayMs } from '../../server/platform/durations.ts';
import { isoDay } from './format.ts';

/** Days as texts such as 2026-02-11, for the calendar. */

export interface Range {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

const at = (day: string): number => Date.parse(`${day}T00:00:00Z`);

export const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(at(text));

export const addDays = (day: string, count: number): string => isoDay(new Date(at(day) + count * dayMs));

export const monthOf = (day: string): string => day.slice(0, 7);

/** The same day of another month, or its last day. */
export function addMonths(day: string, count: number): string {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  const last = new Date(Date.UTC(year, month + count, 0));
  return isoDay(new Date(Date.UTC(last.getUTCFullYear(), last.getUTCMonth(), Math.min(date, last.getUTCDate()))));
}

const title = new Intl.DateTimeFormat('en-US', { timeZone: 'UTC', month: 'long', year: 'numeric' });
export const monthTitle = (day: string): string => title.format(at(day));

/** The weeks from Sunday on in which the month has days. */
export function weeksOf(month: string): string[][] {
  const first = `${month}-01`;
  const start = addDays(first, -new Date(at(first)).getUTCDay());
  const end = addMonths(first, 1);
  const weeks: string[][] = [];
  for (let day = start; day < end; day = addDays(day, 7)) {
    weeks.push(Array.from({ length: 7 }, (_, index) => addDays(day, index)));
  }
  return weeks;
}

/** The first pick begins a period, the second one ends it. */
export function nextRange({ from, to }: Range, day: string): Range {
  if (!from || to) return { from: day, to: undefined };
  return day < from ? { from: day, to: from } : { from, to: day };
}
