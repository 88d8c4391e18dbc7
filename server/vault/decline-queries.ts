import type { Queryable } from '../platform/database.ts';
import type { FailureCode } from './processors/processor.ts';
import { type CardAttempt, declineWindowMs } from './decline-limits.ts';

/** The declines of cards, as the vault stores them. */

/** In the row of a card `c`: its declines as JSON, null if it has none. A card that pays well costs one index look. */
export const declinesOfCard = `(
  SELECT json_agg(json_build_object('connectionId', d.connection_id, 'atMs', extract(epoch FROM d.at) * 1000,
    'amount', d.amount, 'currency', d.currency, 'byCustomer', d.by_customer, 'failureCode', d.failure_code))
  FROM vault.card_declines d
  WHERE d.company_id = c.company_id AND d.fingerprint = c.fingerprint AND d.failure_code IS NOT NULL)`;

export interface AttemptRow extends CardAttempt {
  readonly companyId: string;
  readonly connectionId: string;
  readonly reference: string;
  readonly cardId: string;
  readonly fingerprint: string;
  readonly atMs: number;
  /** Null if the outcome is in doubt. */
  readonly failureCode: FailureCode | null;
}

/** Old rows go with new ones, a few at a time. */
const removedAtOnce = 10;

/** A decline that is known is never in doubt again. */
export async function keepDecline(db: Queryable, row: AttemptRow): Promise<void> {
  const { companyId, connectionId, reference, cardId, fingerprint, atMs, amount, currency, byCustomer, failureCode } =
    row;
  await db.query(
    `WITH kept AS (
       INSERT INTO vault.card_declines AS d
         (company_id, connection_id, reference, fingerprint, at, amount, currency, by_customer, failure_code)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
       ON CONFLICT (company_id, connection_id, reference)
         DO UPDATE SET failure_code = coalesce(d.failure_code, excluded.failure_code)
     ), named AS (
       UPDATE vault.cards SET fingerprint = $4 WHERE company_id = $1 AND id = $10 AND fingerprint IS NULL
     )
     DELETE FROM vault.card_declines WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM vault.card_declines WHERE at < $11 ORDER BY at LIMIT ${removedAtOnce} FOR UPDATE SKIP LOCKED))`,
    [
      ...[companyId, connectionId, reference, fingerprint, new Date(atMs), amount, currency, byCustomer, failureCode],
      ...[cardId, new Date(atMs - declineWindowMs)],
    ],
  );
}

/** After a success the card starts again. What is in doubt stays. */
export async function forgetDeclines(
  db: Queryable,
  companyId: string,
  connectionId: string,
  fingerprint: string,
): Promise<void> {
  await db.query(
    `DELETE FROM vault.card_declines
     WHERE company_id = $1 AND connection_id = $2 AND fingerprint = $3 AND failure_code IS NOT NULL`,
    [companyId, connectionId, fingerprint],
  );
}

/** A notice has decided charges that were in doubt. Others are not concerned. */
export async function decideDoubts(
  db: Queryable,
  companyId: string,
  connectionId: string,
  decided: readonly { readonly reference: string; readonly failureCode: FailureCode | null }[],
): Promise<void> {
  await db.query(
    `WITH decided AS (
       SELECT reference, failure_code FROM unnest($3::uuid[], $4::text[]) AS t (reference, failure_code)
     ), declined AS (
       UPDATE vault.card_declines d SET failure_code = t.failure_code FROM decided t
       WHERE d.company_id = $1 AND d.connection_id = $2 AND d.reference = t.reference AND d.failure_code IS NULL
         AND t.failure_code IS NOT NULL
     )
     DELETE FROM vault.card_declines d USING vault.card_declines paid, decided t
     WHERE paid.company_id = $1 AND paid.connection_id = $2 AND paid.reference = t.reference
       AND paid.failure_code IS NULL AND t.failure_code IS NULL
       AND d.company_id = $1 AND d.connection_id = $2 AND d.fingerprint = paid.fingerprint
       AND (d.failure_code IS NOT NULL OR d.reference = t.reference)`,
    [companyId, connectionId, decided.map((one) => one.reference), decided.map((one) => one.failureCode)],
  );
}
