import type { Queryable } from '../../platform/database.ts';

/** Recorded with the intent, so that a charge that is sent again later says the same. */
export async function noteOffSession(db: Queryable, companyId: string, id: string): Promise<void> {
  await db.query('UPDATE orders SET off_session = true WHERE company_id = $1 AND id = $2', [companyId, id]);
}
