import { lackingOf } from '../../http/caller.ts';
import { createdAtConditions, createdAtFilters, fetchPage, type ListSource, type Page } from '../../http/lists.ts';
import type { QueryValues } from '../../http/query-parameters.ts';
import type { PageRequest } from '../../http/route.ts';
import type { Metadata } from '../../http/schemas.ts';
import type { Queryable } from '../../platform/database.ts';
import type { RequestContext } from '../../request-context.ts';
import { type Sql, sql } from '../../platform/sql.ts';
import { type EventRow, eventValues, insertingEvents } from '../events/queries.ts';
import { ownerQuery, searchQuery } from './search.ts';
import type { ShippingAddress } from './schemas.ts';

export interface CustomerRow {
  id: string;
  email: string;
  first_name: string;
  last_name: string;
  phone: string;
  company: string | null;
  tax_id: string | null;
  locale: string | null;
  shipping_address: ShippingAddress | null;
  default_payment_method_id: string | null;
  tags: string[];
  metadata: Metadata;
  /** Counts the events of the customer. */
  sequence: number;
  updated_at: Date;
  deleted_at: Date | null;
}

/**
 * Values derived from the row for lookups: the normalized email and phone, and the words and tags of the search
 * index.
 */
export interface CustomerKeys {
  readonly emailKey: string;
  /** Null if another customer has claimed the number. */
  readonly phoneKey: string | null;
  readonly searchWords: readonly string[];
}

const columns =
  'id, email, first_name, last_name, phone, company, shipping_address, default_payment_method_id, tags, metadata, ' +
  'sequence, updated_at, deleted_at, locale, tax_id';

function values(companyId: string, row: CustomerRow, keys: CustomerKeys): unknown[] {
  return [
    companyId,
    row.id,
    row.email,
    keys.emailKey,
    row.first_name,
    row.last_name,
    row.phone,
    keys.phoneKey,
    row.company,
    row.shipping_address && JSON.stringify(row.shipping_address),
    row.tags,
    JSON.stringify(row.metadata),
    keys.searchWords,
    row.updated_at,
    row.locale,
    row.tax_id,
  ];
}

export async function insertCustomer(
  db: Queryable,
  companyId: string,
  row: CustomerRow,
  keys: CustomerKeys,
  created: EventRow,
): Promise<void> {
  await db.query(
    `WITH made AS (
     INSERT INTO customers (company_id, id, email, email_key, first_name, last_name, phone, phone_key, company,
       shipping_address, tags, metadata, search, updated_at, locale, tax_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, array_to_tsvector($13::text[]), $14, $15, $16))
     ${insertingEvents(17)}`,
    [...values(companyId, row, keys), ...eventValues([created])],
  );
}

export async function updateCustomer(
  db: Queryable,
  companyId: string,
  row: CustomerRow,
  keys: CustomerKeys,
): Promise<void> {
  await db.query(
    `UPDATE customers SET email = $3, email_key = $4, first_name = $5, last_name = $6, phone = $7,
       phone_key = CASE WHEN phone = $7 AND phone_key IS NULL THEN NULL ELSE $8 END,
       company = $9, shipping_address = $10, tags = $11, metadata = $12, search = array_to_tsvector($13::text[]),
       updated_at = $14, locale = $15, tax_id = $16, sequence = sequence + 1
     WHERE company_id = $1 AND id = $2`,
    values(companyId, row, keys),
  );
}

/** Whether a customer who is not deleted has claimed the number. */
export async function isPhoneTaken(db: Queryable, companyId: string, phoneKey: string): Promise<boolean> {
  const rows = await db.query(
    'SELECT 1 FROM customers WHERE company_id = $1 AND phone_key = $2 AND deleted_at IS NULL',
    [companyId, phoneKey],
  );
  return rows.length > 0;
}

export async function findCustomer(db: Queryable, companyId: string, id: string): Promise<CustomerRow | undefined> {
  const [row] = await db.query<CustomerRow>(`SELECT ${columns} FROM customers WHERE company_id = $1 AND id = $2`, [
    companyId,
    id,
  ]);
  return row;
}

export async function findCustomers(db: Queryable, companyId: string, ids: readonly string[]): Promise<CustomerRow[]> {
  return db.query<CustomerRow>(`SELECT ${columns} FROM customers WHERE company_id = $1 AND id = ANY($2::uuid[])`, [
    companyId,
    ids,
  ]);
}

/** Locks the customer for an update. New orders, which only refer to the customer, do not wait. */
export async function lockCustomer(db: Queryable, companyId: string, id: string): Promise<CustomerRow | undefined> {
  const [row] = await db.query<CustomerRow>(
    `SELECT ${columns} FROM customers WHERE company_id = $1 AND id = $2 FOR NO KEY UPDATE`,
    [companyId, id],
  );
  return row;
}

/** Locks the customer for deletion, so that no new row can refer to it meanwhile. */
export async function lockCustomerAlone(
  db: Queryable,
  companyId: string,
  id: string,
): Promise<CustomerRow | undefined> {
  const [row] = await db.query<CustomerRow>(
    `SELECT ${columns} FROM customers WHERE company_id = $1 AND id = $2 FOR UPDATE`,
    [companyId, id],
  );
  return row;
}

