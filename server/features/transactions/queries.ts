import { createdAtConditions, createdAtFilters, fetchPage, type ListSource, type Page } from '../../http/lists.ts';
import type { QueryValues } from '../../http/query-parameters.ts';
import type { PageRequest } from '../../http/route.ts';
import type { Metadata } from '../../http/schemas.ts';
import type { Queryable } from '../../platform/database.ts';
import { type Sql, sql } from '../../platform/sql.ts';
import type { FailureCode, ProcessorResponse } from '../../vault/processors/processor.ts';
import type { BrandName } from '../../platform/card-brands.ts';

export interface TransactionRow {
  id: string;
  order_id: string;
  customer_id: string;
  payment_method_id: string;
  type: 'sale' | 'refund' | 'auth';
  status: 'in_progress' | 'succeeded' | 'failed' | 'voided' | 'chargeback';
  amount: number;
  currency: string;
  card_brand: BrandName;
  card_last4: string;
  processor_response: ProcessorResponse | null;
  failure_code: FailureCode | null;
  failure_reason: string | null;
  updated_at: Date;
  settled_at: Date | null;
  description: string | null;
  metadata: Metadata | null;
}

const ofOrder = (column: string): string => `(SELECT o.${column} FROM orders o
  WHERE o.company_id = all_transactions.company_id AND o.id = all_transactions.order_id) AS ${column}`;
const columns = `id, order_id, customer_id, payment_method_id, type, status, amount, currency, card_brand, card_last4,
  processor_response, failure_code, failure_reason, updated_at, settled_at, ${ofOrder('description')}, ${ofOrder('metadata')}`;

export async function findTransaction(
  db: Queryable,
  companyId: string,
  id: string,
): Promise<TransactionRow | undefined> {
  const [row] = await db.query<TransactionRow>(
    `SELECT ${columns} FROM all_transactions WHERE company_id = $1 AND id = $2`,
    [companyId, id],
  );
  return row;
}

const source: ListSource = {
  table: 'all_transactions',
  objectType: 'transaction',
  columns,
  sorts: { amount: { column: 'amount', type: 'bigint' } },
};

export interface TransactionFilters extends QueryValues<typeof createdAtFilters> {
  readonly customer_id?: string;
  readonly order_id?: string;
  readonly status?: readonly string[];
  readonly type?: readonly string[];
  readonly 'amount[gt]'?: number;
  readonly 'amount[gte]'?: number;
  readonly 'amount[lt]'?: number;
  readonly 'amount[lte]'?: number;
}

export async function listTransactions(
  db: Queryable,
  companyId: string,
  filters: TransactionFilters,
  page: PageRequest,
): Promise<Page<TransactionRow>> {
  const where: Sql[] = [...createdAtConditions(filters)];
  if (filters.customer_id) where.push(sql`customer_id = ${filters.customer_id}::uuid`);
  if (filters.order_id) where.push(sql`order_id = ${filters.order_id}::uuid`);
  // Rare statuses have an index; for the others the first page is found quickly in any order.
  if (filters.status) where.push(sql`status = ANY(${filters.status}::text[])`);
  if (filters.status && !filters.status.includes('succeeded')) where.push(sql`status <> 'succeeded'`);
  if (filters.type) where.push(sql`type = ANY(${filters.type}::text[])`);
  if (filters.type && !filters.type.includes('sale')) where.push(sql`type <> 'sale'`);
  if (filters['amount[gt]'] !== undefined) where.push(sql`amount > ${filters['amount[gt]']}`);
  if (filters['amount[gte]'] !== undefined) where.push(sql`amount >= ${filters['amount[gte]']}`);
  if (filters['amount[lt]'] !== undefined) where.push(sql`amount < ${filters['amount[lt]']}`);
  if (filters['amount[lte]'] !== undefined) where.push(sql`amount <= ${filters['amount[lte]']}`);
  return fetchPage(db, companyId, source, page, where);
}
