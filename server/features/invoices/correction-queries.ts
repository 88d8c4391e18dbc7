import type { Queryable } from '../../platform/database.ts';
import type { InvoiceContent } from './queries.ts';

/** Queries that correct the buyer of an invoice. */

interface Standing {
  readonly id: string;
  /** Null until it has its number. */
  readonly full_number: string | null;
  /** A credit note that takes something off it and was not reversed. */
  readonly credited_by: string | null;
}

/** The invoice of the order that nothing has replaced. In a transaction: refunds and other corrections wait until it ends. */
export async function lockStanding(db: Queryable, companyId: string, orderId: string): Promise<Standing | undefined> {
  await db.query(
    `SELECT FROM invoices WHERE company_id = $1 AND order_id = $2 AND cause = 'payment_recorded' FOR UPDATE`,
    [companyId, orderId],
  );
  const [row] = await db.query<Standing>(
    `SELECT i.id, i.full_number, (
       SELECT coalesce(n.full_number, n.id::text) FROM invoices n
       WHERE n.company_id = $1 AND n.order_id = $2 AND n.corrects_id = i.id AND n.kind = 'credit_note'
         AND NOT EXISTS (SELECT FROM invoices r WHERE r.company_id = $1 AND r.order_id = $2 AND r.corrects_id = n.id)
       ORDER BY n.id LIMIT 1
     ) AS credited_by
     FROM standing_invoice($1, $2) i`,
    [companyId, orderId],
  );
  return row;
}

interface Correction {
  readonly creditNoteId: string;
  readonly invoiceId: string;
  readonly content: InvoiceContent;
  readonly reason: string;
}

/** Takes off an invoice as a whole, and writes it again with this content. */
export async function insertCorrection(
  db: Queryable,
  companyId: string,
  id: string,
  { creditNoteId, invoiceId, content, reason }: Correction,
): Promise<void> {
  await db.query(
    `INSERT INTO invoices (company_id, id, kind, cause, order_id, customer_id, subject_id, amount, currency, content, corrects_id,
       reason)
     SELECT i.company_id, d.id, d.kind, d.cause, i.order_id, i.customer_id, i.id, i.amount, i.currency, d.content, i.id, $6
     FROM invoices i CROSS JOIN (VALUES
       ($3::uuid, 'credit_note', 'invoice_canceled', NULL::json),
       ($4::uuid, 'invoice', 'invoice_corrected', $5::json)
     ) AS d (id, kind, cause, content) WHERE i.company_id = $1 AND i.id = $2`,
    [companyId, id, creditNoteId, invoiceId, JSON.stringify(content), reason],
  );
}
