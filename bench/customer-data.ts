import type { Environment } from './environment.ts';

/** Inserts millions of customers directly in PostgreSQL, with every column that the service writes. */

const firstNames = 'ada alan anna ben carla david emma felix grace hugo ines jonas karen liam maria nora oscar paula';
const lastNames =
  'adams baker clark davis evans fischer garcia hughes ito jones kim lopez meyer novak olsen price rossi';

const wordsOf = (names: string): string => `string_to_array('${names}', ' ')`;
const pick = (names: string, by: string): string => `(${wordsOf(names)})[1 + ${by} % cardinality(${wordsOf(names)})]`;

// IDs are UUID v7 with ascending milliseconds up to a minute ago, so that rows of the run come after them.
const seedRows = `
  SELECT
    (lpad(to_hex($1::bigint + n), 12, '0') || '7' || substr(hash, 1, 3) || '8' || substr(hash, 4, 15))::uuid AS id,
    first || '.' || last || '.' || scattered || '@example.com' AS email,
    first, last, scattered,
    '+1' || lpad(number::text, 10, '0') AS phone,
    ARRAY[(ARRAY['vip', 'trial', 'wholesale', 'press'])[1 + n % 4]] AS tags,
    jsonb_build_object('crm_id', 'c-' || n, 'source', 'bench') AS metadata,
    to_timestamp(($1::bigint + n) / 1000.0) AS updated_at
  FROM (
    SELECT n, number, to_hex(number) AS scattered, md5(n::text) AS hash,
      ${pick(firstNames, 'number')} AS first, ${pick(lastNames, '(number >> 8)')} AS last
    FROM (SELECT n, (n::bigint * 2654435761) % 4294967296 AS number FROM generate_series(1, $2::integer) n) numbered
  ) named`;

const insertCustomers = `
  INSERT INTO customers (company_id, id, email, email_key, first_name, last_name, phone, phone_key, tags, metadata,
    search, updated_at)
  SELECT $3::uuid, id, email, email, first, last, phone, substr(phone, 2), tags, metadata,
    array_to_tsvector(ARRAY[$4 || '.' || first, $4 || '.' || last, $4 || '.' || scattered, $4 || '.example',
      $4 || '.com', $4 || '#' || tags[1]]),
    updated_at
  FROM (${seedRows}) seeded`;

const insertBareCustomers = `
  INSERT INTO bare_customers (id, email, first_name, last_name, phone, tags, metadata, updated_at)
  SELECT id, email, first, last, phone, tags, metadata, updated_at FROM (${seedRows}) seeded`;

const createBareTable = `
  CREATE TABLE bare_customers (
    id uuid PRIMARY KEY,
    email text NOT NULL UNIQUE,
    first_name text NOT NULL,
    last_name text NOT NULL,
    phone text NOT NULL,
    company text,
    shipping_address jsonb,
    tags text[] NOT NULL,
    metadata jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz
  )`;

/** Filling an index row by row takes several times longer than building it afterwards. */
export async function withoutIndexes({ sql }: Environment, table: string, work: () => Promise<unknown>): Promise<void> {
  const { rows } = await sql.query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index i
     WHERE indrelid = $1::regclass AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid)`,
    [table],
  );
  for (const { name } of rows) await sql.query(`DROP INDEX ${name}`);
  await work();
  for (const { definition } of rows) await sql.query(definition);
}

const firstMsOf = (count: number): number => Date.now() - 60_000 - count;

/** Only our table. */
export async function seedCustomersOf(
  environment: Environment,
  companies: readonly string[],
  count: number,
): Promise<void> {
  const { sql } = environment;
  await sql.query("SET maintenance_work_mem = '512MB'");
  await withoutIndexes(environment, 'customers', async () => {
    for (const id of companies) await sql.query(insertCustomers, [firstMsOf(count), count, id, id.slice(-12)]);
  });
  await sql.query('VACUUM (ANALYZE) customers');
}

/** Milliseconds for seeding our table, including indexes and statistics. */
export async function seedCustomers(environment: Environment, count: number): Promise<number> {
  const { sql, companyId } = environment;
  const firstMs = firstMsOf(count);
  const startedAtMs = performance.now();
  await seedCustomersOf(environment, [companyId], count);
  const tookMs = performance.now() - startedAtMs;
  await sql.query(createBareTable);
  await sql.query(insertBareCustomers, [firstMs, count]);
  await sql.query('VACUUM (ANALYZE) bare_customers');
  await sql.query('CHECKPOINT');
  return tookMs;
}

export async function someIds({ sql }: Environment, table: string, count: number): Promise<string[]> {
  const { rows } = await sql.query<{ id: string }>(`SELECT id FROM ${table} ORDER BY md5(id::text) LIMIT $1`, [count]);
  return rows.map(({ id }) => id);
}
