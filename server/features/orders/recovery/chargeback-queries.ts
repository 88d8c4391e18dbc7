import type { Queryable } from '../../../platform/database.ts';
import type { DisputeReason, DisputeState, NoticedChargeback } from '../../../vault/processors/notices.ts';
import { anyRow } from '../../../platform/sql.ts';
import type { NoticedTransaction } from './notice-queries.ts';

/** Finds the payments that a chargeback may be about, and keeps those that a person decides. */

export interface PossibleCharge extends NoticedTransaction {
  readonly currency: string;
  readonly card_brand: string;
  readonly card_last4: string | null;
  /** The processor's id of the charge. */
  readonly transaction_id: string | null;
}

export interface ChargebackPlace {
  readonly companyId: string;
  readonly connectionId: string;
}

interface Search {
  /** In the smallest unit of each currency that the amount may be in. */
  readonly amounts: readonly number[];
  readonly last4: string;
  readonly from: Date;
  readonly until: Date;
}

/** More are not shown: a person searches by other facts then. */
const possibleMax = 50;
const searchedMax = 20;

const columns = `id, order_id, type, status, amount, connection_id, currency, card_brand, card_last4,
  processor_response->>'transaction_id' AS transaction_id`;

/** Also charges that are disputed or in doubt, because the chargeback may be about one of them. */
export async function findPossibleCharges(
  db: Queryable,
  { companyId, connectionId }: ChargebackPlace,
  { amounts, last4, from, until }: Search,
): Promise<PossibleCharge[]> {
  return db.query<PossibleCharge>(
    `SELECT ${columns} FROM transactions
     WHERE company_id = $1 AND connection_id = $2 AND type = 'sale' AND status IN ('succeeded', 'chargeback')
       AND amount = ANY($3::bigint[]) AND card_last4 = $4 AND id >= first_id($5) AND id < first_id($6)
     UNION ALL
     SELECT id, order_id, type, 'in_progress', amount, connection_id, currency, card_brand, card_last4, NULL
     FROM open_transactions
     WHERE company_id = $1 AND connection_id = $2 AND type = 'sale'
       AND amount = ANY($3::bigint[]) AND card_last4 = $4 AND id >= first_id($5) AND id < first_id($6)
     ORDER BY id DESC LIMIT ${possibleMax}`,
    [companyId, connectionId, amounts, last4, from, until],
  );
}

/** The dispute that the chargeback in a row `u` became. */
const sameDispute = `disputes d WHERE d.company_id = u.company_id AND d.connection_id = u.connection_id
  AND d.processor_id = u.processor_id`;

/** The payment of the dispute that the chargeback became. */
export async function findDisputed(
  db: Queryable,
  { companyId, connectionId }: ChargebackPlace,
  processorId: string,
): Promise<string | undefined> {
  const [row] = await db.query<{ transaction_id: string }>(
    'SELECT transaction_id FROM disputes WHERE company_id = $1 AND connection_id = $2 AND processor_id = $3',
    [companyId, connectionId, processorId],
  );
  return row?.transaction_id;
}

/**
 * Whether the chargeback is a dispute already, or waits for a person. If the merchant has closed its dispute, a report with a later
 * date is not known: a person decides whether it is disputed again.
 */
export async function isKnownChargeback(
  db: Queryable,
  { companyId, connectionId }: ChargebackPlace,
  processorId: string,
  happenedAt: Date,
): Promise<boolean> {
  const rows = await db.query(
    `SELECT 1 FROM disputes WHERE company_id = $1 AND connection_id = $2 AND processor_id = $3
       AND (state NOT IN ('won', 'lost', 'accepted') OR state_at >= $4)
     UNION ALL
     SELECT 1 FROM unmatched_chargebacks u WHERE company_id = $1 AND connection_id = $2 AND processor_id = $3
       AND (state = 'open' OR happened_at >= $4 OR NOT ${anyRow(sameDispute)}) LIMIT 1`,
    [companyId, connectionId, processorId, happenedAt],
  );
  return rows.length > 0;
}

/** Whether the connection has reported another dispute about the charge. */
export async function hasDispute(
  db: Queryable,
  { companyId, connectionId }: ChargebackPlace,
  { id, order_id }: Pick<PossibleCharge, 'id' | 'order_id'>,
): Promise<boolean> {
  const rows = await db.query(
    'SELECT 1 FROM disputes WHERE company_id = $1 AND order_id = $4 AND connection_id = $2 AND transaction_id = $3 LIMIT 1',
    [companyId, connectionId, id, order_id],
  );
  return rows.length > 0;
}

export async function keepUnmatched(
  db: Queryable,
  { companyId, connectionId }: ChargebackPlace,
  id: string,
  { id: processorId, date, first6, last4, amount, reason, networkReasonCode, text }: NoticedChargeback,
  times: { readonly happenedAt: Date; readonly at: Date },
): Promise<void> {
  await db.query(
    `INSERT INTO unmatched_chargebacks (company_id, id, connection_id, processor_id, charged_back_on, card_first6,
       card_last4, amount, reason, network_reason_code, reason_text, happened_at, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)
     ON CONFLICT (company_id, connection_id, processor_id) DO UPDATE
     SET state = 'open', transaction_id = NULL, charged_back_on = excluded.charged_back_on, amount = excluded.amount,
       reason = excluded.reason, network_reason_code = excluded.network_reason_code, reason_text = excluded.reason_text,
       happened_at = excluded.happened_at, created_at = excluded.created_at, updated_at = excluded.updated_at
     WHERE unmatched_chargebacks.state <> 'open' AND unmatched_chargebacks.happened_at < excluded.happened_at`,
    [
      companyId,
      id,
      connectionId,
      processorId,
      date,
      first6,
      last4,
      amount,
      reason,
      networkReasonCode,
      text,
      times.happenedAt,
      times.at,
    ],
  );
}

