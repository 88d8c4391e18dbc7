import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../server/platform/embedded-postgres/embedded-postgres.ts';
import { migrate } from '../server/platform/migrations.ts';
import { rolePassword } from './support/database.ts';

/**
 * `npm test [files…]`: starts a PostgreSQL of its own, prepares the template that each test file clones its
 * database from, and runs the test files side by side.
 */

const folder = await mkdtemp(join(tmpdir(), 'svc-tests-'));
const postgres = await startEmbeddedPostgres({
  dataDirectory: join(folder, 'postgres'),
  // Nothing here outlives the run: durability is tested where a test is about it, on a server of its own.
  settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' },
});

async function prepareTemplate(): Promise<void> {
  const admin = new pg.Client({ connectionString: postgres.connectionString });
  await admin.connect();
  try {
    await admin.query('CREATE DATABASE svc_template');
    const url = new URL(postgres.connectionString);
    url.pathname = '/svc_template';
    await migrate(url.href);
    await admin.query('ALTER DATABASE svc_template IS_TEMPLATE true');
    for (const role of ['svc_api', 'svc_vault'])
      await admin.query(`ALTER ROLE ${role} LOGIN PASSWORD '${rolePassword}'`);
  } finally {
    await admin.end();
  }
}

function runTests(files: readonly string[]): Promise<number> {
  const child = spawn(
    process.execPath,
    ['--test', `--test-concurrency=${availableParallelism()}`, '--test-timeout=120000', ...files],
    { stdio: 'inherit', env: { ...process.env, SVC_TEST_DATABASE_URL: postgres.connectionString } },
  );
  // A stopped run must not leave its PostgreSQL behind: the test files end first, then the server.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => {
    child.on('error', () => resolve(1));
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

let exitCode = 1;
try {
  await prepareTemplate();
  const wanted = process.argv.slice(2);
  exitCode = await runTests(
    wanted.length > 0 ? wanted : ['server/**/*.test.ts', 'cli/**/*.test.ts', 'tests/**/*.test.ts'],
  );
} finally {
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}
process.exit(exitCode);
