import type { Queryable } from '../../platform/database.ts';
import { anyRow } from '../../platform/sql.ts';

/**
 * Which of these declined orders need no payment any more: their subscription has ended, their change of plan was superseded,
 * or they were paid by a link.
 */
export async function findNotOwed(
  db: Queryable,
  companyId: string,
  orderIds: readonly string[],
  at: Date,
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `SELECT o.id FROM orders o
     LEFT JOIN subscriptions s ON s.company_id = o.company_id AND s.id = o.subscription_id
     WHERE o.company_id = $1 AND o.id = ANY($2::uuid[]) AND (s.status IN ('canceled', 'completed')
       OR (o.subscription_change IS NOT NULL AND (s.status = 'active' AND s.pending_change->>'order_id' = o.id::text
         AND (s.pending_change->>'in_cycle')::integer = s.current_cycle AND s.current_period_end > $3) IS NOT TRUE)
       OR ${anyRow(`failed_order_links f JOIN payment_links l ON l.company_id = f.company_id AND l.id = f.payment_link_id
         WHERE f.company_id = o.company_id AND f.order_id = o.id AND l.payments > 0`)})`,
    [companyId, orderIds, at],
  );
  return rows.map(({ id }) => id);
}

/** The payment is tried again in another way, so this order is not paid any more. */
export async function withdrawAddress(db: Queryable, companyId: string, orderId: string): Promise<void> {
  await db.query(
    'UPDATE orders SET authentication_url = NULL, authentication_until = NULL WHERE company_id = $1 AND id = $2',
    [companyId, orderId],
  );
}
