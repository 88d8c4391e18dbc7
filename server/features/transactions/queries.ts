import { createdAtConditions, createdAtFilters, fetchPage, type ListSource, type Page } from '../../http/lists.ts';
import type { QueryValues } from '../../http/query-parameters.ts';
import type { PageRequest } from '../../http/route.ts';
import type { Metadata } from '../../http/schemas.ts';
import type { Queryable } from '../../platform/database.ts';
import { type Sql, sql } from '../../platform/sql.ts';
import type { FailureCode, ProcessorResponse } from '../../vault/processors/processor.ts';
import type { BrandName } from '../../platform/card-brands.ts';

/** The slot of an operation of which nothing is known yet: an order has one, so it has one such operation at most. */
export const undecided = '00000000-0000-0000-0000-000000000000';

/** Which of these references the books have. */
export async function findTaken(db: Queryable, companyId: string, references: readonly string[]): Promise<Set<string>> {
  const rows = await db.query<{ reference: string }>(
    `SELECT reference FROM transactions WHERE company_id = $1 AND reference = ANY($2::uuid[])
     UNION ALL
     SELECT reference FROM open_transactions WHERE company_id = $1 AND reference = ANY($2::uuid[])`,
    [companyId, references],
  );
  return new Set(rows.map(({ reference }) => reference));
}

export type OpenType = 'sale' | 'refund' | 'void';

export interface NewOpenTransaction {
  readonly company_id: string;
  readonly order_id: string;
  readonly id: string;
  readonly customer_id: string;
  readonly payment_method_id: string;
  readonly reference: string;
  readonly type: OpenType;
  readonly amount: number;
  readonly currency: string;
  readonly card_brand: BrandName;
  readonly card_last4: string;
  readonly request_id: string | null;
  readonly updated_at: Date;
}

/** Until when a request that is recorded now is valid; `company` is SQL for the id of its company. */
export const validUntil = (company: string): string => `date_trunc('milliseconds', now())
  + (SELECT c.request_life_ms FROM companies c WHERE c.id = ${company}) * interval '1 ms'`;

export const milliseconds = (time: string): string => `(extract(epoch FROM ${time}) * 1000)::bigint`;

/** An operation that is recorded and may be sent. */
export interface Opened {
  /** From then on the processor refuses it. By the clock of the database. */
  readonly validUntilMs: number;
}

/** Undefined when another operation of the order is undecided. */
export async function insertOpen(db: Queryable, open: NewOpenTransaction, lockMs: number): Promise<Opened | undefined> {
  const rows = await db.query<{ valid_until_ms: number }>(
    `INSERT INTO open_transactions (company_id, order_id, slot, id, customer_id, payment_method_id, type, amount,
       currency, card_brand, card_last4, updated_at, request_id, reference, valid_until, locked_until, next_check_at)
     VALUES ($1, $2, '${undecided}', $3, $4, $5, $6, $7, $8, $9, $10, $11, $13, $14, ${validUntil('$1')},
       now() + $12 * interval '1 ms', now() + $12 * interval '1 ms')
     ON CONFLICT (company_id, order_id, slot) DO NOTHING RETURNING ${milliseconds('valid_until')} AS valid_until_ms`,
    [
      open.company_id,
      open.order_id,
      open.id,
      open.customer_id,
      open.payment_method_id,
      open.type,
      open.amount,
      open.currency,
      open.card_brand,
      open.card_last4,
      open.updated_at,
      lockMs,
      open.request_id,
      open.reference,
    ],
  );
  return rows[0] && { validUntilMs: rows[0].valid_until_ms };
}

export interface OpenTransaction {
  readonly company_id: string;
  readonly order_id: string;
  readonly id: string;
  readonly reference: string;
  /** The validity that was sent. Only a processor whose clock is past it can say that the operation never happened. */
  readonly valid_until_ms: number;
  readonly type: OpenType;
  readonly amount: number;
  readonly currency: string;
  /** Taken on by the processor; it only has to settle. */
  readonly accepted: boolean;
  readonly in_doubt: boolean;
  /** A sale that was certainly not sent yet. */
  readonly waiting: boolean;
  /** Whether the process that opened it is taken to be at work on it. */
  readonly locked: boolean;
  readonly request_id: string | null;
  readonly payment_method_id: string;
  readonly card_brand: BrandName;
  readonly card_last4: string;
}

