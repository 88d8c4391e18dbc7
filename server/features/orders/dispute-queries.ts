import type { Queryable } from '../../platform/database.ts';
import type { DisputeReason, DisputeState } from '../../vault/processors/notices.ts';
import { kindsWithoutDecisions } from '../../vault/processors/kinds.ts';
import { staysHere } from '../../shards/queries.ts';

/** Disputes of charges, as processors and the sandbox report them. */

export interface DisputeRow {
  readonly company_id: string;
  readonly id: string;
  readonly order_id: string;
  readonly transaction_id: string;
  /** Null in the sandbox, and for a dispute that an operator recorded. */
  readonly connection_id: string | null;
  readonly processor_id: string;
  readonly state: DisputeState;
  readonly amount: number;
  readonly currency: string;
  readonly reason: DisputeReason;
  readonly network_reason_code: string | null;
  readonly evidence_due_at: Date | null;
  /** The time of the newest report, by the processor's clock. */
  readonly state_at: Date;
  readonly created_at: Date;
  readonly updated_at: Date;
}

const columns = `company_id, id, order_id, transaction_id, connection_id, processor_id, state, amount, currency, reason,
  network_reason_code, evidence_due_at, state_at, created_at, updated_at`;

/**
 * Adds a dispute, or brings it up to date. Returns false if it was already known as it is, or as it became later: reports
 * arrive any number of times and in any order. A processor reports a dispute that we accepted as lost. What needs
 * a response after evidence was submitted, as an inquiry that became a chargeback, is answered again.
 */
export async function saveDispute(db: Queryable, dispute: DisputeRow): Promise<boolean> {
  const rows = await db.query(
    `INSERT INTO disputes (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
     ON CONFLICT (company_id, processor_id, (coalesce(connection_id, company_id))) DO UPDATE
     SET state = CASE WHEN disputes.state = 'accepted' AND excluded.state = 'lost' THEN disputes.state ELSE excluded.state END,
       amount = excluded.amount, reason = excluded.reason,
       network_reason_code = coalesce(excluded.network_reason_code, disputes.network_reason_code),
       evidence_due_at = coalesce(excluded.evidence_due_at, disputes.evidence_due_at),
       submitted_at = CASE WHEN excluded.state = 'needs_response' AND excluded.state_at > disputes.submitted_at
         THEN NULL ELSE disputes.submitted_at END,
       state_at = excluded.state_at, updated_at = excluded.updated_at
     WHERE disputes.state_at < excluded.state_at RETURNING 1`,
    [
      dispute.company_id,
      dispute.id,
      dispute.order_id,
      dispute.transaction_id,
      dispute.connection_id,
      dispute.processor_id,
      dispute.state,
      dispute.amount,
      dispute.currency,
      dispute.reason,
      dispute.network_reason_code,
      dispute.evidence_due_at,
      dispute.state_at,
      dispute.created_at,
      dispute.updated_at,
    ],
  );
  return rows.length === 1;
}

/**
 * An open dispute that an operator recorded becomes the one that the processor reports, instead of a second one beside it. The
 * report decides its state, even if it is older.
 */
export async function adoptRecorded(
  db: Queryable,
  { company_id, order_id, connection_id, processor_id }: DisputeRow,
): Promise<void> {
  await db.query(
    `UPDATE disputes SET connection_id = $3, processor_id = $4, state_at = '-infinity'
     WHERE company_id = $1 AND order_id = $2 AND connection_id IS NULL
       AND state IN ('needs_response', 'under_review') AND NOT EXISTS (
       SELECT 1 FROM disputes known WHERE known.company_id = $1 AND known.processor_id = $4 AND known.connection_id = $3)`,
    [company_id, order_id, connection_id, processor_id],
  );
}

/** A decision that a person records is no report, so a later report of the processor is still newer. */
const end = `UPDATE disputes SET state = $3, updated_at = $4,
    state_at = CASE WHEN connection_id IS NULL THEN greatest(state_at, $4) ELSE state_at END
  WHERE company_id = $1 AND state IN ('needs_response', 'under_review')`;

/** Ends the open disputes of an order that was decided without a report, in the dashboard or the sandbox. */
export async function endDisputes(
  db: Queryable,
  { company_id, id }: { readonly company_id: string; readonly id: string },
  state: DisputeState,
  at: Date,
): Promise<void> {
  await db.query(`${end} AND order_id = $2`, [company_id, id, state, at]);
}

/** Ends one dispute. Returns false if it was not open. */
export async function endDispute(
  db: Queryable,
  { companyId, id }: { readonly companyId: string; readonly id: string },
  state: DisputeState,
  at: Date,
): Promise<boolean> {
  return (await db.query(`${end} AND id = $2 RETURNING 1`, [companyId, id, state, at])).length === 1;
}

/** Whether a processor has an open dispute about the order, and will report how it ended. */
export async function hasReported(db: Queryable, companyId: string, orderId: string): Promise<boolean> {
  const rows = await db.query(
    `SELECT 1 FROM disputes d JOIN processor_connections p ON p.company_id = d.company_id AND p.id = d.connection_id
     WHERE d.company_id = $1 AND d.order_id = $2 AND d.state IN ('needs_response', 'under_review')
       AND p.kind <> ALL($3::text[]) LIMIT 1`,
    [companyId, orderId, kindsWithoutDecisions],
  );
  return rows.length > 0;
}

/** Whether a dispute about the order holds its money back, or has returned it to the cardholder. */
export async function takesMoney(
  db: Queryable,
  { company_id, id }: { readonly company_id: string; readonly id: string },
): Promise<boolean> {
  const rows = await db.query(
    `SELECT 1 FROM disputes WHERE company_id = $1 AND order_id = $2
       AND state IN ('needs_response', 'under_review', 'lost', 'accepted') LIMIT 1`,
    [company_id, id],
  );
  return rows.length > 0;
}

export interface DueDispute {
  readonly company_id: string;
  readonly order_id: string;
  readonly due_at: Date;
}

const takeDue = (where: string): string => `
  SELECT d.company_id, d.order_id, d.evidence_due_at AS due_at FROM disputes d JOIN companies c ON c.id = d.company_id
  WHERE c.mode = 'sandbox' AND d.state = 'needs_response' AND ${staysHere('d.company_id')} AND ${where}
  ORDER BY d.evidence_due_at LIMIT 1 FOR UPDATE OF d SKIP LOCKED`;

/** A dispute of a sandbox whose deadline has passed without evidence. */
export async function findDueDispute(db: Queryable): Promise<DueDispute | undefined> {
  const [row] = await db.query<DueDispute>(
    takeDue(`d.evidence_due_at <= now() + c.clock_offset_ms * interval '1 ms'
      AND (c.clock_moved_until IS NULL OR c.clock_moved_until <= now())`),
  );
  return row;
}

/** The same of a company whose clock is being advanced. */
export async function findDueDisputeOf(db: Queryable, companyId: string, until: Date): Promise<DueDispute | undefined> {
  const [row] = await db.query<DueDispute>(takeDue('d.company_id = $1 AND d.evidence_due_at <= $2'), [
    companyId,
    until,
  ]);
  return row;
}
