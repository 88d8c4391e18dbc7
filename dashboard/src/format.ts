import { dayMs, daySeconds, hourMs, minuteMs } from '../../server/platform/durations.ts';
import { decimalsOf } from '../../server/platform/currencies.ts';

/** Formats values for people. Times are in the zone of the viewer; days of billing are in UTC. */

/** `$1,234.50`, `¥1,250`, `KWD 1.250` */
export function money(amount: number, currency: string | null | undefined): string {
  const decimals = decimalsOf(currency ?? 'usd');
  return currencyFormat(currency, { minimumFractionDigits: decimals, maximumFractionDigits: decimals }).format(
    amount / 10 ** decimals,
  );
}

export const amountOrFree = (amount: number, currency: string | null | undefined): string =>
  amount === 0 ? 'Free' : money(amount, currency);

/** Rounded to whole units: `$1,235` */
export function wholeMoney(amount: number, currency: string | null | undefined): string {
  const format = currencyFormat(currency, { minimumFractionDigits: 0, maximumFractionDigits: 0 });
  return format.format(amount / 10 ** decimalsOf(currency ?? 'usd'));
}

/** For the axis of a chart: `$150`, `$1.5M` */
export function shortMoney(amount: number, currency: string | null | undefined): string {
  const format = currencyFormat(currency, { notation: 'compact', maximumFractionDigits: 1 });
  return format.format(amount / 10 ** decimalsOf(currency ?? 'usd'));
}

/** Formats a plain number while the currency code is incomplete. */
function currencyFormat(currency: string | null | undefined, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const code = (currency ?? 'usd').trim();
  const style = /^[a-z]{3}$/i.test(code) ? ({ style: 'currency', currency: code } as const) : {};
  return new Intl.NumberFormat('en-US', { ...style, ...options });
}

const dateFormat = new Intl.DateTimeFormat('en-US', {
  timeZone: 'UTC',
  year: 'numeric',
  month: 'short',
  day: 'numeric',
});

