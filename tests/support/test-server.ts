import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../server/platform/embedded-postgres/embedded-postgres.ts';
import { migrate } from '../../server/platform/migrations.ts';
import { rolePassword } from './database.ts';

/**
 * Starts a PostgreSQL with the template that `cloneDatabase` clones. Sets SVC_TEST_DATABASE_URL for this process and
 * its children.
 */
export async function startTestServer(folder: string): Promise<{ stop(): Promise<void> }> {
  const postgres = await startEmbeddedPostgres({
    dataDirectory: join(folder, 'postgres'),
    // No data outlives the run; tests of durability use a separate server.
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' },
  });
  try {
    await prepareTemplate(postgres.connectionString);
  } catch (error) {
    await postgres.stop();
    throw error;
  }
  process.env.SVC_TEST_DATABASE_URL = postgres.connectionString;
  return postgres;
}

async function prepareTemplate(connectionString: string): Promise<void> {
  const admin = new pg.Client({ connectionString });
  await admin.connect();
  try {
    await admin.query('CREATE DATABASE svc_template');
    const url = new URL(connectionString);
    url.pathname = '/svc_template';
    await migrate(url.href);
    await admin.query('ALTER DATABASE svc_template IS_TEMPLATE true');
    for (const role of ['svc_api', 'svc_vault'])
      await admin.query(`ALTER ROLE ${role} LOGIN PASSWORD '${rolePassword}'`);
  } finally {
    await admin.end();
  }
}
