import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../server/platform/embedded-postgres/embedded-postgres.ts';
import { migrate } from '../../server/platform/migrations.ts';
import { rolePassword } from './database.ts';

/** PostgreSQL servers with the schema of this version, for tests that need more than a database. */

const run = promisify(execFile);

interface Options {
  readonly dataDirectory: string;
  readonly settings?: Readonly<Record<string, string>>;
}

/**
 * Starts a server whose roles have logins. `npm test` has prepared its files once: a copy takes 70 ms, creating and migrating
 * them 1.5 s of processor time.
 */
export async function startMigratedServer({ dataDirectory, settings = {} }: Options): Promise<EmbeddedPostgres> {
  await copyCluster(dataDirectory);
  const server = await startEmbeddedPostgres({ dataDirectory, settings });
  try {
    await migrate(server.connectionString);
    await allowLogins(server.connectionString);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

/** Copies the prepared files of a server that is not running, if `npm test` has prepared them. */
export async function copyCluster(dataDirectory: string): Promise<void> {
  const prepared = process.env.SVC_TEST_CLUSTER;
  if (!prepared) return;
  await mkdir(dirname(dataDirectory), { recursive: true });
  // Keeps the owner, which matters where PostgreSQL runs as another user because we are root.
  await run('cp', ['-a', prepared, dataDirectory]);
}

async function allowLogins(connectionString: string): Promise<void> {
  const admin = new pg.Client({ connectionString });
  await admin.connect();
  try {
    // A client computes them for each connection, of which a run opens thousands.
    await admin.query('SET scram_iterations = 1');
    for (const role of ['svc_api', 'svc_vault'])
      await admin.query(`ALTER ROLE ${role} LOGIN PASSWORD '${rolePassword}'`);
    const { username: owner, password } = new URL(connectionString);
    await admin.query(`ALTER ROLE ${owner} PASSWORD '${decodeURIComponent(password)}'`);
  } finally {
    await admin.end();
  }
}
