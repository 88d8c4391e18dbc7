import { dayMs } from '../../server/platform/durations.ts';
import { isoDay } from './format.ts';

/** The date filters of lists: days in the time zone of the company, as on Home. */

/** How far the clocks of the zone are ahead of UTC at a time. */
function aheadMs(zone: string, ms: number): number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const parts = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1000) * 1000;
}

/** The day in the zone at a time, as 2026-02-11. */
export const dayIn = (zone: string, ms: number): string => isoDay(new Date(ms + aheadMs(zone, ms)));

/** When a day begins. Undefined if there is no such day. On a day when clocks change, the offset of its start counts. */
function startOfDay(zone: string, day: string, daysLater = 0): string | undefined {
  const ms = Date.parse(`${day}T00:00:00Z`) + daysLater * dayMs;
  if (Number.isNaN(ms)) return undefined;
  const near = ms - aheadMs(zone, ms);
  return new Date(ms - aheadMs(zone, near)).toISOString();
}

export const presets = ['today', 'last_7_days', 'last_30_days', 'this_month', 'last_month', 'this_year'] as const;
type Preset = (typeof presets)[number];
export const isPreset = (text: string | undefined): text is Preset => presets.some((preset) => preset === text);

interface Days {
  /** The first day, as 2026-02-11. */
  readonly from?: string | undefined;
  /** The last day. */
  readonly to?: string | undefined;
}

/** The time and the time zone of the company. */
export interface Now {
  readonly ms: number;
  readonly zone: string;
}

/** The days of a preset, which move with the time. */
function daysOfPreset(preset: Preset, { ms, zone }: Now): Days {
  const today = dayIn(zone, ms);
  const [year = 0, month = 1] = today.split('-').map(Number);
  const before = (count: number): string => isoDay(new Date(Date.parse(today) - count * dayMs));
  const day = (...parts: [year: number, month: number, day: number]): string => isoDay(new Date(Date.UTC(...parts)));
  const days: Readonly<Record<Preset, Days>> = {
    today: { from: today, to: today },
    last_7_days: { from: before(6), to: today },
    last_30_days: { from: before(29), to: today },
    this_month: { from: day(year, month - 1, 1), to: today },
    last_month: { from: day(year, month - 2, 1), to: day(year, month - 1, 0) },
    this_year: { from: day(year, 0, 1), to: today },
  };
  return days[preset];
}

interface Address extends Days {
  readonly date?: string;
}

/** Undefined if there is no such day. */
function dayOnly(text: string | undefined): string | undefined {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text ?? '') ? Date.parse(text ?? '') : Number.NaN;
  return Number.isNaN(ms) || isoDay(new Date(ms)) !== text ? undefined : text;
}

/** What is no preset and no day is ignored: a person may have typed it into the address. */
export function daysOf({ date, from, to }: Address, now: Now): Days {
  return isPreset(date) ? daysOfPreset(date, now) : { from: dayOnly(from), to: dayOnly(to) };
}

export const hasDays = ({ date, from, to }: Address): boolean =>
  isPreset(date) || dayOnly(from) !== undefined || dayOnly(to) !== undefined;

/** The API expects times, and a day ends where the next begins. */
export function createdAtQuery({ from, to }: Days, zone: string): Record<string, string | undefined> {
  return {
    'created_at[gte]': from && startOfDay(zone, from),
    'created_at[lt]': to && startOfDay(zone, to, 1),
  };
}
