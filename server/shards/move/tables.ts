import type { Queryable } from '../../platform/database.ts';
import { anyRow } from '../../platform/sql.ts';

/** The tables with rows of companies, from the catalogue: a table that a migration adds moves too. */

export interface Table {
  /** With its schema, quoted. */
  readonly name: string;
  /** SQL for the id of a row's company; `row` is the table, NEW or OLD. */
  readonly company: (row: string) => string;
  readonly key: readonly string[];
  /** Whether the server writes the old company of a changed row to its log, which a filter needs. */
  readonly isIdentified: boolean;
  /** Whether a row needs another row of its company, so that none can be added after the company has left. */
  readonly isReferring: boolean;
}

/** Tables of the control plane, and those about a shard. They do not move. */
const staying = [
  'memberships',
  'api_key_lookups',
  'company_names',
  'company_shards',
  'company_fences',
  'unfinished_sign_ups',
];

const byColumn = (row: string): string => `${row}.company_id`;
/** The keys of files begin with the company. */
const byFileKey = (row: string): string => `split_part(${row}.file_key, '/', 1)`;
export const companies: Table = {
  name: 'public.companies',
  company: (row) => `${row}.id`,
  key: ['id'],
  isIdentified: true,
  isReferring: true,
};

/** All tables but `companies`. */
export async function findTables(db: Queryable): Promise<Table[]> {
  const rows = await db.query<{
    name: string;
    has_company: boolean;
    key: string[] | null;
    identity: string;
    refers: boolean;
  }>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS name, company.attname IS NOT NULL AS has_company,
       c.relreplident::text AS identity,
       ${anyRow(`pg_constraint f
         WHERE f.conrelid = c.oid AND f.contype = 'f' AND company.attnum = ANY (f.conkey)`)} AS refers,
       (SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_index i
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
        WHERE i.indrelid = c.oid AND i.indisprimary) AS key
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     LEFT JOIN pg_attribute company ON company.attrelid = c.oid AND company.attname = 'company_id'
     WHERE n.nspname IN ('public', 'vault') AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND c.relname <> ALL ($1) AND (company.attname IS NOT NULL OR c.relname = 'unreferenced_files')
     ORDER BY 1`,
    [staying],
  );
  return rows.map(({ name, has_company, key, identity, refers }) => ({
    name,
    company: has_company ? byColumn : byFileKey,
    key: key ?? [],
    isIdentified: identity !== 'd' || !has_company || (key ?? []).includes('company_id'),
    isReferring: refers,
  }));
}

interface Partition {
  readonly parent: string;
  readonly name: string;
  readonly bound: string;
  readonly options: string;
}

/** The dated pieces of tables: a row that arrives before its piece exists would keep the piece from being created. */
export async function findPartitions(db: Queryable): Promise<Partition[]> {
  return db.query<Partition>(
    `SELECT p.relname AS parent, c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bound,
       coalesce('WITH (' || array_to_string(c.reloptions, ', ') || ')', '') AS options
     FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
     WHERE c.relkind = 'r' AND c.relispartition AND c.relname NOT LIKE '%_default' ORDER BY c.relname`,
  );
}

/** The login of a move can be a superuser. The owner of the other tables needs this one too, for backups and clean-ups. */
export async function createPartition(db: Queryable, { parent, name, bound, options }: Partition): Promise<void> {
  await db.query(`CREATE TABLE IF NOT EXISTS "${name}" PARTITION OF "${parent}" ${bound} ${options}`);
  const [row] = await db.query<{ owner: string }>(
    'SELECT quote_ident(pg_get_userbyid(relowner)) AS owner FROM pg_class WHERE oid = to_regclass($1)',
    [`"${parent}"`],
  );
  await db.query(`ALTER TABLE "${name}" OWNER TO ${row?.owner}`);
}
