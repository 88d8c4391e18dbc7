import type { Database, Queryable } from '../../platform/database.ts';
import type { SavedView } from './schemas.ts';

const columns = 'id, list, name, search';

export async function findViews(db: Queryable, companyId: string, memberId: string): Promise<SavedView[]> {
  return db.query<SavedView>(
    `SELECT ${columns} FROM saved_views WHERE company_id = $1 AND member_id = $2 ORDER BY list, name`,
    [companyId, memberId],
  );
}

/**
 * A view of the same list and name is replaced. Returns undefined if the member has too many. The lock of the member
 * makes the limit hold for views that are saved at the same time. It is a statement of its own: a statement counts
 * what was committed when it began, which is before it waits for the lock.
 */
export async function upsertView(
  db: Database,
  companyId: string,
  memberId: string,
  view: SavedView,
  countMax: number,
): Promise<SavedView | undefined> {
  return db.transaction(async (transaction) => {
    await transaction.query('SELECT 1 FROM team_members WHERE company_id = $1 AND id = $2 FOR NO KEY UPDATE', [
      companyId,
      memberId,
    ]);
    const [saved] = await transaction.query<SavedView>(
      `INSERT INTO saved_views (company_id, member_id, ${columns}) SELECT $1, $2, $3, $4, $5, $6
       WHERE $7 > (SELECT count(*) FROM saved_views
         WHERE company_id = $1 AND member_id = $2 AND NOT (list = $4 AND name = $5))
       ON CONFLICT (company_id, member_id, list, name) DO UPDATE SET search = excluded.search
       RETURNING ${columns}`,
      [companyId, memberId, view.id, view.list, view.name, JSON.stringify(view.search), countMax],
    );
    return saved;
  });
}

export async function deleteView(db: Queryable, companyId: string, memberId: string, id: string): Promise<boolean> {
  const rows = await db.query(
    'DELETE FROM saved_views WHERE company_id = $1 AND member_id = $2 AND id = $3 RETURNING 1',
    [companyId, memberId, id],
  );
  return rows.length === 1;
}
