import type { Queryable } from '../../platform/database.ts';
import { anyRow } from '../../platform/sql.ts';
import { staysHere } from '../../shards/queries.ts';

export interface SampleRow {
  readonly company_id: string;
  readonly state: 'filling' | 'filled' | 'clearing' | 'cleared';
  /** How often the sandbox was filled. */
  readonly number: number;
  readonly ends_at: Date;
  readonly done: number;
  readonly total: number;
}

const columns = 'company_id, state, number, ends_at, done, total';

export const dueChannel = 'sample_data_due';

export async function findSampleData(db: Queryable, companyId: string): Promise<SampleRow | undefined> {
  const [row] = await db.query<SampleRow>(`SELECT ${columns} FROM sample_data WHERE company_id = $1`, [companyId]);
  return row;
}

/** Undefined while the worker still fills or clears the sandbox. */
export async function beginSampleData(
  db: Queryable,
  companyId: string,
  { state, endsAt, total }: { readonly state: 'filling' | 'clearing'; readonly endsAt: Date; readonly total: number },
): Promise<SampleRow | undefined> {
  const [row] = await db.query<SampleRow>(
    `INSERT INTO sample_data AS s (company_id, state, ends_at, total) VALUES ($1, $2, $3, $4)
     ON CONFLICT (company_id) DO UPDATE SET state = excluded.state, ends_at = excluded.ends_at, total = excluded.total,
       done = 0, leased_until = now(), number = s.number + CASE WHEN excluded.state = 'filling' THEN 1 ELSE 0 END
     WHERE s.state IN ('filled', 'cleared') RETURNING ${columns}`,
    [companyId, state, endsAt, total],
  );
  if (row) await db.query('SELECT pg_notify($1, $2)', [dueChannel, companyId]);
  return row;
}

/** Whether there is anything in the sandbox with which sample data would be mixed up. */
export async function hasActivity(db: Queryable, companyId: string): Promise<boolean> {
  const [row] = await db.query<{ found: boolean }>(
    `SELECT ${anyRow('customers WHERE company_id = $1')} OR ${anyRow('orders WHERE company_id = $1')} AS found`,
    [companyId],
  );
  return row?.found ?? false;
}

/** Claims the company that waits longest. One whose process died is due again when its lease ends. */
export async function claimSampleData(db: Queryable, leaseSeconds: number): Promise<SampleRow | undefined> {
  const [row] = await db.query<SampleRow>(
    `UPDATE sample_data SET leased_until = now() + $1 * interval '1 s' WHERE company_id IN (
       SELECT company_id FROM sample_data WHERE state IN ('filling', 'clearing') AND leased_until <= now()
         AND ${staysHere('company_id')}
       ORDER BY leased_until LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING ${columns}`,
    [leaseSeconds],
  );
  return row;
}

/** Extends the lease by this time; 0 returns it. */
export async function saveProgress(
  db: Queryable,
  { company_id, state }: Pick<SampleRow, 'company_id' | 'state'>,
  done: number,
  leaseSeconds: number,
): Promise<void> {
  await db.query(
    `UPDATE sample_data SET done = $3, leased_until = now() + $4 * interval '1 s' WHERE company_id = $1 AND state = $2`,
    [company_id, state, done, leaseSeconds],
  );
}

export async function endSampleData(db: Queryable, companyId: string, state: 'filled' | 'cleared'): Promise<void> {
  await db.query('UPDATE sample_data SET state = $2, done = total WHERE company_id = $1', [companyId, state]);
}

const firstId = '00000000-0000-0000-0000-000000000000';

/** Objects have appeared before the places up to which jobs have read, or have gone. So the jobs begin again. */
export async function readFromTheBeginning(db: Queryable, companyId: string): Promise<void> {
  await db.query(
    `UPDATE order_index_cursors SET after_id = $2, until_id = $2, until_at = now() WHERE company_id = $1`,
    [companyId, firstId],
  );
  await db.query('DELETE FROM figure_days WHERE company_id = $1', [companyId]);
  await db.query(`UPDATE figure_states SET days_until = 'epoch', due_at = now() WHERE company_id = $1`, [companyId]);
}
