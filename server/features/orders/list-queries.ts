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
import type { Queryable } from '../../platform/database.ts';
import { joinSql, type Sql, sql, toStatement } from '../../platform/sql.ts';
import type { OrderRow, TransactionSummary } from './order.ts';
import { inlineTransactions, readColumns } from './queries.ts';
import {
  armsOfAmount,
  armsOfLastFour,
  armsOfObjects,
  armsOfOwners,
  findOrderIds,
  numbersMax,
  findProductIds,
  hasCoupon,
  hasPlan,
  hasProduct,
  idArms,
} from './search-queries.ts';

export type ListedOrder = OrderRow & { readonly transactions: TransactionSummary[] | null };

const listColumns = `${readColumns}, ${inlineTransactions}`;

const source: ListSource = {
  table: 'orders',
  objectType: 'order',
  columns: listColumns,
  sorts: { total: { column: 'total', type: 'bigint' } },
};

export interface OrderFilters extends QueryValues<typeof createdAtFilters>, AmountBounds<'total'> {
  readonly q?: string;
  readonly customer_id?: string;
  readonly subscription_id?: string;
  readonly product_id?: string;
  readonly coupon_id?: string;
  readonly plan_id?: string;
  readonly status?: readonly string[];
  readonly authorized?: boolean;
  readonly failure_code?: readonly string[];
  readonly currency?: readonly string[];
  readonly card_brand?: readonly string[];
}

/** One filter: the arms that find its orders, and the conditions that check it if another filter finds them. */
interface Served {
  readonly find: (db: Queryable) => Promise<Arm[]>;
  readonly checks: readonly Sql[];
}

/**
 * Rare statuses have an index, and a pending order has an open transaction or held funds. Most orders are succeeded, so the list itself is read
 * for them.
 */
function statusFilter(statuses: readonly string[], codes: readonly string[] | undefined): Served {
  const checks = [...anyOf('status', statuses), ...anyOf('failure_code', codes)];
  const only = sql`(${joinSql(checks, ' AND ')})`;
  const rare = statuses.filter((status) => status !== 'pending');
  const arms: Arm[] = [
    ...(rare.length > 0 ? [{ ...keyArm('rare_status', 'text', rare), ...(codes && { only }) }] : []),
    ...(statuses.includes('pending')
      ? [
          { table: 'open_transactions', idColumn: 'order_id', only },
          { within: sql`capture_before IS NOT NULL`, only },
        ]
      : []),
  ];
  return { find: async () => (statuses.includes('succeeded') ? [{ only }] : arms), checks };
}

/** Held funds have an index. */
function authorizedFilter(isHeld: boolean): Served {
  const check = isHeld ? sql`capture_before IS NOT NULL` : sql`capture_before IS NULL`;
  return { find: async () => [isHeld ? { within: check } : { only: check }], checks: [check] };
}

/** Up to so many orders are found by their amounts; otherwise the list is read in its order. */
const rareAmounts = 1_000;

async function armsOfTotals(db: Queryable, companyId: string, range: readonly Sql[]): Promise<Arm[]> {
  const where = joinSql([sql`company_id = ${companyId}`, ...range], ' AND ');
  const { text, values } = toStatement(
    sql`SELECT id FROM orders WHERE ${where} ORDER BY total LIMIT ${rareAmounts + 1}`,
  );
  const rows = await db.query<{ id: string }>(text, values);
  const ids = rows.map(({ id }) => id);
  return ids.length > rareAmounts ? [everyRow] : idArms('id', ids);
}

async function armsOfText(searcher: Searcher, text: string): Promise<Arm[]> {
  const { db, company } = searcher;
  const companyId = company.id;
  const products = await findProductIds(db, companyId, text);
  return [
    ...idArms('id', await findOrderIds(db, companyId, text), numbersMax),
    ...(await armsOfOwners(searcher, text)),
    ...(await armsOfLastFour(db, companyId, text)),
    ...armsOfAmount('total', text),
    ...(await armsOfObjects(db, companyId, products, hasProduct(products))),
  ];
}

/** The filters that were sent, the most selective first: the first one finds the orders, the others are checked. */
function servedFilters(searcher: Searcher, filters: OrderFilters): Served[] {
  const companyId = searcher.company.id;
  const { q, customer_id, subscription_id, product_id, coupon_id, plan_id, status, authorized, failure_code } = filters;
  const ofObject = (id: string | undefined, isOfObject: (id: string) => Sql): Served[] =>
    id === undefined
      ? []
      : [{ find: (db) => armsOfObjects(db, companyId, [id], isOfObject(id)), checks: [isOfObject(id)] }];
  const ofColumn = (column: string, id: string | undefined): Served[] =>
    id === undefined ? [] : [{ find: async () => [keyArm(column, 'uuid', [id])], checks: equalId(column, id) }];
  const statuses = status ?? (failure_code && ['failed']);
  return [
    ...(q === undefined ? [] : [{ find: () => armsOfText(searcher, q.trim()), checks: [] }]),
    ...(authorized === true ? [authorizedFilter(true)] : []),
    ...ofColumn('subscription_id', subscription_id),
    ...ofColumn('customer_id', customer_id),
    ...ofObject(coupon_id, hasCoupon),
    ...ofObject(product_id, (id) => hasProduct([id])),
    ...ofObject(plan_id, (id) => hasPlan(companyId, id)),
    ...(statuses ? [statusFilter(statuses, failure_code)] : []),
    ...(authorized === false ? [authorizedFilter(false)] : []),
  ];
}

export async function listOrders(
  searcher: Searcher,
  filters: OrderFilters,
  page: PageRequest,
): Promise<Page<ListedOrder>> {
  const { db, company } = searcher;
  const companyId = company.id;
  const [first, ...others] = servedFilters(searcher, filters);
  const totals = amountRange('total', filters);
  const byTotal = !first && totals.length > 0 && page.sort.field === 'created_at';
  const arms = byTotal ? await armsOfTotals(db, companyId, totals) : ((await first?.find(db)) ?? [everyRow]);
  return searchPage(db, companyId, source, page, {
    arms,
    ranges: { id: createdAtConditions(filters), total: totals },
    checks: [
      ...others.flatMap(({ checks }) => checks),
      ...anyOf('currency', filters.currency),
      ...anyOf('card_brand', filters.card_brand),
    ],
  });
}

export async function findOrders(db: Queryable, companyId: string, ids: readonly string[]): Promise<ListedOrder[]> {
  return db.query<ListedOrder>(`SELECT ${listColumns} FROM orders WHERE company_id = $1 AND id = ANY($2::uuid[])`, [
    companyId,
    ids,
  ]);
}
