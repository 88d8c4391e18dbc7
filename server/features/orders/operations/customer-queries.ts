import type { Queryable } from '../../../platform/database.ts';
import { staysHere } from '../../../shards/queries.ts';
import { isBehindGate } from '../../restores/gate-queries.ts';
import { isThisSending, keyOf, move, openColumns, type OpenKey, type OpenTransaction } from './open-queries.ts';
import { customerDelaysMs, lockMs } from './timing.ts';

/** Queries for charges that wait for the customer at the bank. */

export interface WithCustomer extends OpenTransaction {
  readonly customer_step: Buffer;
}

interface NewStep {
  readonly sealed: Buffer;
  /** By the clock of the company. */
  readonly until: Date;
  readonly withinMs: number;
}

/**
 * Until the time of the customer is over, the operation is locked and not due: recovery leaves it alone. Returns false if
 * another process has recorded or changed it.
 */
export async function markWithCustomer(
  db: Queryable,
  open: OpenKey,
  { sealed, until, withinMs }: NewStep,
): Promise<boolean> {
  const rows = await db.query(
    `${move(
      'customer_asked',
      `customer_step = $5, customer_until = $6, checks = ${customerDelaysMs.length},
       customer_check_at = now() + ${customerDelaysMs.at(-1)} * interval '1 ms',
       locked_until = now() + $7 * interval '1 ms', next_check_at = now() + $7 * interval '1 ms'`,
    )} RETURNING 1`,
    [...keyOf(open), sealed, until, withinMs],
  );
  return rows.length === 1;
}

export async function findWithCustomer(
  db: Queryable,
  companyId: string,
  orderId: string,
): Promise<(WithCustomer & { readonly customer_until: Date }) | undefined> {
  const [row] = await db.query<WithCustomer & { readonly customer_until: Date }>(
    `SELECT ${openColumns}, customer_step, customer_until FROM open_transactions
     WHERE company_id = $1 AND order_id = $2 AND state = 'with_customer'`,
    [companyId, orderId],
  );
  return row;
}

const isFree = '(customer_locked_until IS NULL OR customer_locked_until <= now())';

/** One process at a time asks the processor. Should it die, the worker asks again. Its end waits as long. */
const locked = `now() + CASE WHEN connection_id IS NULL THEN ${lockMs.sandbox} ELSE ${lockMs.live} END * interval '1 ms'`;
const claiming = `customer_locked_until = ${locked}, customer_check_at = ${locked},
  next_check_at = greatest(next_check_at, ${locked})`;

/** Returns undefined if another process asks now, or the customer is not at the bank any more. */
export async function claimWithCustomer(db: Queryable, open: OpenKey): Promise<WithCustomer | undefined> {
  const [row] = await db.query<WithCustomer>(
    `UPDATE open_transactions SET ${claiming} WHERE ${isThisSending} AND customer_step IS NOT NULL AND ${isFree}
     RETURNING ${openColumns}, customer_step`,
    keyOf(open),
  );
  return row;
}

/** Claims those that are due to be asked about. */
export async function claimCustomersDue(db: Queryable, batch: number): Promise<WithCustomer[]> {
  return db.query<WithCustomer>(
    `UPDATE open_transactions SET ${claiming} WHERE (company_id, order_id, slot) IN (
       SELECT company_id, order_id, slot FROM open_transactions t
       WHERE customer_check_at <= now() AND ${isFree} AND ${staysHere('company_id')} AND NOT ${isBehindGate('t')}
       ORDER BY customer_check_at LIMIT $1 FOR UPDATE SKIP LOCKED
     ) RETURNING ${openColumns}, customer_step`,
    [batch],
  );
}

/** The bank has not decided yet. After a return, it is asked again soon. */
export async function leaveWithCustomer(db: Queryable, open: OpenKey, isReturned: boolean): Promise<void> {
  await db.query(
    `UPDATE open_transactions SET customer_locked_until = NULL, checks = CASE WHEN $5 THEN 1 ELSE checks + 1 END,
       customer_check_at = now() + (ARRAY[${customerDelaysMs.join()}])[
         least(CASE WHEN $5 THEN 1 ELSE checks + 1 END, ${customerDelaysMs.length})] * interval '1 ms'
     WHERE ${isThisSending} AND customer_step IS NOT NULL`,
    [...keyOf(open), isReturned],
  );
}

/**
 * The time of the customer is over. From now on it is in doubt, and the lookup that follows ends it at the processor. Returns
 * undefined if a process asks the processor now, or an outcome was recorded.
 */
export async function giveUpCustomer(db: Queryable, open: OpenKey): Promise<OpenTransaction | undefined> {
  const [row] = await db.query<OpenTransaction>(
    `${move('customer_gone', `checks = 0, locked_until = now(), next_check_at = ${locked}`)}
       AND ${isFree} RETURNING ${openColumns}`,
    keyOf(open),
  );
  return row;
}

/** Those of a company whose clock is being advanced, in the order in which they end. */
export async function findCustomersUntil(db: Queryable, companyId: string, until: Date): Promise<OpenTransaction[]> {
  return db.query<OpenTransaction>(
    `SELECT ${openColumns} FROM open_transactions
     WHERE company_id = $1 AND state = 'with_customer' AND customer_until <= $2 ORDER BY customer_until, id LIMIT 100`,
    [companyId, until],
  );
}
