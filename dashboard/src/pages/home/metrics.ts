import { money, shortMoney, wholeMoney } from '../../format.ts';
import { home } from '../../texts/home.ts';
import type { FigureName, Statistics } from '../../types.ts';

/** How each figure of Home is written. */

type Kind = 'money' | 'count' | 'rate';

export interface Metric {
  readonly name: FigureName;
  readonly kind: Kind;
  /** A rise is bad news. */
  readonly rising?: 'bad';
  /** A level, not a sum: its line need not begin at zero. */
  readonly isLevel?: true;
}

/** In the order of the page, unless the member has chosen another. The first ones are large. */
export const metrics: readonly Metric[] = [
  { name: 'gross_volume', kind: 'money' },
  { name: 'net_volume', kind: 'money' },
  { name: 'mrr', kind: 'money', isLevel: true },
  { name: 'payments', kind: 'count' },
  { name: 'average_order', kind: 'money', isLevel: true },
  { name: 'success_rate', kind: 'rate', isLevel: true },
  { name: 'active_subscribers', kind: 'count', isLevel: true },
  { name: 'churn', kind: 'rate', rising: 'bad' },
  { name: 'new_customers', kind: 'count' },
  { name: 'failed_payments', kind: 'count', rising: 'bad' },
];

const percent = (value: number): string => `${(100 * value).toFixed(1)}%`;
const count = new Intl.NumberFormat('en-US');
const shortCount = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

export interface Format {
  /** Exact. */
  readonly full: (value: number) => string;
  /** For a card: without cents, or rounded, if the exact text is too long for it. */
  readonly card: (value: number) => string;
  readonly axis: (value: number) => string;
}

const cardLength = 9;

export function formatOf({ kind }: Metric, currency: string | null): Format {
  if (kind === 'rate') return { full: percent, card: percent, axis: (value) => `${Math.round(1000 * value) / 10}%` };
  if (kind === 'count') {
    const full = (value: number): string => count.format(value);
    return { full, card: full, axis: (value) => shortCount.format(value) };
  }
  const full = (value: number): string => money(value, currency);
  const short = (value: number): string => shortMoney(value, currency);
  return {
    full,
    axis: short,
    card: (value) => {
      const candidates = [full(value), wholeMoney(value, currency)];
      return candidates.find((text) => text.length <= cardLength) ?? short(value);
    },
  };
}

export interface Change {
  readonly text: string;
  readonly direction: 'up' | 'down' | 'none';
  readonly isGood: boolean;
  /** As large as what chance alone does: no reason for a color. */
  readonly isSmall: boolean;
}

/** In percent, or in percentage points for rates. */
const smallChange = { money: 5, count: 5, rate: 1 } as const;

/** Rates change by percentage points, all others by percent. Undefined if there is nothing to compare with. */
export function changeOf({ kind, rising }: Metric, value: number | null, previous: number | null): Change | undefined {
  if (value === null || previous === null) return undefined;
  if (kind !== 'rate' && previous <= 0) return undefined;
  const change = kind === 'rate' ? 100 * (value - previous) : (100 * (value - previous)) / previous;
  const size = Math.abs(change);
  const digits = size >= 100 ? 0 : 1;
  const text = `${size > 9_999 ? '>9,999' : size.toFixed(digits)}${kind === 'rate' ? ` ${home.points}` : '%'}`;
  if (Number(size.toFixed(digits)) === 0) return { text, direction: 'none', isGood: true, isSmall: true };
  const isSmall = size < smallChange[kind];
  return { text, direction: change > 0 ? 'up' : 'down', isGood: change > 0 === (rising !== 'bad'), isSmall };
}

/** Days as they are written: `Nov 16`, `Nov 10 – 16`, `Nov 2026`. */
const part = (options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en-US', { timeZone: 'UTC', ...options });
const dayFormat = part({ month: 'short', day: 'numeric' });
const wholeDay = part({ weekday: 'short', month: 'short', day: 'numeric', year: 'numeric' });
const dated = part({ month: 'short', day: 'numeric', year: 'numeric' });
const monthFormat = part({ month: 'short' });

const shortDay = (date: string): string => dayFormat.format(Date.parse(date));
export const rangeText = (from: string, to: string): string =>
  from === to ? dated.format(Date.parse(from)) : dated.formatRange(Date.parse(from), Date.parse(to));

export function bucketLabel({ from }: { readonly from: string }, interval: Statistics['interval']): string {
  return interval === 'month' ? monthFormat.format(Date.parse(from)) : shortDay(from);
}

export const bucketTitle = ({ from, to }: { readonly from: string; readonly to: string }): string =>
  from === to ? wholeDay.format(Date.parse(from)) : rangeText(from, to);
