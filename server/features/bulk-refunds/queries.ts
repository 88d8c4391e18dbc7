import type { Queryable } from '../../platform/database.ts';
import { rowsOf } from '../../platform/rows.ts';
import type { Order } from '../orders/schemas.ts';
import { staysHere } from '../../shards/queries.ts';

export interface Balance {
  readonly id: string;
  readonly order_number: string;
  readonly status: Order['status'];
  readonly currency: string;
  readonly left: number;
}

/** What is left to refund of these orders. */
export async function findBalances(db: Queryable, companyId: string, ids: readonly string[]): Promise<Balance[]> {
  return db.query<Balance>(
    `SELECT id, order_number, status, currency, coalesce(captured_amount, total) - refunded_amount AS left FROM orders
     WHERE company_id = $1 AND id = ANY($2::uuid[])`,
    [companyId, ids],
  );
}

const orderRows = rowsOf({ order_id: 'uuid', amount: 'bigint', currency: 'text' });

/** Returns how many orders were added: one that waits in another bulk refund is not. */
export async function insertBulk(
  db: Queryable,
  bulk: { readonly companyId: string; readonly id: string; readonly memberId: string; readonly requestId: string },
  orders: readonly { readonly order_id: string; readonly amount: number; readonly currency: string }[],
): Promise<number> {
  await db.query('INSERT INTO bulk_refunds (company_id, id, member_id, request_id) VALUES ($1, $2, $3, $4)', [
    bulk.companyId,
    bulk.id,
    bulk.memberId,
    bulk.requestId,
  ]);
  const rows = await db.query(
    `INSERT INTO bulk_refund_orders (company_id, bulk_id, order_id, amount, currency)
     SELECT $1, $2, order_id, amount, currency FROM ${orderRows.from(3)} AS o ORDER BY order_id
     ON CONFLICT (company_id, order_id) WHERE state = 'waiting' DO NOTHING RETURNING 1`,
    [bulk.companyId, bulk.id, ...orderRows.values(orders)],
  );
  return rows.length;
}

export interface BulkOrder {
  readonly order_id: string;
  readonly order_number: string;
  readonly amount: number;
  readonly currency: string;
  readonly state: 'waiting' | 'refunded' | 'refused';
  readonly reason: string | null;
}

/** A refund that was sent has the result of its transaction: the processor may accept it first and reject it days later. */
export async function findBulk(db: Queryable, companyId: string, id: string): Promise<BulkOrder[]> {
  return db.query<BulkOrder>(
    `SELECT b.order_id, o.order_number, b.amount, b.currency,
       CASE WHEN b.state <> 'sent' THEN b.state WHEN t.status = 'failed' THEN 'refused' ELSE 'refunded' END AS state,
       coalesce(b.reason, t.failure_reason, CASE WHEN t.status = 'failed' THEN 'The processor declined the refund.' END) AS reason
     FROM bulk_refund_orders b JOIN orders o ON o.company_id = b.company_id AND o.id = b.order_id
     LEFT JOIN transactions t ON t.company_id = b.company_id AND t.id = b.refund_id
     WHERE b.company_id = $1 AND b.bulk_id = $2 ORDER BY b.order_id DESC`,
    [companyId, id],
  );
}

export interface DueRefund {
  readonly company_id: string;
  readonly bulk_id: string;
  readonly order_id: string;
  readonly amount: number;
  readonly member_id: string;
  readonly request_id: string;
  readonly clock_offset_ms: number;
}

/** The refunds of one company that are claimed at once, so that it does not hold up the others. */
const perCompany = 4;

/** Claims refunds for longer than they take, a few of each company. One whose process dies is due again afterwards. */
export async function claimDueRefunds(db: Queryable, count: number): Promise<DueRefund[]> {
  return db.query<DueRefund>(
    `WITH RECURSIVE waiting (company_id) AS (
       (SELECT company_id FROM bulk_refund_orders WHERE state = 'waiting' ORDER BY company_id LIMIT 1)
       UNION ALL
       SELECT (SELECT b.company_id FROM bulk_refund_orders b WHERE b.state = 'waiting' AND b.company_id > waiting.company_id
               ORDER BY b.company_id LIMIT 1)
       FROM waiting WHERE waiting.company_id IS NOT NULL)
     UPDATE bulk_refund_orders d SET attempts = attempts + 1, check_at = now() + interval '5 min'
     FROM bulk_refunds b JOIN companies c ON c.id = b.company_id
     WHERE b.company_id = d.company_id AND b.id = d.bulk_id AND (d.company_id, d.bulk_id, d.order_id) IN (
       SELECT due.company_id, due.bulk_id, due.order_id FROM waiting CROSS JOIN LATERAL (
         SELECT o.company_id, o.bulk_id, o.order_id FROM bulk_refund_orders o
         WHERE o.company_id = waiting.company_id AND o.state = 'waiting' AND o.check_at <= now() AND ${staysHere('o.company_id')}
         ORDER BY o.check_at LIMIT ${perCompany} FOR UPDATE SKIP LOCKED) AS due
       ORDER BY random() LIMIT $1)
     RETURNING d.company_id, d.bulk_id, d.order_id, d.amount, b.member_id, b.request_id, c.clock_offset_ms`,
    [count],
  );
}

/** A refund without a result yet is due again, later each time. */
export async function returnRefund(db: Queryable, { company_id, bulk_id, order_id }: DueRefund): Promise<void> {
  await db.query(
    `UPDATE bulk_refund_orders SET check_at = now() + least(15 * power(2, least(attempts, 6)), 600) * interval '1 s'
     WHERE company_id = $1 AND bulk_id = $2 AND order_id = $3 AND state = 'waiting'`,
    [company_id, bulk_id, order_id],
  );
}

/** The refund of one order was accepted or declined. Its transaction has the result. The first record stays. */
export const recordSent = (db: Queryable, refund: DueRefund, refundId: string): Promise<void> =>
  finish(db, refund, 'sent', refundId, null);

/** One order was not refunded. */
export const recordRefusal = (db: Queryable, refund: DueRefund, reason: string): Promise<void> =>
  finish(db, refund, 'refused', null, reason);

async function finish(
  db: Queryable,
  { company_id, bulk_id, order_id }: DueRefund,
  state: 'sent' | 'refused',
  refundId: string | null,
  reason: string | null,
): Promise<void> {
  await db.query(
    `UPDATE bulk_refund_orders SET check_at = NULL, state = $4, refund_id = $5, reason = $6
     WHERE company_id = $1 AND bulk_id = $2 AND order_id = $3 AND state = 'waiting'`,
    [company_id, bulk_id, order_id, state, refundId, reason],
  );
}
