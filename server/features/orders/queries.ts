import type { Mode } from '../../company.ts';
import type { Database, Queryable } from '../../platform/database.ts';
import { anyRow } from '../../platform/sql.ts';
import { type EventRow, insertEvents } from '../events/queries.ts';
import type { BillingDetails } from '../payment-methods/schemas.ts';
import type { OrderRow, OrderState, TransactionSummary } from './order.ts';
import type { Order } from './schemas.ts';
import { inFlightSlot } from './operations/open-queries.ts';
import { transactionChanges } from './transitions.ts';
import { staysHere } from '../../shards/queries.ts';

export const orderColumns = `company_id, id, order_number, customer_id, payment_method_id, card_brand, card_last4, status, items,
  currency, subtotal, discount_amount, total, refunded_amount, coupon, description, shipping, metadata, subscription_id,
  subscription_cycle, attempt_count, next_retry_at, failure_code, failure_reason, request_id, sale_id, sequence,
  updated_at`;

/** Also what few orders have. */
export const readColumns = `${orderColumns}, authorized_amount, captured_amount, capture_before, credit_applied, credit_refunded,
  subscription_change, off_session, authentication_url, authentication_until`;

interface StateRow extends OrderRow {
  transactions: TransactionSummary[] | null;
  mode: Mode;
  clock_offset_ms: number;
  authenticates: boolean;
  card_id: string | null;
  exp_month: number;
  exp_year: number;
  billing_details: BillingDetails | null;
  listed: boolean;
  customer_deleted: boolean;
  voiding: boolean;
}

export const inlineTransactions = `(
  SELECT json_agg(json_build_object('id', t.id, 'reference', t.reference, 'type', t.type, 'status', t.status,
    'amount', t.amount, 'currency', t.currency, 'processor_transaction_id', t.processor_response->>'transaction_id',
    'failure_code', t.failure_code, 'failure_reason', t.failure_reason) ORDER BY t.id)
  FROM all_transactions t WHERE t.company_id = orders.company_id AND t.order_id = orders.id) AS transactions`;

const stateStatement = `
  SELECT ${readColumns.replaceAll(/\w+/g, 'orders.$&')}, ${inlineTransactions}, companies.mode,
    companies.clock_offset_ms, companies.authenticates, m.card_id, m.exp_month, m.exp_year, m.billing_details, m.listed,
    c.deleted_at IS NOT NULL AS customer_deleted,
    ${anyRow(`open_transactions t WHERE t.company_id = orders.company_id AND t.order_id = orders.id AND t.type = 'void'`)} AS voiding
  FROM orders
  JOIN companies ON companies.id = orders.company_id
  JOIN customers c ON c.company_id = orders.company_id AND c.id = orders.customer_id
  LEFT JOIN open_transactions u ON u.company_id = orders.company_id AND u.order_id = orders.id
    AND u.slot = '${inFlightSlot}' AND u.type IN ('sale', 'auth')
  LEFT JOIN payment_methods m ON m.company_id = orders.company_id
    AND m.id = coalesce(u.payment_method_id, orders.payment_method_id) AND m.deleted_at IS NULL
  WHERE orders.company_id = $1 AND orders.id = $2`;

export async function findOrder(db: Queryable, companyId: string, id: string): Promise<OrderState | undefined> {
  const [row] = await db.query<StateRow>(stateStatement, [companyId, id]);
  if (!row) return undefined;
  const { transactions, mode, clock_offset_ms, card_id, exp_month, exp_year, customer_deleted, voiding, ...rest } = row;
  const { billing_details: billing, listed: isListed, authenticates, ...order } = rest;
  return {
    order,
    transactions: transactions ?? [],
    mode,
    clockOffsetMs: clock_offset_ms,
    authenticates,
    card: card_id === null ? null : { cardId: card_id, expMonth: exp_month, expYear: exp_year, billing, isListed },
    customerDeleted: customer_deleted,
    voiding,
  };
}

/**
 * The order stays unchanged until the transaction ends. The row is locked first, so that the newest version is read.
 * A transaction that only refers to the order, such as a scheduled retry, does not wait; the slot of its open
 * operation stops it.
 */
export async function lockOrder(db: Database, companyId: string, id: string): Promise<OrderState | undefined> {
  await db.query('SELECT 1 FROM orders WHERE company_id = $1 AND id = $2 FOR NO KEY UPDATE', [companyId, id]);
  return findOrder(db, companyId, id);
}

export async function hasOrders(db: Queryable, companyId: string, customerId: string): Promise<boolean> {
  const rows = await db.query('SELECT 1 FROM orders WHERE company_id = $1 AND customer_id = $2 LIMIT 1', [
    companyId,
    customerId,
  ]);
  return rows.length > 0;
}

/** Records the processor's answer to a void; without a failure it was approved. */
export async function insertVoid(
  db: Queryable,
  intent: {
    readonly company_id: string;
    readonly id: string;
    readonly order_id: string;
    readonly reference: string;
  },
  failureReason: string | null,
  at: Date,
): Promise<void> {
  await db.query(
    `INSERT INTO voids (company_id, id, order_id, approved, failure_reason, recorded_at, reference)
     VALUES ($1, $2, $3, $4::text IS NULL, $4, $5, $6)`,
    [intent.company_id, intent.id, intent.order_id, failureReason, at, intent.reference],
  );
}

