import { ApiError, notFound } from '../../errors.ts';
import { lackingOf } from '../../http/caller.ts';
import type { ReadPermission } from '../../http/permissions.ts';
import { createSemaphore, type Semaphore } from '../../platform/semaphore.ts';
import type { RequestContext } from '../../request-context.ts';
import {
  bucketsOf,
  daysLater,
  type Interval,
  intervalsFor,
  type Period,
  periodOf,
  previousOf,
  type Wanted,
} from './period.ts';
import { type Figures, findToday, readDays, readPartOfDay, readStanding } from './queries.ts';
import { type Figure, type FigureName, figureNames, type Statistics } from './schemas.ts';

export interface StatisticsQuery extends Wanted {
  readonly interval?: Interval;
  readonly currency?: string;
}

// Days that are not summed yet cost database time. They must not slow down payments.
const inTurn = createSemaphore({ atOnce: 2, waitingMax: 32, busy });
const ofCompany = new Map<string, { readonly inTurn: Semaphore; users: number }>();

function busy(): ApiError {
  const message = 'The statistics are being calculated. Retry shortly.';
  return new ApiError('too_many_requests', message, { headers: { 'Retry-After': '2' } });
}

/** One at a time for each company, because all companies share the semaphore. */
export async function getStatistics(context: RequestContext, query: StatisticsQuery): Promise<Statistics> {
  const { id } = context.company;
  const own = ofCompany.get(id) ?? { inTurn: createSemaphore({ atOnce: 1, waitingMax: 3, busy }), users: 0 };
  ofCompany.set(id, own);
  own.users += 1;
  try {
    return await own.inTurn(() => inTurn(() => makeStatistics(context, query)));
  } finally {
    own.users -= 1;
    if (own.users === 0) ofCompany.delete(id);
  }
}

type Sums = Readonly<Record<string, number>>;

/** What the figures of some days are made from. */
interface Slice {
  readonly sums: Sums;
  /** Before the first of the days. */
  readonly opening: { readonly monthly: number; readonly subscribers: number };
}

const ratio = (part: number, whole: number): number | null => (whole > 0 ? part / whole : null);

interface Definition {
  readonly needs: ReadPermission;
  readonly of: (slice: Slice) => number | null;
}

const summed = (name: string, needs: ReadPermission = 'orders:read'): Definition => ({
  needs,
  of: ({ sums }) => sums[name] ?? 0,
});

const definitions: Readonly<Record<FigureName, Definition>> = {
  gross_volume: summed('gross'),
  net_volume: {
    needs: 'orders:read',
    of: ({ sums: { gross = 0, refunded = 0, disputed = 0 } }) => gross - refunded - disputed,
  },
  refunded: summed('refunded'),
  disputed: summed('disputed'),
  payments: summed('payments'),
  failed_payments: summed('failed'),
  success_rate: {
    needs: 'orders:read',
    of: ({ sums: { payments = 0, failed = 0 } }) => ratio(payments, payments + failed),
  },
  average_order: {
    needs: 'orders:read',
    of: ({ sums: { gross = 0, payments = 0 } }) => (payments > 0 ? Math.round(gross / payments) : null),
  },
  mrr: { needs: 'subscriptions:read', of: ({ opening, sums: { monthly = 0 } }) => opening.monthly + monthly },
  new_mrr: summed('new_mrr', 'subscriptions:read'),
  expansion: summed('expansion', 'subscriptions:read'),
  contraction: summed('contraction', 'subscriptions:read'),
  churned_mrr: summed('churned_mrr', 'subscriptions:read'),
  active_subscribers: {
    needs: 'subscriptions:read',
    of: ({ opening, sums: { subscribers = 0 } }) => opening.subscribers + subscribers,
  },
  churn: {
    needs: 'subscriptions:read',
    // If more ended than was active at the start, some of it also began in the period, and the quotient is no share.
    of: ({ opening: { subscribers }, sums: { ended = 0 } }) => (ended > subscribers ? null : ratio(ended, subscribers)),
  },
  new_customers: summed('customers', 'customers:read'),
};

/** Adds up the figures of one currency, and those without a currency. */
function sumOf(days: readonly (Figures | undefined)[], currency: string | null): Sums {
  const sums: Record<string, number> = {};
  for (const day of days) {
    for (const part of [day?.[''], currency === null ? undefined : day?.[currency]]) {
      for (const [name, value] of Object.entries(part ?? {})) sums[name] = (sums[name] ?? 0) + value;
    }
  }
  return sums;
}

const datesOf = ({ from, to }: { readonly from: string; readonly to: string }): string[] => {
  const dates: string[] = [];
  for (let date = from; date <= to; date = daysLater(date, 1)) dates.push(date);
  return dates;
};

