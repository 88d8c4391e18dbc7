import type { Searcher } from '../customers/queries.ts';
import { createdAtConditions, createdAtFilters, type ListSource, type Page } from '../../http/lists.ts';
import type { QueryValues } from '../../http/query-parameters.ts';
import type { PageRequest } from '../../http/route.ts';
import {
  type AmountBounds,
  amountRange,
  anyOf,
  type Arm,
  equalId,
  everyRow,
  keyArm,
  searchPage,
} from '../../http/search-pages.ts';
import type { Metadata } from '../../http/schemas.ts';
import type { Queryable } from '../../platform/database.ts';
import { isUuid } from '../../platform/ids.ts';
import { sql } from '../../platform/sql.ts';
import {
  armsOfAmount,
  armsOfLastFour,
  armsOfOwners,
  findOrderIds,
  idArms,
  numbersMax,
} from '../orders/search-queries.ts';
import type { AuthenticationResult } from '../../vault/processors/authentication.ts';
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
  /** Also how the bank authenticated the customer, if the processor says so. */
  processor_response: (ProcessorResponse & { readonly authentication?: AuthenticationResult }) | null;
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

export interface TransactionFilters extends QueryValues<typeof createdAtFilters>, AmountBounds<'amount'> {
  readonly q?: string;
  readonly customer_id?: string;
  readonly order_id?: string;
  readonly status?: readonly string[];
  readonly type?: readonly string[];
  readonly failure_code?: readonly string[];
  readonly currency?: readonly string[];
  readonly card_brand?: readonly string[];
}

/** The arms of the most selective filter. Rare statuses and types have an index, which those in progress are not in. */
async function armsOf(searcher: Searcher, filters: TransactionFilters): Promise<Arm[]> {
  const { db, company } = searcher;
  const companyId = company.id;
  const { q, customer_id, order_id, status, type, failure_code } = filters;
  if (q !== undefined) {
    const text = q.trim();
    const ids = await findOrderIds(db, companyId, text);
    return [
      ...idArms('id', isUuid(text) ? ids : []),
      ...idArms('order_id', ids, numbersMax),
      ...(await armsOfOwners(searcher, text)),
      ...(await armsOfLastFour(db, companyId, text)),
      ...armsOfAmount('amount', text),
    ];
  }
  if (order_id) return [keyArm('order_id', 'uuid', [order_id])];
  if (customer_id) return [keyArm('customer_id', 'uuid', [customer_id])];
  const statuses = status ?? (failure_code && ['failed']);
  if (statuses && !statuses.includes('succeeded')) return [...inProgress(statuses), ...recorded('status', statuses)];
  if (type && !type.includes('sale')) return [openArm, ...recorded('type', type)];
  return [everyRow];
}

const openArm: Arm = { table: 'open_transactions' };
const inProgress = (statuses: readonly string[]): Arm[] => (statuses.includes('in_progress') ? [openArm] : []);

/** The conditions of the indexes of rare values. */
const rare = { status: sql`status <> 'succeeded'`, type: sql`type <> 'sale'` } as const;

function recorded(column: keyof typeof rare, values: readonly string[]): Arm[] {
  const keys = values.filter((value) => value !== 'in_progress');
  return keys.length === 0 ? [] : [{ table: 'transactions', ...keyArm(column, 'text', keys), within: rare[column] }];
}

export async function listTransactions(
  searcher: Searcher,
  filters: TransactionFilters,
  page: PageRequest,
): Promise<Page<TransactionRow>> {
  const { db, company } = searcher;
  const arms = await armsOf(searcher, filters);
  const [arm] = arms;
  const isBy = (column: string): boolean => arms.length === 1 && arm?.by?.column === column && !arm.only;
  return searchPage(db, company.id, source, page, {
    arms,
    ranges: { id: createdAtConditions(filters), amount: amountRange('amount', filters) },
    checks: [
      ...(isBy('customer_id') ? [] : equalId('customer_id', filters.customer_id)),
      ...(isBy('order_id') ? [] : equalId('order_id', filters.order_id)),
      ...anyOf('status', filters.status),
      ...anyOf('type', filters.type),
      ...anyOf('failure_code', filters.failure_code),
      ...anyOf('currency', filters.currency),
      ...anyOf('card_brand', filters.card_brand),
    ],
  });
}
