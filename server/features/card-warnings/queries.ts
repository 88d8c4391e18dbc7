import type { Queryable } from '../../platform/database.ts';

export interface WarningRow {
  readonly operation: string;
  readonly field: string;
  readonly first_seen_at: Date;
  readonly last_seen_at: Date;
}

/** The number per company is limited, because the caller chooses the names of fields. */
export async function noteField(
  db: Queryable,
  companyId: string,
  operation: string,
  field: string,
  most: number,
): Promise<void> {
  await db.query(
    `INSERT INTO card_warnings (company_id, operation, field)
     SELECT $1, $2, $3 WHERE $4 > (SELECT count(*) FROM card_warnings WHERE company_id = $1 AND (operation, field) <> ($2, $3))
     ON CONFLICT (company_id, operation, field) DO UPDATE SET last_seen_at = now()`,
    [companyId, operation, field, most],
  );
}

export async function findWarnings(db: Queryable, companyId: string): Promise<WarningRow[]> {
  return db.query<WarningRow>(
    `SELECT operation, field, first_seen_at, last_seen_at FROM card_warnings
     WHERE company_id = $1 AND (dismissed_at IS NULL OR last_seen_at > dismissed_at)
     ORDER BY last_seen_at DESC, operation, field`,
    [companyId],
  );
}

/** Dismisses only warnings seen by this time; a warning that arrives while the list is read stays. */
export async function dismissSeen(db: Queryable, companyId: string, seenBy: Date): Promise<void> {
  await db.query('UPDATE card_warnings SET dismissed_at = $2 WHERE company_id = $1 AND last_seen_at <= $2', [
    companyId,
    seenBy,
  ]);
}
