import type { Queryable } from '../../platform/database.ts';
import { anyRow } from '../../platform/sql.ts';
import type { ListedOperation } from '../../vault/processors/processor.ts';
import type { Referenced } from '../orders/service.ts';

/** An operation in our books. */
export interface BookedRow {
  readonly company_id: string;
  readonly reference: string;
  readonly order_id: string;
  readonly type: 'sale' | 'auth' | 'refund' | 'void';
  readonly status: 'open' | 'succeeded' | 'failed' | 'voided' | 'chargeback';
  readonly amount: number;
  readonly currency: string;
  readonly card_last4: string;
  /** Null of a void, and of operations from before connections. */
  readonly connection_id: string | null;
}

const transactionColumns = 'company_id, coalesce(reference, id) AS reference, order_id, type';

// Rows from before references were derived use their ids.
const bookedStatement = `
  SELECT ${transactionColumns}, status, amount, currency, card_last4, connection_id FROM transactions
  WHERE company_id = ANY($1::uuid[]) AND reference = ANY($2::uuid[])
  UNION ALL
  SELECT ${transactionColumns}, status, amount, currency, card_last4, connection_id FROM transactions
  WHERE company_id = ANY($1::uuid[]) AND id = ANY($2::uuid[]) AND reference IS NULL
  UNION ALL
  SELECT ${transactionColumns}, 'open', amount, currency, card_last4, connection_id FROM open_transactions
  WHERE company_id = ANY($1::uuid[]) AND coalesce(reference, id) = ANY($2::uuid[])
  UNION ALL
  SELECT v.company_id, coalesce(v.reference, v.id), v.order_id, 'void', CASE WHEN v.approved THEN 'succeeded' ELSE 'failed' END,
    o.total, o.currency, o.card_last4, NULL
  FROM voids v JOIN orders o ON o.company_id = v.company_id AND o.id = v.order_id
  WHERE v.company_id = ANY($1::uuid[]) AND coalesce(v.reference, v.id) = ANY($2::uuid[])`;

export async function findBooks(
  db: Queryable,
  companyIds: readonly string[],
  references: readonly string[],
): Promise<BookedRow[]> {
  return db.query<BookedRow>(bookedStatement, [companyIds, references]);
}

export interface FailedOrder {
  readonly id: string;
  readonly subscription_id: string | null;
  readonly subscription_cycle: number | null;
  readonly subscription_change: number | null;
  readonly attempt_count: number;
  readonly coupon: object | null;
  /** The references of its charges so far. */
  readonly sale_references: readonly string[];
}

/** Finds orders whose charge may have been retried. */
export async function findFailedOrders(db: Queryable, companyId: string, afterId: string): Promise<FailedOrder[]> {
  return db.query<FailedOrder>(
    `SELECT id, subscription_id, subscription_cycle, subscription_change, attempt_count, coupon, ARRAY(
       SELECT t.reference FROM transactions t WHERE t.company_id = o.company_id AND t.order_id = o.id
         AND t.type IN ('sale', 'auth') AND t.reference IS NOT NULL) AS sale_references
     FROM orders o WHERE company_id = $1 AND rare_status = 'failed' AND id > $2 ORDER BY id LIMIT 1000`,
    [companyId, afterId],
  );
}

export interface OpenCharge extends Referenced {
  readonly order_id: string;
  readonly subscription_id: string | null;
  readonly subscription_cycle: number | null;
}

/** Finds charges whose outcome is not recorded. What was open before references were derived has none. */
export async function findOpenCharges(db: Queryable, companyId: string): Promise<OpenCharge[]> {
  return db.query<OpenCharge>(
    `SELECT o.id AS order_id, o.subscription_id, o.subscription_cycle, t.subject, t.number, t.reference
     FROM open_transactions t JOIN orders o ON o.company_id = t.company_id AND o.id = t.order_id
     WHERE t.company_id = $1 AND t.type IN ('sale', 'auth') AND t.cause <> 'capture' AND t.reference IS NOT NULL`,
    [companyId],
  );
}

export interface BilledSubscription {
  readonly id: string;
  readonly current_cycle: number;
  /** Changes of plan that were charged, or are being charged. */
  readonly change_count: number;
}

/** Finds subscriptions that are billed, or were when the backup was made. */
export async function findBilledSubscriptions(
  db: Queryable,
  companyId: string,
  afterId: string,
): Promise<BilledSubscription[]> {
  return db.query<BilledSubscription>(
    `SELECT id, current_cycle, change_count FROM subscriptions
     WHERE company_id = $1 AND status IN ('active', 'past_due', 'paused', 'failed') AND id > $2 ORDER BY id LIMIT 1000`,
    [companyId, afterId],
  );
}

/** SQL that is true if the books now contain the row `m` of missing operations. */
const isBooked = `(
  ${anyRow('transactions t WHERE t.company_id = m.company_id AND t.reference = m.reference')}
  OR ${anyRow('voids v WHERE v.company_id = m.company_id AND v.reference = m.reference')})`;
