import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { isRunning } from '../support/embedded-postgres.ts';
import { killAtExit } from '../support/kill-at-exit.ts';
import { programPath } from '../support/programs.ts';
import { logLine } from '../support/log-lines.ts';
import { readyUrl } from '../support/ready.ts';

/** However the service ends, its PostgreSQL ends too, unless another start uses it. */

const run = promisify(execFile);
const root = await mkdtemp(join(tmpdir(), 'svc-process-end-'));
const folder = join(root, 'data');
const patienceMs = 60_000;
/** A watchdog waits longer than this for a new start. */
const graceMs = 4_500;
const started: Started[] = [];

interface Started {
  readonly child: ChildProcess;
  readonly output: { text: string };
  readonly exited: Promise<number | null>;
}

interface Running extends Started {
  /** The process of the service, which may be below a shell. */
  readonly pid: number;
  readonly url: string;
  readonly postgres: number;
  readonly watchdog: number;
}

function launch(command: string, parameters: readonly string[], more: NodeJS.ProcessEnv = {}): Started {
  const { PATH, HOME, TMPDIR } = process.env;
  const settings = { PORT: '0', SVC_DATA_DIR: folder, SVC_MAX_EVENT_LOOP_DELAY_MS: '0' };
  const child = spawn(command, parameters, {
    cwd: root,
    detached: true,
    env: { PATH, HOME, ...(TMPDIR && { TMPDIR }), ...settings, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  killAtExit(child);
  const output = { text: '' };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => (output.text += chunk));
  }
  const exited = new Promise<number | null>((resolve) => child.on('exit', resolve));
  const one = { child, output, exited };
  started.push(one);
  return one;
}

const service = (more?: NodeJS.ProcessEnv): Started => launch(process.execPath, [programPath('main')], more);

async function ready(one: Started): Promise<Running> {
  await until(() => {
    assert.equal(one.child.exitCode, null, `it ended:\n${one.output.text}`);
    return readyUrl(one.output.text) !== undefined;
  });
  const pid = Number(logLine(one.output.text.split('\n')[0] ?? '').attributes['process.pid']);
  const postgres = Number.parseInt(await readFile(join(folder, 'postgres/postmaster.pid'), 'utf8'), 10);
  return { ...one, pid, postgres, url: readyUrl(one.output.text) ?? '', watchdog: await watchdogOf(pid) };
}

async function watchdogOf(pid: number): Promise<number> {
  const { stdout } = await run('ps', ['-A', '-ww', '-o', 'pid=,ppid=,args=']);
  const found = stdout
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, parent, ...words]) => Number(parent) === pid && words.join(' ').includes('watchdog'));
  assert.equal(found.length, 1, stdout);
  return Number(found[0]?.[0]);
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + patienceMs;
  while (!(await condition())) {
    assert.ok(performance.now() < deadlineMs, `not within ${patienceMs} ms: ${condition.toString()}`);
    await sleep(10);
  }
}

const allEnd = (...pids: number[]): Promise<void> => until(() => pids.every((pid) => !isRunning(pid)));