const openColumns = `company_id, order_id, id, coalesce(reference, id) AS reference, type, amount, currency, request_id,
  payment_method_id, card_brand, card_last4, slot = id AS accepted, in_doubt, waiting, locked_until > now() AS locked,
  ${milliseconds('valid_until')} AS valid_until_ms`;

export async function findOpenOf(db: Queryable, companyId: string, orderId: string): Promise<OpenTransaction[]> {
  return db.query<OpenTransaction>(
    `SELECT ${openColumns} FROM open_transactions WHERE company_id = $1 AND order_id = $2`,
    [companyId, orderId],
  );
}

/** The outcome is unknown: recovery asks the processor from now on. */
export async function markInDoubt(
  db: Queryable,
  open: Pick<OpenTransaction, 'company_id' | 'order_id' | 'id'>,
  firstCheckMs: number,
): Promise<void> {
  await db.query(
    `UPDATE open_transactions SET in_doubt = true, locked_until = now(),
       next_check_at = now() + $4 * interval '1 ms'
     WHERE company_id = $1 AND order_id = $2 AND slot = '${undecided}' AND id = $3`,
    [open.company_id, open.order_id, open.id, firstCheckMs],
  );
}

/** The sale was not sent; it can be sent later under its reference. */
export async function markWaiting(
  db: Queryable,
  open: Pick<OpenTransaction, 'company_id' | 'order_id' | 'id'>,
  checkAfterMs: number,
): Promise<void> {
  await db.query(
    `UPDATE open_transactions SET waiting = true, locked_until = now(), next_check_at = now() + $4 * interval '1 ms'
     WHERE company_id = $1 AND order_id = $2 AND slot = '${undecided}' AND id = $3 AND NOT in_doubt`,
    [open.company_id, open.order_id, open.id, checkAfterMs],
  );
}

/** Takes a waiting sale over. From here on it may have been sent. Undefined when another process was faster. */
export async function claimWaiting(
  db: Queryable,
  open: Pick<OpenTransaction, 'company_id' | 'order_id' | 'id'>,
  lockMs: number,
): Promise<Opened | undefined> {
  const rows = await db.query<{ valid_until_ms: number }>(
    `UPDATE open_transactions SET waiting = false, checks = 0, opened_at = now(), valid_until = ${validUntil('$1')},
       locked_until = now() + $4 * interval '1 ms', next_check_at = now() + $4 * interval '1 ms'
     WHERE company_id = $1 AND order_id = $2 AND slot = '${undecided}' AND id = $3 AND waiting
     RETURNING ${milliseconds('valid_until')} AS valid_until_ms`,
    [open.company_id, open.order_id, open.id, lockMs],
  );
  return rows[0] && { validUntilMs: rows[0].valid_until_ms };
}

/** A refund was taken on: it leaves the slot to others, and is due to be asked about. */
export async function acceptOpen(
  db: Queryable,
  open: Pick<OpenTransaction, 'company_id' | 'order_id' | 'id'>,
  response: ProcessorResponse,
): Promise<boolean> {
  const rows = await db.query(
    `UPDATE open_transactions SET slot = id, in_doubt = false, processor_response = $4, checks = 0,
       locked_until = now(), next_check_at = now()
     WHERE company_id = $1 AND order_id = $2 AND slot = '${undecided}' AND id = $3 RETURNING pg_notify('${dueChannel}', '')`,
    [open.company_id, open.order_id, open.id, JSON.stringify(response)],
  );
  return rows.length === 1;
}

/** A process that listens here looks for what is due at once. */
export const dueChannel = 'transactions_due';

export interface Closing {
  readonly status: 'succeeded' | 'failed';
  readonly response: ProcessorResponse | null;
  readonly failureCode: FailureCode | null;
  readonly failureReason: string | null;
  readonly at: Date;
}

