import pg from 'pg';
import { endWithNetwork } from '../../platform/database-lock.ts';
import { moveLockOf } from '../queries.ts';
import { MoveError } from './sql.ts';

/** Only one command at a time moves companies of an account. The lock ends with the connection. */
export async function withMoveLock<Result>(
  controlUrl: string,
  accountId: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: controlUrl, keepAlive: true, application_name: 'svc move lock' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('SET idle_session_timeout = 0');
    await client.query(endWithNetwork);
    const { rows } = await client.query('SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS locked', [
      moveLockOf(accountId),
    ]);
    if (!rows[0]?.locked)
      throw new MoveError('Another command is moving the companies of this account. Run this one when it has ended.');
    return await work();
  } finally {
    await client.end();
  }
}
