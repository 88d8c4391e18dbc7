import { join } from 'node:path';
import pg from 'pg';
import type { EmbeddedPostgres } from '../../server/platform/embedded-postgres/embedded-postgres.ts';
import { startMigratedServer } from './migrated-cluster.ts';

// No data outlives the run; tests of durability use a separate server.
const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' };

/**
 * Starts a PostgreSQL with the template that `cloneDatabase` clones. Sets SVC_TEST_DATABASE_URL for this process and
 * its children, and SVC_TEST_CLUSTER, from which `startMigratedServer` copies.
 */
export async function startTestServer(folder: string): Promise<EmbeddedPostgres> {
  const cluster = join(folder, 'cluster');
  await (await startMigratedServer({ dataDirectory: cluster, settings })).stop();
  process.env.SVC_TEST_CLUSTER = cluster;
  const postgres = await startMigratedServer({ dataDirectory: join(folder, 'postgres'), settings });
  try {
    await createTemplate(postgres.connectionString);
  } catch (error) {
    await postgres.stop();
    throw error;
  }
  process.env.SVC_TEST_DATABASE_URL = postgres.connectionString;
  return postgres;
}

async function createTemplate(connectionString: string): Promise<void> {
  const admin = new pg.Client({ connectionString });
  await admin.connect();
  try {
    await admin.query('CREATE DATABASE svc_template TEMPLATE postgres IS_TEMPLATE true');
  } finally {
    await admin.end();
  }
}
