import type { Queryable } from '../../platform/database.ts';
import { isSettled } from '../../shards/queries.ts';

export interface CustomerSessionRow {
  readonly company_id: string;
  readonly id: string;
  readonly customer_id: string;
  readonly return_url: string | null;
  /** By real time. */
  readonly expires_at: Date;
}

const columns = 'company_id, id, customer_id, return_url, expires_at';

export async function insertCustomerSession(db: Queryable, row: CustomerSessionRow, tokenHash: Buffer): Promise<void> {
  await db.query(
    `INSERT INTO customer_sessions (company_id, id, token_hash, customer_id, return_url, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [row.company_id, row.id, tokenHash, row.customer_id, row.return_url, row.expires_at],
  );
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
       WHERE expires_at < $1 AND ${isSettled('company_id')} ORDER BY expires_at LIMIT $2) old
     WHERE s.company_id = old.company_id AND s.id = old.id RETURNING 1`,
    [before, count],
  );
  return rows.length;
}
