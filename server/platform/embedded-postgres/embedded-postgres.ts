import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '../error-code.ts';
import { type Cluster, openCluster } from './cluster.ts';
import { type Postmaster, runPostmaster } from './postmaster.ts';
import { processKind } from './processes.ts';
import { runProgram } from './programs.ts';
import type { Settings } from './settings.ts';

export interface EmbeddedPostgresOptions {
  /** Created on the first start. The log is next to it, as `<dataDirectory>.log`. */
  dataDirectory: string;
  /** PostgreSQL settings that override the defaults. An adopted server keeps the settings it was started with. */
  settings?: Settings;
  /**
   * Called if the server exits without stop(). The code is null if a signal ended the server or the server was
   * adopted.
   */
  onUnexpectedExit?: (code: number | null) => void;
}

export interface EmbeddedPostgres {
  /** Superuser `svc` on the database `postgres`, which initdb creates, so no start has to create one. */
  connectionString: string;
  pid: number;
  /** True if the server was already running: left by a killed process, or started by a simultaneous one. */
  adopted: boolean;
  /**
   * Stops the server, even if another process started it. Call it only while holding the single instance lock:
   * without the lock the server belongs to another process, even if this process spawned it.
   */
  stop(): Promise<void>;
}

const watchIntervalMs = 1_000;
const pollIntervalMs = 15;
const shutdownTimeoutMs = 10_000;

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const cluster = await openCluster(options.dataDirectory, options.settings ?? {});
  return supervise(cluster, await runPostmaster(cluster), options.onUnexpectedExit);
}

function supervise(
  cluster: Cluster,
  postmaster: Postmaster,
  onUnexpectedExit: ((code: number | null) => void) | undefined,
): EmbeddedPostgres {
  const { pid, connectionString, child } = postmaster;
  let stopping: Promise<void> | null = null;
  const onEnd = (code: number | null) => {
    if (!stopping) onUnexpectedExit?.(code);
  };
  if (child) child.on('exit', onEnd);
  const watch = child ? undefined : watchAdopted(postmaster, () => onEnd(null));
  const stop = () => {
    clearInterval(watch);
    stopping ??= stopServer(cluster, postmaster);
    return stopping;
  };
  return { connectionString, pid, adopted: child === null, stop };
}

/** An adopted server is not our child process, so its exit raises no event. */
function watchAdopted(postmaster: Postmaster, onEnd: () => void): NodeJS.Timeout {
  const check = async (): Promise<void> => {
    if (!(await hasEnded(postmaster))) return;
    clearInterval(timer);
    onEnd();
  };
  const timer = setInterval(() => void check(), watchIntervalMs);
  return timer.unref();
}

async function hasEnded({ child, pid, port }: Postmaster): Promise<boolean> {
  if (child) return child.exitCode !== null || child.signalCode !== null;
  return (await processKind(pid, port)) !== 'postmaster';
}

async function stopServer(cluster: Cluster, postmaster: Postmaster): Promise<void> {
  if (process.platform === 'win32') {
    await runProgram(cluster, 'pg_ctl', ['stop', '-m', 'fast', '-D', cluster.dataDirectory]);
    return;
  }
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    if (await endsAfter(signal, postmaster)) return;
  }
  throw new Error(`PostgreSQL process ${postmaster.pid} does not stop`);
}

async function endsAfter(signal: NodeJS.Signals, postmaster: Postmaster): Promise<boolean> {
  if (await hasEnded(postmaster)) return true;
  signalIfAlive(postmaster.pid, signal);
  const deadlineMs = Date.now() + shutdownTimeoutMs;
  while (Date.now() < deadlineMs) {
    if (await hasEnded(postmaster)) return true;
    await sleep(pollIntervalMs);
  }
  return false;
}

function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}
