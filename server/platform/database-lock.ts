import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const pollMs = 50;

/**
 * For a session that holds a lock: the server ends it 20 s after the network to the client was cut. With the usual
 * settings of a system it would keep the lock for two hours.
 */
export const endWithNetwork =
  'SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3';

/**
 * Waits until no other process does the same work. The lock has its own connection, and ends with it. It polls, because a
 * session that waits for a lock has a snapshot, and CREATE INDEX CONCURRENTLY waits for that.
 */
export async function withDatabaseLock<Result>(
  connectionString: string,
  name: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString, keepAlive: true, application_name: 'svc lock' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(endWithNetwork);
    while (!(await isTaken(client, name))) await sleep(pollMs);
    return await work();
  } finally {
    await client.end();
  }
}

async function isTaken(client: pg.Client, name: string): Promise<boolean> {
  const { rows } = await client.query('SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS taken', [name]);
  return rows[0]?.taken === true;
}
