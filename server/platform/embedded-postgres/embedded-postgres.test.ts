import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  isRootOnLinux,
  isRunning,
  kill,
  makeDataDirectory,
  query,
  removeSharedDataDirectory,
  sharedDataDirectory,
  siblings,
  start,
  startProgram,
  testSettings,
  waitUntil,
} from '../../../tests/support/embedded-postgres.ts';
import { startEmbeddedPostgres } from './embedded-postgres.ts';
import { acquireSingleInstanceLock } from './instance-lock.ts';

after(removeSharedDataDirectory);

test('makes a cluster on the first start and finds its data on the second', async (t) => {
  const dataDirectory = await makeDataDirectory(t);
  const first = await start(dataDirectory);
  assert.equal(first.adopted, false);
  await query(first.connectionString, 'CREATE TABLE kept AS SELECT 42 AS answer');
  const shown = await query(
    first.connectionString,
    `SELECT current_user AS "user", current_database() AS database, current_setting('server_encoding') AS encoding,
       current_setting('data_checksums') AS checksums, current_setting('timezone') AS timezone,
       current_setting('jit') AS jit, current_setting('shared_buffers') AS shared_buffers,
       (SELECT concat(datlocprovider, ' ', datlocale) FROM pg_database WHERE datname = current_database()) AS locale`,
  );
  assert.deepEqual(shown, [
    {
      user: 'svc',
      database: 'postgres',
      encoding: 'UTF8',
      checksums: 'on',
      timezone: 'UTC',
      jit: 'off',
      shared_buffers: '16MB',
      locale: 'b C.UTF-8',
    },
  ]);
  await first.stop();

  const startedAtMs = Date.now();
  const second = await start(dataDirectory);
  assert.ok(Date.now() - startedAtMs < 1_000, `the second start took ${Date.now() - startedAtMs} ms`);
  assert.deepEqual(await query(second.connectionString, 'SELECT answer FROM kept'), [{ answer: 42 }]);
  assert.deepEqual(await siblings(dataDirectory), ['postgres', 'postgres.log']);
  await second.stop();
});

test('stop() ends the process, once, and is not an unexpected exit', async (t) => {
  const dataDirectory = await sharedDataDirectory(t);
  const unexpected = t.mock.fn();
  const server = await start(dataDirectory, unexpected);
  assert.ok(isRunning(server.pid));
  await Promise.all([server.stop(), server.stop()]);
  await ended(server.pid);
  await assert.rejects(query(server.connectionString, 'SELECT 1'), { code: 'ECONNREFUSED' });
  await server.stop();
  assert.equal(unexpected.mock.callCount(), 0);
});

test('accepts only the password, and only on 127.0.0.1', async (t) => {
  const dataDirectory = await sharedDataDirectory(t);
  const { connectionString } = await start(dataDirectory);
  const changed = (change: (url: URL) => void) => {
    const url = new URL(connectionString);
    change(url);
    return query(url.href, 'SELECT 1');
  };
  await assert.rejects(
    changed((url) => {
      url.password = 'wrong';
    }),
    { code: '28P01' },
  );
  await assert.rejects(
    changed((url) => {
      url.password = '';
    }),
    /password/,
  );
  await assert.rejects(
    changed((url) => {
      url.hostname = '127.0.0.2';
    }),
    { code: 'ECONNREFUSED' },
  );
  assert.deepEqual(await query(connectionString, 'SHOW unix_socket_directories'), [{ unix_socket_directories: '' }]);
  const passwordFile = await fs.stat(join(dataDirectory, 'svc_password'));
  assert.equal(passwordFile.mode & 0o777, 0o600);
});

/** An adopted server is not a child of this process, so its parent may take a moment to reap it. */
async function ended(pid: number): Promise<void> {
  for (let tries = 0; isRunning(pid); tries += 1) {
    assert.ok(tries < 100, `${pid} still runs`);
    await sleep(50);
  }
}

test('reports the end of the log when the server cannot start', async (t) => {
  const dataDirectory = await sharedDataDirectory(t);
  const settings = { ...testSettings, shared_buffers: 'nonsense' };
  const explained = /PostgreSQL did not start: .*invalid value for parameter "shared_buffers"/s;
  await assert.rejects(startEmbeddedPostgres({ dataDirectory, settings }), explained);
});

test('refuses a folder that holds something else', async (t) => {
  const dataDirectory = await makeDataDirectory(t);
  await fs.mkdir(dataDirectory);
  await fs.writeFile(join(dataDirectory, 'thesis.txt'), '');
  await assert.rejects(start(dataDirectory), /contains no PostgreSQL data/);
  assert.deepEqual(await siblings(dataDirectory), ['postgres']);
});

test('adopts the server of a killed program, with its data', async (t) => {
  const dataDirectory = await sharedDataDirectory(t);
  const program = startProgram(t, dataDirectory);
  const left = await program.ready;
  await query(left.connectionString, 'CREATE TABLE kept AS SELECT 42 AS answer');
  await kill(program);
  assert.ok(isRunning(left.pid));

  const server = await start(dataDirectory);
  assert.equal(server.adopted, true);
  assert.equal(server.pid, left.pid);
  assert.deepEqual(await query(server.connectionString, 'SELECT answer FROM kept'), [{ answer: 42 }]);
  await server.stop();
  await ended(server.pid);
});

