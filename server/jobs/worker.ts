import { newId } from '../platform/ids.ts';
import { shardJobs, type WorkerDependencies, type WorkerShard } from './shard-jobs.ts';
import { type ShardWork, workOn } from './shard-work.ts';
import { type Tending, tendShards } from './tend-shards.ts';
import { atOnce, inBatches, type Job, repeat } from './job.ts';
import { reapAttempts, reapMemberships, reapResets, reapSessions } from '../features/users/service.ts';
import { reapLookups } from '../features/api-keys/service.ts';
import { dayMs, hourMs } from '../platform/durations.ts';
import { removeExpiredKeys } from '../platform/key-ring.ts';
import { sweepPostgresRateLimits } from '../platform/rate-limiter/postgres.ts';

const controlJobs: readonly Job<WorkerDependencies>[] = [
  {
    name: 'ended login attempts',
    everyMs: 60_000,
    run: atOnce(({ shards: { control: db }, clock }) => reapAttempts({ db, clock })),
  },
  {
    name: 'expired password links',
    everyMs: 600_000,
    run: atOnce(({ shards: { control: db }, clock }) => reapResets({ db, clock })),
  },
  {
    name: 'ended sessions',
    everyMs: 600_000,
    run: atOnce(({ shards: { control: db }, clock }) => reapSessions({ db, clock })),
  },
  { name: 'retired keys', everyMs: hourMs, run: atOnce(({ shards }) => removeExpiredKeys(shards.control)) },
  {
    name: 'stale rate limits',
    everyMs: 60_000,
    run: inBatches(({ shards: { control }, clock }, size) =>
      sweepPostgresRateLimits(
        async (text, values) => ({ rows: await control.query(text, values) }),
        clock.nowMs(),
        size,
      ),
    ),
  },
  // These read whole tables. What they remove is harmless.
  {
    name: 'lookups without a key',
    everyMs: dayMs,
    run: atOnce(({ shards, clock }) => reapLookups(shards, clock.nowMs())),
  },
  {
    name: 'memberships without a member',
    everyMs: dayMs,
    run: atOnce(({ shards, clock }) => reapMemberships(shards, clock.nowMs())),
  },
];

export type { WorkerDependencies } from './shard-jobs.ts';

/** For the table of retentions, which names the job of each table. */
export const jobNames: readonly string[] = [...shardJobs, ...controlJobs].map(({ name }) => name);

/** How workers share many shards; undefined in an installation with one database, whose jobs run in every worker. */
export type Sharing = Pick<Tending<WorkerShard>, 'use'>;

export function startWorker(dependencies: WorkerDependencies, sharing?: Sharing): { stop(): Promise<void> } {
  const { shards, log } = dependencies;
  const onShards = sharing
    ? tendShards({
        ...sharing,
        workerId: newId(dependencies.clock.nowMs()),
        control: shards.control,
        shards: () => shards.all,
        workOn: (shard) => workOn(dependencies, shard),
        sendsMail: dependencies.mailer !== undefined,
        random: Math.random,
        log,
      })
    : workOnAll(dependencies);
  const running = [onShards, ...controlJobs.map((job) => repeat(job, dependencies))];
  return {
    async stop() {
      await Promise.all(running.map((each) => each.stop()));
    },
  };
}

function workOnAll(dependencies: WorkerDependencies): Pick<ShardWork, 'stop'> {
  const works: ShardWork[] = [];
  let isStopping = false;
  dependencies.shards.each((shard) => {
    if (!isStopping) works.push(workOn(dependencies, shard)());
  });
  return {
    async stop() {
      isStopping = true;
      await Promise.all(works.map((work) => work.stop()));
    },
  };
}
