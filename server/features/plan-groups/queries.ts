import type { Queryable } from '../../platform/database.ts';
import type { PlanGroup } from './schemas.ts';

export interface PlanGroupRow extends Omit<PlanGroup, 'created_at' | 'updated_at'> {
  readonly updated_at: Date;
}

const columns = `g.id, g.name, g.upgrade, g.downgrade, g.proration, g.after_cycles, g.seats_max, g.updated_at,
  ARRAY(SELECT m.plan_id FROM plan_group_plans m WHERE m.company_id = g.company_id AND m.group_id = g.id ORDER BY m.position) AS plan_ids`;

export async function findGroups(db: Queryable, companyId: string): Promise<PlanGroupRow[]> {
  return db.query<PlanGroupRow>(`SELECT ${columns} FROM plan_groups g WHERE g.company_id = $1 ORDER BY g.id`, [
    companyId,
  ]);
}

export async function countGroups(db: Queryable, companyId: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    'SELECT count(*)::integer AS count FROM plan_groups WHERE company_id = $1',
    [companyId],
  );
  return row?.count ?? 0;
}

export async function findGroup(db: Queryable, companyId: string, id: string): Promise<PlanGroupRow | undefined> {
  const [row] = await db.query<PlanGroupRow>(
    `SELECT ${columns} FROM plan_groups g WHERE g.company_id = $1 AND g.id = $2`,
    [companyId, id],
  );
  return row;
}

/** The groups that these plans are in. */
export async function findGroupsOf(
  db: Queryable,
  companyId: string,
  planIds: readonly string[],
): Promise<PlanGroupRow[]> {
  return db.query<PlanGroupRow>(
    `SELECT ${columns} FROM plan_groups g WHERE g.company_id = $1 AND g.id IN (
       SELECT m.group_id FROM plan_group_plans m WHERE m.company_id = $1 AND m.plan_id = ANY($2::uuid[]))`,
    [companyId, planIds],
  );
}

/** Keeps others from changing the group until the transaction ends. */
export async function lockGroup(db: Queryable, companyId: string, id: string): Promise<void> {
  await db.query('SELECT 1 FROM plan_groups WHERE company_id = $1 AND id = $2 FOR NO KEY UPDATE', [companyId, id]);
}

/** Creates the group, or replaces it. */
export async function saveGroup(db: Queryable, companyId: string, row: PlanGroupRow): Promise<void> {
  const { id, name, upgrade, downgrade, proration, after_cycles, seats_max, updated_at } = row;
  await db.query(
    `INSERT INTO plan_groups (company_id, id, name, upgrade, downgrade, proration, after_cycles, seats_max, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     ON CONFLICT (company_id, id) DO UPDATE SET name = $3, upgrade = $4, downgrade = $5, proration = $6, after_cycles = $7,
       seats_max = $8, updated_at = $9`,
    [companyId, id, name, upgrade, downgrade, proration, after_cycles, seats_max, updated_at],
  );
  await db.query('DELETE FROM plan_group_plans WHERE company_id = $1 AND group_id = $2', [companyId, id]);
  await db.query(
    `INSERT INTO plan_group_plans (company_id, plan_id, group_id, position)
     SELECT $1, plan_id, $2, place FROM unnest($3::uuid[]) WITH ORDINALITY AS wanted (plan_id, place)`,
    [companyId, id, row.plan_ids],
  );
}

export async function deleteGroup(db: Queryable, companyId: string, id: string): Promise<boolean> {
  const rows = await db.query('DELETE FROM plan_groups WHERE company_id = $1 AND id = $2 RETURNING 1', [companyId, id]);
  return rows.length > 0;
}
