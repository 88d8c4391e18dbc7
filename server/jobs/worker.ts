import { EventEmitter } from 'node:events';
import { removeOldTokens, removeUnreferencedCards } from '../features/payment-methods/jobs.ts';
import { makeCustomerEmails, makeReminders } from '../features/customer-emails/jobs.ts';
import type { EmailDependencies } from '../features/customer-emails/mail.ts';
import { removeExpiredLinks, forgetOldMails, sendDueMails } from '../features/mails/jobs.ts';
import { type AuditDays, forgetOldEntries } from '../features/audit/jobs.ts';
import { executeBulkRefunds } from '../features/bulk-refunds/jobs.ts';
import { forgetOldExports, writeExports } from '../features/exports/jobs.ts';
import { bringBackDueTimes } from './bring-back.ts';
import { measureTables } from './table-sizes.ts';
import { exportedLists } from './exported-lists.ts';
import { continuePayments, expireSessions, forgetOldSessions } from '../features/checkout-sessions/jobs.ts';
import { forgetCustomerSessions } from '../features/customer-sessions/jobs.ts';
import { sumEndedDays } from '../features/figures/jobs.ts';
import { maintainPartitions } from '../features/events/jobs.ts';
import { maintainRequestPartitions } from '../features/requests/jobs.ts';
import { eraseEvidence } from '../features/disputes/service.ts';
import { applyDueNotices, forgetOldNotices, noticesChannel, pollProcessors } from '../features/processors/notices.ts';
import { indexOrderObjects } from '../features/orders/jobs.ts';
import { operationsDueChannel, type Orders } from '../features/orders/service.ts';
import { deleteUnreferencedFiles } from '../features/products/jobs.ts';
import { type Subscriptions, subscriptionsDueChannel } from '../features/subscriptions/service.ts';
import { reapAttempts, reapMemberships, reapResets, reapSessions, reapSignUps } from '../features/users/service.ts';
import { reapLookups } from '../features/api-keys/service.ts';
import { startDispatcher } from '../features/webhooks/jobs.ts';
import { disableFailingEndpoints } from '../features/webhooks/service.ts';
import { reapIdempotencyKeys } from '../http/key-queries.ts';
import type { Clock } from '../platform/clock.ts';
import type { DatabasePool, Queryable } from '../platform/database.ts';
import { dayMs, hourMs } from '../platform/durations.ts';
import type { FileStore } from '../platform/files/file-store.ts';
import type { Mailer } from '../platform/mail/mailer.ts';
import type { Logger } from '../platform/log.ts';
import { removeExpiredKeys } from '../platform/key-ring.ts';
import { counter } from '../platform/metrics.ts';
import type { Replica } from '../platform/replica.ts';
import type { Vault } from '../vault/vault.ts';
import type { Outbound } from '../platform/outbound/outbound.ts';
import { sweepPostgresRateLimits } from '../platform/rate-limiter/postgres.ts';
import type { ServiceKey } from '../platform/service-keys.ts';
import { type Elsewhere, elsewhereThan } from '../shards/follow.ts';
import type { Shards } from '../shards/shards.ts';

/** What the worker has on each shard. */
interface WorkerShard {
  readonly name: string;
  readonly db: DatabasePool;
  /** For the webhook dispatcher. */
  readonly batchDb: Queryable;
  readonly clock: Clock;
  readonly orders: Orders;
  readonly subscriptions: Subscriptions;
  readonly replica?: Replica | undefined;
}

export interface WorkerDependencies {
  readonly shards: Shards<WorkerShard>;
  /** The time of the control plane. */
  readonly clock: Clock;
  readonly files: FileStore;
  readonly vault: Vault;
  /** Undefined if mails are only stored. */
  readonly mailer: Mailer | undefined;
  /** Decrypts the links in mails. */
  readonly mailKey: ServiceKey;
  /** Undefined if emails to customers could be neither sent nor shown. */
  readonly emails: EmailDependencies | undefined;
  readonly outbound: Outbound;
  readonly webhookSecretKey: ServiceKey;
  readonly retention: { readonly audit: AuditDays; readonly mailDays: number };
  readonly log: Logger;
}

/** What a job on one shard uses. */
interface OnShard extends WorkerDependencies, WorkerShard {
  readonly elsewhere: Elsewhere<Queryable>;
}

interface Job<Dependencies> {
  readonly name: string;
  readonly everyMs: number;
  /** A channel of the database; a message means that work is due. */
  readonly wokenBy?: string;
  /** Runs one batch and returns how many rows it processed; after a full batch the next one runs at once. */
  readonly run: (dependencies: Dependencies) => Promise<number>;
}

const batch = 500;
const noticeBatch = 100;
const mailBatch = 20;
const checkoutBatch = 20;
const refundBatch = 10;
const countFailure = counter('svc_job_failures_total');

/**
 * The jobs that run on each shard by itself: a shard that is away delays no other. Every job may run in any number of
 * processes at once.
 */
