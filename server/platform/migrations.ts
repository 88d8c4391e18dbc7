import { readdir } from 'node:fs/promises';
import { runner } from 'node-pg-migrate';
import pg from 'pg';

const directory = new URL('../migrations/', import.meta.url);
const table = 'schema_migrations';

export class NewerDatabaseError extends Error {}

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

/** Refuses a database that is newer than the program. */
async function namesLeft(client: pg.Client): Promise<string[]> {
  const known = await migrationNames();
  const applied = await appliedNames(client);
  const unknown = applied.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new NewerDatabaseError(
      `The database was migrated by a newer version of this program (${unknown.join(', ')}). Start that version.`,
    );
  }
  return known.filter((name) => !applied.includes(name));
}

async function withClient<Result>(
  connectionString: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString, application_name: 'svc migrations' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** What the database lacks of this program's schema; changes nothing. */
export const migrationsLeft = (connectionString: string): Promise<string[]> => withClient(connectionString, namesLeft);

/** Brings the database up to this program's schema; safe when several processes start at once. */
export async function migrate(connectionString: string): Promise<void> {
  await withClient(connectionString, async (client) => {
    if ((await namesLeft(client)).length === 0) return;
    await runner({
      dbClient: client,
      dir: directory.pathname,
      migrationsTable: table,
      direction: 'up',
      singleTransaction: false,
      noLock: false,
      log: () => undefined,
    });
  });
}

/** Whether every migration of this program has run: part of being ready. */
export async function isMigrated(applied: readonly { name: string }[]): Promise<boolean> {
  const names = new Set(applied.map((row) => row.name));
  return (await migrationNames()).every((name) => names.has(name));
}
