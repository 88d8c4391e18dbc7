import { join } from 'node:path';
import { type Pooler, poolerAt } from '../../server/platform/pooler.ts';
import { rolePassword } from './database.ts';
import { type RunningPooler, startPooler, throughPooler } from './pooler.ts';

/**
 * With SVC_TEST_POOLER=1, the services of tests use a PgBouncer in transaction mode, as `npm run drill pooler` does. Sets
 * SVC_TEST_POOLER_PORT for this process and its children.
 */
export async function startTestPooler(folder: string, serverUrl: string): Promise<RunningPooler | undefined> {
  if (process.env.SVC_TEST_POOLER !== '1') return undefined;
  const logins = { svc_api: rolePassword, svc_vault: rolePassword };
  const pooler = await startPooler({ folder: join(folder, 'pooler'), serverUrl, mode: 'transaction', logins });
  process.env.SVC_TEST_POOLER_PORT = String(pooler.port);
  return pooler;
}

/** The pooler of the tests in front of a database; undefined without one. */
export function testPoolerOf(url: string): Pooler | undefined {
  const port = process.env.SVC_TEST_POOLER_PORT;
  return port ? poolerAt(throughPooler(url, port)) : undefined;
}