/** The operation is over. False when it already was. */
export async function closeOpen(
  db: Queryable,
  open: Pick<OpenTransaction, 'company_id' | 'order_id' | 'id'>,
  closing: Closing,
): Promise<boolean> {
  const rows = await db.query(
    `WITH closed AS (
       DELETE FROM open_transactions WHERE company_id = $1 AND order_id = $2 AND slot IN ('${undecided}', $3) AND id = $3
       RETURNING *
     )
     INSERT INTO transactions (company_id, id, order_id, customer_id, payment_method_id, type, amount, currency,
       card_brand, card_last4, status, processor_response, failure_code, failure_reason, updated_at, reference)
     SELECT company_id, id, order_id, customer_id, payment_method_id, type, amount, currency, card_brand, card_last4,
       $4, coalesce($5::json, processor_response), $6, $7, $8, reference FROM closed RETURNING 1`,
    [
      open.company_id,
      open.order_id,
      open.id,
      closing.status,
      closing.response && JSON.stringify(closing.response),
      closing.failureCode,
      closing.failureReason,
      closing.at,
    ],
  );
  return rows.length === 1;
}

/** It never happened, or leaves no transaction of its own. A walk of a list may stand on it all the same. */
export async function discardOpen(
  db: Queryable,
  open: Pick<OpenTransaction, 'company_id' | 'order_id' | 'id'>,
): Promise<boolean> {
  const rows = await db.query(
    `WITH gone AS (
       DELETE FROM open_transactions WHERE company_id = $1 AND order_id = $2 AND slot = '${undecided}' AND id = $3
       RETURNING company_id, id, type, amount
     ), buried AS (
       INSERT INTO tombstones (company_id, id, object_type, sort_values)
       SELECT company_id, id, 'transaction', jsonb_build_object('amount', amount) FROM gone WHERE type <> 'void'
     )
     SELECT 1 FROM gone`,
    [open.company_id, open.order_id, open.id],
  );
  return rows.length === 1;
}

/** A sale that succeeded is voided or disputed. */
export async function reclassify(
  db: Queryable,
  companyId: string,
  id: string,
  to: 'voided' | 'chargeback',
  at: Date,
): Promise<boolean> {
  const rows = await db.query(
    `UPDATE transactions SET status = $3, updated_at = $4
     WHERE company_id = $1 AND id = $2 AND status = 'succeeded' RETURNING 1`,
    [companyId, id, to, at],
  );
  return rows.length === 1;
}

/**
 * Takes what is due and puts off its next check, by the number of those before: whoever dies while asking leaves it to be
 * found again.
 */
export async function claimDue(
  db: Queryable,
  batch: number,
  checkDelaysMs: readonly number[],
  resendDelayMs: number,
): Promise<OpenTransaction[]> {
  return db.query<OpenTransaction>(
    `UPDATE open_transactions SET checks = checks + 1, in_doubt = in_doubt OR (slot <> id AND NOT waiting),
       next_check_at = now() + CASE WHEN waiting THEN $3
         ELSE ($2::bigint[])[least(checks + 1, array_length($2::bigint[], 1))] END * interval '1 ms'
     WHERE (company_id, order_id, slot) IN (
       SELECT company_id, order_id, slot FROM open_transactions WHERE next_check_at <= now()
       ORDER BY next_check_at LIMIT $1 FOR UPDATE SKIP LOCKED
     ) RETURNING ${openColumns}`,
    [batch, checkDelaysMs, resendDelayMs],
  );
}

export async function openStatistics(
  db: Queryable,
): Promise<{ inDoubt: number; oldestInDoubtSeconds: number; waiting: number }> {
  const [row] = await db.query<{ in_doubt: number; oldest: number | null; waiting: number }>(
    `SELECT count(*) FILTER (WHERE in_doubt)::integer AS in_doubt, count(*) FILTER (WHERE waiting)::integer AS waiting,
       extract(epoch FROM now() - min(opened_at) FILTER (WHERE in_doubt))::float8 AS oldest
     FROM open_transactions WHERE in_doubt OR waiting`,
  );
  return { inDoubt: row?.in_doubt ?? 0, oldestInDoubtSeconds: row?.oldest ?? 0, waiting: row?.waiting ?? 0 };
}

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
  description: string | null;
  metadata: Metadata | null;
}

const ofOrder = (column: string): string => `(SELECT o.${column} FROM orders o
  WHERE o.company_id = all_transactions.company_id AND o.id = all_transactions.order_id) AS ${column}`;
const columns = `id, order_id, customer_id, payment_method_id, type, status, amount, currency, card_brand, card_last4,
  processor_response, failure_code, failure_reason, updated_at, ${ofOrder('description')}, ${ofOrder('metadata')}`;

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
  // Those that are rare have an index of their own; of the others the first page is near in any order.
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
