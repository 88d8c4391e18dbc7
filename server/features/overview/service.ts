import { lackingOf } from '../../http/caller.ts';
import type { ReadPermission } from '../../http/permissions.ts';
import { limits } from '../../limits.ts';
import { eventIdOf, readId } from '../../platform/ids.ts';
import { searchCustomers } from '../customers/service.ts';
import {
  findByCouponCode,
  findById,
  findByName,
  findByOrderNumber,
  findInDoubt,
  findWaiting,
  type FoundRow,
  type FoundType,
  foundTypes,
} from './queries.ts';
import type { Found, InDoubt, WaitingCharges } from './schemas.ts';
import type { RequestContext } from '../../request-context.ts';

/** Dashboard data that combines several features. */

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

export async function getWaiting({ db, company }: RequestContext, orderId: string | null): Promise<WaitingCharges> {
  const rows = await findWaiting(db, company.id, orderId);
  return {
    data: rows.map(({ id, order_id, amount, currency, waits_for, is_renewal, next_check_at }) => {
      const at = next_check_at.toISOString();
      // What may have been executed before a restore is looked up, and does not fail.
      const isRepeated = is_renewal || waits_for === 'processor';
      const next = isRepeated ? { next_attempt_at: at, fails_at: null } : { next_attempt_at: null, fails_at: at };
      return { transaction_id: id, order_id, amount, currency, waits_for, ...next };
    }),
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
