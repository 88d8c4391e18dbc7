import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openCluster } from '../../server/platform/embedded-postgres/cluster.ts';
import { connectionProblem, connectionStringOf } from '../../server/platform/embedded-postgres/connection.ts';
import { spawnOnFolder } from '../../server/platform/embedded-postgres/programs.ts';

/** A durable PostgreSQL that is killed and restarts with the same data on the same port. */

export interface ChaosPostgres {
  readonly connectionString: string;
  isAlive(): boolean;
  /** Sends SIGKILL to the postmaster; its children notice and exit. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Ends it in order: the next start needs no recovery. */
  stop(): Promise<void>;
  killNow(): void;
}

interface PostgresOptions {
  readonly settings?: Readonly<Record<string, string>>;
  /** Called if it ends by itself. */
  readonly onExit?: (how: string) => void;
}

const startTimeoutMs = 60_000;

export async function openChaosPostgres(
  folder: string,
  port: number,
  { settings: more = {}, onExit = () => undefined }: PostgresOptions = {},
): Promise<ChaosPostgres> {
  const cluster = await openCluster(join(folder, 'postgres'), {
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    max_connections: '200',
    ...more,
  });
  const connectionString = connectionStringOf(cluster.password, port);
  const settings = {
    ...cluster.settings,
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
  };
  const parameters = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  let child: ChildProcess | undefined;
  let ending = false;
  const isAlive = (): boolean => child !== undefined && child.exitCode === null && child.signalCode === null;

  function spawnServer(): ChildProcess {
    const log = openSync(cluster.logFile, 'a');
    try {
      const spawned = spawnOnFolder(cluster, 'postgres', {
        folder: cluster.dataDirectory,
        args: (reachable) => ['-D', reachable, ...parameters],
        output: log,
      });
      ending = false;
      spawned.once('exit', (code, signal) => ending || onExit(signal ?? `code ${code}`));
      return spawned;
    } finally {
      closeSync(log);
    }
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const ended = child;
    ending = true;
    if (!ended || !isAlive()) return;
    const exit = once(ended, 'exit');
    ended.kill(signal);
    await exit;
  }

  return {
    connectionString,
    isAlive,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGINT'),
    killNow() {
      ending = true;
      child?.kill('SIGKILL');
    },
    async start() {
      const deadlineMs = Date.now() + startTimeoutMs;
      // The next server refuses to start until the last child of the killed one has exited.
      for (;;) {
        if (!isAlive()) child = spawnServer();
        if ((await connectionProblem(connectionString)) === null && isAlive()) return;
        if (Date.now() > deadlineMs) throw new Error(`PostgreSQL does not start; see ${cluster.logFile}`);
        await sleep(50);
      }
    },
  };
}
