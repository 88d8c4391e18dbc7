import { type Alarm, createAlarm, type WorkLeft } from '../platform/alarm.ts';
import type { Logger } from '../platform/log.ts';
import { counter } from '../platform/metrics.ts';

/** Background work that is repeated, and how it is repeated. */
export interface Job<Dependencies> {
  readonly name: string;
  /** The pause after a turn that leaves nothing to do. */
  readonly everyMs: number;
  /** A channel of the database; a message means that work is due. */
  readonly wokenBy?: string;
  readonly run: (dependencies: Dependencies) => Promise<WorkLeft>;
}

const usualBatch = 500;
/** After a failure, so that an hourly job does not fail for an hour. The alert SvcJobFailing expects less than 5 minutes. */
const retryMs = 60_000;
const countFailure = counter('svc_job_failures_total');

/** For a job that works in batches: after a full batch there may be more. */
export function inBatches<Dependencies>(
  work: (dependencies: Dependencies, size: number) => Promise<number>,
  size: number = usualBatch,
): Job<Dependencies>['run'] {
  return async (dependencies) => ((await work(dependencies, size)) < size ? 'idle' : 'more');
}

/** For a job that does everything that is due in one turn. */
export function atOnce<Dependencies>(work: (dependencies: Dependencies) => Promise<unknown>): Job<Dependencies>['run'] {
  return async (dependencies) => {
    await work(dependencies);
    return 'idle';
  };
}

export interface Repeated {
  /** Resolves when the first turn has ended, or a stop came before. */
  readonly first: Promise<void>;
  /** Ends the pause, and waits for the turn that runs. */
  stop(): Promise<void>;
}

/** Runs a job again and again. It pauses when it is idle and its alarm did not ring during the turn. `firstInMs` is the pause before. */
export function repeat<Dependencies extends { readonly log: Logger; readonly name?: string }>(
  job: Job<Dependencies>,
  dependencies: Dependencies,
  alarm: Alarm = createAlarm(),
  firstInMs = 0,
): Repeated {
  const state = { isStopping: false };
  const first = Promise.withResolvers<void>();
  const ended = loop().finally(first.resolve);
  return {
    first: first.promise,
    async stop() {
      state.isStopping = true;
      alarm.ring();
      await ended;
    },
  };

  async function loop(): Promise<void> {
    const isStopping = (): boolean => state.isStopping;
    if (firstInMs > 0) await alarm.pause(firstInMs);
    while (!isStopping()) {
      // The turn that begins does what earlier messages announced.
      alarm.rang();
      const left = await turn();
      first.resolve();
      // A stop that rang during the turn must not wait for the pause.
      if (isStopping()) return;
      if (left === 'failed') await alarm.pause(Math.min(job.everyMs, retryMs));
      else if (left === 'idle' && !alarm.rang()) await alarm.pause(job.everyMs);
    }
  }

  async function turn(): Promise<WorkLeft | 'failed'> {
    try {
      return await job.run(dependencies);
    } catch (error) {
      // Prometheus uses the label `job` itself.
      countFailure({ task: job.name });
      dependencies.log.error({ err: error, job: job.name, shard: dependencies.name }, 'job failed; it will be retried');
      return 'failed';
    }
  }
}
