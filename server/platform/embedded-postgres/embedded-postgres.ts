import { type Cluster, openCluster } from './cluster.ts';
import { type Postmaster, runPostmaster } from './postmaster.ts';
import type { Settings } from './settings.ts';
import { hasEnded, stopServer } from './stop-server.ts';
import { startWatchdog } from './watchdog.ts';

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
  /**
   * Has a watchdog end the server if this process ends without stop(). A server that this process started has one
   * from the start; an adopted one gets it when this process holds the single instance lock.
   */
  guard(): void;
  /** Leaves the server to the process that holds the single instance lock. */
  leave(): void;
}

const watchIntervalMs = 1_000;

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
  let { watchdog } = postmaster;
  const guard = () => {
    watchdog ??= startWatchdog(cluster, postmaster);
  };
  const leave = () => {
    clearInterval(watch);
    watchdog?.end();
  };
  const stop = () => {
    clearInterval(watch);
    stopping ??= stopServer(cluster, postmaster).finally(leave);
    return stopping;
  };
  return { connectionString, pid, adopted: child === null, stop, guard, leave };
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
