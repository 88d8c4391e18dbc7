import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Control } from '../../server/vault/processors/simulator/faults.ts';
import type { Operation } from '../../server/vault/processors/acquirer/protocol.ts';

/** The acquirer simulator on a fixed port, with the same faults after each restart. */

export interface ChaosAcquirer {
  readonly url: string;
  readonly secret: string;
  isAlive(): boolean;
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Applies from now on, also after each restart. */
  setFaults(faults: Readonly<Record<string, number>>): Promise<void>;
  journal(): Promise<Operation[]>;
  faultsMet(): Promise<Map<string, number>>;
  killNow(): void;
}

export interface AcquirerTiming {
  readonly timeoutMs: number;
  readonly requestLifeMs: number;
  readonly settleAfterMs: number;
}

const program = fileURLToPath(new URL('./acquirer-main.ts', import.meta.url));
const startTimeoutMs = 30_000;

export function openChaosAcquirer(
  folder: string,
  port: number,
  timing: AcquirerTiming,
  seed: number,
  environment: Readonly<Record<string, string>> = {},
): ChaosAcquirer {
  const url = `http://127.0.0.1:${port}`;
  const secret = 'secret of the acquirer';
  const notes = join(folder, 'faults.txt');
  const parameters = Object.entries({
    port,
    journal: join(folder, 'acquirer.ndjson'),
    notes,
    secret,
    'settle-after-ms': timing.settleAfterMs,
    'request-life-ms': timing.requestLifeMs,
    'timeout-ms': timing.timeoutMs,
  }).flatMap(([name, value]) => [`--${name}`, String(value)]);
  let child: ChildProcess | undefined;
  let faults: Readonly<Record<string, number>> = {};
  let starts = 0;
  const isAlive = (): boolean => child !== undefined && child.exitCode === null && child.signalCode === null;

  async function call(method: string, path: string, body?: Control): Promise<Record<string, any>> {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Record<string, any>;
  }

  return {
    url,
    secret,
    isAlive,
    async kill() {
      const ending = child;
      if (!ending || !isAlive()) return;
      const ended = once(ending, 'exit');
      ending.kill('SIGKILL');
      await ended;
    },
    killNow: () => child?.kill('SIGKILL'),
    async start() {
      const deadlineMs = Date.now() + startTimeoutMs;
      starts += 1;
      for (;;) {
        if (!isAlive()) {
          const env = { ...process.env, ...environment };
          child = spawn(process.execPath, [program, ...parameters], { env, stdio: 'ignore' });
        }
        try {
          await call('POST', '/control', { faults, seed: seed + starts });
          return;
        } catch (error) {
          if (Date.now() > deadlineMs) throw new Error('the acquirer does not start', { cause: error });
        }
        await sleep(50);
      }
    },
    async setFaults(wanted) {
      faults = wanted;
      await call('POST', '/control', { faults });
    },
    journal: async () => (await call('GET', '/journal')).operations,
    async faultsMet() {
      const lines = (await readFile(notes, 'utf8').catch(() => '')).split('\n').filter(Boolean);
      const counts = new Map<string, number>();
      for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
      return counts;
    },
  };
}
