import { createdAtConditions, type createdAtFilters, type ListSource, type Page } from '../../http/lists.ts';
import type { QueryValues } from '../../http/query-parameters.ts';
import type { PageRequest } from '../../http/route.ts';
import { everyRow, keyArm, searchPage } from '../../http/search-pages.ts';
import type { Queryable } from '../../platform/database.ts';
import { rowsOf } from '../../platform/rows.ts';
import type { CreditType } from './schemas.ts';

/** All SQL of credit. A balance and its entries change in one statement; the row of the balance is locked by it. */

export interface EntryRow {
  readonly id: string;
  readonly customer_id: string;
  readonly currency: string;
  readonly number: number;
  readonly type: CreditType;
  readonly amount: number;
  readonly balance: number;
  readonly reason: string | null;
  readonly order_id: string | null;
  readonly subscription_id: string | null;
  readonly actor_name: string | null;
  /** Derived from the idempotency key of a refund. */
  readonly reference?: string | null;
}

export type NewEntry = Omit<EntryRow, 'number' | 'balance'>;

const columns =
  'id, customer_id, currency, number, type, amount, balance, reason, order_id, subscription_id, actor_name';

const recording = (changed: string): string => `
  WITH changed AS (${changed} RETURNING balance, entries)
  INSERT INTO credit_entries (company_id, customer_id, currency, amount, id, type, reason, order_id, subscription_id,
    actor_name, reference, number, balance)
  SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, entries, balance FROM changed RETURNING ${columns}`;

const adding = recording(`
  INSERT INTO credit_balances (company_id, customer_id, currency, balance, entries) VALUES ($1, $2, $3, $4, 1)
  ON CONFLICT (company_id, customer_id, currency) DO UPDATE
    SET balance = credit_balances.balance + EXCLUDED.balance, entries = credit_balances.entries + 1`);

const taking = recording(`
  UPDATE credit_balances SET balance = balance + $4, entries = entries + 1
  WHERE company_id = $1 AND customer_id = $2 AND currency = $3 AND balance + $4 >= 0`);

/** Undefined if the balance is too low. Waits for another change of the same balance. */
export async function insertEntry(db: Queryable, companyId: string, entry: NewEntry): Promise<EntryRow | undefined> {
  const { id, customer_id, currency, type, amount, reason, order_id, subscription_id, actor_name } = entry;
  const of = [reason, order_id, subscription_id, actor_name, entry.reference ?? null];
  const values = [companyId, customer_id, currency, amount, id, type, ...of];
  const [row] = await db.query<EntryRow>(amount > 0 ? adding : taking, values);
  return row;
}

interface BalanceRow {
  readonly currency: string;
  readonly balance: number;
}

export async function findBalances(db: Queryable, companyId: string, customerId: string): Promise<BalanceRow[]> {
  return db.query<BalanceRow>(
    'SELECT currency, balance FROM credit_balances WHERE company_id = $1 AND customer_id = $2 ORDER BY currency',
    [companyId, customerId],
  );
}

/** Locks the balances of the customer until the transaction ends. */
export async function lockBalances(db: Queryable, companyId: string, customerId: string): Promise<BalanceRow[]> {
  return db.query<BalanceRow>(
    `SELECT currency, balance FROM credit_balances WHERE company_id = $1 AND customer_id = $2 ORDER BY currency
     FOR NO KEY UPDATE`,
    [companyId, customerId],
  );
}

/** The newest first; `after` is the entry before the first. */
export async function findEntries(
  db: Queryable,
  companyId: string,
  customerId: string,
  { count, after }: { readonly count: number; readonly after: string | undefined },
): Promise<EntryRow[]> {
  return db.query<EntryRow>(
    `SELECT ${columns} FROM credit_entries
     WHERE company_id = $1 AND customer_id = $2 AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4`,
    [companyId, customerId, after ?? null, count],
  );
}

const source: ListSource = { table: 'credit_entries', objectType: 'credit_entry', columns, sorts: {} };

export interface EntryFilters extends QueryValues<typeof createdAtFilters> {
  readonly customer_id?: string;
}

/** Of all customers. */
export async function listEntries(
  db: Queryable,
  companyId: string,
  filters: EntryFilters,
  page: PageRequest,
): Promise<Page<EntryRow>> {
  const { customer_id } = filters;
  return searchPage(db, companyId, source, page, {
    arms: [customer_id ? keyArm('customer_id', 'uuid', [customer_id]) : everyRow],
    ranges: { id: createdAtConditions(filters) },
    checks: [],
  });
}

export async function hasEntry(db: Queryable, companyId: string, id: string): Promise<boolean> {
  const rows = await db.query('SELECT 1 FROM credit_entries WHERE company_id = $1 AND id = $2', [companyId, id]);
  return rows.length > 0;
}

/** The refund of the order to credit that has one of these references. */
export async function findReferenced(
  db: Queryable,
  companyId: string,
  orderId: string,
  references: readonly string[],
): Promise<string | undefined> {
  const [row] = await db.query<{ id: string }>(
    'SELECT id FROM credit_entries WHERE company_id = $1 AND order_id = $2 AND reference = ANY($3::uuid[])',
    [companyId, orderId, references],
  );
  return row?.id;
}

const wanted = rowsOf({ company_id: 'uuid', customer_id: 'uuid', currency: 'text' });
type Wanted = Readonly<Record<'company_id' | 'customer_id' | 'currency', string>>;

const lockStatement = `
  SELECT b.company_id, b.customer_id, b.currency, b.balance FROM credit_balances b
  WHERE (b.company_id, b.customer_id, b.currency) IN (SELECT company_id, customer_id, currency FROM ${wanted.from(1)} AS w)
  ORDER BY b.company_id, b.customer_id, b.currency FOR NO KEY UPDATE`;

/** Locks the balances until the transaction ends. */
export async function lockBalancesOf(db: Queryable, of: readonly Wanted[]): Promise<(Wanted & BalanceRow)[]> {
  return db.query<Wanted & BalanceRow>(lockStatement, wanted.values(of));
}

/** What a company owes all its customers, in each currency that has entries. */
export async function sumBalances(
  db: Queryable,
  companyId: string,
): Promise<{ currency: string; amount: number; customers: number }[]> {
  return db.query(
    `SELECT currency, sum(balance)::bigint AS amount, count(*) FILTER (WHERE balance > 0)::integer AS customers
     FROM credit_balances WHERE company_id = $1 GROUP BY currency ORDER BY sum(balance) DESC, currency`,
    [companyId],
  );
}
