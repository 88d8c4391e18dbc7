import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { keepOn } from './cores.ts';

/** The load generator, in a separate process so that it does not share an event loop with the measured server. */

export interface Job {
  readonly module: string;
  /** Name of a function in the `requests` of that module. */
  readonly request: string;
  readonly baseUrl: string;
  readonly key: string | undefined;
  readonly connections: number;
  readonly seconds: number;
  /** How many are sent in each second, whether or not the answers keep up; without it each connection sends when it was answered. */
  readonly perSecond?: number;
  /** How long a client waits for an answer before it gives up; 30 s when not given. */
  readonly patienceMs?: number;
  /** For callers of different addresses: the first three numbers of those addresses, of which each connection has its own. */
  readonly from?: string;
  readonly data: Readonly<Record<string, readonly string[]>>;
}

export interface JobResult {
  readonly perSecond: number;
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** How late the generator itself was in an open loop. Measured latencies cannot be better than this. */
  readonly generatorLagP95Ms: number;
  /** Number of responses per status, and how long they took. */
  readonly byStatus: Readonly<
    Record<string, { readonly count: number; readonly p50Ms: number; readonly p95Ms: number; readonly p99Ms: number }>
  >;
  /** Number of responses per status; `broken` counts connections that ended without a response, `late` requests that timed out. */
  readonly statuses: Readonly<Record<string, number>>;
  /** The first response of each status other than 2xx, for debugging. */
  readonly samples: Readonly<Record<string, string>>;
}

export interface Client {
  run(job: Job): Promise<JobResult>;
  stop(): void;
}

export type ClientMessage = { readonly result: JobResult } | { readonly error: string };

/** `core`: the only one that it may run on, see `splitCores`. */
export function startClient(core?: string): Client {
  const child = fork(fileURLToPath(new URL('client-process.ts', import.meta.url)));
  if (core !== undefined) keepOn(core, child.pid);
  return {
    run(job) {
      const { promise, resolve, reject } = Promise.withResolvers<JobResult>();
      const onExit = (): void => reject(new Error('the load generator ended'));
      child.once('exit', onExit);
      child.once('message', (message: ClientMessage) => {
        child.off('exit', onExit);
        if ('result' in message) resolve(message.result);
        else reject(new Error(message.error));
      });
      child.send(job);
      return promise;
    },
    stop: () => void child.kill(),
  };
}
