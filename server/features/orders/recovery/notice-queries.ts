import type { Queryable } from '../../../platform/database.ts';
import type { FailureCode } from '../../../vault/processors/processor.ts';
import type { NoticedCharge } from '../../../vault/processors/notices.ts';
import { refundReturned } from '../transitions.ts';

/** Finds and changes what notices of processors are about. */

export interface NoticedTransaction {
  readonly id: string;
  readonly order_id: string;
  readonly type: 'sale' | 'auth' | 'refund';
  readonly status: string;
  readonly amount: number;
  readonly connection_id: string | null;
}

const columns = 'id, order_id, type, status, amount, connection_id';

export async function findByReference(
  db: Queryable,
  companyId: string,
  reference: string,
): Promise<NoticedTransaction | undefined> {
  const [row] = await db.query<NoticedTransaction>(
    `SELECT ${columns} FROM transactions WHERE company_id = $1 AND reference = $2`,
    [companyId, reference],
  );
  return row;
}

/**
 * The charge or authorization of a connection, by our reference or by the processor's own id. Processors name a captured
 * authorization, and mean its capture.
 */
export async function findCharge(
  db: Queryable,
  companyId: string,
  connectionId: string,
  { reference, transactionId }: NoticedCharge,
): Promise<NoticedTransaction | undefined> {
  const [row] = await db.query<NoticedTransaction>(
    `SELECT ${columns} FROM transactions WHERE company_id = $1 AND type IN ('sale', 'auth') AND connection_id = $2
       AND (reference = $3::uuid
         OR ($4::text IS NOT NULL AND type = 'sale' AND processor_response->>'transaction_id' = $4)
         OR ($4::text IS NOT NULL AND type = 'auth' AND processor_response->>'transaction_id' = $4))
     ORDER BY reference IS NOT DISTINCT FROM $3::uuid DESC, type DESC LIMIT 1`,
    [companyId, connectionId, reference, transactionId],
  );
  // A later try may have paid the order of an authorization that failed.
  const isHeld = row?.type === 'auth' && row.status !== 'failed';
  return isHeld ? ((await findCapture(db, companyId, row.order_id)) ?? row) : row;
}

async function findCapture(db: Queryable, companyId: string, orderId: string): Promise<NoticedTransaction | undefined> {
  const [row] = await db.query<NoticedTransaction>(
    `SELECT ${columns} FROM transactions
     WHERE company_id = $1 AND order_id = $2 AND type = 'sale' AND status <> 'failed'`,
    [companyId, orderId],
  );
  return row;
}

/** Whether a charge at the connection has no outcome yet: the one with this reference, or any if it is null. */
export async function hasOpenSale(
  db: Queryable,
  companyId: string,
  connectionId: string,
  reference: string | null,
): Promise<boolean> {
  const rows = await db.query(
    `SELECT 1 FROM open_transactions WHERE company_id = $1 AND connection_id = $2 AND type IN ('sale', 'auth')
       AND ($3::uuid IS NULL OR reference = $3) LIMIT 1`,
    [companyId, connectionId, reference],
  );
  return rows.length > 0;
}

export async function markSettled(db: Queryable, companyId: string, id: string, at: Date): Promise<void> {
  await db.query('UPDATE transactions SET settled_at = $3 WHERE company_id = $1 AND id = $2 AND settled_at IS NULL', [
    companyId,
    id,
    at,
  ]);
}

/** Marks the charges of the connection. Returns how many of the ids are charges that were made here. */
export async function markBatchSettled(
  db: Queryable,
  companyId: string,
  connectionId: string,
  transactionIds: readonly string[],
  at: Date,
): Promise<number> {
  const rows = await db.query(
    `UPDATE transactions SET settled_at = coalesce(settled_at, $4)
     WHERE company_id = $1 AND connection_id = $2 AND type = 'sale' AND status <> 'failed'
       AND processor_response->>'transaction_id' = ANY($3::text[]) RETURNING 1`,
    [companyId, connectionId, transactionIds, at],
  );
  return rows.length;
}

/** The next turn of the worker asks the processor for changes. */
export async function pollSoon(db: Queryable, companyId: string, connectionId: string): Promise<void> {
  await db.query('UPDATE processor_connections SET polled_at = NULL WHERE company_id = $1 AND id = $2', [
    companyId,
    connectionId,
  ]);
}

/** Returns false if the refund is not settled any more. */
export async function returnRefund(
  db: Queryable,
  companyId: string,
  id: string,
  failure: { readonly code: FailureCode; readonly reason: string },
  at: Date,
): Promise<boolean> {
  const { from, to } = refundReturned;
  const rows = await db.query(
    `UPDATE transactions SET status = $3, failure_code = $4, failure_reason = $5, updated_at = $6
     WHERE company_id = $1 AND id = $2 AND status = $7 RETURNING 1`,
    [companyId, id, to, failure.code, failure.reason, at, from],
  );
  return rows.length === 1;
}
