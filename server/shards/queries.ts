import type { ControlQueryable, Queryable } from '../platform/database.ts';
import { anyRow } from '../platform/sql.ts';
import { firstShard } from './shards.ts';

/** The shard of a company, as an SQL expression; `company` is the column with its id. */
export const shardOf = (company: string): string =>
  `coalesce((SELECT shard FROM company_shards WHERE company_id = ${company}), '${firstShard}')`;

export async function findShard(control: ControlQueryable, companyId: string): Promise<string> {
  const [row] = await control.query<{ shard: string }>('SELECT shard FROM company_shards WHERE company_id = $1', [
    companyId,
  ]);
  return row?.shard ?? firstShard;
}

/** Companies on the first shard need no row. */
export async function insertShards(
  control: ControlQueryable,
  shard: string,
  companyIds: readonly string[],
): Promise<void> {
  if (shard === firstShard) return;
  await control.query(
    'INSERT INTO company_shards (company_id, shard) SELECT unnest($1::uuid[]), $2 ON CONFLICT DO NOTHING',
    [companyIds, shard],
  );
}

/** Whether the companies of the account are moving. If not, no move of them begins until the transaction ends. */
export async function movesAccount(
  control: ControlQueryable,
  { id, accountId }: { readonly id: string; readonly accountId: string },
): Promise<boolean> {
  const [row] = await control.query<{ moves: boolean }>(
    `SELECT NOT pg_try_advisory_xact_lock(hashtextextended($2, 0))
       OR ${anyRow('company_shards WHERE company_id = $1 AND moving_to IS NOT NULL')} AS moves`,
    [id, moveLockOf(accountId)],
  );
  return row?.moves ?? true;
}

/** Whether a move of this company is recorded. */
export async function isMoving(control: ControlQueryable, companyId: string): Promise<boolean> {
  const rows = await control.query('SELECT 1 FROM company_shards WHERE company_id = $1 AND moving_to IS NOT NULL', [
    companyId,
  ]);
  return rows.length > 0;
}

/** The name of the lock that a move of an account holds on the control plane. */
export const moveLockOf = (accountId: string): string => `move ${accountId}`;

export async function countCompanies(db: Queryable): Promise<number> {
  const [row] = await db.query<{ count: number }>('SELECT count(*)::integer AS count FROM companies');
  return row?.count ?? 0;
}

/** How many companies the directory places on each shard. Those on the first shard need no row. */
export async function countPlaced(control: ControlQueryable): Promise<ReadonlyMap<string, number>> {
  const rows = await control.query<{ shard: string; count: number }>(
    'SELECT shard, count(*)::integer AS count FROM company_shards GROUP BY shard',
  );
  return new Map(rows.map(({ shard, count }) => [shard, count]));
}

export async function findDraining(control: ControlQueryable): Promise<string[]> {
  const rows = await control.query<{ shard: string }>('SELECT shard FROM draining_shards');
  return rows.map(({ shard }) => shard);
}

/**
 * SQL for the jobs of a shard: true unless the company is arriving, about to leave, or has left. An array, so that the
 * planner uses the same indexes as without it. A CASE, because the planner expects that `<>` removes nearly every row where
 * one company has nearly all of them, and then sorts what is due instead of reading it in order.
 */
export const staysHere = (company: string): string =>
  `CASE WHEN ${company} = ANY (ARRAY(SELECT company_id FROM company_fences)) THEN false ELSE true END`;

/** Whether this server has the company, and it is not moving. */
export async function isCompanyHere(db: Queryable, companyId: string): Promise<boolean> {
  const rows = await db.query(`SELECT 1 FROM companies WHERE id = $1 AND ${staysHere('id')}`, [companyId]);
  return rows.length > 0;
}

/** Whether a company is about to leave this server, or has left it. What is found here may no longer be true. */
export async function hasLeft(db: Queryable, companyId: string): Promise<boolean> {
  const rows = await db.query(`SELECT 1 FROM company_fences WHERE company_id = $1 AND state <> 'arriving'`, [
    companyId,
  ]);
  return rows.length > 0;
}

export async function setDraining(control: ControlQueryable, shard: string, drains: boolean): Promise<void> {
  await control.query(
    drains
      ? 'INSERT INTO draining_shards (shard) VALUES ($1) ON CONFLICT DO NOTHING'
      : 'DELETE FROM draining_shards WHERE shard = $1',
    [shard],
  );
}

export interface MoveRow {
  readonly shard: string;
  readonly moving_to: string;
  readonly moving_since: Date;
}

/** The moves of these companies that are under way, as the directory knows them. */
export async function findMovesOf(
  control: ControlQueryable,
  companyIds: readonly string[],
): Promise<ReadonlyMap<string, MoveRow>> {
  const rows = await control.query<MoveRow & { company_id: string }>(
    `SELECT company_id, shard, moving_to, moving_since FROM company_shards
     WHERE company_id = ANY($1) AND moving_to IS NOT NULL`,
    [companyIds],
  );
  return new Map(rows.map((row) => [row.company_id, row]));
}
