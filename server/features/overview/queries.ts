import type { Queryable } from '../../platform/database.ts';

/** Queries over several tables for the home page and the search of the dashboard. Each is limited to one company. */

export interface InDoubtRow {
  id: string;
  order_id: string;
  type: string;
  amount: number;
  currency: string;
  opened_at: Date;
  checks: number;
  next_check_at: Date;
}

export async function findInDoubt(db: Queryable, companyId: string): Promise<InDoubtRow[]> {
  return db.query<InDoubtRow>(
    `SELECT id, order_id, type, amount, currency, opened_at, checks, next_check_at FROM open_transactions
     WHERE company_id = $1 AND state IN ('in_doubt', 'interrupted') ORDER BY opened_at LIMIT 100`,
    [companyId],
  );
}

export interface WaitingRow {
  id: string;
  order_id: string;
  amount: number;
  currency: string;
  /** Null if the release before recorded it. */
  waits_for: 'service' | 'credentials' | 'connection' | 'processor' | null;
  /** Whether the worker sends it again. Otherwise, the client repeats its request. */
  is_renewal: boolean;
  next_check_at: Date;
}

/** Charges that were not sent yet; `orderId` is null for those of all orders. */
export async function findWaiting(db: Queryable, companyId: string, orderId: string | null): Promise<WaitingRow[]> {
  return db.query<WaitingRow>(
    `SELECT id, order_id, amount, currency, waits_for, cause = 'renewal' AS is_renewal, next_check_at
     FROM open_transactions WHERE company_id = $1 AND state = 'waiting' AND ($2::uuid IS NULL OR order_id = $2)
     ORDER BY id LIMIT 100`,
    [companyId, orderId],
  );
}

export interface FoundRow {
  id: string;
  title: string;
  subtitle: string;
}

const byId = {
  customer: `SELECT id, first_name || ' ' || last_name AS title, email AS subtitle FROM customers`,
  order: `SELECT id, order_number AS title, status AS subtitle FROM orders`,
  product: `SELECT id, name AS title, sku AS subtitle FROM products`,
  subscription: `SELECT id, plan_name AS title, status AS subtitle FROM subscriptions`,
  plan: `SELECT id, name AS title, plan_code AS subtitle FROM plans`,
  coupon: `SELECT id, name AS title, kind AS subtitle FROM coupons`,
  transaction: `SELECT id, type AS title, status AS subtitle FROM transactions`,
  event: `SELECT id, type AS title, object_id::text AS subtitle FROM events`,
} as const;

export type FoundType = keyof typeof byId;
export const foundTypes = Object.keys(byId) as FoundType[];

export async function findById(db: Queryable, companyId: string, type: FoundType, id: string): Promise<FoundRow[]> {
  return db.query<FoundRow>(`${byId[type]} WHERE company_id = $1 AND id = $2`, [companyId, id]);
}

export async function findByOrderNumber(db: Queryable, companyId: string, number: string): Promise<FoundRow[]> {
  return db.query<FoundRow>(`${byId.order} WHERE company_id = $1 AND order_number = $2`, [companyId, number]);
}

export async function findByCouponCode(db: Queryable, companyId: string, code: string): Promise<FoundRow[]> {
  return db.query<FoundRow>(
    `${byId.coupon} WHERE company_id = $1 AND id = (SELECT coupon_id FROM coupon_codes WHERE company_id = $1 AND code = $2)`,
    [companyId, code],
  );
}

const named = {
  product: `${byId.product} WHERE company_id = $1 AND deleted_at IS NULL AND (name ILIKE $2 OR sku ILIKE $2)`,
  plan: `${byId.plan} WHERE company_id = $1 AND (name ILIKE $2 OR plan_code ILIKE $2)`,
  coupon: `${byId.coupon} WHERE company_id = $1 AND name ILIKE $2`,
} as const;

/** Merchants have hundreds of these rows, not millions, so a scan is fast enough. */
export async function findByName(
  db: Queryable,
  companyId: string,
  type: keyof typeof named,
  text: string,
  count: number,
): Promise<FoundRow[]> {
  const pattern = `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`;
  return db.query<FoundRow>(`${named[type]} ORDER BY id DESC LIMIT $3`, [companyId, pattern, count]);
}
