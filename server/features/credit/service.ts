import { invalidField } from '../../errors.ts';
import { limits } from '../../limits.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import type { Database, Queryable } from '../../platform/database.ts';
import { createdAt, newId } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import { ensureActiveCustomer, isCustomerDeleted, lockActiveCustomer } from '../customers/service.ts';
import {
  type EntryFilters,
  type EntryRow,
  findBalances,
  findEntries,
  findReferenced,
  hasEntry,
  insertEntry,
  listEntries,
  lockBalances,
  lockBalancesOf,
  type NewEntry,
  sumBalances,
} from './queries.ts';
import type { CreditCreate, CreditEntry, CreditOwed, CustomerCredit } from './schemas.ts';

/** Credit: what the merchant owes a customer, in each currency. It is never paid out, and never below zero. */

function toWire(row: EntryRow, livemode: boolean): CreditEntry {
  const { id, customer_id, type, amount, balance, currency, reason, order_id, subscription_id, actor_name } = row;
  const of = { reason, order_id, subscription_id, actor: actor_name };
  return { id, customer_id, type, amount, balance, currency, ...of, livemode, created_at: createdAt(id) };
}

const noDetails = { reason: null, order_id: null, subscription_id: null, actor_name: null } as const;

interface CreditPage {
  readonly limit?: number | undefined;
  readonly starting_after?: string | undefined;
}

/** The balance in each currency. */
export async function balancesOf(
  db: Queryable,
  companyId: string,
  customerId: string,
): Promise<CustomerCredit['balances']> {
  const rows = await findBalances(db, companyId, customerId);
  return rows.map(({ currency, balance }) => ({ currency, amount: balance }));
}

export async function getCredit(
  context: RequestContext,
  customerId: string,
  page: CreditPage,
): Promise<CustomerCredit> {
  const { db, company } = context;
  await ensureActiveCustomer(context, customerId, 'id', { deletedToo: true });
  const limit = page.limit ?? limits.pageSize;
  const [balances, entries] = await Promise.all([
    balancesOf(db, company.id, customerId),
    findEntries(db, company.id, customerId, { count: limit + 1, after: page.starting_after }),
  ]);
  const livemode = company.mode === 'live';
  return {
    customer_id: customerId,
    balances,
    entries: entries.slice(0, limit).map((row) => toWire(row, livemode)),
    has_more: entries.length > limit,
  };
}

/** The changes of the credit of all customers, which are exported from here. */
export async function getEntries(
  { db, company }: RequestContext,
  filters: EntryFilters,
  page: PageRequest,
): Promise<Page<CreditEntry>> {
  const found = await listEntries(db, company.id, filters, page);
  return { ...found, items: found.items.map((row) => toWire(row, company.mode === 'live')) };
}

/** What the company owes all its customers, in each currency. */
export async function sumCredit({ db, company }: RequestContext): Promise<CreditOwed> {
  return { data: await sumBalances(db, company.id) };
}

/** Grants credit, or takes it back. */
export async function changeCredit(
  context: RequestContext,
  customerId: string,
  input: CreditCreate,
): Promise<CreditEntry> {
  const { db, company, nowMs, caller } = context;
  const reason = input.reason.trim();
  if (reason === '') throw invalidField('reason', 'must not be empty, for example "Late delivery in March"');
  return db.transaction(async (transaction) => {
    await lockActiveCustomer(transaction, company.id, customerId);
    const entry: NewEntry = {
      id: newId(nowMs),
      customer_id: customerId,
      currency: input.currency,
      type: input.type,
      amount: input.type === 'grant' ? input.amount : -input.amount,
      ...noDetails,
      reason,
      actor_name: caller?.name ?? null,
    };
    const balance = await balanceOf(transaction, company.id, customerId, input.currency);
    if (balance + entry.amount > limits.orderTotalCentsMax) {
      throw invalidField(
        'amount',
        `must be at most ${limits.orderTotalCentsMax - balance}: the balance would be too high`,
      );
    }
    const row = balance + entry.amount < 0 ? undefined : await insertEntry(transaction, company.id, entry);
    if (!row) throw invalidField('amount', `must be at most ${balance}, the balance in ${input.currency}`);
    return toWire(row, company.mode === 'live');
  });
}

/** The credit that a change of plan leaves. */
export async function creditChange(
  db: Database,
  of: { readonly company_id: string; readonly customer_id: string; readonly currency: string; readonly id: string },
  amount: number,
  nowMs: number,
): Promise<void> {
  const { company_id, customer_id, currency, id: subscription_id } = of;
  const entry = { ...noDetails, id: newId(nowMs), customer_id, currency, amount, subscription_id };
  await insertEntry(db, company_id, { ...entry, type: 'plan_change' });
}