export async function countVoids(db: Queryable, companyId: string, orderId: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    'SELECT count(*)::integer AS count FROM voids WHERE company_id = $1 AND order_id = $2',
    [companyId, orderId],
  );
  return row?.count ?? 0;
}

export async function findVoid(
  db: Queryable,
  companyId: string,
  id: string,
): Promise<{ failure_reason: string | null } | undefined> {
  const [row] = await db.query<{ failure_reason: string | null }>(
    'SELECT failure_reason FROM voids WHERE company_id = $1 AND id = $2',
    [companyId, id],
  );
  return row;
}

export interface OrderMove {
  readonly from: OrderRow;
  readonly to: OrderRow;
  readonly events: readonly EventRow[];
}

/** Changes an order, with its events. Returns false if the order has changed meanwhile. */
export async function moveOrder(db: Queryable, { from, to, events }: OrderMove): Promise<boolean> {
  const rows = await db.query(
    `UPDATE orders SET status = $5, sequence = $6, refunded_amount = $7, updated_at = $8
     WHERE company_id = $1 AND id = $2 AND status = $3 AND sequence = $4 RETURNING 1`,
    [from.company_id, from.id, from.status, from.sequence, to.status, to.sequence, to.refunded_amount, to.updated_at],
  );
  if (rows.length === 0) return false;
  if (events.length > 0) await insertEvents(db, events);
  return true;
}

/** The columns of credit, which few orders have. */
export async function writeCredit(db: Queryable, order: OrderRow): Promise<void> {
  const { company_id, id, credit_applied, credit_refunded } = order;
  await db.query('UPDATE orders SET credit_applied = $3, credit_refunded = $4 WHERE company_id = $1 AND id = $2', [
    company_id,
    id,
    credit_applied ?? null,
    credit_refunded ?? null,
  ]);
}

/** Credit has paid the order, and no card. */
export async function writePaidByCredit(db: Queryable, order: OrderRow): Promise<void> {
  const { company_id, id, status, credit_applied, sequence, updated_at } = order;
  await db.query(
    `UPDATE orders SET status = $3, credit_applied = $4, sequence = $5, updated_at = $6, failure_code = NULL,
       failure_reason = NULL, next_retry_at = NULL WHERE company_id = $1 AND id = $2`,
    [company_id, id, status, credit_applied, sequence, updated_at],
  );
}

/** Called when the schedule does not retry the order any more. */
export async function clearNextRetry(db: Queryable, companyId: string, id: string): Promise<void> {
  await db.query(
    `UPDATE orders SET next_retry_at = NULL WHERE company_id = $1 AND id = $2 AND next_retry_at IS NOT NULL`,
    [companyId, id],
  );
}

/** Returns the order after its first charge, which is the response to its idempotency key. */
export async function findAnswer(db: Queryable, companyId: string, orderId: string): Promise<Order | undefined> {
  const [row] = await db.query<{ object: Order }>(
    `SELECT e.object FROM orders o JOIN events e ON e.company_id = o.company_id AND e.id = o.answer_event_id
     WHERE o.company_id = $1 AND o.id = $2`,
    [companyId, orderId],
  );
  return row?.object;
}

export async function scheduleChargeback(
  db: Queryable,
  companyId: string,
  orderId: string,
  dueAt: Date,
): Promise<void> {
  await db.query(
    'INSERT INTO scheduled_chargebacks (company_id, order_id, due_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
    [companyId, orderId, dueAt],
  );
}

export interface DueChargeback {
  readonly company_id: string;
  readonly order_id: string;
  readonly due_at: Date;
}

const takeChargeback = (where: string): string => `
  DELETE FROM scheduled_chargebacks WHERE (company_id, order_id) IN (
    SELECT s.company_id, s.order_id FROM scheduled_chargebacks s JOIN companies c ON c.id = s.company_id
    WHERE ${where} AND ${staysHere('s.company_id')} ORDER BY s.due_at LIMIT 1 FOR UPDATE OF s SKIP LOCKED
  ) RETURNING company_id, order_id, due_at`;

/** Each chargeback is taken by one process; one that cannot be raised is not repeated. */
export async function takeDueChargeback(db: Queryable): Promise<DueChargeback | undefined> {
  const [row] = await db.query<DueChargeback>(
    takeChargeback(`s.due_at <= now() + c.clock_offset_ms * interval '1 ms'
      AND (c.clock_moved_until IS NULL OR c.clock_moved_until <= now())`),
  );
  return row;
}

/** Takes the chargebacks of a company whose clock is being advanced. */
export async function takeDueChargebackOf(
  db: Queryable,
  companyId: string,
  until: Date,
): Promise<DueChargeback | undefined> {
  const [row] = await db.query<DueChargeback>(takeChargeback('s.company_id = $1 AND s.due_at <= $2'), [
    companyId,
    until,
  ]);
  return row;
}

/** Returns false if the sale is not in the status that the change starts from. */
export async function changeSale(
  db: Queryable,
  companyId: string,
  id: string,
  change: 'voided' | 'disputed',
  at: Date,
): Promise<boolean> {
  const { from, to } = transactionChanges[change];
  const rows = await db.query(
    `UPDATE transactions SET status = $3, updated_at = $4
     WHERE company_id = $1 AND id = $2 AND status = $5 RETURNING 1`,
    [companyId, id, to, at, from],
  );
  return rows.length === 1;
}
