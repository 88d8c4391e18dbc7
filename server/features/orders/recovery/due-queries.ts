import type { Queryable } from '../../../platform/database.ts';
import { anyRow } from '../../../platform/sql.ts';
import { staysHere } from '../../../shards/queries.ts';
import { isBehindGate } from '../../restores/gate-queries.ts';
import { stateAfter } from '../operations/operation-moves.ts';
import {
  dueChannel,
  isThisSending,
  keyOf,
  openColumns,
  type OpenKey,
  type OpenTransaction,
} from '../operations/open-queries.ts';

/** Queries for operations that are to be reconciled. */

/** SQL: whether the outcome of an operation is unknown. */
const isInDoubt = `state IN ('in_doubt', 'interrupted')`;

/** SQL: whether the worker writes this operation `t` as part of sample data. It then records the outcome at the time of the history. */
const isOfHistory = `(t.id < first_id(now() - interval '1 hour')
  AND ${anyRow(`sample_data d WHERE d.company_id = t.company_id AND d.state = 'filling'`)})`;

/**
 * Claims due operations, and schedules their next check by the number of earlier checks. If this process dies, the
 * next check finds the operation again. Returns the oldest first.
 */
export async function claimDue(
  db: Queryable,
  batch: number,
  checkDelaysMs: readonly number[],
  resendDelayMs: number,
): Promise<OpenTransaction[]> {
  return db.query<OpenTransaction>(
    `WITH claimed AS (
       UPDATE open_transactions SET state = ${stateAfter('checked')}, checks = checks + 1,
         next_check_at = now() + CASE WHEN state = 'waiting' THEN $3
           ELSE ($2::bigint[])[least(checks + 1, array_length($2::bigint[], 1))] END * interval '1 ms'
       WHERE (company_id, order_id, slot) IN (
         SELECT company_id, order_id, slot FROM open_transactions t
         WHERE next_check_at <= now() AND ${staysHere('company_id')} AND NOT ${isBehindGate('t')} AND NOT ${isOfHistory}
         ORDER BY next_check_at LIMIT $1 FOR UPDATE SKIP LOCKED
       ) RETURNING ${openColumns}
     ) SELECT * FROM claimed ORDER BY id`,
    [batch, checkDelaysMs, resendDelayMs],
  );
}

/**
 * Claims an operation whose process has stopped, for a lookup before the worker's: from then on a process that is only
 * slow does not send it again. Returns undefined if another process has recorded or changed it.
 */
export async function claimStopped(db: Queryable, open: OpenKey): Promise<OpenTransaction | undefined> {
  const [row] = await db.query<OpenTransaction>(
    `UPDATE open_transactions SET state = ${stateAfter('checked')}
     WHERE ${isThisSending} AND state = 'sending' AND locked_until <= now()
     RETURNING ${openColumns}`,
    keyOf(open),
  );
  return row;
}

/**
 * Some operations in doubt at each connection that are not due for long. If the processor can say how one of them ended, it
 * answers again, and the others need not wait.
 */
export async function findProbes(db: Queryable, ofEach: number, notDueForMs: number): Promise<OpenTransaction[]> {
  return db.query<OpenTransaction>(
    `SELECT ${openColumns} FROM (
       SELECT *, row_number() OVER (PARTITION BY connection_id ORDER BY random()) AS place FROM open_transactions t
       WHERE ${isInDoubt} AND connection_id IS NOT NULL AND next_check_at > now() + $2 * interval '1 ms'
         AND ${staysHere('company_id')} AND NOT ${isBehindGate('t')}
     ) AS open_transactions WHERE place <= $1`,
    [ofEach, notDueForMs],
  );
}

/** The operations in doubt at this connection are due now. */
export async function checkAllAt(db: Queryable, companyId: string, connectionId: string): Promise<void> {
  await db.query(
    `UPDATE open_transactions SET next_check_at = now()
     WHERE company_id = $1 AND connection_id = $2 AND ${isInDoubt}`,
    [companyId, connectionId],
  );
}

/** An operation that may be answered soon is checked again within this time. */
export async function checkWithin(db: Queryable, open: OpenKey, withinMs: number): Promise<void> {
  await db.query(
    `UPDATE open_transactions SET next_check_at = least(next_check_at, now() + $5 * interval '1 ms')
     WHERE ${isThisSending}`,
    [...keyOf(open), withinMs],
  );
}

/**
 * The worker checks every open operation of a company at once. A sale that waits for its request to be repeated has this long
 * for it.
 */
export async function checkNow(db: Queryable, companyId: string, repeatWithinMs: number): Promise<void> {
  await db.query(
    `WITH due AS (
       UPDATE open_transactions SET checks = 0, next_check_at = now() +
         CASE WHEN state = 'waiting' AND cause <> 'renewal' THEN $2 ELSE 0 END * interval '1 ms'
       WHERE company_id = $1 AND locked_until <= now() RETURNING 1
     ) SELECT pg_notify('${dueChannel}', '') FROM due LIMIT 1`,
    [companyId, repeatWithinMs],
  );
}

/** Returns false if nothing with this reference is in doubt at the connection, or waits for its customer. */
export async function checkReferenceNow(
  db: Queryable,
  companyId: string,
  connectionId: string,
  reference: string,
): Promise<boolean> {
  const rows = await db.query(
    `UPDATE open_transactions SET
       next_check_at = CASE WHEN customer_step IS NULL THEN now() ELSE next_check_at END,
       customer_check_at = CASE WHEN customer_step IS NOT NULL THEN now() END
     WHERE company_id = $1 AND connection_id = $2 AND reference = $3
       AND (customer_step IS NOT NULL OR (${isInDoubt} AND locked_until <= now()))
     RETURNING pg_notify('${dueChannel}', '')`,
    [companyId, connectionId, reference],
  );
  return rows.length > 0;
}

export async function openStatistics(
  db: Queryable,
): Promise<{ inDoubt: number; oldestInDoubtSeconds: number; waiting: number }> {
  const [row] = await db.query<{ in_doubt: number; oldest: number | null; waiting: number }>(
    `SELECT count(*) FILTER (WHERE ${isInDoubt})::integer AS in_doubt,
       count(*) FILTER (WHERE state = 'waiting')::integer AS waiting,
       extract(epoch FROM now() - min(opened_at) FILTER (WHERE ${isInDoubt}))::float8 AS oldest
     FROM open_transactions WHERE ${isInDoubt} OR state = 'waiting'`,
  );
  return { inDoubt: row?.in_doubt ?? 0, oldestInDoubtSeconds: row?.oldest ?? 0, waiting: row?.waiting ?? 0 };
}
