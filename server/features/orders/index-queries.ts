import type { Queryable } from '../../platform/database.ts';
import { anyRow } from '../../platform/sql.ts';
import { staysHere } from '../../shards/queries.ts';

/** A company with orders that are not in `orders_by_object` yet. */
export interface DueIndex {
  readonly company_id: string;
  readonly clock_offset_ms: number;
  readonly after_id: string;
  readonly until_id: string;
  /** Whether an order before `until_id` can no longer appear. */
  readonly is_complete: boolean;
}

/** The cursor of a company before its first step. */
const firstId = '00000000-0000-0000-0000-000000000000';

const isDue = `k.until_at <= now() - $1 * interval '1 s'`;

/**
 * The companies with orders that are due, the longest first. Companies without new orders are looked at again after the same time.
 * While a sandbox clock is moved, orders appear with earlier times, so the company waits.
 */
export async function findDueIndexes(
  db: Queryable,
  openSeconds: number,
  count: number,
): Promise<{ readonly companyIds: string[]; readonly read: number }> {
  const rows = await db.query<{ company_id: string; has_orders: boolean }>(
    `WITH due AS MATERIALIZED (
       SELECT k.company_id, k.after_id FROM order_index_cursors k JOIN companies c ON c.id = k.company_id
       WHERE ${isDue} AND ${staysHere('k.company_id')} AND (c.clock_moved_until IS NULL OR c.clock_moved_until <= now())
       ORDER BY k.until_at LIMIT $2 FOR UPDATE OF k SKIP LOCKED
     ), found AS MATERIALIZED (
       SELECT company_id, ${anyRow('orders o WHERE o.company_id = due.company_id AND o.id > due.after_id')} AS has_orders FROM due
     ), quiet AS (
       UPDATE order_index_cursors k SET until_at = now() FROM found f WHERE k.company_id = f.company_id AND NOT f.has_orders
     ) SELECT company_id, has_orders FROM found`,
    [openSeconds, count],
  );
  return { companyIds: rows.filter((row) => row.has_orders).map((row) => row.company_id), read: rows.length };
}

/** Undefined if another process has done the step, or is doing it. */
export async function lockDueIndex(
  db: Queryable,
  companyId: string,
  openSeconds: number,
): Promise<DueIndex | undefined> {
  const [row] = await db.query<DueIndex>(
    `SELECT k.company_id, c.clock_offset_ms, k.after_id, k.until_id, k.until_id <> $2 AS is_complete
     FROM order_index_cursors k JOIN companies c ON c.id = k.company_id
     WHERE k.company_id = $3 AND ${isDue} AND (c.clock_moved_until IS NULL OR c.clock_moved_until <= now())
     FOR UPDATE OF k SKIP LOCKED`,
    [openSeconds, firstId, companyId],
  );
  return row;
}

/** A company whose orders could not be indexed is tried again after the usual time. */
export async function postponeIndex(db: Queryable, companyId: string): Promise<void> {
  await db.query('UPDATE order_index_cursors SET until_at = now() WHERE company_id = $1', [companyId]);
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
