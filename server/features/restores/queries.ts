import type { Queryable } from '../../platform/database.ts';
import { staysHere } from '../../shards/queries.ts';

type NoticedBy = 'operator' | 'high_water_mark' | 'earlier_result';

export interface Restore {
  readonly id: string;
  readonly noticed_at: Date;
  readonly noticed_by: NoticedBy;
  readonly detail: string;
  readonly books_until: Date | null;
}

/** SQL that is true while the database is restored and not reconciled. */
export const isRestored = 'EXISTS (SELECT 1 FROM restores WHERE reconciled_at IS NULL)';

export interface NewRestore {
  readonly id: string;
  readonly noticedBy: NoticedBy;
  readonly detail: string;
  /** The smallest id of the time at which a transaction is known to be missing. */
  readonly beforeId: string;
  /**
   * The time of the missing transaction: the restore is not recorded again if a later restore is known or reconciled.
   * The clock of a new server may be behind that time, which then is the time of the restore.
   */
  readonly unlessNoticedSince?: Date;
  readonly unlessReconciledUntil?: Date;
}

/**
 * Returns false if the restore is already known. If an earlier one is not reconciled, the backup was perhaps made in that
 * state: what is missing now is newer, so the time counts anew. An old result does not tell which restore lost it.
 */
export async function insertRestore(db: Queryable, restore: NewRestore): Promise<boolean> {
  const [row] = await db.query<{ is_new: boolean }>(
    `INSERT INTO restores (id, noticed_at, noticed_by, detail, books_until)
     SELECT $1, greatest(now(), $5), $2, $3, (
       SELECT to_timestamp(('x' || left(replace(max(latest.id::text), '-', ''), 12))::bit(48)::bigint / 1000.0)
       FROM companies c CROSS JOIN LATERAL (
         SELECT t.id FROM transactions t WHERE t.company_id = c.id AND t.id < $4 ORDER BY t.id DESC LIMIT 1
       ) latest WHERE c.mode = 'live')
     WHERE NOT EXISTS (SELECT 1 FROM restores WHERE noticed_at >= $5 OR reconciled_until >= $6)
     ON CONFLICT ((reconciled_at IS NULL)) WHERE reconciled_at IS NULL DO UPDATE SET id = excluded.id,
       noticed_at = excluded.noticed_at, noticed_by = excluded.noticed_by, detail = excluded.detail,
       books_until = CASE WHEN restores.books_until < excluded.books_until THEN restores.books_until
         WHEN restores.books_until IS NOT NULL THEN excluded.books_until END
       WHERE excluded.noticed_by <> 'earlier_result'
     RETURNING xmax = 0 OR noticed_by <> 'operator' AS is_new`,
    [
      restore.id,
      restore.noticedBy,
      restore.detail,
      restore.beforeId,
      restore.unlessNoticedSince ?? null,
      restore.unlessReconciledUntil ?? null,
    ],
  );
  return row?.is_new ?? false;
}

const columns = 'id, noticed_at, noticed_by, detail, books_until';

/** Returns the restore that is not reconciled. */
export async function findRestore(db: Queryable): Promise<Restore | undefined> {
  const [row] = await db.query<Restore>(`SELECT ${columns} FROM restores WHERE reconciled_at IS NULL`);
  return row;
}

export async function finishRestore(db: Queryable, id: string, until: Date): Promise<boolean> {
  const rows = await db.query(
    `UPDATE restores SET reconciled_at = now(), reconciled_until = $2
     WHERE id = $1 AND reconciled_at IS NULL RETURNING 1`,
    [id, until],
  );
  return rows.length === 1;
}

export interface StateRow {
  restored: boolean;
  recently: boolean;
  /** When the last restore was noticed, in milliseconds. */
  noticed_ms: number | null;
  missing: boolean;
}

/**
 * Returns whether the database is restored now, or was within these days, and whether a recorded transaction is
 * missing; those of a company that left are elsewhere.
 */
export async function readState(
  db: Queryable,
  days: number,
  mark: { readonly companyId: string; readonly transactionId: string } | undefined,
): Promise<StateRow> {
  const [row] = await db.query<StateRow>(
    `SELECT ${isRestored} AS restored,
       EXISTS (SELECT 1 FROM restores WHERE noticed_at > now() - $1 * interval '1 day') AS recently,
       (SELECT extract(epoch FROM max(noticed_at))::float8 * 1000 FROM restores) AS noticed_ms,
       $2::uuid IS NOT NULL AND ${staysHere('$2')}
         AND NOT EXISTS (SELECT 1 FROM transactions WHERE company_id = $2 AND id = $3) AS missing`,
    [days, mark?.companyId ?? null, mark?.transactionId ?? null],
  );
  return row ?? { restored: false, recently: false, noticed_ms: null, missing: false };
}

export async function findInstallation(db: Queryable): Promise<string | undefined> {
  const [row] = await db.query<{ id: string }>('SELECT id FROM installation');
  return row?.id;
}
