import type { Database, Queryable } from '../../platform/database.ts';
import { staysHere } from '../../shards/queries.ts';

export interface CustomerSessionRow {
  readonly company_id: string;
  readonly id: string;
  readonly customer_id: string;
  readonly return_url: string | null;
  /** By real time. */
  readonly expires_at: Date;
}

const columns = 'company_id, id, customer_id, return_url, expires_at';

/**
 * Returns false if the customer is deleted, or has another email address than this one. The lock makes a change of the
 * customer wait, so it ends the session too: none is left for an address that the customer no longer has.
 */
export async function insertCustomerSession(
  db: Queryable,
  row: CustomerSessionRow,
  tokenHash: Buffer,
  emailKey: string | null,
): Promise<boolean> {
  const rows = await db.query(
    `INSERT INTO customer_sessions (company_id, id, token_hash, customer_id, return_url, expires_at)
     SELECT $1, $2, $3, c.id, $5, $6 FROM customers c
     WHERE c.company_id = $1 AND c.id = $4 AND c.deleted_at IS NULL AND c.email_key = coalesce($7, c.email_key)
     FOR SHARE OF c RETURNING 1`,
    [row.company_id, row.id, tokenHash, row.customer_id, row.return_url, row.expires_at, emailKey],
  );
  return rows.length === 1;
}

export async function deleteCustomerSession(db: Queryable, companyId: string, id: string): Promise<boolean> {
  const rows = await db.query('DELETE FROM customer_sessions WHERE company_id = $1 AND id = $2 RETURNING 1', [
    companyId,
    id,
  ]);
  return rows.length === 1;
}

/**
 * Returns how many were deleted. The lock makes it wait for sessions that are being created, and they for it: those that
 * are created later are new.
 */
export async function deleteCustomerSessions(db: Database, companyId: string, customerId: string): Promise<number> {
  return db.transaction(async (transaction) => {
    await transaction.query('SELECT 1 FROM customers WHERE company_id = $1 AND id = $2 FOR NO KEY UPDATE', [
      companyId,
      customerId,
    ]);
    const rows = await transaction.query(
      'DELETE FROM customer_sessions WHERE company_id = $1 AND customer_id = $2 RETURNING 1',
      [companyId, customerId],
    );
    return rows.length;
  });
}

export async function findCustomerSession(
  db: Queryable,
  companyId: string,
  id: string,
): Promise<CustomerSessionRow | undefined> {
  const [row] = await db.query<CustomerSessionRow>(
    `SELECT ${columns} FROM customer_sessions WHERE company_id = $1 AND id = $2`,
    [companyId, id],
  );
  return row;
}

/** Only while it is valid. */
export async function findCustomerSessionByToken(
  db: Queryable,
  companyId: string,
  tokenHash: Buffer,
  now: Date,
): Promise<CustomerSessionRow | undefined> {
  const [row] = await db.query<CustomerSessionRow>(
    `SELECT ${columns} FROM customer_sessions WHERE company_id = $1 AND token_hash = $2 AND expires_at > $3`,
    [companyId, tokenHash, now],
  );
  return row;
}

/** Whether there is such a link, valid or not. */
export async function knowsCustomerSession(db: Queryable, companyId: string, tokenHash: Buffer): Promise<boolean> {
  const rows = await db.query('SELECT 1 FROM customer_sessions WHERE company_id = $1 AND token_hash = $2', [
    companyId,
    tokenHash,
  ]);
  return rows.length > 0;
}

/** Returns how many were deleted, at most `count`. */
export async function deleteExpiredCustomerSessions(db: Queryable, before: Date, count: number): Promise<number> {
  const rows = await db.query(
    `DELETE FROM customer_sessions s USING (
       SELECT company_id, id FROM customer_sessions
       WHERE expires_at < $1 AND ${staysHere('company_id')} ORDER BY expires_at LIMIT $2) old
     WHERE s.company_id = old.company_id AND s.id = old.id RETURNING 1`,
    [before, count],
  );
  return rows.length;
}