const shardJobs: readonly Job<OnShard>[] = [
  {
    name: 'open transactions',
    everyMs: 1_000,
    wokenBy: operationsDueChannel,
    run: ({ orders }) => orders.reconcileDue(batch),
  },
  {
    name: 'processors that answer again',
    everyMs: 30_000,
    run: async ({ orders }) => {
      await orders.probeConnections();
      return 0;
    },
  },
  {
    name: 'due subscriptions',
    everyMs: 1_000,
    wokenBy: subscriptionsDueChannel,
    run: ({ subscriptions }) => billAllDue(subscriptions),
  },
  { name: 'due chargebacks', everyMs: 500, run: ({ orders }) => orders.raiseDueChargebacks(batch) },
  {
    name: 'index of orders',
    everyMs: 10_000,
    run: async ({ db, clock, log }) => ((await indexOrderObjects(db, clock, log)) ? batch : 0),
  },
  { name: 'unanswered disputes', everyMs: 5_000, run: ({ orders }) => orders.loseDueDisputes(batch) },
  {
    name: 'notices of processors',
    everyMs: 1_000,
    wokenBy: noticesChannel,
    run: async (dependencies) => ((await applyDueNotices(dependencies, noticeBatch)) === noticeBatch ? batch : 0),
  },
  {
    name: 'checkout payments',
    everyMs: 2_000,
    run: async (shard) =>
      (await continuePayments(shard, shard, shard.log, checkoutBatch)) === checkoutBatch ? batch : 0,
  },
  { name: 'due checkout sessions', everyMs: 5_000, run: (shard) => expireSessions(shard, batch) },
  { name: 'old checkout sessions', everyMs: hourMs, run: ({ db }) => forgetOldSessions(db, batch) },
  {
    name: 'old customer sessions',
    everyMs: hourMs,
    run: ({ db, clock }) => forgetCustomerSessions(db, clock, batch),
  },
  { name: 'polls of processors', everyMs: 30_000, run: async (dependencies) => pollProcessors(dependencies) },
  {
    name: 'bulk refunds',
    everyMs: 2_000,
    run: async (shard) => ((await executeBulkRefunds(shard, refundBatch)) > 0 ? batch : 0),
  },
  {
    name: 'exports',
    everyMs: 2_000,
    run: async (shard) => ((await writeExports(shard, exportedLists(shard))) ? batch : 0),
  },
  { name: 'old exports', everyMs: 600_000, run: ({ db }) => forgetOldExports(db, batch) },
  { name: 'evidence of deleted customers', everyMs: hourMs, run: ({ db }) => eraseEvidence(db, batch) },
  { name: 'old notices', everyMs: hourMs, run: ({ db }) => forgetOldNotices(db, batch) },
  { name: 'expired idempotency keys', everyMs: 60_000, run: ({ db }) => reapIdempotencyKeys(db, batch) },
  { name: 'unreferenced files', everyMs: 30_000, run: ({ db, files }) => deleteUnreferencedFiles(db, files, batch) },
  { name: 'unreferenced cards', everyMs: 30_000, run: ({ db, vault }) => removeUnreferencedCards(db, vault, batch) },
  { name: 'old card tokens', everyMs: 60_000, run: ({ db }) => removeOldTokens(db, batch) },
  { name: 'failing webhook endpoints', everyMs: 60_000, run: ({ db, clock }) => disableFailingEndpoints(db, clock) },
  {
    name: 'due mails',
    everyMs: 2_000,
    run: ({ db, mailer, mailKey, log, elsewhere }) => sendDueMails(db, mailer, mailKey, log, mailBatch, { elsewhere }),
  },
  {
    name: 'due emails to customers',
    everyMs: 2_000,
    run: async ({ db, mailer, mailKey, log, elsewhere }) => {
      const options = { toCustomers: true, elsewhere };
      return (await sendDueMails(db, mailer, mailKey, log, mailBatch, options)) === mailBatch ? batch : 0;
    },
  },
  {
    name: 'emails to customers',
    everyMs: 2_000,
    run: async ({ emails, ...shard }) => (emails && (await makeCustomerEmails(shard, emails)) ? batch : 0),
  },
  {
    name: 'reminders to customers',
    everyMs: 60_000,
    run: async ({ emails, ...shard }) => (emails ? makeReminders(shard, emails) : 0),
  },
  { name: 'daily figures', everyMs: 15_000, run: async ({ db, log }) => ((await sumEndedDays(db, log)) ? batch : 0) },
  { name: 'expired links in mails', everyMs: 60_000, run: ({ db }) => removeExpiredLinks(db) },
  {
    name: 'unfinished sign-ups',
    everyMs: 600_000,
    run: ({ shards, db, clock }) => reapSignUps(shards.control, { db }, clock.nowMs(), batch),
  },
  { name: 'times too far ahead', everyMs: 60_000, run: ({ db, log }) => bringBackDueTimes(db, log, batch) },
  {
    name: 'old mails',
    everyMs: hourMs,
    run: ({ db, retention }) => forgetOldMails(db, batch, retention.mailDays),
  },
  {
    name: 'old audit entries',
    everyMs: hourMs,
    run: ({ db, retention }) => forgetOldEntries(db, retention.audit, batch),
  },
  { name: 'sizes of tables', everyMs: hourMs, run: ({ db }) => measureTables(db) },
  { name: 'partitions', everyMs: hourMs, run: ({ db }) => maintainPartitions(db) },
  { name: 'partitions of requests', everyMs: hourMs, run: ({ db }) => maintainRequestPartitions(db) },
];

