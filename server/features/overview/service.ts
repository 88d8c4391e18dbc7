import { ApiError, invalidField } from '../../errors.ts';
import { lackingOf } from '../../http/caller.ts';
import type { ReadPermission } from '../../http/permissions.ts';
import { limits } from '../../limits.ts';
import { dayMs } from '../../platform/durations.ts';
import { eventIdOf, firstIdOf, readId } from '../../platform/ids.ts';
import { createSemaphore } from '../../platform/semaphore.ts';
import { searchCustomers } from '../customers/service.ts';
import {
  countDeclines,
  countNow,
  type DayRow,
  findByCouponCode,
  findById,
  findByName,
  findByOrderNumber,
  findInDoubt,
  type FoundRow,
  type FoundType,
  foundTypes,
  sumDays,
} from './queries.ts';
import type { Found, InDoubt, Statistics } from './schemas.ts';
import type { RequestContext } from '../../request-context.ts';

/** Dashboard data that combines several features. */

const dayOf = (ms: number): number => Math.floor(ms / dayMs) * dayMs;
const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

export interface Period {
  readonly days?: number;
  readonly from?: number;
  readonly to?: number;
  readonly currency?: string;
}

// The statistics of a large merchant's year take a second of database time. They must not slow down payments.
const inTurn = createSemaphore({ atOnce: 2, waitingMax: 32, busy });
const underWay = new Map<string, number>();
const underWayMax = 4;

function busy(): ApiError {
  const message = 'The statistics are being calculated. Retry shortly.';
  return new ApiError('too_many_requests', message, { headers: { 'Retry-After': '2' } });
}

/** Limits the concurrent queries of one company, because all companies share the semaphore. */
export async function getStatistics(context: RequestContext, period: Period): Promise<Statistics> {
  const { id } = context.company;
  const count = underWay.get(id) ?? 0;
  if (count >= underWayMax) throw busy();
  underWay.set(id, count + 1);
  try {
    return await inTurn(() => makeStatistics(context, period));
  } finally {
    const left = (underWay.get(id) ?? 1) - 1;
    if (left > 0) underWay.set(id, left);
    else underWay.delete(id);
  }
}

/**
 * Uses whole days in UTC, both ends included, and the currency with the highest volume unless the request names one.
 * Figures that the member may not read are null.
 */
async function makeStatistics({ db, company, nowMs, caller }: RequestContext, period: Period): Promise<Statistics> {
  const mayRead = (permission: ReadPermission): boolean => lackingOf(caller, [permission]).length === 0;
  const last = dayOf(period.to ?? nowMs);
  const first = dayOf(period.from ?? last - ((period.days ?? 30) - 1) * dayMs);
  const length = (last - first) / dayMs + 1;
  if (length < 1 || length > limits.statisticsDays) {
    throw invalidField('from', `must be at most ${limits.statisticsDays} days before to, and not after to`);
  }
  const starts = Array.from({ length: length + 1 }, (_, index) => firstIdOf(first + index * dayMs));
  const [from = '', to = ''] = [starts[0], starts.at(-1)];
  const rows = await sumDays(db, company.id, starts);
  const currencies = byVolume(rows);
  const currency = period.currency ?? currencies[0] ?? null;
  const shown = new Map(rows.filter((row) => row.currency === currency).map((row) => [row.bucket, row]));
  const days = Array.from({ length }, (_, index) => {
    const { succeeded_count = 0, failed_count = 0, volume = 0, refunded = 0 } = shown.get(index + 1) ?? {};
    return { date: dateOf(first + index * dayMs), succeeded_count, failed_count, volume, refunded };
  });
  const total = (name: 'volume' | 'refunded' | 'succeeded_count' | 'failed_count'): number =>
    days.reduce((sum, day) => sum + day[name], 0);
  const [declines, now] = await Promise.all([
    countDeclines(db, company.id, currency, from, to),
    countNow(db, company.id, from, to),
  ]);
  return {
    currency,
    currencies,
    days,
    totals: {
      volume: total('volume'),
      refunded: total('refunded'),
      succeeded_count: total('succeeded_count'),
      failed_count: total('failed_count'),
      active_subscriptions: mayRead('subscriptions:read') ? now.active : null,
      past_due_subscriptions: mayRead('subscriptions:read') ? now.past_due : null,
      new_customers: mayRead('customers:read') ? now.new_customers : null,
    },
    declines,
  };
}

function byVolume(rows: readonly DayRow[]): string[] {
  const volumes = new Map<string, number>();
  for (const { currency, volume } of rows) volumes.set(currency, (volumes.get(currency) ?? 0) + volume);
  return [...volumes].toSorted(([, left], [, right]) => right - left).map(([currency]) => currency);
}

export async function getInDoubt({ db, company }: RequestContext, realMs: number): Promise<InDoubt> {
  const rows = await findInDoubt(db, company.id);
  return {
    data: rows.map((row) => ({
      transaction_id: row.id,
      order_id: row.order_id,
      type: row.type,
      amount: row.amount,
      currency: row.currency,
      since: row.opened_at.toISOString(),
      age_seconds: Math.max(0, Math.round((realMs - row.opened_at.getTime()) / 1000)),
      checks: row.checks,
      next_check_at: row.next_check_at.toISOString(),
    })),
  };
}

const eachMax = 5;
const permissionOf = (type: FoundType): ReadPermission => `${type}s:read`;

/** Returns only what the member may read. Ids and numbers are looked up exactly; words are searched in names. */
export async function search(context: RequestContext, text: string): Promise<Found> {
  const { db, company, caller } = context;
  const mayRead = (type: FoundType): boolean => lackingOf(caller, [permissionOf(type)]).length === 0;
  const results: Promise<Found['data']>[] = [];
  const add = (type: FoundType, find: () => Promise<readonly FoundRow[]>): void => {
    const shown = ({ id, title, subtitle }: FoundRow): Found['data'][number] => ({
      type,
      id: type === 'event' ? eventIdOf(id) : id,
      title,
      subtitle,
    });
    if (mayRead(type)) results.push(find().then((rows) => rows.map(shown)));
  };
  const id = readId(text);
  if (id) {
    for (const type of foundTypes) add(type, () => findById(db, company.id, type, id));
  } else {
    add('order', () => findByOrderNumber(db, company.id, text.toUpperCase()));
    add('customer', () => findCustomers(context, text));
    for (const type of ['product', 'plan', 'coupon'] as const) {
      add(type, () => findByName(db, company.id, type, text, eachMax));
    }
    add('coupon', () => findByCouponCode(db, company.id, text.toUpperCase()));
  }
  const all = (await Promise.all(results)).flat();
  const unique = new Map(all.map((one) => [one.id, one]));
  return { data: [...unique.values()].slice(0, limits.searchResults) };
}

async function findCustomers(context: RequestContext, q: string): Promise<FoundRow[]> {
  const page = { limit: eachMax, sort: { field: 'created_at', descending: true }, cursor: null };
  const customers = await searchCustomers(context, q, page);
  return customers.map(({ id, first_name, last_name, email }) => ({
    id,
    title: `${first_name} ${last_name}`,
    subtitle: email,
  }));
}
