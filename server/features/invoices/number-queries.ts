import type { Queryable } from '../../platform/database.ts';
import { staysHere } from '../../shards/queries.ts';
import type { SettingsRow } from './settings-queries.ts';

/** Queries of the job that gives documents their numbers. */

/** Not while a sandbox clock is moved, and not before a comparison after a restore. */
const isReady = `${staysHere('c.id')} AND c.gate IS DISTINCT FROM 'closed'
  AND (c.clock_moved_until IS NULL OR c.clock_moved_until <= now())`;

/** The companies with documents that wait. The index is asked for one company after the other, however many documents wait. */
export async function findDueCompanies(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ company_id: string }>(
    `WITH RECURSIVE waiting (company_id) AS (
       (SELECT company_id FROM invoices WHERE number IS NULL ORDER BY company_id LIMIT 1)
       UNION ALL
       SELECT (SELECT i.company_id FROM invoices i WHERE i.number IS NULL AND i.company_id > w.company_id
         ORDER BY i.company_id LIMIT 1)
       FROM waiting w WHERE w.company_id IS NOT NULL
     )
     SELECT w.company_id FROM waiting w JOIN companies c ON c.id = w.company_id WHERE ${isReady} ORDER BY random()`,
  );
  return rows.map(({ company_id }) => company_id);
}

export interface Numbering
  extends Pick<SettingsRow, 'invoice_prefix' | 'credit_note_prefix' | 'with_year' | 'padding'> {
  readonly time_zone: string;
  readonly clock_offset_ms: number;
  /** The last restore that the series of the company must know. */
  readonly restored_at: Date | null;
}

/** Undefined if another process gives numbers to the company. A restore is remembered, also where the company moves. */
export async function lockNumbering(db: Queryable, companyId: string): Promise<Numbering | undefined> {
  const [locked] = await db.query(
    `SELECT 1 FROM invoice_settings s JOIN companies c ON c.id = s.company_id
     WHERE s.company_id = $1 AND ${isReady} FOR NO KEY UPDATE OF s SKIP LOCKED`,
    [companyId],
  );
  if (!locked) return undefined;
  await db.query(
    `UPDATE invoice_settings s SET restored_at = r.noticed_at
     FROM (SELECT max(noticed_at) AS noticed_at FROM restores) r
     WHERE s.company_id = $1 AND r.noticed_at > coalesce(s.restored_at, s.created_at)`,
    [companyId],
  );
  const [row] = await db.query<Numbering>(
    `SELECT s.invoice_prefix, s.credit_note_prefix, s.with_year, s.padding, s.restored_at, c.time_zone, c.clock_offset_ms
     FROM invoice_settings s JOIN companies c ON c.id = s.company_id WHERE s.company_id = $1`,
    [companyId],
  );
  return row;
}

export interface Waiting {
  readonly id: string;
  readonly kind: 'invoice' | 'credit_note';
  readonly is_due: boolean;
}

/** The documents that wait, in the order of payment. */
export async function findWaiting(db: Queryable, companyId: string, count: number): Promise<Waiting[]> {
  return db.query<Waiting>(
    `SELECT id, kind, due_at <= now() AS is_due FROM invoices
     WHERE company_id = $1 AND number IS NULL ORDER BY id LIMIT $2`,
    [companyId, count],
  );
}

/** Takes the next numbers of a series, and returns the last of them. */
export async function takeNumbers(db: Queryable, companyId: string, label: string, count: number): Promise<number> {
  const [row] = await db.query<{ last_number: number }>(
    `INSERT INTO invoice_series AS s (company_id, label, last_number) VALUES ($1, $2, $3)
     ON CONFLICT (company_id, label) DO UPDATE SET last_number = s.last_number + excluded.last_number
     RETURNING last_number`,
    [companyId, label, count],
  );
  if (!row) throw new Error('a series has no number');
  return row.last_number;
}

export interface Numbered {
  readonly id: string;
  readonly series: string;
  readonly number: number;
  readonly full_number: string;
}

export async function writeNumbers(db: Queryable, companyId: string, numbered: readonly Numbered[]): Promise<void> {
  const rows = await db.query(
    `UPDATE invoices i SET series = n.series, number = n.number, full_number = n.full_number
     FROM json_to_recordset($2::json) AS n (id uuid, series text, number integer, full_number text)
     WHERE i.company_id = $1 AND i.id = n.id AND i.number IS NULL RETURNING 1`,
    [companyId, JSON.stringify(numbered)],
  );
  if (rows.length !== numbered.length) throw new Error('a document got its number twice');
}
