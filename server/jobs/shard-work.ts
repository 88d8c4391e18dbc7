import { type Dispatcher, startDispatcher } from '../features/webhooks/jobs.ts';
import { createAlarm } from '../platform/alarm.ts';
import { inTime } from '../platform/in-time.ts';
import { movedFrom } from '../shards/follow.ts';
import { type Job, type Repeated, repeat } from './job.ts';
import { type OnShard, shardJobs, type WorkerDependencies, type WorkerShard } from './shard-jobs.ts';

/** All jobs of one shard, and its webhooks. */
export interface ShardWork {
  /** Whether every job that was due at the start has had its turn. */
  hasTurned(): boolean;
  stop(): Promise<void>;
}

/** The first turns follow each other, so that they need few connections. A long one does not keep the others waiting. */
const turnMs = 500;

/** Returns what starts the work on a shard. A job that ran before waits for its next turn. */
export function workOn(dependencies: WorkerDependencies, shard: WorkerShard): () => ShardWork {
  const { shards, log, outbound, webhookSecretKey: secretKey } = dependencies;
  const { name, db, batchDb, clock } = shard;
  const onShard: OnShard = { ...dependencies, ...shard, movedTo: movedFrom(shards, name, (there) => there.db) };
  const movedTo = movedFrom(shards, name, (there) => there.batchDb);
  const ranAtMs = new Map<string, number>();

  /** When the next turn of a job is due, from now. */
  function dueInMs({ name: job, everyMs }: Job<OnShard>): number {
    return Math.max(0, (ranAtMs.get(job) ?? -Infinity) + everyMs - performance.now());
  }

  return () => {
    const running: (Repeated | Dispatcher)[] = [
      startDispatcher({ db, batchDb, clock, log, outbound, secretKey, random: Math.random, movedTo }),
    ];
    const stops: (() => void)[] = [];
    const firstTurns: Promise<void>[] = [];
    let isStopping = false;
    let hasTurned = false;

    async function startJobs(): Promise<void> {
      for (const job of shardJobs) {
        if (isStopping) return;
        const alarm = createAlarm();
        if ('wokenBy' in job) stops.push(listenFor(job.wokenBy, alarm.ring, onShard));
        const firstInMs = dueInMs(job);
        const repeated = repeat(noting(job), onShard, alarm, firstInMs);
        running.push(repeated);
        if (firstInMs > 0) continue;
        firstTurns.push(repeated.first);
        await inTime(repeated.first, turnMs, undefined);
      }
      void Promise.all(firstTurns).then(() => {
        hasTurned = !isStopping;
      });
    }

    const noting = (job: Job<OnShard>): Job<OnShard> => ({
      ...job,
      run: async (on) => {
        const left = await job.run(on);
        ranAtMs.set(job.name, performance.now());
        return left;
      },
    });

    const started = startJobs();
    return {
      hasTurned: () => hasTurned,
      async stop() {
        isStopping = true;
        await started;
        for (const end of stops) end();
        await Promise.all(running.map((each) => each.stop()));
      },
    };
  };
}

/** Calls `ring` for each message of a channel. Without it the job still runs at its own interval. */
function listenFor(channel: string, ring: () => void, { db, log }: OnShard): () => void {
  const listening = db.listen(channel, ring, ring).catch((error: unknown) => {
    log.warn({ err: error, channel }, 'cannot listen for notifications of the database');
    return undefined;
  });
  return () => void listening.then((end) => end?.());
}