/** The texts are English; whether a day has two times 12 hours is as the viewer is used to. */
const hasHalfDays = new Intl.DateTimeFormat(undefined, { hour: 'numeric' }).resolvedOptions().hour12 ?? false;
const clockTime = hasHalfDays
  ? ({ hour: 'numeric', minute: '2-digit', hour12: true } as const)
  : ({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const);
const timeFormat = new Intl.DateTimeFormat('en-US', clockTime);
const dateTimeFormat = new Intl.DateTimeFormat('en-US', {
  timeZone: 'UTC',
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  ...clockTime,
});

const zonedFormats = new Map<string | undefined, Intl.DateTimeFormat>();

function localFormat(timeZone: string | undefined): Intl.DateTimeFormat {
  const day = { year: 'numeric', month: 'short', day: 'numeric' } as const;
  const format = zonedFormats.get(timeZone) ?? new Intl.DateTimeFormat('en-US', { ...day, ...clockTime, timeZone });
  zonedFormats.set(timeZone, format);
  return format;
}

/** `Nov 16, 2026, 3:34 PM` or `Nov 16, 2026, 15:34`, in the zone of the viewer unless another is given */
export const localTime = (iso: string, timeZone?: string): string => localFormat(timeZone).format(new Date(iso));
/** `3:34 PM` or `15:34` */
export const timeOfDay = (iso: string): string => timeFormat.format(new Date(iso));
/** `2026-11-16 15:34:05 UTC` */
export const utcTime = (iso: string): string => `${new Date(iso).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

const relative = new Intl.RelativeTimeFormat('en-US', { numeric: 'auto' });

/** A time within a day from now, in words: `5 minutes ago`, `in 3 hours`. Undefined for others. */
export function ago(ms: number): string | undefined {
  const size = Math.abs(ms);
  if (size >= dayMs) return undefined;
  if (size < minuteMs) return 'just now';
  return size < hourMs
    ? relative.format(Math.trunc(ms / minuteMs), 'minute')
    : relative.format(Math.trunc(ms / hourMs), 'hour');
}

export const dateTime = (iso: string): string => dateTimeFormat.format(new Date(iso));
export const dateOnly = (iso: string): string => dateFormat.format(new Date(iso));
export const isoDay = (date: Date): string => date.toISOString().slice(0, 10);

/** What the API calls by another name than people. The glossary has one word for each. */
const codeNames: Readonly<Record<string, string>> = {
  chargeback: 'Disputed',
  chargeback_accepted: 'Dispute lost',
  chargeback_dismissed: 'Dispute won',
};
const abbreviations: Readonly<Record<string, string>> = { api: 'API', cvv: 'CVC', cvc: 'CVC', id: 'ID', url: 'URL' };

/** `requires_action` → `Requires action` */
export function words(code: string): string {
  const name = codeNames[code];
  if (name) return name;
  const text = code.replaceAll('_', ' ').replaceAll(/\b(api|cvv|cvc|id|url)\b/g, (word) => abbreviations[word] ?? word);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The same inside of a sentence: `incorrect_cvv` → `incorrect CVC` */
export function lowerWords(code: string): string {
  const text = words(code);
  return /^[A-Z]{2}/.test(text) ? text : text.charAt(0).toLowerCase() + text.slice(1);
}

const brandNames: Readonly<Record<string, string>> = {
  amex: 'American Express',
  diners: 'Diners Club',
  jcb: 'JCB',
  unionpay: 'UnionPay',
  unknown: 'Card',
};

export const brandName = (brand: string): string => brandNames[brand] ?? words(brand);

export const cardText = (card: { readonly card_brand: string; readonly card_last_four: string }): string =>
  `${brandName(card.card_brand)} •••• ${card.card_last_four}`;

export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129_600) return `${Math.round(seconds / 3600)} hours`;
  return `${Math.round(seconds / daySeconds)} days`;
}

/** `25 ms`, `5.5 s` */
export const milliseconds = (ms: number): string =>
  ms < 1000 ? `${Math.round(ms)}\u00a0ms` : `${(ms / 1000).toFixed(1)}\u00a0s`;

const megabyte = 1024 * 1024;

/** `512 B`, `34 kB`, `5 MB` */
export function fileSize(bytes: number): string {
  if (bytes < 1024) return `${bytes}\u00a0B`;
  if (bytes < megabyte) return `${Math.round(bytes / 1024)}\u00a0kB`;
  return `${Number((bytes / megabyte).toFixed(1))}\u00a0MB`;
}

export function shortId(id: string): string {
  return id.length > 16 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id;
}

export const personName = (person: { first_name: string; last_name: string }): string =>
  `${person.first_name} ${person.last_name}`.trim();

/** Normalizes a phone number for the API. */
export function phoneDigits(text: string): string {
  const clean = text.replaceAll(/[\s().-]/g, '');
  return /^1?\d{10}$/.test(clean) ? `+1${clean.slice(-10)}` : clean;
}

export function cycleText(cycle: { interval: string; interval_count: number }): string {
  return cycle.interval_count === 1 ? `every ${cycle.interval}` : `every ${cycle.interval_count} ${cycle.interval}s`;
}

/** `$19.00 every month` */
export const priceText = (
  { amount, currency }: { readonly amount: number; readonly currency: string },
  cycle: Parameters<typeof cycleText>[0],
): string => `${money(amount, currency)} ${cycleText(cycle)}`;

/** The price of a subscription with all of its seats. */
export const subscriptionPrice = ({
  plan,
  quantity,
  billing_cycle,
}: {
  readonly plan: { readonly amount: number; readonly currency: string };
  readonly quantity: number;
  readonly billing_cycle: Parameters<typeof cycleText>[0];
}): string => priceText({ ...plan, amount: plan.amount * quantity }, billing_cycle);

const countFormat = new Intl.NumberFormat('en-US');
export const countText = (count: number): string => countFormat.format(count);

const percentFormat = new Intl.NumberFormat('en-US', { style: 'percent' });
export const percentText = (share: number): string => percentFormat.format(share);