after(async () => {
  for (const { child } of started) child.kill('SIGKILL');
  await Promise.all(started.map(({ exited }) => exited));
  await rm(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

test('SIGHUP, which a closed terminal sends, stops the service in order with its PostgreSQL and watchdog', async () => {
  const one = await ready(service());
  one.child.kill('SIGHUP');
  assert.equal(await one.exited, 0);
  await allEnd(one.postgres, one.watchdog);
  assert.match(one.output.text, /"body":"stopped"/);
});

test('SIGHUP to all processes of a terminal under npm stops PostgreSQL too', async () => {
  const line = `'${process.execPath}' '${programPath('main')}'; true`;
  const one = await ready(launch('sh', ['-c', line], { npm_lifecycle_event: 'start' }));
  process.kill(-(one.child.pid ?? 0), 'SIGHUP');
  await allEnd(one.pid, one.postgres, one.watchdog);
  assert.match(one.output.text, /"body":"stopped"/);
});

test('a terminal that is closed stops the service and PostgreSQL', async (t) => {
  if (process.platform !== 'linux') return t.skip('`script` has other options');
  const shell = `exec '${process.execPath}' '${programPath('main')}'`;
  const terminal = launch('script', ['-qec', shell, '/dev/null']);
  await until(() => terminal.output.text.includes('Try it'));
  const postgres = Number.parseInt(await readFile(join(folder, 'postgres/postmaster.pid'), 'utf8'), 10);
  terminal.child.kill('SIGKILL');
  await allEnd(postgres);
});

test('SIGINT to the service and to PostgreSQL at once is a stop, and no error', async () => {
  // Takes the place of the program of systemd.
  await writeFile(join(root, 'systemd-notify'), `#!/bin/sh\necho "$1" >> '${root}/signs'\n`, { mode: 0o755 });
  const first = await ready(service({ PATH: `${root}:${process.env['PATH']}`, NOTIFY_SOCKET: '/run/none' }));
  process.kill(first.postgres, 'SIGINT');
  process.kill(first.pid, 'SIGINT');
  assert.equal(await first.exited, 0, first.output.text);
  const second = await ready(service());
  process.kill(second.pid, 'SIGINT');
  process.kill(second.postgres, 'SIGINT');
  assert.equal(await second.exited, 0, second.output.text);
  assert.equal(await readFile(join(root, 'signs'), 'utf8'), 'READY=1\nSTOPPING=1\n');
  const problem = /"severity_text":"(FATAL|ERROR|WARN)"|stacktrace/;
  for (const { output } of [first, second]) assert.doesNotMatch(output.text, problem);
  await allEnd(first.postgres, first.watchdog, second.postgres, second.watchdog);
});

test('a start right after kill -9 adopts PostgreSQL, and the watchdog of the killed process leaves it alone', async () => {
  let one = await ready(service());
  const watchdogs = [one.watchdog];
  const firstKillAtMs = performance.now();
  for (let round = 0; round < 3; round += 1) {
    const { postgres } = one;
    one.child.kill('SIGKILL');
    await one.exited;
    one = await ready(service());
    // On a machine that takes longer for its starts, the first watchdog can stop PostgreSQL between two of them.
    if (performance.now() - firstKillAtMs < graceMs) assert.equal(one.postgres, postgres);
    watchdogs.push(one.watchdog);
  }
  // Each has then decided.
  await allEnd(...watchdogs.slice(0, -1));
  assert.ok(isRunning(one.postgres));
  assert.equal((await fetch(`${one.url}/readyz`)).status, 200);

  one.child.kill('SIGKILL');
  await allEnd(one.pid, one.postgres, ...watchdogs);
  assert.match(await readFile(join(folder, 'postgres.log'), 'utf8'), /ended without stopping PostgreSQL/);
});

test('a second start that is refused leaves the first and its PostgreSQL running', async () => {
  const one = await ready(service());
  const second = service();
  assert.equal(await second.exited, 1);
  assert.match(second.output.text, /Another process already uses the data folder/);
  assert.equal((await fetch(`${one.url}/readyz`)).status, 200);
  one.child.kill('SIGTERM');
  assert.equal(await one.exited, 0);
  await allEnd(one.postgres, one.watchdog);
});

test('after kill -9 and without its data folder, PostgreSQL ends, and a new service there is not affected', async () => {
  const one = await ready(service());
  one.child.kill('SIGKILL');
  await one.exited;
  await rename(folder, `${folder}-deleted`);
  await rm(`${folder}-deleted`, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  const other = await ready(service());
  await allEnd(one.postgres, one.watchdog);
  assert.notEqual(other.postgres, one.postgres);
  assert.equal((await fetch(`${other.url}/readyz`)).status, 200);
  other.child.kill('SIGTERM');
  assert.equal(await other.exited, 0);
  await allEnd(other.postgres, other.watchdog);
});
