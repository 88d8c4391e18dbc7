import type { Queryable } from '../../platform/database.ts';

/** Queries over several tables for the home page and the search of the dashboard. Each is limited to one company. */

export interface DayRow {
  bucket: number;
  currency: string;
  succeeded_count: number;
  failed_count: number;
  volume: number;
  refunded: number;
}

/**
 * Returns one row for each day and currency with orders. Ids begin with their time, so a day is a range of the
 * primary key. `starts` are the smallest ids of the days, in order, followed by the end of the last day. The query
 * works day by day, so that nothing is sorted, however many rows there are.
 */
export async function sumDays(db: Queryable, companyId: string, starts: readonly string[]): Promise<DayRow[]> {
  return db.query<DayRow>(
    `SELECT d.bucket::integer, currency,
       COALESCE(sum(count) FILTER (WHERE type = 'sale' AND status <> 'failed'), 0)::integer AS succeeded_count,
       COALESCE(sum(count) FILTER (WHERE type = 'sale' AND status = 'failed'), 0)::integer AS failed_count,
       COALESCE(sum(total) FILTER (WHERE type = 'sale' AND status IN ('succeeded', 'chargeback')), 0)::bigint AS volume,
       COALESCE(sum(total) FILTER (WHERE type = 'refund' AND status = 'succeeded'), 0)::bigint AS refunded
     FROM unnest($2::uuid[], $3::uuid[]) WITH ORDINALITY AS d (first, next, bucket)
     CROSS JOIN LATERAL (
       SELECT currency, type, status, count(*), sum(amount) AS total FROM transactions
       WHERE company_id = $1 AND id >= d.first AND id < d.next GROUP BY 1, 2, 3
     ) s GROUP BY 1, 2 ORDER BY 1`,
    [companyId, starts.slice(0, -1), starts.slice(1)],
  );
}

export async function countDeclines(
  db: Queryable,
  companyId: string,
  currency: string | null,
  from: string,
  to: string,
): Promise<{ failure_code: string; count: number }[]> {
  return db.query(
    `SELECT failure_code, count(*)::integer AS count FROM transactions
     WHERE company_id = $1 AND status = 'failed' AND status <> 'succeeded' AND type = 'sale' AND id >= $3 AND id < $4
       AND ($2::text IS NULL OR currency = $2)
     GROUP BY failure_code ORDER BY count DESC, failure_code`,
    [companyId, currency, from, to],
  );
}

export async function countNow(
  db: Queryable,
  companyId: string,
  from: string,
  to: string,
): Promise<{ active: number; past_due: number; new_customers: number }> {
  const [row] = await db.query<{ active: number; past_due: number; new_customers: number }>(
    `SELECT (SELECT count(*)::integer FROM subscriptions WHERE company_id = $1 AND status = 'active') AS active,
       (SELECT count(*)::integer FROM subscriptions WHERE company_id = $1 AND status = 'past_due') AS past_due,
       (SELECT count(*)::integer FROM customers WHERE company_id = $1 AND id >= $2 AND id < $3) AS new_customers`,
    [companyId, from, to],
  );
  return row ?? { active: 0, past_due: 0, new_customers: 0 };
}

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
     WHERE company_id = $1 AND in_doubt ORDER BY opened_at LIMIT 100`,
    [companyId],
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
