import { createdAtConditions, createdAtFilters, fetchPage, type ListSource, type Page } from '../../http/lists.ts';
import type { QueryValues } from '../../http/query-parameters.ts';
import type { PageRequest } from '../../http/route.ts';
import type { Metadata } from '../../http/schemas.ts';
import type { Queryable } from '../../platform/database.ts';
import type { CaptureMode } from '../orders/schemas.ts';
import { anyRow, ofClocksAhead, type Sql, sql } from '../../platform/sql.ts';
import { staysHere } from '../../shards/queries.ts';

export interface SessionItem {
  readonly product_id: string;
  readonly quantity: number;
  /** The range from which the customer chooses the quantity; equal if it is fixed. */
  readonly quantity_min: number;
  readonly quantity_max: number;
}

/** Why the last payment failed, in words for the customer. */
export interface Failure {
  readonly code: string;
  readonly message: string;
}

export interface SessionRow {
  readonly company_id: string;
  readonly id: string;
  readonly sealed_token: Buffer | null;
  readonly mode: 'payment' | 'subscription' | 'setup';
  readonly status: 'open' | 'completed' | 'expired';
  readonly items: readonly SessionItem[];
  readonly plan_id: string | null;
  readonly capture: CaptureMode;
  readonly customer_id: string | null;
  /** The customer that a payment of this session created. */
  readonly made_customer_id: string | null;
  readonly success_url: string | null;
  readonly cancel_url: string | null;
  /** What the page speaks, before the browser is asked. */
  readonly locale: string | null;
  readonly coupon_code: string | null;
  readonly allow_coupons: boolean;
  readonly collect: readonly ('shipping' | 'company')[];
  readonly metadata: Metadata;
  readonly payment_link_id: string | null;
  readonly order_id: string | null;
  readonly subscription_id: string | null;
  /** The card that a session of the mode setup has saved. */
  readonly payment_method_id: string | null;
  readonly attempts: number;
  readonly failure: Failure | null;
  readonly expires_at: Date;
  readonly completed_at: Date | null;
  readonly updated_at: Date;
  /** Whether a payment is in progress, at the moment at which the row was read. */
  readonly paying: boolean;
  /** Until when the customer of that payment can be at the bank; null if it does not wait for that. */
  readonly customer_until?: Date | null;
}

/** Whether a payment of the session is in progress. */
const isPaying = (session: string): string =>
  anyRow(`checkout_payments p
    WHERE p.company_id = ${session}.company_id AND p.session_id = ${session}.id AND p.state = 'open'`);

const columns = `company_id, id, sealed_token, mode, status, items, plan_id, capture, customer_id, made_customer_id, success_url, cancel_url,
  coupon_code, allow_coupons, collect, metadata, payment_link_id, order_id, subscription_id, payment_method_id, attempts, failure, expires_at,
  completed_at, updated_at, locale, ${isPaying('checkout_sessions')} AS paying,
  (SELECT p.customer_until FROM checkout_payments p
   WHERE p.company_id = checkout_sessions.company_id AND p.session_id = checkout_sessions.id AND p.state = 'open') AS customer_until`;

const source: ListSource = { table: 'checkout_sessions', objectType: 'checkout_session', columns, sorts: {} };

export async function insertSession(db: Queryable, row: SessionRow, tokenHash: Buffer): Promise<void> {
  await db.query(
    `INSERT INTO checkout_sessions (company_id, id, token_hash, sealed_token, mode, items, plan_id, customer_id,
       success_url, cancel_url, coupon_code, allow_coupons, collect, metadata, payment_link_id, expires_at, updated_at, capture,
       locale)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`,
    [
      row.company_id,
      row.id,
      tokenHash,
      row.sealed_token,
      row.mode,
      JSON.stringify(row.items),
      row.plan_id,
      row.customer_id,
      row.success_url,
      row.cancel_url,
      row.coupon_code,
      row.allow_coupons,
      row.collect,
      JSON.stringify(row.metadata),
      row.payment_link_id,
      row.expires_at,
      row.updated_at,
      row.capture,
      row.locale,
    ],
  );
}

export async function findSession(db: Queryable, companyId: string, id: string): Promise<SessionRow | undefined> {
  const [row] = await db.query<SessionRow>(
    `SELECT ${columns} FROM checkout_sessions WHERE company_id = $1 AND id = $2`,
    [companyId, id],
  );
  return row;
}

export async function findSessionByToken(
  db: Queryable,
  companyId: string,
  tokenHash: Buffer,
): Promise<SessionRow | undefined> {
  const [row] = await db.query<SessionRow>(
    `SELECT ${columns} FROM checkout_sessions WHERE company_id = $1 AND token_hash = $2`,
    [companyId, tokenHash],
  );
  return row;
}

/**
 * Other requests that pay or expire the session wait until the transaction ends. The row is read by a second
 * statement: one that had to wait for the lock would still see the payments of before.
 */
export async function lockSession(db: Queryable, companyId: string, id: string): Promise<SessionRow | undefined> {
  await db.query('SELECT 1 FROM checkout_sessions WHERE company_id = $1 AND id = $2 FOR UPDATE', [companyId, id]);
  return findSession(db, companyId, id);
}

export interface SessionFilters extends QueryValues<typeof createdAtFilters> {
  readonly status?: readonly string[];
  readonly customer_id?: string;
  readonly payment_link_id?: string;
}

