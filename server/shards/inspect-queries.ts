import type { DatabasePool, Queryable } from '../platform/database.ts';
import { versionProblem } from '../platform/postgres-version.ts';

/** What must be true of a server before companies are placed on it. Each column is null, or says what is wrong. */
const settings = {
  server_version: versionProblem,
  pg_is_in_recovery: `CASE WHEN pg_is_in_recovery() THEN 'is a standby; name its primary' END`,
  server_encoding: `CASE WHEN current_setting('server_encoding') <> 'UTF8'
    THEN 'has server_encoding = ' || current_setting('server_encoding') || '; create the database with ENCODING UTF8' END`,
  fsync: `CASE WHEN current_setting('fsync') <> 'on' THEN 'has fsync = off, so a crash loses charges; set it to on' END`,
  synchronous_commit: `CASE WHEN current_setting('synchronous_commit') = 'off'
    THEN 'has synchronous_commit = off, so a crash loses charges; set it to on' END`,
};

export async function findWrongSettings(db: Queryable): Promise<string[]> {
  const columns = Object.entries(settings).map(([name, problem]) => `${problem} AS ${name}`);
  const [row = {}] = await db.query<Record<string, string | null>>(`SELECT ${columns.join(', ')}`);
  return Object.values(row).filter((problem) => problem !== null);
}

export async function readWalLevel(db: Queryable): Promise<string> {
  const [row] = await db.query<{ level: string }>(`SELECT current_setting('wal_level') AS level`);
  return row?.level ?? '';
}

/** The tables of a database that is not of this service; none if it is empty or ours. */
export async function findForeignTables(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND to_regclass('public.schema_migrations') IS NULL
     ORDER BY 1 LIMIT 5`,
  );
  return rows.map(({ name }) => name);
}

/** Companies that live on a server, apart from those that have left it. */
export async function findResidents(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `SELECT id FROM companies c WHERE NOT EXISTS (
       SELECT 1 FROM company_fences f WHERE f.company_id = c.id AND f.state IN ('left', 'arriving'))
     AND NOT EXISTS (SELECT 1 FROM unfinished_sign_ups u WHERE u.company_id = c.id)`,
  );
  return rows.map(({ id }) => id);
}

/** The same for any database: none if it has no such tables. A database from before shards has no fences. */
export async function findResidentsOfAny(db: Queryable): Promise<string[]> {
  const [row] = await db.query<{ companies: boolean; fences: boolean }>(
    `SELECT to_regclass('public.companies') IS NOT NULL AS companies,
       to_regclass('public.unfinished_sign_ups') IS NOT NULL AS fences`,
  );
  if (!row?.companies) return [];
  if (row.fences) return findResidents(db);
  return (await db.query<{ id: string }>('SELECT id FROM companies LIMIT 1')).map(({ id }) => id);
}

export interface CompanyOnShard {
  readonly id: string;
  readonly account_id: string;
  readonly name: string;
  readonly mode: string;
  readonly fence: 'arriving' | 'leaving' | 'left' | null;
  /** Estimated if there are more than `ordersCounted`. */
  readonly orders: number;
}

export const ordersCounted = 10_000;

/** The companies that have rows on a server, also those that arrive or have left, by id. */
export async function findCompaniesOn(
  db: Queryable,
  after: string | undefined,
  count: number,
  counted = ordersCounted,
): Promise<CompanyOnShard[]> {
  // PostgreSQL keeps the shares of the companies with the most orders in its statistics.
  return db.query<CompanyOnShard>(
    `WITH page AS (
       SELECT id, account_id, name, mode FROM companies WHERE $1::uuid IS NULL OR id > $1 ORDER BY id LIMIT $2
     ), shares AS (
       SELECT company::uuid AS company_id, share
       FROM pg_stats, unnest(most_common_vals::text::text[], most_common_freqs) AS common (company, share)
       WHERE schemaname = 'public' AND tablename = 'orders' AND attname = 'company_id'
     )
     SELECT page.*, fence.state AS fence, CASE WHEN counted.orders <= $3 THEN counted.orders ELSE greatest(
         counted.orders,
         (SELECT share * reltuples FROM shares, pg_class WHERE company_id = page.id AND oid = 'orders'::regclass)
       )::bigint END AS orders
     FROM page
     LEFT JOIN company_fences fence ON fence.company_id = page.id
     CROSS JOIN LATERAL (
       SELECT count(*) AS orders FROM (
         SELECT 1 FROM orders WHERE company_id = page.id LIMIT $3 + 1
       ) first
     ) counted
     ORDER BY page.id`,
    [after ?? null, count, counted],
  );
}

const probe = `hashtextextended('which database is this', 0)`;

/** Whether two pools lead to the same database: a lock that one holds cannot be taken by the other. */
export async function isSameDatabase(one: DatabasePool, other: DatabasePool): Promise<boolean> {
  return one.transaction(async (transaction) => {
    await transaction.query(`SELECT pg_advisory_xact_lock(${probe})`);
    const [row] = await other.query<{ free: boolean }>(`SELECT pg_try_advisory_xact_lock(${probe}) AS free`);
    return row?.free === false;
  });
}