/** The currency with the highest volume comes first. Amounts of different currencies are never added up. */
function currenciesOf(days: readonly Figures[], standing: readonly { readonly currency: string }[]): string[] {
  const volumes = new Map<string, number>(standing.map(({ currency }) => [currency, 0]));
  for (const day of days) {
    for (const [currency, { gross = 0 }] of Object.entries(day)) {
      if (currency) volumes.set(currency, (volumes.get(currency) ?? 0) + gross);
    }
  }
  return [...volumes].toSorted(([, left], [, right]) => right - left).map(([currency]) => currency);
}

/** In a longer period, the rest of today changes little. */
const shortDays = 7;

/**
 * A short period that ends today is compared with the same part of the previous one: its last day ends at the present time of day.
 */
async function makeStatistics(context: RequestContext, query: StatisticsQuery): Promise<Statistics> {
  const { db, company, nowMs, caller } = context;
  const now = await findToday(db, company.id, new Date(nowMs));
  if (!now) throw notFound('company');
  const { time_zone, today } = now;
  const period = periodOf(query, today);
  const previous = previousOf(period);
  const isUnfinished = period.to === today;
  const [rows, standing, cut] = await Promise.all([
    readDays(db, company.id, time_zone, { from: previous.from, to: period.to }),
    readStanding(db, company.id, time_zone, previous.from),
    isUnfinished && period.length <= shortDays
      ? readPartOfDay(db, company.id, time_zone, previous.to, nowMs - now.starts_at.getTime())
      : Promise.resolve(undefined),
  ]);
  const figuresOf = new Map(rows.map(({ day, figures }) => [day, figures]));
  const currencies = currenciesOf([...figuresOf.values()], standing);
  const currency = query.currency ?? currencies[0] ?? null;
  const before = standing.find((one) => one.currency === currency) ?? { monthly: 0, subscribers: 0 };
  const whole = (span: { readonly from: string; readonly to: string }): (Figures | undefined)[] =>
    datesOf(span).map((date) => figuresOf.get(date));
  const after = ({ sums: { monthly = 0, subscribers = 0 }, opening }: Slice): Slice['opening'] => ({
    monthly: opening.monthly + monthly,
    subscribers: opening.subscribers + subscribers,
  });
  const sliced = (parts: readonly (readonly (Figures | undefined)[])[], opening: Slice['opening']): Slice[] => {
    let at = opening;
    return parts.map((days) => {
      const slice = { sums: sumOf(days, currency), opening: at };
      at = after(slice);
      return slice;
    });
  };
  const inPrevious = (days: (Figures | undefined)[]): (Figures | undefined)[] =>
    cut ? [...days.slice(0, -1), cut] : days;
  const [previousWhole] = sliced([whole(previous)], before);
  const opening = previousWhole ? after(previousWhole) : before;
  const fitting = intervalsFor(period.length);
  const interval = query.interval ?? fitting[0] ?? 'day';
  const buckets = bucketsOf(period, interval);
  const previousBuckets = buckets.map((bucket) => shifted(bucket, period));
  const slices = {
    value: sliced([whole(period)], opening),
    previous: sliced([inPrevious(whole(previous))], before),
    series: sliced(buckets.map(whole), opening),
    previous_series: sliced(
      previousBuckets.map((bucket) => (bucket.to === previous.to ? inPrevious(whole(bucket)) : whole(bucket))),
      before,
    ),
  };
  const mayRead = (permission: ReadPermission): boolean => lackingOf(caller, [permission]).length === 0;
  const figure = (name: FigureName): Figure | null => {
    const { needs, of } = definitions[name];
    if (!mayRead(needs)) return null;
    const [[value = null], [past = null]] = [slices.value.map(of), slices.previous.map(of)];
    return { value, previous: past, series: slices.series.map(of), previous_series: slices.previous_series.map(of) };
  };
  return {
    time_zone,
    now: new Date(nowMs).toISOString(),
    from: period.from,
    to: period.to,
    previous_from: previous.from,
    previous_to: previous.to,
    interval,
    intervals: [...fitting],
    currency,
    currencies,
    buckets: buckets.map((bucket) => ({ ...bucket, unfinished: isUnfinished && bucket.to === today })),
    previous_buckets: previousBuckets,
    figures: Object.fromEntries(figureNames.map((name) => [name, figure(name)])) as Statistics['figures'],
    declines: mayRead('orders:read') ? declinesOf(slices.value[0]?.sums ?? {}, slices.previous[0]?.sums ?? {}) : null,
  };
}

/** The same days of the previous period. */
const shifted = ({ from, to }: { from: string; to: string }, { length }: Period): { from: string; to: string } => ({
  from: daysLater(from, -length),
  to: daysLater(to, -length),
});

const failure = 'failed:';

function declinesOf(sums: Sums, previous: Sums): NonNullable<Statistics['declines']> {
  return Object.keys(sums)
    .filter((name) => name.startsWith(failure))
    .map((name) => ({
      failure_code: name.slice(failure.length),
      count: sums[name] ?? 0,
      previous: previous[name] ?? 0,
    }))
    .toSorted((one, other) => other.count - one.count || (one.failure_code < other.failure_code ? -1 : 1));
}