test('recovers when the program and the server were killed', async (t) => {
  const dataDirectory = await sharedDataDirectory(t);
  const program = startProgram(t, dataDirectory);
  const left = await program.ready;
  await query(left.connectionString, 'CREATE TABLE recovered AS SELECT 42 AS answer');
  process.kill(left.pid, 'SIGKILL');
  await kill(program);

  const server = await start(dataDirectory);
  assert.equal(server.adopted, false);
  assert.deepEqual(await query(server.connectionString, 'SELECT answer FROM recovered'), [{ answer: 42 }]);
  await server.stop();
});

test('waits for a server that is still shutting down', async (t) => {
  const dataDirectory = await sharedDataDirectory(t);
  const first = await start(dataDirectory);
  const stopped = first.stop();
  const second = await start(dataDirectory);
  await stopped;
  assert.notEqual(second.pid, first.pid);
  assert.deepEqual(await query(second.connectionString, 'SELECT 1 AS one'), [{ one: 1 }]);
  await second.stop();
});

test('reports an unexpected end of its own server and of an adopted one', async (t) => {
  const dataDirectory = await sharedDataDirectory(t);
  const ends: string[] = [];
  const own = await start(dataDirectory, (code) => ends.push(`own ${code}`));
  const adopted = await start(dataDirectory, (code) => ends.push(`adopted ${code}`));
  assert.equal(adopted.adopted, true);
  process.kill(own.pid, 'SIGKILL');
  await waitUntil(() => ends.length === 2);
  assert.deepEqual(ends, ['own null', 'adopted null']);
  await Promise.all([own.stop(), adopted.stop()]);
});

test('starts in spite of a process id file that a crash left', async (t) => {
  const dataDirectory = await sharedDataDirectory(t);
  const owner = await fs.stat(dataDirectory);
  // PostgreSQL itself would refuse: the process lives, and is of the same user.
  const account = isRootOnLinux ? { uid: owner.uid, gid: owner.gid } : {};
  const foreign = spawn('sleep', ['60'], { ...account, cwd: '/', stdio: 'ignore' });
  t.after(() => foreign.kill('SIGKILL'));
  const pidFile = join(dataDirectory, 'postmaster.pid');
  const anHourAgo = new Date(Date.now() - 3_600_000);
  for (const text of [`${foreign.pid}\n/proc/self/fd/3\n1700000000\n5432\n\n127.0.0.1\n`, '']) {
    await fs.writeFile(pidFile, text, { mode: 0o600 });
    await fs.chown(pidFile, owner.uid, owner.gid);
    await fs.utimes(pidFile, anHourAgo, anHourAgo);
    const server = await start(dataDirectory);
    assert.equal(server.adopted, false);
    await server.stop();
  }
  assert.ok(foreign.pid && isRunning(foreign.pid));
});

test('ends two simultaneous first starts with one server, and one lock that outlives no kill', async (t) => {
  const dataDirectory = await makeDataDirectory(t);
  const programs = [startProgram(t, dataDirectory), startProgram(t, dataDirectory)];
  const [one, two] = await Promise.all(programs.map((program) => program.ready));
  assert.ok(one && two);
  assert.equal(one.pid, two.pid);
  assert.equal(one.connectionString, two.connectionString);
  assert.notEqual(one.adopted, two.adopted);
  assert.notEqual(one.locked, two.locked);
  assert.deepEqual(await siblings(dataDirectory), ['postgres', 'postgres.log']);

  await Promise.all(programs.map(kill));
  const lock = await acquireSingleInstanceLock(one.connectionString);
  assert.ok(lock);
  await lock.release();
});

for (const group of [true, false]) {
  test(`starts after a kill in the middle of initdb, of ${group ? 'the group' : 'the program alone'}`, async (t) => {
    const dataDirectory = await makeDataDirectory(t);
    const { child } = startProgram(t, dataDirectory);
    const ended = once(child, 'exit');
    await waitUntil(async () => {
      const [folder] = await siblings(dataDirectory);
      const base = join(dirname(dataDirectory), folder ?? '', 'data/base/1');
      return folder !== undefined && (await fs.stat(base).catch(() => null)) !== null;
    });
    assert.ok(child.pid);
    process.kill(group ? -child.pid : child.pid, 'SIGKILL');
    await ended;
    const [left] = await siblings(dataDirectory);
    assert.match(left ?? '', /^postgres\.init-\d+-/);

    const server = await start(dataDirectory);
    assert.deepEqual(await query(server.connectionString, 'SELECT 1 AS one'), [{ one: 1 }]);
    await server.stop();
    // An initdb that lost its parent may still have been writing during the first clean-up.
    await waitUntil(async () => {
      await (await start(dataDirectory)).stop();
      return (await siblings(dataDirectory)).join() === 'postgres,postgres.log';
    });
  });
}

test('takes another port when the chosen one was taken', async (t) => {
  const dataDirectory = await sharedDataDirectory(t);
  const { port, release } = await occupiedPort();
  t.after(release);
  // The first server that is asked for a free port names the occupied one.
  const { prototype } = (await import('node:net')).Server;
  const address = t.mock.method(prototype, 'address');
  address.mock.mockImplementationOnce(() => ({ address: '127.0.0.1', family: 'IPv4', port }));
  const server = await start(dataDirectory);
  assert.notEqual(new URL(server.connectionString).port, String(port));
  assert.match(await fs.readFile(`${dataDirectory}.log`, 'utf8'), /could not create any TCP\/IP sockets/);
  await server.stop();
});

async function occupiedPort() {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address && typeof address === 'object');
  return { port: address.port, release: () => server.close() };
}