/** Whose credit, in which currency. */
interface OfCustomer {
  readonly company_id: string;
  readonly customer_id: string;
  readonly currency: string;
}

/** What credit pays for. */
interface PaidOrder extends OfCustomer {
  readonly id: string;
}

/** Balances that are locked until the transaction ends, so that credit is spent once. */
export interface Purse {
  /** Takes up to that amount. The order that it pays for is recorded with `recordUse`. */
  take(of: OfCustomer, most: number): number;
}

export const emptyPurse: Purse = { take: () => 0 };

const keyOf = ({ company_id, customer_id, currency }: OfCustomer): string => `${company_id} ${customer_id} ${currency}`;

/** Always locks in the same order, so that two transactions that spend the same credit cannot deadlock. */
export async function lockPurse(db: Queryable, customers: readonly OfCustomer[]): Promise<Purse> {
  const rows = await lockBalancesOf(db, customers);
  const left = new Map(rows.map((row) => [keyOf(row), row.balance]));
  return {
    take(of, most) {
      const balance = left.get(keyOf(of)) ?? 0;
      const taken = Math.min(balance, most);
      left.set(keyOf(of), balance - taken);
      return taken;
    },
  };
}

/**
 * How much of a total credit may pay. If a processor was paid for it before a restore, the card pays the same again, so that the charge
 * is found under its reference. A notice of a processor does not name the amount.
 */
export function mostCredit(total: number, forgotten: { readonly amount: number | null } | undefined): number {
  return forgotten ? Math.max(0, total - (forgotten.amount ?? 1)) : total;
}

/** What credit would pay of an amount now. */
export async function creditFor(
  db: Queryable,
  { company_id, customer_id, currency }: OfCustomer,
  most: number,
): Promise<number> {
  if (most === 0) return 0;
  const balances = await findBalances(db, company_id, customer_id);
  return Math.min(most, balances.find((one) => one.currency === currency)?.balance ?? 0);
}

/** The balance was spent after it was read. */
export class CreditSpent extends Error {}

/** Records that credit pays for an order. Throws `CreditSpent` if the balance was not locked, and is too low by now. */
export async function recordUse(
  db: Queryable,
  { company_id, customer_id, currency, id: order_id }: PaidOrder,
  { id, amount }: { readonly id: string; readonly amount: number },
): Promise<void> {
  const entry = { ...noDetails, id, customer_id, currency, order_id, type: 'order', amount: -amount } as const;
  if (!(await insertEntry(db, company_id, entry))) throw new CreditSpent();
}

/** Takes up to that amount for an order, and returns how much. */
export async function useCredit(
  db: Queryable,
  order: PaidOrder,
  { id, most }: { readonly id: string; readonly most: number },
): Promise<number> {
  const amount = (await lockPurse(db, [order])).take(order, most);
  if (amount > 0) await recordUse(db, order, { id, amount });
  return amount;
}

/** Gives back what paid for an order. Credit of a deleted customer ends at once. */
export async function returnCredit(
  db: Queryable,
  { company_id, customer_id, currency, id: order_id }: PaidOrder,
  returned: {
    readonly id: string;
    readonly type: 'refund' | 'order_failed' | 'order_voided';
    readonly amount: number;
    readonly reference?: string | null;
  },
): Promise<void> {
  await insertEntry(db, company_id, { ...noDetails, customer_id, currency, order_id, ...returned });
  // Read after the balance is locked: the deletion locks it too, so one of the two sees the other.
  if (await isCustomerDeleted(db, company_id, customer_id))
    await endCredit(db, company_id, customer_id, timeOf(returned.id));
}

const timeOf = (id: string): number => Date.parse(createdAt(id));

/** Whether an entry has this id: that of a request, which may be repeated. */
export const wasCredited = hasEntry;

/** The refund of an order to credit that has one of these references. */
export const creditRefundOf = findReferenced;

/** Locks the balances of the customer until the transaction ends. */
async function balanceOf(db: Database, companyId: string, customerId: string, currency: string): Promise<number> {
  const balances = await lockBalances(db, companyId, customerId);
  return balances.find((one) => one.currency === currency)?.balance ?? 0;
}

/** What is left ends with the customer. Returns whether there ever was credit, so that the books are kept. */
export async function endCredit(db: Queryable, companyId: string, customerId: string, nowMs: number): Promise<boolean> {
  const balances = await lockBalances(db, companyId, customerId);
  for (const { currency, balance } of balances) {
    if (balance === 0) continue;
    await insertEntry(db, companyId, {
      id: newId(nowMs),
      customer_id: customerId,
      currency,
      type: 'customer_deleted',
      amount: -balance,
      ...noDetails,
    });
  }
  return balances.length > 0;
}
