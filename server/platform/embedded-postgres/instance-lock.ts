import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

export interface SingleInstanceLock {
  release(): Promise<void>;
}

const lockKey = '8317269340115529';
// The backend of a killed lock holder needs a moment to notice that its client is gone.
const waitMs = 2_000;
const pollIntervalMs = 50;
const holderName = 'svc instance lock';
/** How the connection of a watchdog is named. */
export const watchdogName = 'svc watchdog';

/**
 * Returns null if another process holds the lock. PostgreSQL releases the lock when the connection closes, so a crash
 * cannot leave it behind. `onLost` is called when the connection, and with it the lock, is lost.
 */
export async function acquireSingleInstanceLock(
  connectionString: string,
  onLost?: (error: Error) => void,
  name = holderName,
): Promise<SingleInstanceLock | null> {
  const client = new pg.Client({ connectionString, keepAlive: true, application_name: name });
  let held = false;
  client.on('error', (error) => {
    if (held) onLost?.(error);
    held = false;
  });
  try {
    await client.connect();
    await client.query('SET idle_session_timeout = 0');
    held = await tryLock(client);
  } catch (error) {
    client.end().catch(() => undefined);
    throw error;
  }
  const release = async () => {
    held = false;
    await client.end();
  };
  if (held) return { release };
  await release();
  return null;
}

async function tryLock(client: pg.Client): Promise<boolean> {
  const deadlineMs = Date.now() + waitMs;
  for (;;) {
    const result = await client.query<{ locked: boolean; watchdogs: string }>(
      `SELECT pg_try_advisory_lock($1) AS locked,
         (SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
          WHERE l.locktype = 'advisory' AND l.granted AND a.application_name = $2) AS watchdogs`,
      [lockKey, watchdogName],
    );
    if (result.rows[0]?.locked) return true;
    // A watchdog that has the lock stops the server, and with it this connection.
    if (Date.now() >= deadlineMs && Number(result.rows[0]?.watchdogs) === 0) return false;
    await sleep(pollIntervalMs);
  }
}
