import type { Queryable } from '../../platform/database.ts';
import { staysHere } from '../../shards/queries.ts';
import type { GivenConsent } from '../consents/service.ts';
import type { OrderCreate } from '../orders/schemas.ts';
import type { SubscriptionCreate } from '../subscriptions/schemas.ts';

/** What a payment creates. `chosen` tells the request that began it from one with another card. */
export type Purchase = {
  readonly chosen?: string;
  /** What the customer agreed to. Recorded when it is paid. */
  readonly consents?: readonly GivenConsent[];
} /** An order whose charge is only authorized is a kind of its own, so that the release before cannot charge it. */ & (
  | { readonly kind: 'order' | 'authorization'; readonly input: OrderCreate }
  | { readonly kind: 'subscription'; readonly input: SubscriptionCreate }
);

export interface PaymentRow {
  readonly company_id: string;
  readonly session_id: string;
  readonly number: number;
  readonly input: Purchase;
  readonly total: number;
  readonly started_at: Date;
  /** By the clock of the company. */
  readonly valid_until: Date;
  /** Until when the customer can be at the bank, if the payment waits for that. */
  readonly customer_until: Date | null;
}

const columns =
  'company_id, session_id, number, input, total::float8 AS total, started_at, valid_until, customer_until';

export async function insertPayment(
  db: Queryable,
  row: Omit<PaymentRow, 'started_at' | 'customer_until'>,
  checkAfterSeconds: number,
): Promise<PaymentRow | undefined> {
  const [made] = await db.query<PaymentRow>(
    `INSERT INTO checkout_payments (company_id, session_id, number, state, input, total, check_at, valid_until)
     VALUES ($1, $2, $3, 'open', $4, $5, now() + $6 * interval '1 s', $7) ON CONFLICT DO NOTHING RETURNING ${columns}`,
    [
      row.company_id,
      row.session_id,
      row.number,
      JSON.stringify(row.input),
      row.total,
      checkAfterSeconds,
      row.valid_until,
    ],
  );
  return made;
}

export async function findOpenPayment(
  db: Queryable,
  companyId: string,
  sessionId: string,
): Promise<PaymentRow | undefined> {
  const [row] = await db.query<PaymentRow>(
    `SELECT ${columns} FROM checkout_payments WHERE company_id = $1 AND session_id = $2 AND state = 'open'`,
    [companyId, sessionId],
  );
  return row;
}

/** The payment waits for the customer at the bank until then; null if it does not. */
export async function keepCustomerUntil(
  db: Queryable,
  { company_id, session_id, number }: Pick<PaymentRow, 'company_id' | 'session_id' | 'number'>,
  until: Date | null,
): Promise<void> {
  await db.query(
    `UPDATE checkout_payments SET customer_until = $4
     WHERE company_id = $1 AND session_id = $2 AND number = $3 AND state = 'open'`,
    [company_id, session_id, number, until],
  );
}

/** Returns false if another process has ended the payment. */
export async function endPayment(
  db: Queryable,
  { company_id, session_id, number }: Pick<PaymentRow, 'company_id' | 'session_id' | 'number'>,
  state: 'succeeded' | 'ended',
): Promise<boolean> {
  const rows = await db.query(
    `UPDATE checkout_payments SET state = $4, check_at = NULL, customer_until = NULL
     WHERE company_id = $1 AND session_id = $2 AND number = $3 AND state = 'open' RETURNING 1`,
    [company_id, session_id, number, state],
  );
  return rows.length === 1;
}

/** Claims payments whose process may have died, and postpones their next check. */
export async function claimDuePayments(db: Queryable, count: number, againSeconds: number): Promise<PaymentRow[]> {
  return db.query<PaymentRow>(
    `UPDATE checkout_payments SET check_at = now() + $2 * interval '1 s'
     WHERE (company_id, session_id, number) IN (SELECT company_id, session_id, number FROM checkout_payments
       WHERE state = 'open' AND check_at <= now() AND ${staysHere('company_id')}
       ORDER BY check_at LIMIT $1 FOR UPDATE SKIP LOCKED)
     RETURNING ${columns}`,
    [count, againSeconds],
  );
}

interface CountedPayment {
  readonly payments: number;
  /** The failed order whose money the link asks for. */
  readonly failed_order: { readonly id: string; readonly total: number } | null;
}

/** Returns undefined if the link takes no more payments. */
export async function addLinkPayment(
  db: Queryable,
  companyId: string,
  id: string,
  now: Date,
): Promise<CountedPayment | undefined> {
  const [row] = await db.query<CountedPayment>(
    `UPDATE payment_links SET payments = payments + 1 WHERE company_id = $1 AND id = $2 AND active
       AND (max_payments IS NULL OR payments < max_payments) AND (ends_at IS NULL OR ends_at > $3)
     RETURNING payments, (SELECT jsonb_build_object('id', f.order_id, 'total', f.total) FROM failed_order_links f
       WHERE f.company_id = payment_links.company_id AND f.payment_link_id = payment_links.id) AS failed_order`,
    [companyId, id, now],
  );
  return row;
}

export async function removeLinkPayment(db: Queryable, companyId: string, id: string): Promise<void> {
  await db.query('UPDATE payment_links SET payments = payments - 1 WHERE company_id = $1 AND id = $2', [companyId, id]);
}