export async function listSessions(
  db: Queryable,
  companyId: string,
  filters: SessionFilters,
  page: PageRequest,
): Promise<Page<SessionRow>> {
  const where: Sql[] = [...createdAtConditions(filters)];
  if (filters.status) where.push(sql`status = ANY(${filters.status}::text[])`);
  if (filters.customer_id) where.push(sql`customer_id = ${filters.customer_id}::uuid`);
  if (filters.payment_link_id) where.push(sql`payment_link_id = ${filters.payment_link_id}::uuid`);
  return fetchPage(db, companyId, source, page, where);
}

/** Returns the session if it was open and no payment of it is in progress. */
export async function expireSession(
  db: Queryable,
  companyId: string,
  id: string,
  now: Date,
): Promise<SessionRow | undefined> {
  const [row] = await db.query<SessionRow>(
    `UPDATE checkout_sessions SET status = 'expired', sealed_token = NULL, updated_at = $3
     WHERE company_id = $1 AND id = $2 AND status = 'open' AND NOT ${isPaying('checkout_sessions')}
     RETURNING ${columns}`,
    [companyId, id, now],
  );
  return row;
}

export async function completeSession(
  db: Queryable,
  { company_id, id }: Pick<SessionRow, 'company_id' | 'id'>,
  made: { readonly order_id: string; readonly subscription_id: string | null },
  now: Date,
): Promise<SessionRow | undefined> {
  const [row] = await db.query<SessionRow>(
    `UPDATE checkout_sessions SET status = 'completed', sealed_token = NULL, failure = NULL, order_id = $3,
       subscription_id = $4, completed_at = $5, updated_at = $5
     WHERE company_id = $1 AND id = $2 AND status <> 'completed' RETURNING ${columns}`,
    [company_id, id, made.order_id, made.subscription_id, now],
  );
  return row;
}

/** Returns the session if it was open. */
export async function completeSetup(
  db: Queryable,
  companyId: string,
  id: string,
  paymentMethodId: string,
  now: Date,
): Promise<SessionRow | undefined> {
  const [row] = await db.query<SessionRow>(
    `UPDATE checkout_sessions SET status = 'completed', sealed_token = NULL, payment_method_id = $3, completed_at = $4,
       updated_at = $4
     WHERE company_id = $1 AND id = $2 AND status = 'open' AND mode = 'setup' RETURNING ${columns}`,
    [companyId, id, paymentMethodId, now],
  );
  return row;
}

export async function rememberCustomer(
  db: Queryable,
  { company_id, id }: Pick<SessionRow, 'company_id' | 'id'>,
  customerId: string,
): Promise<void> {
  await db.query('UPDATE checkout_sessions SET made_customer_id = $3 WHERE company_id = $1 AND id = $2', [
    company_id,
    id,
    customerId,
  ]);
}

export async function recordFailure(
  db: Queryable,
  { company_id, id }: Pick<SessionRow, 'company_id' | 'id'>,
  failure: Failure,
  now: Date,
): Promise<void> {
  await db.query(
    `UPDATE checkout_sessions SET attempts = attempts + 1, failure = $3, updated_at = $4
     WHERE company_id = $1 AND id = $2`,
    [company_id, id, JSON.stringify(failure), now],
  );
}

const dueOfCompany = `SELECT s.company_id, s.id FROM checkout_sessions s
  WHERE s.company_id = c.id AND s.status = 'open' AND s.expires_at <= now() + c.clock_offset_ms * interval '1 ms'
    AND ${staysHere('s.company_id')} AND NOT ${isPaying('s')} LIMIT $1`;

/** Sessions whose time is over by the clock of their company. No clock is behind real time. */
export async function findDueSessions(
  db: Queryable,
  count: number,
): Promise<{ readonly company_id: string; readonly id: string; readonly now: Date }[]> {
  return db.query(
    `(SELECT s.company_id, s.id, now() + c.clock_offset_ms * interval '1 ms' AS now
      FROM checkout_sessions s JOIN companies c ON c.id = s.company_id
      WHERE s.status = 'open' AND s.expires_at <= now() AND ${staysHere('s.company_id')} AND NOT ${isPaying('s')}
      ORDER BY s.expires_at LIMIT $1)
     UNION
     (SELECT s.company_id, s.id, now() + c.clock_offset_ms * interval '1 ms' AS now
      FROM ${ofClocksAhead(dueOfCompany, 's')} LIMIT $1)`,
    [count],
  );
}

export async function findDueSessionsOf(
  db: Queryable,
  companyId: string,
  until: Date,
  count: number,
): Promise<{ readonly id: string; readonly expires_at: Date }[]> {
  return db.query(
    `SELECT id, expires_at FROM checkout_sessions s
     WHERE company_id = $1 AND status = 'open' AND expires_at <= $2 AND NOT ${isPaying('s')}
     ORDER BY expires_at LIMIT $3`,
    [companyId, until, count],
  );
}

/** Sessions that ended without a payment. Visits of payment links that were never tried to pay are kept for a day. */
export async function deleteOldSessions(db: Queryable, count: number, keptDays: number): Promise<number> {
  const rows = await db.query(
    `DELETE FROM checkout_sessions WHERE (company_id, id) IN (
       SELECT company_id, id FROM checkout_sessions
       WHERE status = 'expired' AND expires_at < now() - interval '1 day' AND (expires_at < now() - $2 * interval '1 day'
         OR (payment_link_id IS NOT NULL AND attempts = 0)) AND ${staysHere('company_id')}
       ORDER BY expires_at LIMIT $1
     ) RETURNING 1`,
    [count, keptDays],
  );
  return rows.length;
}
