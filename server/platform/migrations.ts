import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { endWithNetwork } from './database-lock.ts';
import { type Migration, migrationNames, readMigrations } from './migration-files.ts';
import { refuseOldPostgres } from './postgres-version.ts';
import { compareVersions, programVersion } from './version.ts';

/** The database does not match this program; the message says why and what to do. */
export class MigrationError extends Error {}

interface Applied {
  readonly name: string;
  /** Null if a version without hashes applied the migration. */
  readonly sha256: string | null;
  /** The oldest version that runs on the schema since this migration; null if the migration does not say. */
  readonly oldest_version: string | null;
}

/**
 * 0.1.0 refuses to start if `schema_migrations` has a name that it does not know. Migrations that it runs with are
 * recorded in a second table, which it does not read.
 */
const tables = ['schema_migrations', 'compatible_migrations'] as const;
const refusingVersion = '0.1.0';
const tableOf = ({ promise }: Migration): (typeof tables)[number] =>
  promise && compareVersions(promise.oldestVersion, refusingVersion) <= 0
    ? 'compatible_migrations'
    : 'schema_migrations';

type Query = <Row extends object>(text: string) => Promise<Row[]>;

async function readApplied(query: Query): Promise<Applied[]> {
  const existing = await query<{ name: string }>(
    `SELECT name FROM unnest(ARRAY['${tables.join("','")}']) AS name WHERE to_regclass('public.' || name) IS NOT NULL`,
  );
  if (existing.length === 0) return [];
  // The query works without the columns, which are newer than the table.
  const each = existing.map(
    ({ name }) =>
      `SELECT name, to_jsonb(m) ->> 'sha256' AS sha256, to_jsonb(m) ->> 'oldest_version' AS oldest_version FROM ${name} m`,
  );
  return query<Applied>(`${each.join(' UNION ALL ')} ORDER BY name`);
}

const queryOf =
  (client: pg.ClientBase): Query =>
  async (text) =>
    (await client.query(text)).rows;

/**
 * Returns the migrations that the database still needs. Rejects a database whose history differs from this program's,
 * except for newer migrations that this version runs with.
 */
