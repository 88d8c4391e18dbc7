import type { DatabasePool, Queryable } from '../platform/database.ts';

/** What must be true of a server before companies are placed on it. Each column is null, or says what is wrong. */
const settings = {
  server_version: `CASE WHEN current_setting('server_version_num')::integer < 150000
    THEN 'is PostgreSQL ' || current_setting('server_version') || '; use 15 or newer' END`,
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

const probe = `hashtextextended('which database is this', 0)`;

/** Whether two pools lead to the same database: a lock that one holds cannot be taken by the other. */
export async function isSameDatabase(one: DatabasePool, other: DatabasePool): Promise<boolean> {
  return one.transaction(async (transaction) => {
    await transaction.query(`SELECT pg_advisory_xact_lock(${probe})`);
    const [row] = await other.query<{ free: boolean }>(`SELECT pg_try_advisory_xact_lock(${probe}) AS free`);
    return row?.free === false;
  });
}
