import type { Queryable } from '../../platform/database.ts';
import { anyRow } from '../../platform/sql.ts';
import { staysHere } from '../../shards/queries.ts';
import { insertEvents } from '../events/queries.ts';
import type { OrderMove } from './queries.ts';

/** Queries for orders whose funds are held. */

/** Records how an authorization has ended, with the events. Returns false if the order has changed meanwhile. */
export async function moveHeld(db: Queryable, { from, to, events }: OrderMove): Promise<boolean> {
  const rows = await db.query(
    `UPDATE orders SET status = $5, sequence = $6, updated_at = $7, sale_id = $8, captured_amount = $9,
       capture_before = NULL
     WHERE company_id = $1 AND id = $2 AND status = $3 AND sequence = $4 AND capture_before IS NOT NULL RETURNING 1`,
    [
      from.company_id,
      from.id,
      from.status,
      from.sequence,
      to.status,
      to.sequence,
      to.updated_at,
      to.sale_id,
      to.captured_amount ?? null,
    ],
  );
  if (rows.length === 0) return false;
  await insertEvents(db, events);
  return true;
}

/** A capture was refused, and the funds are still held. */
export async function touchOrder(db: Queryable, companyId: string, id: string, at: Date): Promise<void> {
  await db.query('UPDATE orders SET updated_at = $3 WHERE company_id = $1 AND id = $2', [companyId, id, at]);
}

export interface EndedAuthorization {
  readonly company_id: string;
  readonly order_id: string;
  readonly capture_before: Date;
}

/** An operation on the order is decided first. A processor that refused the release is asked again after an hour. */
export const isFreeOrder = `NOT ${anyRow('open_transactions t WHERE t.company_id = o.company_id AND t.order_id = o.id')}
  AND NOT ${anyRow(`voids v WHERE v.company_id = o.company_id AND v.order_id = o.id
    AND v.recorded_at > now() + c.clock_offset_ms * interval '1 ms' - interval '1 hour'`)}`;

/**
 * Authorizations that have ended by the clock of their company. Most companies hold no funds, so the index is asked for the
 * companies that do, one after the other. After a restore, the comparison may find their captures first. The order is random, because a connection that does not answer must not hold up others.
 */
export async function findEnded(db: Queryable, batch: number): Promise<EndedAuthorization[]> {
  return db.query<EndedAuthorization>(
    `WITH RECURSIVE holding (company_id) AS (
       (SELECT company_id FROM orders WHERE capture_before IS NOT NULL ORDER BY company_id LIMIT 1)
       UNION ALL
       SELECT (SELECT o.company_id FROM orders o WHERE o.capture_before IS NOT NULL AND o.company_id > h.company_id
         ORDER BY o.company_id LIMIT 1)
       FROM holding h WHERE h.company_id IS NOT NULL
     )
     SELECT o.company_id, o.id AS order_id, o.capture_before FROM holding h JOIN companies c ON c.id = h.company_id
     CROSS JOIN LATERAL (
       SELECT o.company_id, o.id, o.capture_before FROM orders o
       WHERE o.company_id = h.company_id AND o.capture_before <= now() + c.clock_offset_ms * interval '1 ms'
         AND ${isFreeOrder}
       LIMIT $1
     ) o
     WHERE ${staysHere('h.company_id')} AND coalesce(c.gate, 'remembers') = 'remembers'
       AND (c.clock_moved_until IS NULL OR c.clock_moved_until <= now())
     ORDER BY random() LIMIT $1`,
    [batch],
  );
}

/** Those of a company whose clock is being advanced, in the order in which they end. */
export async function findEndedOf(
  db: Queryable,
  companyId: string,
  until: Date,
  batch: number,
): Promise<EndedAuthorization[]> {
  return db.query<EndedAuthorization>(
    `SELECT o.company_id, o.id AS order_id, o.capture_before FROM orders o JOIN companies c ON c.id = o.company_id
     WHERE o.company_id = $1 AND o.capture_before <= $2 AND ${isFreeOrder} ORDER BY o.capture_before, o.id LIMIT $3`,
    [companyId, until, batch],
  );
}

export interface HeldFundsStatistics {
  readonly standing: number;
  /** They end within a day. */
  readonly ending: number;
  /** They have ended, and are not released yet. */
  readonly ended: number;
}

export async function heldFundsStatistics(db: Queryable): Promise<HeldFundsStatistics> {
  const [row] = await db.query<HeldFundsStatistics>(
    `SELECT count(*)::integer AS standing,
       count(*) FILTER (WHERE o.capture_before <= n.now + interval '1 day' AND o.capture_before > n.now)::integer AS ending,
       count(*) FILTER (WHERE o.capture_before <= n.now)::integer AS ended
     FROM (SELECT company_id, capture_before FROM orders WHERE capture_before IS NOT NULL LIMIT 10000) o
     JOIN companies c ON c.id = o.company_id
     CROSS JOIN LATERAL (SELECT now() + c.clock_offset_ms * interval '1 ms' AS now) n`,
  );
  return row ?? { standing: 0, ending: 0, ended: 0 };
}
