import type { Queryable } from '../../platform/database.ts';

/** Counts a try. Returns false if the customer has none left. */
export async function addCustomerTry(
  db: Queryable,
  companyId: string,
  orderId: string,
  most: number,
): Promise<boolean> {
  const rows = await db.query(
    `UPDATE orders SET customer_tries = customer_tries + 1
     WHERE company_id = $1 AND id = $2 AND customer_tries < $3 RETURNING 1`,
    [companyId, orderId, most],
  );
  return rows.length > 0;
}

export async function subtractCustomerTry(db: Queryable, companyId: string, orderId: string): Promise<void> {
  await db.query(
    `UPDATE orders SET customer_tries = customer_tries - 1
     WHERE company_id = $1 AND id = $2 AND customer_tries > 0`,
    [companyId, orderId],
  );
}
