import type { Queryable } from '../../platform/database.ts';

export interface SpendRow {
  readonly currency: string;
  readonly gross: number;
  readonly refunded: number;
  readonly payments: number;
  readonly failed: number;
  readonly rows: number;
}

/** The newest transactions of a customer, so that a customer with very many costs no more. */
export async function findSpend(
  db: Queryable,
  companyId: string,
  customerId: string,
  count: number,
): Promise<SpendRow[]> {
  return db.query<SpendRow>(
    `SELECT currency, coalesce(sum(amount) FILTER (WHERE type = 'sale' AND status IN ('succeeded', 'chargeback')), 0)::bigint AS gross,
       coalesce(sum(amount) FILTER (WHERE type = 'refund' AND status = 'succeeded'), 0)::bigint AS refunded,
       count(*) FILTER (WHERE type = 'sale' AND status IN ('succeeded', 'chargeback'))::integer AS payments,
       count(*) FILTER (WHERE type = 'sale' AND status = 'failed')::integer AS failed, count(*)::integer AS rows
     FROM (SELECT currency, type, status, amount FROM transactions
       WHERE company_id = $1 AND customer_id = $2 ORDER BY id DESC LIMIT $3) newest GROUP BY 1 ORDER BY 2 DESC, 1`,
    [companyId, customerId, count],
  );
}

export async function findRevenue(
  db: Queryable,
  companyId: string,
  customerId: string,
): Promise<{ currency: string; mrr: number }[]> {
  return db.query(
    `SELECT currency, sum(monthly_amount(amount, "interval", interval_count, coupon, greatest(current_cycle, 1) + 1))::bigint AS mrr
     FROM subscriptions WHERE company_id = $1 AND customer_id = $2 AND status IN ('active', 'past_due') GROUP BY 1 ORDER BY 1`,
    [companyId, customerId],
  );
}

export async function findLastOrder(
  db: Queryable,
  companyId: string,
  customerId: string,
): Promise<{ id: string; order_number: string } | undefined> {
  const [row] = await db.query<{ id: string; order_number: string }>(
    'SELECT id, order_number FROM orders WHERE company_id = $1 AND customer_id = $2 ORDER BY id DESC LIMIT 1',
    [companyId, customerId],
  );
  return row;
}

export interface SummaryRow {
  readonly customer_id: string;
  readonly orders: number;
  readonly last_order_id: string | null;
  readonly spend: readonly { readonly currency: string; readonly amount: number }[] | null;
  readonly transactions: number;
}

/** The newest orders and transactions of each customer, so that the cost does not depend on the size of the company. */
export async function findSummaries(
  db: Queryable,
  companyId: string,
  customerIds: readonly string[],
  countMax: number,
): Promise<SummaryRow[]> {
  return db.query<SummaryRow>(
    `SELECT c.id AS customer_id, o.orders, o.last_order_id, t.spend, t.transactions
     FROM customers c,
     LATERAL (SELECT count(*)::integer AS orders, max(id::text) AS last_order_id FROM (
       SELECT id FROM orders WHERE company_id = $1 AND customer_id = c.id ORDER BY id DESC LIMIT $3) newest) o,
     LATERAL (
       SELECT coalesce(sum(rows), 0)::integer AS transactions,
         json_agg(json_build_object('currency', currency, 'amount', amount) ORDER BY amount DESC, currency)
           FILTER (WHERE amount <> 0) AS spend
       FROM (SELECT currency, count(*) AS rows,
           coalesce(sum(amount) FILTER (WHERE type = 'sale' AND status IN ('succeeded', 'chargeback')), 0)
             - coalesce(sum(amount) FILTER (WHERE type = 'refund' AND status = 'succeeded'), 0) AS amount
         FROM (SELECT currency, type, status, amount FROM transactions
           WHERE company_id = $1 AND customer_id = c.id ORDER BY id DESC LIMIT $3) newest GROUP BY 1) sums) t
     WHERE c.company_id = $1 AND c.id = ANY($2::uuid[])`,
    [companyId, customerIds, countMax],
  );
}

export async function isCustomer(db: Queryable, companyId: string, id: string): Promise<boolean> {
  const rows = await db.query('SELECT 1 FROM customers WHERE company_id = $1 AND id = $2', [companyId, id]);
  return rows.length === 1;
}
