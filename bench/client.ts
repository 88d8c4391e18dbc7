import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The load generator, in a process of its own so that it shares no event loop with what it measures. */

export interface Job {
  readonly module: string;
  /** Name of a maker in the `requests` of that module. */
  readonly request: string;
  readonly baseUrl: string;
  readonly key: string | undefined;
  readonly connections: number;
  readonly seconds: number;
  readonly data: Readonly<Record<string, readonly string[]>>;
}

export interface JobResult {
  readonly perSecond: number;
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** How often each status came; `broken` counts connections that ended without an answer. */
  readonly statuses: Readonly<Record<string, number>>;
  /** The first answer of each status that is not 2xx, to show what went wrong. */
  readonly samples: Readonly<Record<string, string>>;
}

export interface Client {
  run(job: Job): Promise<JobResult>;
  stop(): void;
}

export type ClientMessage = { readonly result: JobResult } | { readonly error: string };

export function startClient(): Client {
  const child = fork(fileURLToPath(new URL('client-process.ts', import.meta.url)));
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
