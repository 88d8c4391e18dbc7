import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';

const directory = fileURLToPath(new URL('../migrations/', import.meta.url));
const table = 'schema_migrations';

export class NewerDatabaseError extends Error {}
export class NotOwnerError extends Error {}
export class OlderDatabaseError extends Error {}

export async function migrationNames(): Promise<string[]> {
  const files = await readdir(directory);
  return files
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.slice(0, -'.sql'.length))
    .sort();
}

async function appliedNames(client: pg.Client): Promise<string[]> {
  const exists = await client.query('SELECT to_regclass($1) IS NOT NULL AS found', [`public.${table}`]);
  if (!exists.rows[0].found) return [];
  const applied = await client.query(`SELECT name FROM ${table} ORDER BY name`);
  return applied.rows.map((row: { name: string }) => row.name);
}

function refuseNewer(applied: readonly string[], known: readonly string[]): void {
  const unknown = applied.filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  throw new NewerDatabaseError(
    `The database was migrated by a newer version of this program (${unknown.join(', ')}). Start that version.`,
  );
}

/** For programs beside the service: they work with this version's schema, and leave the database as it is. */
export async function requireMigrated(connectionString: string): Promise<void> {
  await withClient(connectionString, async (client) => {
    const known = await migrationNames();
    const applied = await appliedNames(client);
    refuseNewer(applied, known);
    const missing = known.filter((name) => !applied.includes(name));
    if (missing.length === 0) return;
    throw new OlderDatabaseError(
      `The database is older than this program (${missing.join(', ')}). Start the service, or run \`npm run svc -- migrate\`.`,
    );
  });
}

/** Brings the database up to this program's schema; safe when several processes start at once. */
export async function migrate(connectionString: string): Promise<void> {
  await withClient(connectionString, async (client) => {
    const known = await migrationNames();
    const applied = await appliedNames(client);
    refuseNewer(applied, known);
    if (applied.length === known.length) return;
    const { rows } = await client.query(`SELECT has_schema_privilege('public', 'CREATE') AS allowed`);
    if (!rows[0].allowed) throw new NotOwnerError(notOwner);
    await runner({
      dbClient: client,
      dir: directory,
      migrationsTable: table,
      direction: 'up',
      singleTransaction: false,
      noLock: false,
      log: () => undefined,
    });
  });
}

const notOwner =
  'The database is not migrated yet, and the login of DATABASE_URL may not do it. Run `npm run svc -- migrate` with the ' +
  'login of its owner first.';

async function withClient(connectionString: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString, application_name: 'svc migrations' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

/** Whether every migration of this program has run: part of being ready. */
export async function isMigrated(applied: readonly { name: string }[]): Promise<boolean> {
  const names = new Set(applied.map((row) => row.name));
  return (await migrationNames()).every((name) => names.has(name));
}
