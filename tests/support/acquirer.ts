import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Control } from '../../server/vault/processors/acquirer/faults.ts';
import type { Operation } from '../../server/vault/processors/acquirer/protocol.ts';

/** The acquirer simulator in its own process, which can produce faults and can be killed. */

const program = fileURLToPath(new URL('../../server/vault/processors/acquirer/simulator-main.ts', import.meta.url));

export interface AcquirerOptions {
  readonly settleAfterMs?: number;
  readonly requestLifeMs?: number;
}

export interface TestAcquirer {
  /** The same after each restart. */
  readonly url: string;
  readonly secret: string;
  readonly journalFile: string;
  /** Replaces the given settings and keeps the others. A restart resets all of them. */
  control(body: Control): Promise<void>;
  journal(): Promise<Operation[]>;
  health(): Promise<{ operations: number; fsyncs: number }>;
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

export async function startAcquirer(options: AcquirerOptions = {}): Promise<TestAcquirer> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-acquirer-'));
  const journalFile = join(folder, 'journal.ndjson');
  const secret = 'secret of the acquirer';
  let printed = '';
  let child: ChildProcess | undefined;
  process.on('exit', () => child?.kill('SIGKILL'));

  function start(port: string): Promise<string> {
    const parameters = [program, '--port', port, '--journal', journalFile, '--secret', secret];
    if (options.settleAfterMs !== undefined) parameters.push('--settle-after-ms', String(options.settleAfterMs));
    if (options.requestLifeMs !== undefined) parameters.push('--request-life-ms', String(options.requestLifeMs));
    const started = spawn(process.execPath, parameters, { stdio: ['ignore', 'pipe', 'pipe'] });
    child = started;
    started.stderr.on('data', (chunk) => (printed += String(chunk)));
    return new Promise((resolve, reject) => {
      let output = '';
      started.stdout.on('data', (chunk) => {
        printed += String(chunk);
        output += String(chunk);
        const [line, rest] = output.split('\n');
        if (line && rest !== undefined) resolve(JSON.parse(line).url);
      });
      started.once('exit', () => reject(new Error(`the acquirer ended: ${printed}`)));
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

  async function call(method: string, path: string, body?: object): Promise<Record<string, any>> {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    assert.equal(response.status, 200, `${path}: ${text}`);
    return JSON.parse(text);
  }

  return {
    url,
    secret,
    journalFile,
    kill,
    async control(body) {
      await call('POST', '/control', body);
    },
    journal: async () => (await call('GET', '/journal')).operations,
    health: async () => (await call('GET', '/healthz')) as { operations: number; fsyncs: number },
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