export interface UnmatchedRow {
  readonly id: string;
  readonly connection_id: string;
  readonly connection_name: string;
  readonly processor_id: string;
  readonly state: 'open' | 'matched' | 'dismissed';
  readonly date: string | null;
  readonly first6: string | null;
  readonly last4: string | null;
  readonly amount: string | null;
  readonly reason: DisputeReason;
  readonly network_reason_code: string | null;
  readonly reason_text: string | null;
  readonly happened_at: Date;
  readonly created_at: Date;
  /** When it was decided, unless it is open. */
  readonly updated_at: Date;
  /** If its dispute was closed before it was reported again: how, and of which payment it is. */
  readonly closed_as: DisputeState | null;
  readonly disputed_id: string | null;
}

const unmatchedColumns = `id, connection_id, processor_id, state, to_char(charged_back_on, 'YYYY-MM-DD') AS date,
  card_first6 AS first6, card_last4 AS last4, amount, reason, network_reason_code, reason_text, happened_at, created_at,
  updated_at, (SELECT name FROM processor_connections c WHERE c.company_id = u.company_id
     AND c.id = u.connection_id) AS connection_name,
  (SELECT d.state FROM ${sameDispute}) AS closed_as, (SELECT d.transaction_id FROM ${sameDispute}) AS disputed_id`;

/** Those that wait for a person, or that a person has dismissed. */
export type ListedState = 'open' | 'dismissed';

const listedOrder = { open: 'created_at, id', dismissed: 'updated_at DESC, id DESC' } as const;

/** The oldest that wait, or the last that were dismissed. */
export async function findUnmatched(
  db: Queryable,
  companyId: string,
  state: ListedState,
  count: number,
): Promise<UnmatchedRow[]> {
  return db.query<UnmatchedRow>(
    `SELECT ${unmatchedColumns} FROM unmatched_chargebacks u WHERE company_id = $1 AND state = '${state}'
     ORDER BY ${listedOrder[state]} LIMIT $2`,
    [companyId, count],
  );
}

export async function findUnmatchedOne(
  db: Queryable,
  companyId: string,
  id: string,
  lock: '' | 'FOR UPDATE' = '',
): Promise<UnmatchedRow | undefined> {
  const [row] = await db.query<UnmatchedRow>(
    `SELECT ${unmatchedColumns} FROM unmatched_chargebacks u WHERE company_id = $1 AND id = $2 ${lock}`,
    [companyId, id],
  );
  return row;
}

/** Two members cannot decide about one chargeback at once. */
export const lockUnmatched = (db: Queryable, companyId: string, id: string): Promise<UnmatchedRow | undefined> =>
  findUnmatchedOne(db, companyId, id, 'FOR UPDATE');

export async function findChargeOfConnection(
  db: Queryable,
  { companyId, connectionId }: ChargebackPlace,
  id: string,
): Promise<PossibleCharge | undefined> {
  const [row] = await db.query<PossibleCharge>(
    `SELECT ${columns} FROM transactions WHERE company_id = $1 AND connection_id = $2 AND id = $3 AND type = 'sale'
       AND status IN ('succeeded', 'chargeback')`,
    [companyId, connectionId, id],
  );
  return row;
}

/** Payments of the connection by their order or their amount, the latest first. */
export async function searchCharges(
  db: Queryable,
  { companyId, connectionId }: ChargebackPlace,
  { orderIds, amounts }: { readonly orderIds: readonly string[]; readonly amounts: readonly number[] },
): Promise<PossibleCharge[]> {
  // Each arm has its own index.
  const arm = (where: string): string =>
    `(SELECT ${columns} FROM transactions WHERE company_id = $1 AND connection_id = $2 AND type = 'sale'
        AND status IN ('succeeded', 'chargeback') AND ${where} ORDER BY id DESC LIMIT ${searchedMax})`;
  return db.query<PossibleCharge>(
    `${arm('order_id = ANY($3::uuid[])')} UNION ${arm('amount = ANY($4::bigint[])')}
     ORDER BY id DESC LIMIT ${searchedMax}`,
    [companyId, connectionId, orderIds, amounts],
  );
}

/** By the ID of the order. */
export async function findOrderNumbers(
  db: Queryable,
  companyId: string,
  orderIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await db.query<{ id: string; order_number: string }>(
    'SELECT id, order_number FROM orders WHERE company_id = $1 AND id = ANY($2::uuid[])',
    [companyId, orderIds],
  );
  return new Map(rows.map(({ id, order_number }) => [id, order_number]));
}

export async function markDecided(
  db: Queryable,
  companyId: string,
  id: string,
  transactionId: string | null,
  at: Date,
): Promise<void> {
  await db.query(
    `UPDATE unmatched_chargebacks SET state = CASE WHEN $3::uuid IS NULL THEN 'dismissed' ELSE 'matched' END,
       transaction_id = $3, updated_at = $4 WHERE company_id = $1 AND id = $2`,
    [companyId, id, transactionId, at],
  );
}
