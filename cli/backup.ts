import { execFile } from 'node:child_process';
import { mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { type Config, loadConfig } from '../server/config.ts';
import { ConfigurationError } from '../server/platform/configuration-error.ts';
import { controlPlaneOn, type DatabasePool } from '../server/platform/database.ts';
import { dayMs, hourMs, minuteMs } from '../server/platform/durations.ts';
import { startEmbeddedPostgres } from '../server/platform/embedded-postgres/embedded-postgres.ts';
import { MissingPostgresError } from '../server/platform/embedded-postgres/binaries.ts';
import { readKeys } from '../server/platform/key-ring.ts';
import { checkMasterSecret, loadMasterSecrets } from '../server/platform/master-secret.ts';
import { migrationNames } from '../server/platform/migration-files.ts';
import { migrate, MigrationError, requireMigrated } from '../server/platform/migrations.ts';
import { findKeyStore, hasKeys, knowsKeys } from '../server/vault/open-key-store.ts';
import { CommandError, UsageError } from './command-error.ts';
import { withPool } from './connect.ts';
import { examine } from './doctor.ts';
import { checks } from './doctor-queries.ts';
import type { Flags } from './options.ts';
import { findProgram, pathFolders, postgresFolders } from './programs.ts';
import { withProgress } from './progress.ts';

const run = promisify(execFile);

/**
 * `backup verify`: restores a backup into a PostgreSQL of its own, which it removes afterwards, and checks it there. It
 * does not connect to the database of the service, and nothing is sent.
 */
export async function backupCommand([action, file]: readonly string[], flags: Flags): Promise<string> {
  if (action !== 'verify' || !file) throw new UsageError('Use backup verify FILE, for example backup verify svc.dump.');
  await checkFormat(file);
  const pgRestore = findPgRestore();
  const archive = await readArchive(pgRestore, file);
  const folder = await mkdtemp(join(tmpdir(), 'svc-backup-'));
  try {
    const postgres = await startEmbeddedPostgres({
      dataDirectory: join(folder, 'postgres'),
      settings: { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off', max_wal_size: '4GB' },
    }).catch((error: unknown) => {
      throw error instanceof MissingPostgresError ? new CommandError(needsExtras) : error;
    });
    try {
      await withProgress('Restoring', () => restore(pgRestore, file, postgres.connectionString));
      return await report(file, archive, await inspect(postgres.connectionString), flags);
    } finally {
      await postgres.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

const needsExtras =
  'The temporary PostgreSQL for this check is in the extras of the release. Unpack them over the release, on this machine or on ' +
  'another one: the check does not connect to the service.';

const makeIt = 'Make the backup with `pg_dump --format=custom --file=svc.dump DATABASE_URL`.';

/** Recognizes the formats that pg_restore reads. */
async function checkFormat(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (!found) throw new CommandError(`There is no file ${file}.`);
  if (found.isDirectory()) return;
  const handle = await open(file, 'r').catch((error: Error) => {
    throw new CommandError(`${file} cannot be read: ${error.message}.`);
  });
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(512), 0, 512, 0);
    const head = buffer.toString('latin1', 0, bytesRead);
    if (bytesRead === 0) throw new CommandError(`${file} is empty. ${makeIt}`);
    if (head.startsWith('PGDMP') || head.slice(257, 262) === 'ustar' || head.startsWith('toc.dat')) return;
    const isPlain = /^(--|SET |\\restrict|CREATE )/m.test(head);
    const what = isPlain ? 'is a dump in plain SQL, which cannot be verified' : 'is not a backup of PostgreSQL';
    throw new CommandError(`${file} ${what}. ${makeIt}`);
  } finally {
    await handle.close();
  }
}

function findPgRestore(): string {
  const found = findProgram('pg_restore', [...postgresFolders, ...pathFolders()]);
  if (found) return found;
  throw new CommandError(
    'pg_restore is not installed, and the embedded PostgreSQL does not bring it. Install the PostgreSQL client programs ' +
      '(Debian: apt install postgresql-client), of the version of your server or newer, or add their folder to PATH.',
  );
}

interface Archive {
  readonly madeAt: Date | undefined;
  readonly serverVersion: string;
}

async function readArchive(pgRestore: string, file: string): Promise<Archive> {
  const { stdout } = await run(pgRestore, ['--list', file], {
    maxBuffer: 64 * 1024 * 1024,
    env: toolEnvironment(),
  }).catch((error: { stderr?: string }) => {
    throw new CommandError(explain(file, error.stderr ?? ''));
  });
  if (!/TABLE DATA public schema_migrations /.test(stdout)) {
    throw new CommandError(`${file} is a backup of another database: it has no table schema_migrations with data.`);
  }
  const [, madeAt = ''] = /^; Archive created at (.+)$/m.exec(stdout) ?? [];
  const [, serverVersion = ''] = /^;\s+Dumped from database version: (\S+)/m.exec(stdout) ?? [];
  const at = new Date(madeAt);
  return { madeAt: Number.isNaN(at.getTime()) ? undefined : at, serverVersion };
}

/** Times of the list are in UTC, and messages in English. PG* variables would connect to another server. */
const toolEnvironment = (): NodeJS.ProcessEnv => ({ PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' });

function explain(file: string, stderr: string): string {
  const message = stderr.trim().split('\n')[0] ?? '';
  if (/unsupported version/.test(message)) {
    return `${file} was made by a newer pg_dump than the installed pg_restore can read (${message}). Install newer PostgreSQL client programs.`;
  }
  return `${file} is damaged or incomplete: ${message || 'pg_restore failed'}.`;
}

async function restore(pgRestore: string, file: string, url: string): Promise<void> {
  await withPool(url, async (db) => {
    for (const role of ['svc_api', 'svc_vault']) await db.query(`CREATE ROLE ${role}`);
  });
  await run(pgRestore, ['--no-owner', '--exit-on-error', `--dbname=${url}`, file], {
    maxBuffer: 64 * 1024 * 1024,
    env: toolEnvironment(),
  }).catch((error: { stderr?: string }) => {
    throw new CommandError(explain(file, error.stderr ?? ''));
  });
}

interface Inspection {
  readonly schema: string;
  readonly counts: Record<string, number>;
  readonly latestAt: Date | null;
  readonly secrets: readonly string[];
  readonly findings: readonly string[];
  /** What was waiting when the backup was made. It may look late only because the backup is old. */
  readonly waiting: readonly string[];
}

async function inspect(url: string): Promise<Inspection> {
  const schema = await migrateCopy(url);
  const config = loadConfig(process.env);
  return withPool(url, async (db) => {
    const master = await masterSecretProblem(db, config);
    const vault = await vaultKeyProblem(db, config);
    const found = await examine(db);
    const dependsOnTime = (name: string): boolean =>
      checks.some((check) => check.name === name && /now\(\)/.test(check.sql));
    const lineOf = ({ count, means }: { count: number; means: string }): string => `${count} × ${means}`;
    return {
      schema,
      ...(await countRows(db)),
      secrets: [
        `Master secret: ${master ?? 'it belongs to the backup'}.`,
        `Vault keys: ${vault ?? 'they belong to the backup'}.`,
      ],
      findings: [
        ...[master, vault].filter((problem) => problem !== undefined && !unchecked.includes(problem)).map(String),
        ...found.filter(({ check }) => !dependsOnTime(check)).map(lineOf),
      ],
      waiting: found.filter(({ check }) => dependsOnTime(check)).map(lineOf),
    };
  });
}

/** A backup of an older version is migrated, as after a real restore. */
async function migrateCopy(url: string): Promise<string> {
  const newest = (await migrationNames()).at(-1) ?? '';
  try {
    await requireMigrated(url);
    return `${newest}, as this version needs it`;
  } catch (error) {
    if (!(error instanceof MigrationError) || !/older than this version/.test(error.message)) throw error;
    await migrate(url);
    return `older than this version; the copy was migrated to ${newest}`;
  }
}

const notHere = 'not available here, so not checked';
const noFingerprint = 'not checked: only the backup of the first shard has a fingerprint to compare with';
const unchecked = [notHere, noFingerprint];

async function masterSecretProblem(db: DatabasePool, config: Config): Promise<string | undefined> {
  const secrets = await loadMasterSecrets(config).catch(() => undefined);
  if (!secrets) return notHere;
  if ((await checkMasterSecret(db, secrets.current)) === 'none') return noFingerprint;
  return problemOf(readKeys(controlPlaneOn(db), secrets), 'the secret in the settings does not belong to the backup');
}

async function vaultKeyProblem(db: DatabasePool, config: Config): Promise<string | undefined> {
  if (!hasKeys(config)) return notHere;
  if (!(await knowsKeys(db))) return noFingerprint;
  return problemOf(findKeyStore(config, db), 'the keys in the settings do not decrypt the cards of the backup');
}

async function problemOf(check: Promise<unknown>, problem: string): Promise<string | undefined> {
  try {
    await check;
    return undefined;
  } catch (error) {
    if (error instanceof ConfigurationError) return problem;
    throw error;
  }
}

const counted = ['companies', 'customers', 'orders', 'transactions', 'subscriptions', 'events', 'vault.cards'];

async function countRows(db: DatabasePool): Promise<Pick<Inspection, 'counts' | 'latestAt'>> {
  const columns = counted.map(
    (table) => `(SELECT count(*)::integer FROM ${table}) AS "${table.replace('vault.', '')}"`,
  );
  const [counts = {}] = await db.query<Record<string, number>>(`SELECT ${columns.join(', ')}`);
  const [latest] = await db.query<{ at: Date | null }>('SELECT max(updated_at) AS at FROM transactions');
  return { counts, latestAt: latest?.at ?? null };
}

async function report(file: string, archive: Archive, found: Inspection, flags: Flags): Promise<string> {
  const healthy = found.findings.length === 0;
  const ageMs = archive.madeAt && performance.timeOrigin + performance.now() - archive.madeAt.getTime();
  if (flags.json) {
    if (!healthy) process.exitCode = 1;
    return `${JSON.stringify({
      healthy,
      made_at: archive.madeAt ?? null,
      age_seconds: ageMs === undefined ? null : Math.round(ageMs / 1_000),
      server_version: archive.serverVersion,
      schema: found.schema,
      counts: found.counts,
      latest_transaction_at: found.latestAt,
      findings: found.findings,
      waiting: found.waiting,
    })}\n`;
  }
  const made = archive.madeAt ? `made ${archive.madeAt.toISOString()}, ${ageOf(ageMs ?? 0)} ago, ` : '';
  const lines = [
    `${basename(file)}: ${made}from PostgreSQL ${archive.serverVersion}.`,
    `Restored: ${Object.entries(found.counts)
      .map(([name, amount]) => `${amount} ${name}`)
      .join(', ')}.`,
    `Latest transaction: ${found.latestAt?.toISOString() ?? 'none'}.`,
    `Schema: ${found.schema}.`,
    ...found.secrets,
    ...(found.waiting.length > 0
      ? ['Waiting when the backup was made:', ...found.waiting.map((line) => `  ${line}`)]
      : []),
  ];
  if (healthy) return `${[...lines, `No problems found: ${checks.length} checks.`].join('\n')}\n`;
  throw new CommandError([...lines, '', ...found.findings, '', `${found.findings.length} problems found.`].join('\n'));
}

function ageOf(ms: number): string {
  if (ms < hourMs) return `${Math.max(0, Math.round(ms / minuteMs))} minutes`;
  return ms < 2 * dayMs ? `${Math.round(ms / hourMs)} hours` : `${Math.round(ms / dayMs)} days`;
}