function missingFrom(applied: readonly Applied[], known: readonly Migration[]): Migration[] {
  const unknown = applied.filter(({ name }) => !known.some((migration) => migration.name === name));
  const tooNew = unknown.filter(
    ({ oldest_version: oldest }) => oldest === null || compareVersions(programVersion, oldest) < 0,
  );
  if (tooNew.length > 0) throw new MigrationError(refusal(tooNew));
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

function refusal(tooNew: readonly Applied[]): string {
  const oldest = tooNew
    .map(({ oldest_version: version }) => version)
    .toSorted((one, other) => (one === null ? 1 : other === null ? -1 : compareVersions(one, other)))
    .at(-1);
  const start = oldest ? `Start ${oldest} or newer` : 'Start that version';
  return (
    `The database was migrated by a newer version of the service (${namesOf(tooNew)}), and ${programVersion} does not run ` +
    `on it. ${start}. To go back to ${programVersion}, restore the backup from before the upgrade: see "Rolling upgrades" in docs/reliability.md.`
  );
}

const short = (sha256: string): string => sha256.slice(0, 12);
const namesOf = (list: readonly { readonly name: string }[]): string => list.map(({ name }) => name).join(', ');

const listedMax = 3;
/** An empty database misses all of them, so the message names the first and the last. */
const rangeOf = (list: readonly { readonly name: string }[]): string =>
  list.length <= listedMax ? namesOf(list) : `${list.length} migrations, ${list[0]?.name} to ${list.at(-1)?.name}`;

/** For programs other than the service: they require this version's schema and do not migrate. */
export async function requireMigrated(
  connectionString: string,
  connectMs?: number,
  migrations?: readonly Migration[],
): Promise<void> {
  await withClient(
    connectionString,
    async (client) => {
      const known = migrations ?? (await readMigrations());
      const missing = missingFrom(await readApplied(queryOf(client)), known);
      if (missing.length === 0) return;
      throw new MigrationError(
        `The database is older than this version (missing: ${rangeOf(missing)}). Start the service, or run \`svc migrate\`.`,
      );
    },
    connectMs,
  );
}

/** Whether the server replays the log of another one. */
export async function isStandby(connectionString: string): Promise<boolean> {
  let found = false;
  await withClient(connectionString, async (client) => {
    const [row] = await queryOf(client)<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
    found = row?.standby === true;
  });
  return found;
}

/** The advisory lock that every version takes for its migrations. */
const lockId = '7241865325823964';
const lockPollMs = 100;

interface MigrateOptions {
  readonly connectMs?: number;
  /** Refuses a database before anything is changed. */
  readonly examine?: (client: pg.Client) => Promise<void>;
}

/**
 * Migrates the database to this program's schema. Processes that start at the same time wait for the one that
 * migrates.
 */
export async function migrate(
  connectionString: string,
  migrations?: readonly Migration[],
  { connectMs, examine }: MigrateOptions = {},
): Promise<void> {
  const known = migrations ?? (await readMigrations());
  await withClient(
    connectionString,
    async (client) => {
      await examine?.(client);
      const query = queryOf(client);
      const { complete, hashed } = await examineSchema(query, known);
      if (complete && hashed) return;
      const [rights] = await query<{ allowed: boolean }>(`SELECT has_schema_privilege('public', 'CREATE') AS allowed`);
      if (!rights?.allowed && complete) return;
      if (!rights?.allowed) throw new MigrationError(notOwner);
      await takeLock(client);
      const missing = missingFrom(await readApplied(query), known);
      // A crash loses at most the last ones, which the next start applies again.
      if (missing.length === known.length) await client.query('SET synchronous_commit = off');
      await client.query(createTables);
      // Migrations applied before hashes existed are assumed to equal this program's.
      for (const { name, sha256 } of known.filter((migration) => !missing.includes(migration))) {
        await client.query('UPDATE schema_migrations SET sha256 = $2 WHERE name = $1 AND sha256 IS NULL', [
          name,
          sha256,
        ]);
      }
      for (const migration of missing) await runPatiently(client, migration);
    },
    connectMs,
  );
}

async function examineSchema(query: Query, known: readonly Migration[]) {
  const applied = await readApplied(query);
  return {
    complete: missingFrom(applied, known).length === 0,
    hashed: applied.every(({ sha256 }) => sha256 !== null),
  };
}

/** Whether `migrate` has nothing to do. Rejects a database that it would reject. */
export async function hasSchema(client: pg.ClientBase, known: readonly Migration[]): Promise<boolean> {
  const query = queryOf(client);
  await refuseOldPostgres(query);
  const { complete, hashed } = await examineSchema(query, known);
  return complete && hashed;
}

/** Polls: a session that waits for the lock has a snapshot, and CREATE INDEX CONCURRENTLY would wait for that. */
async function takeLock(client: pg.Client): Promise<void> {
  await client.query(endWithNetwork);
  for (;;) {
    const { rows } = await client.query(`SELECT pg_try_advisory_lock(${lockId}) AS taken`);
    if (rows[0].taken) return;
    await sleep(lockPollMs);
  }
}

const createTables = `
  CREATE TABLE IF NOT EXISTS schema_migrations (
    id serial PRIMARY KEY, name varchar(255) NOT NULL, run_on timestamp NOT NULL, sha256 text
  );
  ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS sha256 text;
  ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS oldest_version text;
  CREATE TABLE IF NOT EXISTS compatible_migrations (
    name text PRIMARY KEY, run_on timestamptz NOT NULL, sha256 text NOT NULL, oldest_version text NOT NULL
  )`;

// All statements on a table wait behind a migration that waits for its lock, so it waits briefly and tries again. PostgreSQL
// looks for a deadlock after a second: by then the migration has given up, and no request is aborted for it.
const lockTimeoutMs = 300;
const retryPauseMs = 700;
const patienceMs = 120_000;
const lockTimeout = '55P03';
const deadlock = '40P01';

async function runPatiently(client: pg.Client, migration: Migration): Promise<void> {
  const deadlineMs = performance.now() + patienceMs;
  for (;;) {
    try {
      return await run(client, migration);
    } catch (error) {
      const { code = '' } = error as { code?: string };
      if (code !== lockTimeout && code !== deadlock) throw error;
      if (performance.now() > deadlineMs) {
        throw new MigrationError(
          `The migration ${migration.name} got no lock within ${patienceMs / 1000} s, because long transactions use the ` +
            'same table. It changed nothing. End them (see pg_stat_activity), then start again.',
        );
      }
      await sleep(retryPauseMs);
    }
  }
}

async function run(client: pg.Client, migration: Migration): Promise<void> {
  if (/^CREATE .*\bCONCURRENTLY\b/m.test(migration.text)) return runConcurrently(client, migration);
  await client.query('BEGIN');
  try {
    await client.query(`SET LOCAL lock_timeout = ${lockTimeoutMs}`);
    await client.query(migration.text);
    await record(client, migration);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** Builds indexes outside of a transaction. A build that failed leaves an invalid index, so each one is dropped first. */
async function runConcurrently(client: pg.Client, migration: Migration): Promise<void> {
  for (const statement of migration.text.split(/;\s*\n/).filter((part) => part.trim() !== '')) {
    const [, name] = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\w+)/m.exec(statement) ?? [];
    if (name) await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
    await client.query(statement);
  }
  await record(client, migration);
}

async function record(client: pg.Client, migration: Migration): Promise<void> {
  await client.query(
    `INSERT INTO ${tableOf(migration)} (name, run_on, sha256, oldest_version) VALUES ($1, now(), $2, $3)`,
    [migration.name, migration.sha256, migration.promise?.oldestVersion ?? null],
  );
}

const notOwner =
  'The database is not migrated, and the login in DATABASE_URL cannot migrate it. Run `svc migrate` with the ' +
  'login of the owner first.';

// A migration may take long, so only connecting and a dead network have a timeout.
const connectTimeoutMs = 10_000;
const keepAliveAfterMs = 5_000;

/** Closing the connection releases the lock. */
async function withClient(
  connectionString: string,
  work: (client: pg.Client) => Promise<void>,
  connectMs = connectTimeoutMs,
): Promise<void> {
  const client = new pg.Client({
    connectionString,
    application_name: 'svc migrations',
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await refuseOldPostgres(queryOf(client));
    await work(client);
  } finally {
    await client.end();
  }
}

/** Whether every migration of this program has been applied; readiness requires it. */
export async function isMigrated(query: Query): Promise<boolean> {
  const names = new Set((await readApplied(query)).map(({ name }) => name));
  return (await migrationNames()).every((name) => names.has(name));
}
