import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cloneDatabase } from '../../../tests/support/database.ts';
import { query, waitUntil } from '../../../tests/support/embedded-postgres.ts';
import { acquireSingleInstanceLock } from './instance-lock.ts';

test('notifies the holder of a lock that it lost it, unless it released it', async (t) => {
  const database = await cloneDatabase(1);
  t.after(() => database.drop());
  const { connectionString } = database;
  const lost = t.mock.fn();
  await (await acquireSingleInstanceLock(connectionString, lost))?.release();
  const lock = await acquireSingleInstanceLock(connectionString, lost);
  assert.ok(lock);
  assert.equal(lost.mock.callCount(), 0);
  await query(
    connectionString,
    `SELECT pg_terminate_backend(pid) FROM pg_locks
      WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  await waitUntil(() => lost.mock.callCount() === 1);
  await lock.release();
});
