import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KindName } from '../../server/vault/processors/kind.ts';
import { arrangedAccount } from '../../simulators/adyen/state.ts';
import type { Control } from '../../simulators/faults.ts';
import { killAtExit } from './kill-at-exit.ts';
import { programPath } from './programs.ts';

/** A simulated processor in its own process, which can produce faults and can be killed. */

export interface Simulator {
  /** The same after each restart. */
  readonly url: string;
  readonly secret: string;
  readonly journalFile: string;
  /** Calls it with its secret; fails if the status is not 200. */
  call(method: string, path: string, body?: object): Promise<Record<string, any>>;
  /** Replaces the given settings and keeps the others. A restart resets all of them. */
  control(body: Control & Readonly<Record<string, unknown>>): Promise<void>;
  /** Returns everything that the program has printed, and its journal on the disk. */
  traces(): Promise<string>;
  /** Sends SIGSTOP: the process stops with its connections open. */
  freeze(): void;
  thaw(): void;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** Kills it and removes its journal. */
  stop(): Promise<void>;
}

/** Calls a simulator with its secret; fails if the status is not 200. */
export function callsTo(url: string, secret: string): Simulator['call'] {
  return async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    assert.equal(response.status, 200, `${path}: ${text}`);
    return JSON.parse(text);
  };
}

const program = programPath('simulator');

export async function startSimulator(
  kind: KindName,
  secret: string,
  options: Readonly<Record<string, string | number | undefined>> = {},
): Promise<Simulator> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-simulator-'));
  const journalFile = join(folder, 'journal.ndjson');
  const account = kind === 'adyen' ? JSON.stringify(arrangedAccount) : undefined;
  const all: Readonly<Record<string, string | number | undefined>> = {
    journal: journalFile,
    secret,
    account,
    ...options,
  };
  const given = Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, String(value)],
  );
  let printed = '';
  let child: ChildProcess | undefined;

  function start(port: string): Promise<string> {
    const started = spawn(process.execPath, [program, kind, '--port', port, ...given], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = started;
    killAtExit(started);
    started.stderr.on('data', (chunk) => (printed += String(chunk)));
    return new Promise((resolve, reject) => {
      let output = '';
      started.stdout.on('data', (chunk) => {
        printed += String(chunk);
        output += String(chunk);
        const [line, rest] = output.split('\n');
        if (line && rest !== undefined) resolve(JSON.parse(line).url);
      });
      started.once('exit', () => reject(new Error(`the simulated ${kind} ended: ${printed}`)));
    });
  }

  async function kill(): Promise<void> {
    const ending = child;
    child = undefined;
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
    ending.kill('SIGKILL');
    await once(ending, 'exit');
  }

  const url = await start('0');

  const call = callsTo(url, secret);
  return {
    url,
    secret,
    journalFile,
    call,
    kill,
    async control(body) {
      await call('POST', '/control', body);
    },
    traces: async () => printed + (await readFile(journalFile, 'utf8')),
    freeze: () => child?.kill('SIGSTOP'),
    thaw: () => child?.kill('SIGCONT'),
    async restart() {
      await kill();
      await start(new URL(url).port);
    },
    async stop() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
