import { readFile } from 'node:fs/promises';
import pg from 'pg';

/**
 * The schema from the catalog, for reading and for the diff of a migration. `npm test` compares it;
 * `SVC_UPDATE_SCHEMA=1 npm test tests/schema.test.ts` writes it.
 */

export const schemaFile = new URL('../../server/schema.sql', import.meta.url);

interface Row {
  name: string;
  lines: string[];
}

const ours = `(SELECT oid FROM pg_namespace WHERE nspname IN ('public', 'vault'))`;

const tablesQuery = `
  SELECT c.oid::regclass::text AS name,
    array_agg(format('  %I %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
      CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END,
      COALESCE(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '')) ORDER BY a.attnum) AS lines
  FROM pg_class c
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
  WHERE c.relnamespace IN ${ours} AND c.relkind IN ('r', 'p') AND c.relname NOT IN ('schema_migrations', 'compatible_migrations')
  GROUP BY c.oid, c.relname ORDER BY c.relnamespace::regnamespace::text, c.relname`;

// NOT NULL is already listed with its column; PostgreSQL 18 also lists it as a constraint.
const constraintsQuery = `
  SELECT conrelid::regclass::text AS name,
    array_agg(format('  CONSTRAINT %I %s', conname, pg_get_constraintdef(oid)) ORDER BY conname) AS lines
  FROM pg_constraint WHERE connamespace IN ${ours} AND conrelid <> 0 AND contype <> 'n'
  GROUP BY conrelid`;

const indexesQuery = `
  SELECT i.indrelid::regclass::text AS name,
    array_agg(pg_get_indexdef(c.oid) || ';' ORDER BY c.relname) AS lines
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  WHERE c.relnamespace IN ${ours} AND NOT EXISTS (
    SELECT 1 FROM pg_constraint k WHERE k.conname = c.relname AND k.connamespace = c.relnamespace)
  GROUP BY i.indrelid`;

const triggersQuery = `
  SELECT tgrelid::regclass::text AS name, array_agg(pg_get_triggerdef(oid) || ';' ORDER BY tgname) AS lines
  FROM pg_trigger WHERE NOT tgisinternal GROUP BY tgrelid`;

const viewsQuery = `
  SELECT relname AS name, ARRAY[format('CREATE VIEW %s AS', oid::regclass), pg_get_viewdef(oid, true)] AS lines
  FROM pg_class WHERE relnamespace IN ${ours} AND relkind = 'v' ORDER BY relname`;

const functionsQuery = `
  SELECT oid::regprocedure::text AS name, ARRAY[rtrim(pg_get_functiondef(oid), E'\\n') || ';'] AS lines
  FROM pg_proc WHERE pronamespace IN ${ours} ORDER BY proname, oid::regprocedure::text`;

const viewsHeading = '-- Views';

export async function describeSchema(connectionString: string): Promise<string> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const read = async (query: string): Promise<Map<string, string[]>> =>
      new Map((await client.query<Row>(query)).rows.map((row) => [row.name, row.lines]));
    const tables = await read(tablesQuery);
    const constraints = await read(constraintsQuery);
    const indexes = await read(indexesQuery);
    const triggers = await read(triggersQuery);
    const created = [...tables].map(([name, columns]) => {
      const body = [...columns, ...(constraints.get(name) ?? [])].join(',\n');
      const rest = [...(indexes.get(name) ?? []), ...(triggers.get(name) ?? [])];
      return [`CREATE TABLE ${name} (\n${body}\n);`, ...rest].join('\n');
    });
    const definitions = async (query: string): Promise<string[]> =>
      [...(await read(query)).values()].map((lines) => lines.join('\n'));
    const parts = [
      '-- The schema after all migrations. Written by the test of the schema.',
      ...created,
      viewsHeading,
      ...(await definitions(viewsQuery)),
      '-- Functions',
      ...(await definitions(functionsQuery)),
    ];
    return `${parts.join('\n\n')}\n`;
  } finally {
    await client.end();
  }
}

export async function recordedSchema(): Promise<string> {
  return readFile(schemaFile, 'utf8').catch(() => '');
}

/** The tables of schema.sql, each with its constraints, indexes and triggers, without the schema of the vault. */
export async function recordedTables(): Promise<{ readonly name: string; readonly text: string }[]> {
  const [tables = ''] = (await recordedSchema()).split(viewsHeading);
  return tables
    .split(/^CREATE TABLE /m)
    .slice(1)
    .map((text) => ({ name: text.split(' ')[0] ?? '', text }))
    .filter(({ name }) => !name.startsWith('vault.'));
}

/** Everything that a migration can create, in both schemas, one line each, for comparing two databases. */
const catalogQuery = `
  WITH ours AS (SELECT oid, nspname FROM pg_namespace WHERE nspname IN ('public', 'vault'))
  SELECT format('schema %s %s', nspname, nspacl) AS line FROM ours JOIN pg_namespace USING (oid, nspname)
  UNION ALL
  SELECT format('%s %s.%s %s %s', c.relkind, o.nspname, c.relname, c.reloptions, c.relacl)
  FROM pg_class c JOIN ours o ON o.oid = c.relnamespace WHERE c.relname !~ '^(schema|compatible)_migrations'
  UNION ALL
  SELECT format('column %s.%s %s %s %s null:%s default:%s %s %s', o.nspname, c.relname, row_number() OVER (PARTITION BY c.oid ORDER BY a.attnum),
    a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull, pg_get_expr(d.adbin, d.adrelid), a.attstorage, a.attacl)
  FROM pg_class c JOIN ours o ON o.oid = c.relnamespace
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
  WHERE c.relkind IN ('r', 'p', 'v') AND c.relname NOT IN ('schema_migrations', 'compatible_migrations')
  UNION ALL
  SELECT format('constraint %s %s %s %s', o.nspname, conrelid::regclass, conname, pg_get_constraintdef(k.oid))
  FROM pg_constraint k JOIN ours o ON o.oid = k.connamespace
  WHERE contype <> 'n' AND conrelid::regclass::text NOT IN ('schema_migrations', 'compatible_migrations')
  UNION ALL
  SELECT format('index %s', indexdef) FROM pg_indexes
  WHERE schemaname IN (SELECT nspname FROM ours) AND tablename NOT IN ('schema_migrations', 'compatible_migrations')
  UNION ALL
  SELECT format('trigger %s', pg_get_triggerdef(oid)) FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL
  SELECT format('function %s %s', pg_get_functiondef(p.oid), p.proacl)
  FROM pg_proc p JOIN ours o ON o.oid = p.pronamespace
  UNION ALL
  SELECT format('view %s', pg_get_viewdef(c.oid)) FROM pg_class c JOIN ours o ON o.oid = c.relnamespace WHERE c.relkind = 'v'
  UNION ALL
  SELECT format('default rights %s %s %s', defaclnamespace::regnamespace, defaclobjtype, defaclacl) FROM pg_default_acl
  UNION ALL
  SELECT format('extension %s', extname) FROM pg_extension
  ORDER BY line`;

export async function describeCatalog(connectionString: string): Promise<string> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const { rows } = await client.query<{ line: string }>(catalogQuery);
    return rows.map(({ line }) => line).join('\n');
  } finally {
    await client.end();
  }
}
