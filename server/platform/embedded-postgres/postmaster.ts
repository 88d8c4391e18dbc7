import type { ChildProcess } from 'node:child_process';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '../error-code.ts';
import type { Cluster } from './cluster.ts';
import { connectionProblem, connectionStringOf } from './connection.ts';
import { isStale, readPidFile } from './pid-file.ts';
import { spawnOnFolder } from './programs.ts';
import { errorWithLog, openLog, readLog } from './server-log.ts';
import { startWatchdog } from './watchdog.ts';

/** The main process of a running server. */
export interface Postmaster {
  pid: number;
  port: number;
  connectionString: string;
  /** Null if another process started it. */
  child: ChildProcess | null;
  /** Undefined if another process started it. */
  watchdog?: ReturnType<typeof startWatchdog>;
}

const pollIntervalMs = 15;
const raceIntervalMs = 100;
const startTimeoutMs = 30_000;
// A server that answers "starting up" or "shutting down" is replaying or flushing its log. Giving up early would make
// the next start repeat that work.
const busyTimeoutMs = 300_000;

const sqlState = { wrongPassword: '28P01', cannotConnectNow: '57P03' };

// The start lost a race against a simultaneous start, or against a killed server whose processes are still exiting.
const lostRace =
  /could not create any TCP\/IP sockets|lock file ".*" (already exists|is empty)|shared memory block .* is still in use/;

/** Adopts the server that already runs on the cluster, or spawns one. */
export async function runPostmaster(cluster: Cluster): Promise<Postmaster> {
  const startedAtMs = Date.now();
  for (;;) {
    const postmaster = (await adopt(cluster)) ?? (await launch(cluster));
    if (postmaster) return postmaster;
    if (Date.now() - startedAtMs > startTimeoutMs) throw await startError(cluster, 'PostgreSQL did not start');
    await sleep(raceIntervalMs);
  }
}

/** Returns null if no server runs on this data folder, so that one can be spawned. */
async function adopt(cluster: Cluster): Promise<Postmaster | null> {
  const startedAtMs = Date.now();
  for (;;) {
    const pidFile = await readPidFile(cluster.dataDirectory);
    if (!pidFile || (await isStale(cluster.dataDirectory, pidFile))) return null;
    const { server } = pidFile;
    let problem: unknown = null;
    if (server) {
      const connectionString = connectionStringOf(cluster.password, server.port);
      problem = await connectionProblem(connectionString);
      if (!problem) return { ...server, connectionString, child: null };
    }
    const waitedMs = Date.now() - startedAtMs;
    if (errorCode(problem) === sqlState.wrongPassword || waitedMs > patienceMs(problem)) {
      throw await startError(
        cluster,
        `PostgreSQL already runs as process ${server?.pid} but is no use: ${String(problem)}`,
      );
    }
    await sleep(pollIntervalMs);
  }
}

/** Returns null if it lost a race for the port or for the data folder; the caller then checks again. */
async function launch(cluster: Cluster): Promise<Postmaster | null> {
  const port = await freePort();
  const connectionString = connectionStringOf(cluster.password, port);
  const log = await openLog(cluster.logFile);
  const logStart = (await log.stat()).size;
  const child = spawnPostgres(cluster, port, log.fd);
  const watchdog = startWatchdog(cluster, { pid: child.pid ?? 0, port, connectionString });
  const life: { end: string | null } = { end: null };
  child.on('error', (error) => {
    life.end = error.message;
  });
  child.on('exit', (code, signal) => {
    life.end = `it exited with ${signal ?? `code ${code}`}`;
  });
  await log.close();

  const startedAtMs = Date.now();
  for (;;) {
    const problem = await connectionProblem(connectionString);
    if (life.end !== null) {
      watchdog.end();
      if (lostRace.test(await readLog(cluster.logFile, logStart))) return null;
      throw await startError(cluster, `PostgreSQL did not start: ${life.end}`);
    }
    if (!problem && child.pid) return { pid: child.pid, port, connectionString, child, watchdog };
    if (Date.now() - startedAtMs > patienceMs(problem)) {
      child.kill('SIGINT');
      throw await startError(cluster, `PostgreSQL did not become ready: ${String(problem)}`);
    }
    await sleep(pollIntervalMs);
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done, fail) => server.on('error', fail).listen(0, '127.0.0.1', done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (address === null || typeof address === 'string') throw new Error('There is no free TCP port');
  return address.port;
}

function spawnPostgres(cluster: Cluster, port: number, logDescriptor: number): ChildProcess {
  const settings = {
    ...cluster.settings,
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
  };
  const settingArgs = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawnOnFolder(cluster, 'postgres', {
    folder: cluster.dataDirectory,
    args: (folder) => ['-D', folder, ...settingArgs],
    output: logDescriptor,
    // Ctrl-C in the terminal must reach only this process, which stops the server after its own work has finished.
    detached: true,
  });
  child.unref();
  return child;
}

function patienceMs(problem: unknown): number {
  return errorCode(problem) === sqlState.cannotConnectNow ? busyTimeoutMs : startTimeoutMs;
}

function startError(cluster: Cluster, message: string): Promise<Error> {
  return errorWithLog(message, cluster.logFile);
}
