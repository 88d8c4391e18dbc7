import type { Queryable } from '../../platform/database.ts';
import { staysHere } from '../../shards/queries.ts';
import type { NoticedSetUp } from '../../vault/processors/setup.ts';

/** Cards that are being saved while the bank of their customer may ask. */

export interface SetupRow {
  readonly company_id: string;
  readonly payment_method_id: string;
  readonly customer_id: string;
  /** The checkout session that is completed when the card is saved. */
  readonly session_id: string | null;
  readonly connection_id: string | null;
  /** Null until the processor has answered. */
  readonly step: Buffer | null;
  /** What a notice of the processor has said meanwhile. */
  readonly noticed: NoticedSetUp | null;
  /** By the clock of the company. */
  readonly customer_until: Date;
  readonly card_id: string;
  readonly exp_month: number;
  readonly exp_year: number;
}

export type NewSetup = Omit<SetupRow, 'step' | 'noticed' | 'card_id' | 'exp_month' | 'exp_year'>;

/** Returns false if another card of the customer is being saved. */
export async function insertSetup(db: Queryable, row: NewSetup, checkAfterMs: number): Promise<boolean> {
  const rows = await db.query(
    `INSERT INTO card_setups (company_id, payment_method_id, customer_id, connection_id, customer_until, check_at, session_id)
     VALUES ($1, $2, $3, $4, $5, now() + $6 * interval '1 ms', $7) ON CONFLICT DO NOTHING RETURNING 1`,
    [
      row.company_id,
      row.payment_method_id,
      row.customer_id,
      row.connection_id,
      row.customer_until,
      checkAfterMs,
      row.session_id,
    ],
  );
  return rows.length === 1;
}

const withCard = `SELECT s.company_id, s.payment_method_id, s.customer_id, s.session_id, s.connection_id, s.step, s.noticed, s.customer_until,
    m.card_id, m.exp_month, m.exp_year
  FROM card_setups s JOIN payment_methods m ON m.company_id = s.company_id AND m.id = s.payment_method_id`;

export async function findSetupOf(db: Queryable, companyId: string, customerId: string): Promise<SetupRow | undefined> {
  const [row] = await db.query<SetupRow>(`${withCard} WHERE s.company_id = $1 AND s.customer_id = $2`, [
    companyId,
    customerId,
  ]);
  return row;
}

/** Claims those that are due, and postpones their next check. */
export async function claimSetups(db: Queryable, count: number, againMs: number): Promise<SetupRow[]> {
  return db.query<SetupRow>(
    `WITH s AS (
       UPDATE card_setups SET check_at = now() + $2 * interval '1 ms'
       WHERE (company_id, payment_method_id) IN (SELECT company_id, payment_method_id FROM card_setups
         WHERE check_at <= now() AND ${staysHere('company_id')} ORDER BY check_at LIMIT $1 FOR UPDATE SKIP LOCKED)
       RETURNING *
     ) ${withCard.replace('FROM card_setups s', 'FROM s')}`,
    [count, againMs],
  );
}

type SetupKey = Pick<SetupRow, 'company_id' | 'payment_method_id'>;

/** Where the customer is led. It has no effect if another process has ended it. */
export async function keepStep(
  db: Queryable,
  { company_id, payment_method_id }: SetupKey,
  step: Buffer,
): Promise<void> {
  await db.query('UPDATE card_setups SET step = $3 WHERE company_id = $1 AND payment_method_id = $2', [
    company_id,
    payment_method_id,
    step,
  ]);
}

/** Keeps what a notice says, for the next check. Returns false if no card is being saved under the reference. */
export async function keepNoticed(
  db: Queryable,
  { company_id, payment_method_id }: SetupKey,
  connectionId: string,
  found: NoticedSetUp,
): Promise<boolean> {
  const rows = await db.query(
    `UPDATE card_setups SET noticed = $4
     WHERE company_id = $1 AND payment_method_id = $2 AND connection_id = $3 RETURNING 1`,
    [company_id, payment_method_id, connectionId, JSON.stringify(found)],
  );
  return rows.length === 1;
}

/** Returns true for exactly one caller, which then saves the card or removes it. */
export async function deleteSetup(db: Queryable, { company_id, payment_method_id }: SetupKey): Promise<boolean> {
  const rows = await db.query('DELETE FROM card_setups WHERE company_id = $1 AND payment_method_id = $2 RETURNING 1', [
    company_id,
    payment_method_id,
  ]);
  return rows.length === 1;
}
