import { appendFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '../error-code.ts';
import { readPidFile } from './pid-file.ts';
import { hasEnded, stopServer } from './stop-server.ts';
import type { Watched } from './watchdog.ts';

/** The program beside an embedded PostgreSQL. See `watchdog.ts`. */

/** A supervisor that restarts the service at once finds the server running, which saves its start. */
const graceMs = 5_000;
const pollMs = 100;
const retryMs = 500;
/** A server that still replays its log accepts no connection, and no service can use it. */
const patienceMs = 60_000;

/** It ends by itself when its server has ended. A signal to all processes of a user must not end it before. */
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);

async function readUntilEnd(): Promise<string> {
  let text = '';
  try {
    for await (const chunk of process.stdin.setEncoding('utf8')) text += chunk;
  } catch {
    // A pipe that breaks has ended, too.
  }
  return text;
}

/** The folder was deleted, or another server runs on it: no start can adopt this one any more. */
async function isStray({ dataDirectory, pid }: Watched): Promise<boolean> {
  const pidFile = await readPidFile(dataDirectory).catch(() => undefined);
  return pidFile === null || (pidFile?.server !== undefined && pidFile?.server !== null && pidFile.server.pid !== pid);
}

/** Resolves once the server has ended, is stray, or the grace is over. */
async function waitForGrace(watched: Watched): Promise<void> {
  const deadlineMs = Date.now() + graceMs;
  while (Date.now() < deadlineMs && !(await hasEnded(watched)) && !(await isStray(watched))) await sleep(pollMs);
}

/**
 * Takes the lock that each process which uses the server holds, and keeps it, so that none can begin to use the server
 * while it stops. Returns false if another process holds it, which has a watchdog of its own.
 */
async function mayStop(watched: Watched): Promise<boolean> {
  // Loaded only now: the driver would take memory all the time.
  const { acquireSingleInstanceLock, watchdogName } = await import('./instance-lock.ts');
  const deadlineMs = Date.now() + patienceMs;
  while (!(await hasEnded(watched)) && !(await isStray(watched))) {
    try {
      return (await acquireSingleInstanceLock(watched.connectionString, undefined, watchdogName)) !== null;
    } catch (error) {
      // All its connections are in use, so a living process uses it.
      if (errorCode(error) === '53300') return false;
      if (Date.now() > deadlineMs) return true;
      await sleep(retryMs);
    }
  }
  return true;
}

async function main(): Promise<void> {
  const text = await readUntilEnd();
  if (!text.endsWith('\n')) return;
  const watched = JSON.parse(text) as Watched;
  await waitForGrace(watched);
  if ((await hasEnded(watched)) || !(await mayStop(watched)) || (await hasEnded(watched))) return;
  const { pid, servicePid, logFile } = watched;
  const note = `svc: process ${servicePid} ended without stopping PostgreSQL process ${pid}, so the watchdog stops it\n`;
  await appendFile(logFile, note).catch(() => undefined);
  await stopServer(watched, watched).catch(() => process.platform === 'win32' || process.kill(pid, 'SIGKILL'));
}

main().then(
  () => process.exit(0),
  () => process.exit(1),
);
