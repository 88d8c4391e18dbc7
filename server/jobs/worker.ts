import { deleteOldTokens, removeUnreferencedCards } from '../features/payment-methods/jobs.ts';
import { deleteUnreferencedFiles } from '../features/products/jobs.ts';
import { reapIdempotencyKeys } from '../http/idempotency.ts';
import type { Clock } from '../platform/clock.ts';
import type { DatabasePool } from '../platform/database.ts';
import type { FileStore } from '../platform/files/file-store.ts';
import type { Logger } from '../platform/log.ts';
import type { Vault } from '../vault/vault.ts';
import { sweepPostgresRateLimits } from '../platform/rate-limiter/postgres.ts';

export interface WorkerDependencies {
  readonly db: DatabasePool;
  readonly clock: Clock;
  readonly files: FileStore;
  readonly vault: Vault;
  readonly log: Logger;
}

interface Job {
  readonly name: string;
  readonly everyMs: number;
  /** Does one batch and says how much it did; a full batch is followed by the next at once. */
  readonly run: (dependencies: WorkerDependencies) => Promise<number>;
}

const batch = 500;

/** Clean-up. Every job may run in any number of processes at once. */
export const jobs: readonly Job[] = [
  { name: 'expired idempotency keys', everyMs: 60_000, run: ({ db }) => reapIdempotencyKeys(db, batch) },
  { name: 'unreferenced files', everyMs: 30_000, run: ({ db, files }) => deleteUnreferencedFiles(db, files, batch) },
  { name: 'unreferenced cards', everyMs: 30_000, run: ({ db, vault }) => removeUnreferencedCards(db, vault, batch) },
  { name: 'old card tokens', everyMs: 60_000, run: ({ db }) => deleteOldTokens(db, batch) },
  {
    name: 'stale rate limits',
    everyMs: 60_000,
    run: ({ db, clock }) =>
      sweepPostgresRateLimits(async (text, values) => ({ rows: await db.query(text, values) }), clock.nowMs(), batch),
  },
];

export function startWorker(dependencies: WorkerDependencies): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const loops = jobs.map((job) => loop(job, dependencies, stopping.signal));
  return {
    async stop() {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

async function loop(job: Job, dependencies: WorkerDependencies, stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    let done = 0;
    try {
      done = await job.run(dependencies);
    } catch (error) {
      dependencies.log.error({ err: error, job: job.name }, 'job failed; it will be tried again');
    }
    if (done < batch && !stopped.aborted) await pause(job.everyMs, stopped);
  }
}

function pause(ms: number, stopped: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  stopped.addEventListener('abort', () => resolve(), { once: true });
  return promise.finally(() => clearTimeout(timer));
}
