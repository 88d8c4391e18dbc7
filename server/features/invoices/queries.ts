import { createdAtConditions, createdAtFilters, type ListSource, type Page } from '../../http/lists.ts';
import type { QueryValues } from '../../http/query-parameters.ts';
import type { PageRequest } from '../../http/route.ts';
import { anyOf, equalId, everyRow, keyArm, searchPage } from '../../http/search-pages.ts';
import type { Mode } from '../../company.ts';
import type { Queryable } from '../../platform/database.ts';
import { joinSql, sql, toStatement } from '../../platform/sql.ts';
import { findOrderIds, idArms } from '../orders/search-queries.ts';
import type { OrderItem, Shipping } from '../orders/schemas.ts';
import type { PostalAddress } from '../profile/schemas.ts';
import type { BusinessRule } from './business-rules.ts';
import type { invoiceCauses, invoiceKinds } from './schemas.ts';
import type { TaxRate } from './tax.ts';

/** What was copied when the order was paid. A trigger of the database writes it. */
export interface InvoiceContent {
  readonly mode: Mode;
  readonly time_zone: string;
  /** That of the customer; null while it was not known. Invoices from before lack it. */
  readonly locale?: string | null;
  readonly order_number: string;
  readonly description: string | null;
  readonly items: readonly OrderItem[];
  readonly subtotal: number;
  readonly discount_amount: number;
  readonly total: number;
  readonly credit_applied: number;
  readonly coupon_code: string | null;
  readonly shipping: Shipping | null;
  /** Null if nothing was charged. */
  readonly card: { readonly brand: string; readonly last_four: string } | null;
  /** Of a subscription, whose items have no price of their own. */
  readonly plan: { readonly name: string; readonly setup_fee: number } | null;
  readonly seller: {
    readonly name: string;
    readonly address: PostalAddress | null;
    readonly tax_id: string | null;
    readonly email: string | null;
    readonly website: string | null;
    readonly color: string | null;
  };
  /** Null if the merchant keeps no rates. */
  readonly tax?: {
    readonly country: string;
    readonly region: string | null;
    /** Those of the country. */
    readonly rates: readonly TaxRate[] | null;
    /** Those for the country. Invoices from before lack them. */
    readonly business_rules?: readonly BusinessRule[] | null;
    /** By product. */
    readonly categories: Readonly<Record<string, string>> | null;
  } | null;
  readonly buyer: {
    readonly name: string;
    readonly company: string | null;
    /** Invoices from before customers had one lack it. */
    readonly tax_id?: string | null;
    readonly email: string;
    readonly address: PostalAddress | null;
  };
}

export interface InvoiceRow {
  id: string;
  kind: (typeof invoiceKinds)[number];
  cause: (typeof invoiceCauses)[number];
  order_id: string;
  customer_id: string;
  subject_id: string;
  amount: number;
  currency: string;
  series: string;
  full_number: string;
  /** Why the buyer was corrected. */
  reason: string | null;
  /** That of the invoice, which the document corrects or is. */
  content: InvoiceContent;
  corrects: { readonly id: string; readonly full_number: string } | null;
  /** That of the order, with what was paid. */
  payment: { readonly id: string; readonly amount: number };
}

const isCorrected = 'p.company_id = invoices.company_id AND p.id = invoices.corrects_id';

/** A correction has the content of what it corrects; the reversal of a credit note, that of its invoice. */
const columns = `id, kind, cause, order_id, customer_id, subject_id, amount, currency, series, full_number, reason,
  coalesce(content, (SELECT coalesce(p.content, q.content) FROM invoices p
    LEFT JOIN invoices q ON q.company_id = p.company_id AND q.id = p.corrects_id WHERE ${isCorrected})) AS content,
  (SELECT json_build_object('id', p.id, 'full_number', p.full_number) FROM invoices p WHERE ${isCorrected}) AS corrects,
  coalesce((SELECT json_build_object('id', p.id, 'amount', p.amount) FROM invoices p
    WHERE p.company_id = invoices.company_id AND p.order_id = invoices.order_id AND p.cause = 'payment_recorded'
      AND p.subject_id = invoices.order_id), json_build_object('id', id, 'amount', amount)) AS payment`;

const isNumbered = sql`number IS NOT NULL`;

export async function findInvoice(db: Queryable, companyId: string, id: string): Promise<InvoiceRow | undefined> {
  const [row] = await db.query<InvoiceRow>(
    `SELECT ${columns} FROM invoices WHERE company_id = $1 AND id = $2 AND number IS NOT NULL`,
    [companyId, id],
  );
  return row;
}

export async function findInvoices(db: Queryable, companyId: string, ids: readonly string[]): Promise<InvoiceRow[]> {
  return db.query<InvoiceRow>(
    `SELECT ${columns} FROM invoices WHERE company_id = $1 AND id = ANY($2::uuid[]) ORDER BY id`,
    [companyId, ids],
  );
}

const source: ListSource = { table: 'invoices', objectType: 'invoice', columns, sorts: {} };

