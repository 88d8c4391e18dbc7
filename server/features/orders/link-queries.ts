import { anyRow } from '../../platform/sql.ts';
import type { Queryable } from '../../platform/database.ts';

/** Whether the payment link of a failed order was paid, or is being paid. */
export async function isPaidByLink(db: Queryable, companyId: string, orderId: string): Promise<boolean> {
  const [row] = await db.query<{ paid: boolean }>(
    `SELECT ${anyRow(`failed_order_links f
       JOIN payment_links l ON l.company_id = f.company_id AND l.id = f.payment_link_id
       WHERE f.company_id = $1 AND f.order_id = $2 AND l.payments > 0`)} AS paid`,
    [companyId, orderId],
  );
  return row?.paid ?? false;
}
