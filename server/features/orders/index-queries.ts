import type { Queryable } from '../../platform/database.ts';
import { isSettled } from '../../shards/queries.ts';

/** A company with orders that are not in `orders_by_object` yet. */
export interface DueIndex {
  readonly company_id: string;
  readonly clock_offset_ms: number;
  readonly after_id: string;
  readonly until_id: string;
  /** Whether an order before `until_id` can no longer appear. */
  readonly settled: boolean;
}

const firstId = '00000000-0000-0000-0000-000000000000';

/**
 * Adds the companies that have no cursor yet. The first one is before all orders, so that those of earlier versions are indexed too.
 */
export async function addCursors(db: Queryable): Promise<void> {
  await db.query(
    `INSERT INTO order_index_cursors (company_id, after_id, until_id)
     SELECT c.id, $1, $1 FROM companies c
     WHERE ${isSettled('c.id')} AND NOT EXISTS (SELECT 1 FROM order_index_cursors k WHERE k.company_id = c.id)
       AND EXISTS (SELECT 1 FROM orders o WHERE o.company_id = c.id)
     ON CONFLICT DO NOTHING`,
    [firstId],
  );
}

/**
 * Locks one company whose next orders are due. While a sandbox clock is moved, orders appear with earlier times, so the company
 * waits.
 */
export async function lockDueIndex(db: Queryable, settledSeconds: number): Promise<DueIndex | undefined> {
  const [row] = await db.query<DueIndex>(
    `SELECT k.company_id, c.clock_offset_ms, k.after_id, k.until_id, k.until_id <> $2 AS settled
     FROM order_index_cursors k JOIN companies c ON c.id = k.company_id
     WHERE (k.until_at <= now() - $1 * interval '1 s' OR k.until_id = $2) AND ${isSettled('k.company_id')}
       AND (c.clock_moved_until IS NULL OR c.clock_moved_until <= now())
       AND EXISTS (SELECT 1 FROM orders o WHERE o.company_id = k.company_id AND o.id > k.after_id)
     ORDER BY k.until_at LIMIT 1 FOR UPDATE OF k SKIP LOCKED`,
    [settledSeconds, firstId],
  );
  return row;
}

/** Writes the objects of the next orders. Returns the last one, and how many there were. */
export async function indexOrders(
  db: Queryable,
  { company_id, after_id, until_id }: DueIndex,
  count: number,
): Promise<{ readonly last: string | null; readonly read: number }> {
  const [row] = await db.query<{ last: string | null; read: number }>(
    `WITH following AS MATERIALIZED (
       SELECT id, items, coupon, subscription_id FROM orders
       WHERE company_id = $1 AND id > $2 AND id < $3 ORDER BY id LIMIT $4
     ), objects AS (
       SELECT id, (item ->> 'product_id')::uuid AS object_id FROM following, json_array_elements(items) AS item
       UNION SELECT id, (coupon ->> 'id')::uuid FROM following
       UNION SELECT f.id, s.plan_id FROM following f JOIN subscriptions s ON s.company_id = $1 AND s.id = f.subscription_id
     ), written AS (
       INSERT INTO orders_by_object (company_id, object_id, order_id)
       SELECT $1, object_id, id FROM objects WHERE object_id IS NOT NULL ORDER BY object_id, id ON CONFLICT DO NOTHING
     )
     SELECT (SELECT id FROM following ORDER BY id DESC LIMIT 1) AS last, (SELECT count(*)::integer FROM following) AS read`,
    [company_id, after_id, until_id, count],
  );
  return row ?? { last: null, read: 0 };
}

export async function moveIndexCursor(
  db: Queryable,
  companyId: string,
  { afterId, untilId }: { readonly afterId: string; readonly untilId?: string },
): Promise<void> {
  await db.query(
    `UPDATE order_index_cursors SET after_id = $2, until_id = coalesce($3, until_id),
       until_at = CASE WHEN $3::uuid IS NULL THEN until_at ELSE now() END
     WHERE company_id = $1`,
    [companyId, afterId, untilId ?? null],
  );
}