export interface InvoiceFilters extends QueryValues<typeof createdAtFilters> {
  readonly q?: string;
  readonly kind?: readonly string[];
  readonly customer_id?: string;
  readonly order_id?: string;
}

export async function listInvoices(
  db: Queryable,
  companyId: string,
  filters: InvoiceFilters,
  page: PageRequest,
): Promise<Page<InvoiceRow>> {
  const { q, kind, customer_id, order_id } = filters;
  return searchPage(db, companyId, source, page, {
    arms: await armsOf(db, companyId, filters),
    ranges: { id: [...createdAtConditions(filters), isNumbered] },
    checks: [
      ...(q === undefined ? [] : equalId('order_id', order_id)),
      ...(q === undefined && order_id === undefined ? [] : equalId('customer_id', customer_id)),
      ...anyOf('kind', kind),
    ],
  });
}

export interface NumberedRow {
  readonly id: string;
  readonly order_id: string;
  readonly kind: InvoiceRow['kind'];
  readonly full_number: string;
}

/** Oldest first. */
export async function findNumbered(
  db: Queryable,
  companyId: string,
  orderIds: readonly string[],
): Promise<NumberedRow[]> {
  return db.query<NumberedRow>(
    `SELECT id, order_id, kind, full_number FROM invoices
     WHERE company_id = $1 AND order_id = ANY($2::uuid[]) AND number IS NOT NULL ORDER BY id`,
    [companyId, orderIds],
  );
}

export async function findLatest(
  db: Queryable,
  companyId: string,
  orderId: string,
  kind: InvoiceRow['kind'],
): Promise<string | undefined> {
  const [row] = await db.query<{ id: string }>(
    'SELECT id FROM invoices WHERE company_id = $1 AND order_id = $2 AND kind = $3 ORDER BY id DESC LIMIT 1',
    [companyId, orderId, kind],
  );
  return row?.id;
}

/** The document that the email about a payment or a refund carries, with or without its number. Null if the merchant wants none. */
export async function findAttached(
  db: Queryable,
  companyId: string,
  orderId: string,
  refundId: string | null,
): Promise<string | null> {
  const [row] = await db.query<{ id: string }>(
    `SELECT i.id FROM invoices i JOIN invoice_settings s ON s.company_id = i.company_id AND s.attach_to_emails
     WHERE i.company_id = $1 AND i.order_id = $2 AND i.cause = $3 AND i.subject_id = $4`,
    [companyId, orderId, refundId === null ? 'payment_recorded' : 'refund_settled', refundId ?? orderId],
  );
  return row?.id ?? null;
}

/** The arms of the most selective filter. */
async function armsOf(db: Queryable, companyId: string, { q, order_id, customer_id }: InvoiceFilters) {
  if (q !== undefined) return idArms('id', await findDocuments(db, companyId, q.trim()));
  if (order_id !== undefined) return idArms('id', await findOfOrders(db, companyId, [order_id]));
  return [customer_id === undefined ? everyRow : keyArm('customer_id', 'uuid', [customer_id])];
}

/** Documents with this number, and those of orders whose number begins so. */
async function findDocuments(db: Queryable, companyId: string, text: string): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    'SELECT id FROM invoices WHERE company_id = $1 AND full_number = upper($2) AND number IS NOT NULL',
    [companyId, text],
  );
  const ofOrders = await findOfOrders(db, companyId, await findOrderIds(db, companyId, text));
  return [...new Set([...rows.map(({ id }) => id), ...ofOrders])];
}

/** Those that have their number, but at most `max`. */
export async function countInvoices(
  db: Queryable,
  companyId: string,
  filters: QueryValues<typeof createdAtFilters>,
  max: number,
): Promise<number> {
  const conditions = joinSql([sql`company_id = ${companyId}`, ...createdAtConditions(filters), isNumbered], ' AND ');
  const { text, values } = toStatement(
    sql`SELECT count(*)::integer AS count FROM (SELECT FROM invoices WHERE ${conditions} LIMIT ${max}) AS found`,
  );
  const [row] = await db.query<{ count: number }>(text, values);
  return row?.count ?? 0;
}

/** The month at this time, in the time zone of the company. */
export async function findMonth(db: Queryable, companyId: string, nowMs: number): Promise<string> {
  const [row] = await db.query<{ month: string }>(
    `SELECT to_char($2::timestamptz AT TIME ZONE time_zone, 'YYYY-MM') AS month FROM companies WHERE id = $1`,
    [companyId, new Date(nowMs)],
  );
  return row?.month ?? '';
}

async function findOfOrders(db: Queryable, companyId: string, orderIds: readonly string[]): Promise<string[]> {
  if (orderIds.length === 0) return [];
  const rows = await db.query<{ id: string }>(
    'SELECT id FROM invoices WHERE company_id = $1 AND order_id = ANY($2::uuid[])',
    [companyId, orderIds],
  );
  return rows.map(({ id }) => id);
}
