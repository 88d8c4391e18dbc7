import type { Database, Queryable } from '../../platform/database.ts';

export interface ReceiptRow {
  id: string;
  order_id: string;
  refund_id: string | null;
  number: number;
  created_at: Date;
}

const columns = 'id, order_id, refund_id, number, created_at';

async function findReceiptOf(
  db: Queryable,
  companyId: string,
  orderId: string,
  refundId: string | null,
): Promise<ReceiptRow | undefined> {
  const [row] = await db.query<ReceiptRow>(
    `SELECT ${columns} FROM receipts WHERE company_id = $1 AND order_id = $2 AND coalesce(refund_id, order_id) = $3`,
    [companyId, orderId, refundId ?? orderId],
  );
  return row;
}

/**
 * Returns the receipt of an order or a refund. The first call gives it the next number. The lock makes receipts of a company
 * wait for each other until the number is committed, so no number is left out.
 */
export async function ensureReceipt(
  db: Database,
  companyId: string,
  wanted: Pick<ReceiptRow, 'id' | 'order_id' | 'refund_id' | 'created_at'>,
): Promise<ReceiptRow> {
  const { id, order_id, refund_id, created_at } = wanted;
  const known = await findReceiptOf(db, companyId, order_id, refund_id);
  if (known) return known;
  return db.transaction(async (transaction) => {
    await transaction.query(`SELECT pg_advisory_xact_lock(hashtextextended('receipts ' || $1, 0))`, [companyId]);
    const meanwhile = await findReceiptOf(transaction, companyId, order_id, refund_id);
    if (meanwhile) return meanwhile;
    const [row] = await transaction.query<ReceiptRow>(
      `INSERT INTO receipts (company_id, id, order_id, refund_id, created_at, number)
       SELECT $1, $2, $3, $4, $5, coalesce(max(number), 0) + 1 FROM receipts WHERE company_id = $1 RETURNING ${columns}`,
      [companyId, id, order_id, refund_id, created_at],
    );
    if (!row) throw new Error('a receipt was not inserted');
    return row;
  });
}

export async function findReceipt(db: Queryable, companyId: string, id: string): Promise<ReceiptRow | undefined> {
  const [row] = await db.query<ReceiptRow>(`SELECT ${columns} FROM receipts WHERE company_id = $1 AND id = $2`, [
    companyId,
    id,
  ]);
  return row;
}
