import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { KindName } from '../../server/vault/processors/kind.ts';
import type { JournaledOperation } from '../support/ledger.ts';
import { chaosKinds, timing } from './kinds.ts';

/** A simulated processor on a fixed port, with the same faults after each restart. */

export interface ChaosProcessor {
  readonly kind: KindName;
  readonly url: string;
  readonly secret: string;
  isAlive(): boolean;
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Applies from now on, also after each restart. */
  setFaults(faults: Readonly<Record<string, number>>): Promise<void>;
  /** Whether it refuses the credentials of the service, also after each restart. */
  setRevoked(isRevoked: boolean): Promise<void>;
  /** Where its notices go, also after each restart. */
  sendNoticesTo(url: string): Promise<void>;
  journal(): Promise<JournaledOperation[]>;
  faultsMet(): Promise<Map<string, number>>;
  killNow(): void;
}

export interface ProcessorPlace {
  readonly folder: string;
  /** Of its files. Default: its kind. */
  readonly name?: string;
  readonly port: number;
  readonly seed: number;
  readonly environment?: Readonly<Record<string, string>>;
}

const program = fileURLToPath(new URL('./processor-main.ts', import.meta.url));
const startTimeoutMs = 30_000;

export function openChaosProcessor(
  kind: KindName,
  { folder, name = kind, port, seed, environment = {} }: ProcessorPlace,
): ChaosProcessor {
  const url = `http://127.0.0.1:${port}`;
  const { secret, timeoutMs, requestLifeMs, noticesTo, revoked } = chaosKinds[kind];
  const notes = join(folder, `${name}-faults.txt`);
  const parameters = Object.entries({
    kind,
    port,
    journal: join(folder, `${name}.ndjson`),
    notes,
    secret,
    'settle-after-ms': timing.settleAfterMs,
    'request-life-ms': requestLifeMs,
    'timeout-ms': timeoutMs,
  }).flatMap(([option, value]) => [`--${option}`, String(value)]);
  let child: ChildProcess | undefined;
  let faults: Readonly<Record<string, number>> = {};
  let target: object = {};
  let isRevoked = false;
  let starts = 0;
  const isAlive = (): boolean => child !== undefined && child.exitCode === null && child.signalCode === null;

  async function call(method: string, path: string, body?: object): Promise<Record<string, any>> {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Record<string, any>;
  }

  return {
    kind,
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
          const { settleAfterMs: settle_after_ms } = timing;
          await call('POST', '/control', {
            faults,
            settle_after_ms,
            seed: seed + starts,
            ...target,
            ...revoked(isRevoked),
          });
          return;
        } catch (error) {
          if (Date.now() > deadlineMs) throw new Error(`the ${kind} does not start`, { cause: error });
        }
        await sleep(50);
      }
    },
    async setFaults(wanted) {
      faults = wanted;
      await call('POST', '/control', { faults });
    },
    async setRevoked(wanted) {
      isRevoked = wanted;
      // If it is being killed, its next start applies this.
      await call('POST', '/control', revoked(isRevoked)).catch(() => undefined);
    },
    async sendNoticesTo(noticeUrl) {
      if (!noticesTo) return;
      target = noticesTo(noticeUrl);
      await call('POST', '/control', target);
    },
    async journal() {
      const { operations, uncharged = [] } = await call('GET', '/journal');
      return [...operations, ...uncharged];
    },
    async faultsMet() {
      const lines = (await readFile(notes, 'utf8').catch(() => '')).split('\n').filter(Boolean);
      const counts = new Map<string, number>();
      for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
      return counts;
    },
  };
}
