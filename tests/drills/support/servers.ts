import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findProgram } from './programs.ts';

/** Programs of a drill that run in the background with the account of PostgreSQL, and are killed and started again. */

export interface Server {
  readonly name: string;
  readonly pid: number | undefined;
  isAlive(): boolean;
  start(): void;
  /** Sends SIGKILL and waits for the end. */
  kill(): Promise<void>;
}

interface ServerOptions {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** Of its log. */
  readonly folder: string;
  /** The network namespace of the program. Default: that of the drill. */
  readonly namespace?: string | undefined;
}

export function program(name: string): string {
  const file = findProgram(name);
  if (!file) throw new Error(`The program ${name} is not installed.`);
  return file;
}

/** These programs are in the folder of the server, while `postgres` on the PATH could be a single link. */
export const serverFolder = (): string => dirname(program('pg_controldata'));

/** PostgreSQL refuses to run as root; then the account of its package exists. */
export function serverOwner(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

/** A folder that only the account of the servers can read. */
export function ownFolder(...path: readonly string[]): string {
  const folder = join(...path);
  const owner = serverOwner();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (owner) chownSync(folder, owner.uid, owner.gid);
  return folder;
}

export function ownFile(file: string, text: string): string {
  const owner = serverOwner();
  writeFileSync(file, text, { mode: 0o600 });
  if (owner) chownSync(file, owner.uid, owner.gid);
  return file;
}

export function openServer({ name, program: called, args, folder, namespace }: ServerOptions): Server {
  const owner = serverOwner();
  const path = [serverFolder(), process.env.PATH].join(':');
  let child: ChildProcess | undefined;
  const isAlive = (): boolean => child !== undefined && child.exitCode === null && child.signalCode === null;
  // Only root enters a namespace, and nsenter changes the account afterwards.
  const [command, ...words] = namespace
    ? [
        program('nsenter'),
        `--net=/run/netns/${namespace}`,
        ...(owner ? [`--setuid=${owner.uid}`, `--setgid=${owner.gid}`] : []),
        '--',
        program(called),
        ...args,
      ]
    : [program(called), ...args];
  return {
    name,
    get pid() {
      return isAlive() ? child?.pid : undefined;
    },
    isAlive,
    start() {
      const log = openSync(join(folder, `${name}.log`), 'a');
      try {
        // In a separate session, so that Ctrl-C ends it only through the clean-up.
        child = spawn(command ?? '', words, {
          cwd: folder,
          env: { PATH: path, HOME: folder, LC_ALL: 'C.UTF-8' },
          stdio: ['ignore', log, log],
          detached: true,
          ...(namespace ? {} : owner),
        });
      } finally {
        closeSync(log);
      }
    },
    async kill() {
      const ending = child;
      if (!ending || !isAlive()) return;
      const ended = once(ending, 'exit');
      ending.kill('SIGKILL');
      await ended;
    },
  };
}
