import type { Queryable } from '../../platform/database.ts';

export interface OrderLinkRow {
  readonly payment_link_id: string;
  readonly sent_at: Date | null;
  /** The order that was paid with the link. */
  readonly paid_order_id: string | null;
}

export async function findOrderLink(
  db: Queryable,
  companyId: string,
  orderId: string,
): Promise<OrderLinkRow | undefined> {
  const [row] = await db.query<OrderLinkRow>(
    `SELECT f.payment_link_id, f.sent_at, (
       SELECT s.order_id FROM checkout_sessions s
       WHERE s.company_id = f.company_id AND s.payment_link_id = f.payment_link_id AND s.status = 'completed'
       ORDER BY s.id LIMIT 1) AS paid_order_id
     FROM failed_order_links f WHERE f.company_id = $1 AND f.order_id = $2`,
    [companyId, orderId],
  );
  return row;
}

export async function insertOrderLink(
  db: Queryable,
  companyId: string,
  orderId: string,
  linkId: string,
  total: number,
): Promise<void> {
  await db.query(
    'INSERT INTO failed_order_links (company_id, order_id, payment_link_id, total) VALUES ($1, $2, $3, $4)',
    [companyId, orderId, linkId, total],
  );
}

export async function recordSent(db: Queryable, companyId: string, orderId: string, now: Date): Promise<void> {
  await db.query('UPDATE failed_order_links SET sent_at = $3 WHERE company_id = $1 AND order_id = $2', [
    companyId,
    orderId,
    now,
  ]);
}

/** A later order of the customer for the same sum that was paid, for example the next attempt on a checkout page. */
export async function findLaterPayment(
  db: Queryable,
  companyId: string,
  order: { readonly id: string; readonly customer_id: string; readonly total: number; readonly currency: string },
): Promise<{ readonly id: string; readonly order_number: string } | undefined> {
  const [row] = await db.query<{ id: string; order_number: string }>(
    `SELECT id, order_number FROM orders
     WHERE company_id = $1 AND customer_id = $2 AND id > $3 AND total = $4 AND currency = $5
       AND subscription_id IS NULL AND status NOT IN ('pending', 'failed', 'voided')
     ORDER BY id LIMIT 1`,
    [companyId, order.customer_id, order.id, order.total, order.currency],
  );
  return row;
}