/** `updated_at` stays the same: changing it would write seven indexes for a column that none of them contains. */
export async function updateDefaultPaymentMethod(
  db: Queryable,
  companyId: string,
  id: string,
  paymentMethodId: string | null,
): Promise<void> {
  await db.query(
    `UPDATE customers SET default_payment_method_id = $3
     WHERE company_id = $1 AND id = $2 AND default_payment_method_id IS DISTINCT FROM $3`,
    [companyId, id, paymentMethodId],
  );
}

/** A separate change, with the event `customer.updated`. */
export async function replaceDefaultPaymentMethod(
  db: Queryable,
  companyId: string,
  { id, default_payment_method_id, sequence, updated_at }: CustomerRow,
): Promise<void> {
  await db.query(
    `UPDATE customers SET default_payment_method_id = $3, sequence = $4, updated_at = $5
     WHERE company_id = $1 AND id = $2`,
    [companyId, id, default_payment_method_id, sequence, updated_at],
  );
}

export async function wasDeleted(db: Queryable, companyId: string, id: string): Promise<boolean> {
  const rows = await db.query(
    `SELECT 1 FROM tombstones WHERE company_id = $1 AND id = $2 AND object_type = 'customer'`,
    [companyId, id],
  );
  return rows.length > 0;
}

/** `updated_at` stays the same, so that a pagination cursor on this object stays valid. */
export async function softDeleteCustomer(db: Queryable, companyId: string, id: string, at: Date): Promise<void> {
  await db.query(`UPDATE customers SET deleted_at = $3 WHERE company_id = $1 AND id = $2`, [companyId, id, at]);
}

/**
 * The tombstone holds only the id and the position for pagination cursors, no personal data. A stored response of an
 * idempotency key remains until its 24 hours are over.
 */
export async function hardDeleteCustomer(db: Queryable, companyId: string, id: string): Promise<void> {
  await db.query(
    `WITH deleted AS (DELETE FROM customers WHERE company_id = $1 AND id = $2 RETURNING updated_at)
     INSERT INTO tombstones (company_id, id, object_type, sort_values)
     SELECT $1, $2, 'customer', jsonb_build_object('updated_at', updated_at::text) FROM deleted`,
    [companyId, id],
  );
}

const source: ListSource = {
  table: 'customers',
  objectType: 'customer',
  columns,
  sorts: { updated_at: { column: 'updated_at', type: 'timestamptz' } },
};

export interface CustomerFilters extends QueryValues<typeof createdAtFilters> {
  readonly emailKey: string | undefined;
  readonly q: string | undefined;
  readonly tags: readonly string[] | undefined;
  readonly includeDeleted: boolean;
}

export async function listCustomers(
  db: Queryable,
  companyId: string,
  filters: CustomerFilters,
  page: PageRequest,
): Promise<Page<CustomerRow>> {
  const where: Sql[] = createdAtConditions(filters);
  if (filters.emailKey !== undefined) where.push(sql`email_key = ${filters.emailKey}`);
  if (!filters.includeDeleted) where.push(sql`deleted_at IS NULL`);
  const wanted = searchQuery(companyId, filters.q, filters.tags);
  // A separate lookup comes first: otherwise the planner walks the list in order, hoping to find a rare word soon.
  if (wanted !== undefined) {
    where.push(sql`id = ANY (ARRAY(
      SELECT id FROM customers WHERE company_id = ${companyId} AND search @@ ${wanted}::tsquery))`);
  }
  return fetchPage(db, companyId, source, page, where);
}

/** Up to this number of ids are compared; for more, each row looks up its own customer. */
const knownMax = 3_000;

/** On whose behalf a list is searched. */
export type Searcher = Pick<RequestContext, 'db' | 'company' | 'caller'>;

/**
 * The customers whose name, email or company has these words: their ids if they are few, otherwise a condition for a column with
 * the id of a customer. Undefined if the text has no word, and for a caller who may not read customers: what a search finds would
 * reveal their names and emails.
 */
export async function findOwners(
  { db, company: { id: companyId }, caller }: Searcher,
  text: string,
  countMax: number,
): Promise<{ readonly ids: readonly string[] } | { readonly isOneOf: (column: Sql) => Sql } | undefined> {
  const wanted = ownerQuery(companyId, text);
  if (wanted === undefined || lackingOf(caller, ['customers:read']).length > 0) return undefined;
  const rows = await db.query<{ id: string }>(
    `WITH matching AS MATERIALIZED (SELECT id FROM customers WHERE company_id = $1 AND search @@ $2::tsquery)
     SELECT id FROM matching LIMIT $3`,
    [companyId, wanted, knownMax + 1],
  );
  const ids = rows.map(({ id }) => id);
  if (ids.length <= countMax) return { ids };
  if (ids.length <= knownMax) return { isOneOf: (column) => sql`${column} = ANY(${ids}::uuid[])` };
  // A scalar subquery, which the planner cannot turn into a read of all matches.
  return {
    isOneOf: (column) =>
      sql`(SELECT c.search @@ ${wanted}::tsquery FROM customers c WHERE c.company_id = ${companyId} AND c.id = ${column})`,
  };
}
