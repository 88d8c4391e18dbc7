import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import pg from 'pg';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../server/platform/embedded-postgres/embedded-postgres.ts';

export const testSettings = { fsync: 'off', shared_buffers: '16MB' };
export const isRootOnLinux = process.platform === 'linux' && process.getuid?.() === 0;
export const platformFolder = fileURLToPath(new URL('../../server/platform', import.meta.url));

export interface Program {
  child: ChildProcess;
  ready: Promise<{ pid: number; connectionString: string; adopted: boolean; locked: boolean }>;
}

/** Creates an empty folder; when the test ends, no server runs in it. */
export async function makeDataDirectory(t: TestContext): Promise<string> {
  const folder = await fs.mkdtemp(join(tmpdir(), 'svc-embedded-postgres-test-'));
  const dataDirectory = join(folder, 'postgres');
  t.after(async () => {
    await endServer(dataDirectory);
    await fs.rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return dataDirectory;
}

let sharedFolder: string | undefined;

/** Returns an existing cluster without a running server, for tests that do not test its creation. */
export async function sharedDataDirectory(t: TestContext): Promise<string> {
  sharedFolder ??= await fs.mkdtemp(join(tmpdir(), 'svc-embedded-postgres-test-'));
  const dataDirectory = join(sharedFolder, 'postgres');
  t.after(() => endServer(dataDirectory));
  if (!existsSync(dataDirectory)) await (await start(dataDirectory)).stop();
  return dataDirectory;
}

export async function removeSharedDataDirectory(): Promise<void> {
  if (sharedFolder) await fs.rm(sharedFolder, { recursive: true, force: true, maxRetries: 5 });
}

async function endServer(dataDirectory: string): Promise<void> {
  const text = await fs.readFile(join(dataDirectory, 'postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number.parseInt(text, 10);
  if (!(pid > 0) || !isRunning(pid) || !commandLine(pid).includes('postgres')) return;
  process.kill(pid, 'SIGQUIT');
  await waitUntil(() => !isRunning(pid));
}

/** Returns the names of the data folder and the files and folders next to it. */
export async function siblings(dataDirectory: string): Promise<string[]> {
  return (await fs.readdir(dirname(dataDirectory))).toSorted();
}

export function start(
  dataDirectory: string,
  onUnexpectedExit: (code: number | null) => void = () => undefined,
): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDirectory, settings: testSettings, onUnexpectedExit });
}

/** Runs the supervisor in a separate program with its own process group, so that a test can kill it. */
export function startProgram(
  t: TestContext,
  dataDirectory: string,
  platform = platformFolder,
  env: NodeJS.ProcessEnv = {},
): Program {
  const modules = pathToFileURL(join(platform, 'embedded-postgres')).href;
  const script = `
    const { startEmbeddedPostgres } = await import('${modules}/embedded-postgres.ts');
    const { acquireSingleInstanceLock } = await import('${modules}/instance-lock.ts');
    const options = ${JSON.stringify({ dataDirectory, settings: testSettings })};
    const { pid, connectionString, adopted } = await startEmbeddedPostgres(options);
    const locked = (await acquireSingleInstanceLock(connectionString)) !== null;
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
  return { child, ready };
}

async function firstLine(child: ChildProcess): Promise<string> {
  assert.ok(child.stdout);
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error('the program ended before it was ready');
}

export async function kill(program: Program): Promise<void> {
  program.child.kill('SIGKILL');
  if (program.child.signalCode === null) await once(program.child, 'exit');
}

export function commandLine(pid: number): string {
  return process.platform === 'linux' ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : 'postgres';
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux' || !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

export async function waitUntil(condition: () => boolean | Promise<boolean>, timeoutMs = 10_000): Promise<void> {
  const deadlineMs = Date.now() + timeoutMs;
  while (!(await condition())) {
    assert.ok(Date.now() < deadlineMs, `still waiting after ${timeoutMs} ms for: ${condition}`);
    await sleep(2);
  }
}

export async function query(connectionString: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
