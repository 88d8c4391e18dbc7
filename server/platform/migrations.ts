import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

const directory = fileURLToPath(new URL('../migrations/', import.meta.url));

/** The database does not match this program; the message says why and what to do. */
export class MigrationError extends Error {}

export interface Migration {
  readonly name: string;
  readonly text: string;
  readonly sha256: string;
}

export async function migrationNames(): Promise<string[]> {
  const files = await readdir(directory);
  return files
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.slice(0, -'.sql'.length))
    .toSorted();
}

/** Returns every migration of this program, in order. */
export async function readMigrations(): Promise<Migration[]> {
  const names = await migrationNames();
  return Promise.all(
    names.map(async (name) => {
      // A checkout on Windows may end lines with CR LF; the migration is the same.
      const text = (await readFile(`${directory}${name}.sql`, 'utf8')).replaceAll('\r\n', '\n');
      return { name, text, sha256: createHash('sha256').update(text).digest('hex') };
    }),
  );
}

interface Applied {
  readonly name: string;
  /** Null if a version without hashes applied the migration. */
  readonly sha256: string | null;
}

async function readApplied(client: pg.Client): Promise<Applied[]> {
  const exists = await client.query(`SELECT to_regclass('public.schema_migrations') IS NOT NULL AS found`);
  if (!exists.rows[0].found) return [];
  // The query works without the column, which is newer than the table.
  const applied = await client.query<Applied>(
    `SELECT name, to_jsonb(m) ->> 'sha256' AS sha256 FROM schema_migrations m ORDER BY name`,
  );
  return applied.rows;
}

/**
 * Returns the migrations that the database still needs. Rejects a database whose history differs from this program's.
 */
function missingFrom(applied: readonly Applied[], known: readonly Migration[]): Migration[] {
  const unknown = applied.filter(({ name }) => !known.some((migration) => migration.name === name));
  if (unknown.length > 0) {
    throw new MigrationError(
      `The database was migrated by a newer version of the service (${namesOf(unknown)}). Start that version.`,
    );
  }
  const changed = known.flatMap(({ name, sha256 }) => {
    const ran = applied.find((one) => one.name === name)?.sha256;
    return ran && ran !== sha256 ? [`${name}: the database ran ${short(ran)}, this version has ${short(sha256)}`] : [];
  });
  if (changed.length > 0) {
    throw new MigrationError(
      `Migrations were edited after this database ran them (sha256, first 12 digits):\n  ${changed.join('\n  ')}\n` +
        'Start the version that migrated the database, or restore the files in server/migrations/. To change the ' +
        'schema, add a new migration.',
    );
  }
  const missing = known.filter(({ name }) => !applied.some((one) => one.name === name));
  const newest = applied.at(-1)?.name ?? '';
  const skipped = missing.filter(({ name }) => name < newest);
  if (skipped.length > 0) {
    throw new MigrationError(
      `The database ran ${newest} without ${namesOf(skipped)}, which comes before it. Start the version that migrated it.`,
    );
  }
  return missing;
}

const short = (sha256: string): string => sha256.slice(0, 12);
const namesOf = (list: readonly { readonly name: string }[]): string => list.map(({ name }) => name).join(', ');

/** For programs other than the service: they require this version's schema and do not migrate. */
export async function requireMigrated(connectionString: string): Promise<void> {
  await withClient(connectionString, async (client) => {
    const missing = missingFrom(await readApplied(client), await readMigrations());
    if (missing.length === 0) return;
    throw new MigrationError(
      `The database is older than this version (missing: ${namesOf(missing)}). Start the service, or run \`npm run svc -- migrate\`.`,
    );
  });
}

/** The advisory lock that every version takes for its migrations. */
const lockId = '7241865325823964';

/**
 * Migrates the database to this program's schema. Processes that start at the same time wait for the one that
 * migrates.
 */
export async function migrate(connectionString: string): Promise<void> {
  const known = await readMigrations();
  await withClient(connectionString, async (client) => {
    const applied = await readApplied(client);
    const complete = missingFrom(applied, known).length === 0;
    if (complete && applied.every(({ sha256 }) => sha256 !== null)) return;
    const { rows } = await client.query(`SELECT has_schema_privilege('public', 'CREATE') AS allowed`);
    if (!rows[0].allowed && complete) return;
    if (!rows[0].allowed) throw new MigrationError(notOwner);
    await client.query(`SELECT pg_advisory_lock(${lockId})`);
    const missing = missingFrom(await readApplied(client), known);
    await client.query(migrationsTable);
    // Migrations applied before hashes existed are assumed to equal this program's.
    for (const { name, sha256 } of known.filter((migration) => !missing.includes(migration))) {
      await client.query('UPDATE schema_migrations SET sha256 = $2 WHERE name = $1 AND sha256 IS NULL', [name, sha256]);
    }
    for (const migration of missing) await run(client, migration);
  });
}

const migrationsTable = `
  CREATE TABLE IF NOT EXISTS schema_migrations (
    id serial PRIMARY KEY, name varchar(255) NOT NULL, run_on timestamp NOT NULL, sha256 text
  );
  ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS sha256 text`;

async function run(client: pg.Client, { name, text, sha256 }: Migration): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query(text);
    await client.query('INSERT INTO schema_migrations (name, run_on, sha256) VALUES ($1, now(), $2)', [name, sha256]);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

const notOwner =
  'The database is not migrated, and the login in DATABASE_URL cannot migrate it. Run `npm run svc -- migrate` with the ' +
  'login of the owner first.';

// A migration may take long, so only connecting and a dead network have a timeout.
const connectTimeoutMs = 10_000;
const keepAliveAfterMs = 5_000;

/** Closing the connection releases the lock. */
async function withClient(connectionString: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({
    connectionString,
    application_name: 'svc migrations',
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

/** Whether every migration of this program has been applied; readiness requires it. */
export async function isMigrated(applied: readonly { name: string }[]): Promise<boolean> {
  const names = new Set(applied.map((row) => row.name));
  return (await migrationNames()).every((name) => names.has(name));
}