const controlJobs: readonly Job<WorkerDependencies>[] = [
  {
    name: 'ended login attempts',
    everyMs: 60_000,
    run: ({ shards: { control: db }, clock }) => reapAttempts({ db, clock }),
  },
  {
    name: 'expired password links',
    everyMs: 600_000,
    run: ({ shards: { control: db }, clock }) => reapResets({ db, clock }),
  },
  {
    name: 'ended sessions',
    everyMs: 600_000,
    run: ({ shards: { control: db }, clock }) => reapSessions({ db, clock }),
  },
  { name: 'retired keys', everyMs: hourMs, run: ({ shards }) => removeExpiredKeys(shards.control) },
  {
    name: 'stale rate limits',
    everyMs: 60_000,
    run: ({ shards: { control }, clock }) =>
      sweepPostgresRateLimits(
        async (text, values) => ({ rows: await control.query(text, values) }),
        clock.nowMs(),
        batch,
      ),
  },
  // These read whole tables. What they remove is harmless.
  { name: 'lookups without a key', everyMs: dayMs, run: ({ shards, clock }) => reap(reapLookups, shards, clock) },
  {
    name: 'memberships without a member',
    everyMs: dayMs,
    run: ({ shards, clock }) => reap(reapMemberships, shards, clock),
  },
];

/** For the table of retentions, which names the job of each table. */
export const jobNames: readonly string[] = [...shardJobs, ...controlJobs].map(({ name }) => name);

/** Its pages are read at once, so it never asks to run again. */
async function reap(
  work: (shards: Shards<WorkerShard>, nowMs: number) => Promise<number>,
  shards: Shards<WorkerShard>,
  clock: Clock,
): Promise<number> {
  await work(shards, clock.nowMs());
  return 0;
}

/** Batches run in parallel: while the cards of one batch are charged, the intents of the next are recorded. */
const billingWidth = 3;
const billingCount = 64;

async function billAllDue(subscriptions: Subscriptions): Promise<number> {
  const found = await Promise.all(Array.from({ length: billingWidth }, () => subscriptions.billDue(billingCount)));
  return found.some((count) => count === billingCount) ? batch : 0;
}

export function startWorker(dependencies: WorkerDependencies): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { shards, log, outbound, webhookSecretKey: secretKey } = dependencies;
  const onShards: Promise<void>[] = [];
  const dispatchers: { stop(): Promise<void> }[] = [];
  shards.each((shard) => {
    if (stopping.signal.aborted) return;
    const { name, db, batchDb, clock } = shard;
    const onShard = { ...dependencies, ...shard, elsewhere: elsewhereThan(shards, name, (there) => there.db) };
    for (const job of shardJobs) {
      const alarm = job.wokenBy === undefined ? undefined : listenFor(job.wokenBy, onShard);
      onShards.push(loop(job, onShard, stopping.signal, alarm));
    }
    const elsewhere = elsewhereThan(shards, name, (there) => there.batchDb);
    dispatchers.push(startDispatcher({ db, batchDb, clock, log, outbound, secretKey, random: Math.random, elsewhere }));
  });
  const onControl = controlJobs.map((job) => loop(job, dependencies, stopping.signal, undefined));
  return {
    async stop() {
      stopping.abort();
      await Promise.all([...onShards, ...onControl, ...dispatchers.map((dispatcher) => dispatcher.stop())]);
    },
  };
}

/** Emits an event for each message of a channel. Without it the job still runs at its own interval. */
function listenFor(channel: string, { db, log }: OnShard): EventEmitter {
  const alarm = new EventEmitter();
  const ring = (): boolean => alarm.emit('ring');
  db.listen(channel, ring, ring).catch((error: unknown) =>
    log.warn({ err: error, channel }, 'cannot listen for notifications of the database'),
  );
  return alarm;
}

async function loop<Dependencies extends WorkerDependencies & { readonly name?: string }>(
  job: Job<Dependencies>,
  dependencies: Dependencies,
  stopped: AbortSignal,
  alarm: EventEmitter | undefined,
): Promise<void> {
  let rung = false;
  alarm?.on('ring', () => {
    rung = true;
  });
  while (!stopped.aborted) {
    let done = 0;
    rung = false;
    try {
      done = await job.run(dependencies);
    } catch (error) {
      countFailure({ job: job.name });
      dependencies.log.error({ err: error, job: job.name, shard: dependencies.name }, 'job failed; it will be retried');
    }
    if (done < batch && !rung && !stopped.aborted) await pause(job.everyMs, stopped, alarm);
  }
}

function pause(ms: number, stopped: AbortSignal, alarm?: EventEmitter): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const wake = (): void => resolve();
  stopped.addEventListener('abort', wake, { once: true });
  alarm?.once('ring', wake);
  return promise.finally(() => {
    clearTimeout(timer);
    stopped.removeEventListener('abort', wake);
    alarm?.off('ring', wake);
  });
}