const isMissing = `m.dismissed_at IS NULL AND NOT ${isBooked}`;

export interface MissingOperation {
  readonly company_id: string;
  readonly operation: ListedOperation;
  readonly order_id: string | null;
  readonly subscription_id: string | null;
  readonly subscription_cycle: number | null;
}

const missingStatement = `
  INSERT INTO missing_operations (company_id, reference, kind, charge_reference, amount, currency, card_last4,
    processor_transaction_id, executed_at, order_id, subscription_id, subscription_cycle, connection_id)
  SELECT m.company_id, m.reference, m.kind, m.charge_reference, m.amount, m.currency, m.card_last4,
    m.processor_transaction_id, m.executed_at, m.order_id, m.subscription_id, m.subscription_cycle, m.connection_id
  FROM json_to_recordset($1::json) AS m (company_id uuid, reference uuid, kind text, charge_reference uuid, amount bigint,
    currency text, card_last4 text, processor_transaction_id text, executed_at timestamptz, order_id uuid,
    subscription_id uuid, subscription_cycle integer, connection_id uuid)
  ON CONFLICT (company_id, reference) DO UPDATE SET order_id = excluded.order_id,
    subscription_id = excluded.subscription_id, subscription_cycle = excluded.subscription_cycle,
    connection_id = excluded.connection_id`;

export async function saveMissing(db: Queryable, missing: readonly MissingOperation[]): Promise<void> {
  const rows = missing.map(({ operation, ...known }) => ({
    ...known,
    reference: operation.reference,
    kind: operation.kind,
    charge_reference: operation.chargeReference,
    amount: operation.amount,
    currency: operation.currency,
    card_last4: operation.last4,
    processor_transaction_id: operation.transactionId,
    executed_at: new Date(operation.executedAtMs),
    connection_id: operation.connectionId ?? null,
  }));
  await db.query(missingStatement, [JSON.stringify(rows)]);
}

export interface MissingRow {
  readonly reference: string;
  readonly kind: ListedOperation['kind'];
  readonly amount: number | null;
  readonly currency: string | null;
  readonly card_last4: string | null;
  readonly processor_transaction_id: string;
  readonly executed_at: Date;
  readonly order_id: string | null;
  readonly subscription_id: string | null;
}

/** Returns the latest operations that the books still miss. */
export async function findMissing(db: Queryable, companyId: string, count: number): Promise<MissingRow[]> {
  return db.query<MissingRow>(
    `SELECT reference, kind, amount, currency, card_last4, processor_transaction_id, executed_at, order_id,
       subscription_id
     FROM missing_operations m WHERE company_id = $1 AND ${isMissing} ORDER BY executed_at DESC LIMIT $2`,
    [companyId, count],
  );
}

export async function countMissing(db: Queryable): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM missing_operations m WHERE ${isMissing}`,
  );
  return row?.count ?? 0;
}

/** Deletes the operations that the books now contain. */
export async function forgetFound(db: Queryable, companyId: string): Promise<void> {
  await db.query(`DELETE FROM missing_operations m WHERE m.company_id = $1 AND ${isBooked}`, [companyId]);
}

/**
 * Called when an operator has resolved it at the processor. Returns false if no operation is missing under the
 * reference.
 */
export async function dismissMissing(db: Queryable, reference: string): Promise<boolean> {
  const rows = await db.query(
    `UPDATE missing_operations SET dismissed_at = now() WHERE reference = $1 AND dismissed_at IS NULL RETURNING 1`,
    [reference],
  );
  return rows.length > 0;
}

export async function findDismissed(db: Queryable, companyId: string): Promise<Set<string>> {
  const rows = await db.query<{ reference: string }>(
    'SELECT reference FROM missing_operations WHERE company_id = $1 AND dismissed_at IS NOT NULL',
    [companyId],
  );
  return new Set(rows.map(({ reference }) => reference));
}

/** The charges that a connection has reported and that the books did not have then. */
export async function findNoticed(db: Queryable, companyId: string, connectionId: string): Promise<ListedOperation[]> {
  const rows = await db.query<{ reference: string; transaction_id: string; happened_at: Date }>(
    `SELECT DISTINCT ON (1) about->>'reference' AS reference,
       coalesce(about->'found'->'response'->>'transaction_id', '') AS transaction_id, happened_at
     FROM processor_notices
     WHERE company_id = $1 AND connection_id = $2 AND applied_at IS NULL AND about->>'kind' = 'operation'
       AND about->'found'->>'outcome' = 'approved' AND type NOT LIKE '%REFUND%'
     ORDER BY 1, happened_at`,
    [companyId, connectionId],
  );
  return rows.map(({ reference, transaction_id, happened_at }) => ({
    ...{ kind: 'charge', reference, chargeReference: null, amount: null, currency: null, last4: null },
    ...{
      approved: true,
      voided: false,
      transactionId: transaction_id,
      executedAtMs: happened_at.getTime(),
      connectionId,
    },
  }));
}
