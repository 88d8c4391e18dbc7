import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { programPath } from '../support/programs.ts';

/** A process of the service under a supervisor that restarts it whenever it exits. */

export interface Supervised {
  readonly name: string;
  isAlive(): boolean;
  isReady(): boolean;
  /** Sends SIGKILL; the process restarts after the pause. */
  kill(pauseMs: number): Promise<void>;
  /** Sends SIGSTOP and, after the pause, SIGCONT, like a machine that was suspended. */
  freeze(ms: number): Promise<void>;
  waitUntilReady(): Promise<void>;
  /** The unexpected exits after the process was ready. There must be none. */
  readonly ownEnds: string[];
  /** Stops it permanently. */
  stop(): Promise<void>;
  killNow(): void;
}

const restartPauseMs = 200;
const readyTimeoutMs = 120_000;

export function supervise(
  name: string,
  environment: NodeJS.ProcessEnv,
  logFile: string,
  onOwnEnd: (end: string) => void = () => undefined,
): Supervised {
  const log = createWriteStream(logFile, { flags: 'a' });
  const ownEnds: string[] = [];
  let child: ChildProcess | undefined;
  let ready = false;
  let stopped = false;
  let pauseMs = restartPauseMs;
  let killed = false;

  const isAlive = (): boolean => child !== undefined && child.exitCode === null && child.signalCode === null;

  function start(): void {
    const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
    const machine = { PATH, HOME, ...(TMPDIR && { TMPDIR }), ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) };
    const started = spawn(process.execPath, [programPath('main')], {
      env: { ...machine, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = started;
    ready = false;
    killed = false;
    started.stdout.on('data', (chunk: Buffer) => {
      if (chunk.includes('"body":"ready"')) ready = true;
      log.write(chunk);
    });
    started.stderr.on('data', (chunk: Buffer) => log.write(chunk));
    started.once('exit', (code, signal) => {
      const end = `${name} ended by itself with ${signal ?? `code ${code}`}`;
      if (ready && !killed && !stopped) ownEnds.push(`${new Date().toISOString()}: ${end}`);
      if (!killed && !stopped) onOwnEnd(end);
      ready = false;
      const thisPauseMs = pauseMs;
      pauseMs = restartPauseMs;
      if (!stopped) setTimeout(() => stopped || start(), thisPauseMs);
    });
  }

  async function end(): Promise<void> {
    const ending = child;
    if (!ending || !isAlive()) return;
    const ended = once(ending, 'exit');
    killed = true;
    ending.kill('SIGKILL');
    await ended;
  }

  start();
  return {
    name,
    ownEnds,
    isAlive,
    isReady: () => ready && isAlive(),
    async kill(forMs) {
      pauseMs = forMs;
      await end();
    },
    async freeze(ms) {
      const frozen = child;
      frozen?.kill('SIGSTOP');
      await sleep(ms);
      frozen?.kill('SIGCONT');
    },
    async waitUntilReady() {
      const deadlineMs = Date.now() + readyTimeoutMs;
      while (!ready) {
        if (Date.now() > deadlineMs) throw new Error(`${name} does not become ready; see ${logFile}`);
        await sleep(50);
      }
    },
    async stop() {
      stopped = true;
      await end();
      log.end();
    },
    killNow() {
      stopped = true;
      child?.kill('SIGKILL');
    },
  };
}
