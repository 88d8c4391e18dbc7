import { expireAgentApprovals, forgetAgentApprovals } from '../features/agent-approvals/jobs.ts';
import { removeOldTokens, removeUnreferencedCards } from '../features/payment-methods/jobs.ts';
import { makeCustomerEmails, makeReminders } from '../features/customer-emails/jobs.ts';
import type { EmailDependencies } from '../features/customer-emails/mail.ts';
import { removeExpiredLinks, forgetOldMails, sendDueMails } from '../features/mails/jobs.ts';
import { type AuditDays, forgetOldEntries } from '../features/audit/jobs.ts';
import { executeBulkRefunds } from '../features/bulk-refunds/jobs.ts';
import { continuePriceChanges } from '../features/price-changes/jobs.ts';
import { forgetOldExports, writeExports } from '../features/exports/jobs.ts';
import { bringBackDueTimes } from './bring-back.ts';
import { atOnce, inBatches, type Job } from './job.ts';
import { measureTables } from './table-sizes.ts';
import { exportedLists } from './exported-lists.ts';
import { continueSetups } from '../features/card-setups/jobs.ts';
import { continuePayments, expireSessions, forgetOldSessions } from '../features/checkout-sessions/jobs.ts';
import { completeSetupSession } from '../features/checkout-sessions/setup.ts';
import { forgetCustomerSessions } from '../features/customer-sessions/jobs.ts';
import { sumEndedDays } from '../features/figures/jobs.ts';
import { maintainPartitions } from '../features/events/jobs.ts';
import { maintainRequestPartitions } from '../features/requests/jobs.ts';
import { eraseEvidence } from '../features/disputes/service.ts';
import { numberInvoices } from '../features/invoices/jobs.ts';
import { documentsOf } from '../features/invoices/service.ts';
import type { openRenderer } from '../features/receipts/service.ts';
import { applyDueNotices, forgetOldNotices, noticesChannel, pollProcessors } from '../features/processors/notices.ts';
import { compareClosed } from '../features/reconciliation/jobs.ts';
import { indexOrderObjects } from '../features/orders/jobs.ts';
import { operationsDueChannel, type Orders } from '../features/orders/service.ts';
import { deleteUnreferencedFiles } from '../features/products/jobs.ts';
import { continueSampleData } from '../features/sample-data/jobs.ts';
import { continueRehearsals } from '../features/rehearsals/jobs.ts';
import { rehearsalsChannel } from '../features/rehearsals/service.ts';
import { sampleDataChannel } from '../features/sample-data/service.ts';
import { type Subscriptions, subscriptionsDueChannel } from '../features/subscriptions/service.ts';
import { reapSignUps } from '../features/users/service.ts';
import { disableFailingEndpoints } from '../features/webhooks/service.ts';
import { reapIdempotencyKeys } from '../http/key-queries.ts';
import type { WorkLeft } from '../platform/alarm.ts';
import type { Clock } from '../platform/clock.ts';
import type { DatabasePool, Queryable } from '../platform/database.ts';
import { hourMs } from '../platform/durations.ts';
import type { FileStore } from '../platform/files/file-store.ts';
import type { Mailer } from '../platform/mail/mailer.ts';
import type { Logger } from '../platform/log.ts';
import type { Replica } from '../platform/replica.ts';
import type { Vault } from '../vault/vault.ts';
import type { Outbound } from '../platform/outbound/outbound.ts';
import type { ServiceKey } from '../platform/service-keys.ts';
import type { MovedTo } from '../shards/follow.ts';
import type { Shards } from '../shards/shards.ts';

/** What the worker has on each shard. */
export interface WorkerShard {
  readonly name: string;
  readonly db: DatabasePool;
  /** For the webhook dispatcher. */
  readonly batchDb: Queryable;
  readonly clock: Clock;
  readonly orders: Orders;
  readonly subscriptions: Subscriptions;
  readonly replica?: Replica | undefined;
  /** What the last question to the shard showed. */
  readonly seen: { isUp: boolean };
}

export interface WorkerDependencies {
  readonly shards: Shards<WorkerShard>;
  /** The time of the control plane. */
  readonly clock: Clock;
  readonly files: FileStore;
  readonly vault: Vault;
  /** Undefined if mails are only stored. */
  readonly mailer: Mailer | undefined;
  /** Makes the documents that emails carry. */
  readonly renderer: Pick<ReturnType<typeof openRenderer>, 'render'>;
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
export interface OnShard extends WorkerDependencies, WorkerShard {
  readonly movedTo: MovedTo<Queryable>;
}

const noticeBatch = 100;
const mailBatch = 20;
const checkoutBatch = 20;
const refundBatch = 10;
const pollBatch = 20;

/**
 * The jobs that run on each shard by itself: a shard that is away delays no other. Every job may run in any number of
 * processes at once.
 */
export const shardJobs = [
  {
    name: 'open transactions',
    everyMs: 1_000,
    wokenBy: operationsDueChannel,
    run: inBatches(({ orders }, size) => orders.reconcileDue(size)),
  },
  { name: 'processors that answer again', everyMs: 30_000, run: atOnce(({ orders }) => orders.probeConnections()) },
  {
    name: 'due subscriptions',
    everyMs: 1_000,
    wokenBy: subscriptionsDueChannel,
    run: ({ subscriptions }) => billAllDue(subscriptions),
  },
  {
    name: 'comparisons after a restore',
    everyMs: 2_000,
    run: async (shard) => {
      const others = shard.shards.all.filter(({ name }) => name !== shard.name);
      return (await compareClosed({ ...shard, others })) > 0 ? 'more' : 'idle';
    },
  },
  { name: 'due chargebacks', everyMs: 500, run: inBatches(({ orders }, size) => orders.raiseDueChargebacks(size)) },
  { name: 'ended authorizations', everyMs: 15_000, run: inBatches(({ orders }, size) => orders.releaseEnded(size)) },
  {
    name: 'customers at their bank',
    everyMs: 1_000,
    run: inBatches(({ orders }, size) => orders.askAboutCustomers(size)),
  },
  {
    name: 'cards at the bank',
    everyMs: 1_000,
    run: inBatches((shard, size) => continueSetups(shard, completeSetupSession, size)),
  },
  { name: 'index of orders', everyMs: 10_000, run: ({ db, clock, log }) => indexOrderObjects(db, clock, log) },
  { name: 'numbers of invoices', everyMs: 1_000, run: ({ db, clock, log }) => numberInvoices(db, clock, log) },
  { name: 'unanswered disputes', everyMs: 5_000, run: inBatches(({ orders }, size) => orders.loseDueDisputes(size)) },
  {
    name: 'notices of processors',
    everyMs: 1_000,
    wokenBy: noticesChannel,
    run: inBatches(applyDueNotices, noticeBatch),
  },
  {
    name: 'checkout payments',
    everyMs: 2_000,
    run: inBatches((shard, size) => continuePayments(shard, shard, shard.log, size), checkoutBatch),
  },
  { name: 'due checkout sessions', everyMs: 5_000, run: inBatches(expireSessions) },
  { name: 'old checkout sessions', everyMs: hourMs, run: inBatches(({ db }, size) => forgetOldSessions(db, size)) },
  {
    name: 'old customer sessions',
    everyMs: hourMs,
    run: inBatches(({ db, clock }, size) => forgetCustomerSessions(db, clock, size)),
  },
  { name: 'expired approvals', everyMs: 60_000, run: inBatches(({ db }, size) => expireAgentApprovals(db, size)) },
  { name: 'old approvals', everyMs: hourMs, run: inBatches(({ db }, size) => forgetAgentApprovals(db, size)) },
  { name: 'polls of processors', everyMs: 30_000, run: inBatches(pollProcessors, pollBatch) },
  { name: 'bulk refunds', everyMs: 2_000, run: (shard) => executeBulkRefunds(shard, refundBatch) },
  { name: 'price changes', everyMs: 2_000, run: (shard) => continuePriceChanges(shard) },
  { name: 'exports', everyMs: 2_000, run: (shard) => writeExports(shard, exportedLists(shard)) },
  {
    name: 'sample data',
    everyMs: 10_000,
    wokenBy: sampleDataChannel,
    // A mail server would send the emails to people who do not exist.
    run: (shard) => continueSampleData({ ...shard, emails: shard.mailer ? undefined : shard.emails }),
  },
  {
    name: 'rehearsals',
    everyMs: 1_000,
    wokenBy: rehearsalsChannel,
    run: (shard) => continueRehearsals(shard),
  },
  { name: 'old exports', everyMs: 600_000, run: inBatches(({ db }, size) => forgetOldExports(db, size)) },
  { name: 'evidence of deleted customers', everyMs: hourMs, run: inBatches(({ db }, size) => eraseEvidence(db, size)) },
  { name: 'old notices', everyMs: hourMs, run: inBatches(({ db }, size) => forgetOldNotices(db, size)) },
  {
    name: 'expired idempotency keys',
    everyMs: 60_000,
    run: inBatches(({ db }, size) => reapIdempotencyKeys(db, size)),
  },
  {
    name: 'unreferenced files',
    everyMs: 30_000,
    run: inBatches(({ db, files }, size) => deleteUnreferencedFiles(db, files, size)),
  },
  {
    name: 'unreferenced cards',
    everyMs: 30_000,
    run: inBatches(({ db, vault }, size) => removeUnreferencedCards(db, vault, size)),
  },
  { name: 'old card tokens', everyMs: 60_000, run: inBatches(({ db }, size) => removeOldTokens(db, size)) },
  {
    name: 'failing webhook endpoints',
    everyMs: 60_000,
    run: atOnce(({ db, clock }) => disableFailingEndpoints(db, clock)),
  },
  { name: 'due mails', everyMs: 2_000, run: sendingMails({ toCustomers: false }) },
  { name: 'due emails to customers', everyMs: 2_000, run: sendingMails({ toCustomers: true }) },
  {
    name: 'emails to customers',
    everyMs: 2_000,
    run: async ({ emails, ...shard }) => (emails ? makeCustomerEmails(shard, emails) : 'idle'),
  },
  {
    name: 'reminders to customers',
    everyMs: 60_000,
    run: atOnce(async ({ emails, ...shard }) => emails && makeReminders(shard, emails)),
  },
  { name: 'daily figures', everyMs: 15_000, run: ({ db, log }) => sumEndedDays(db, log) },
  { name: 'expired links in mails', everyMs: 60_000, run: atOnce(({ db }) => removeExpiredLinks(db)) },
  {
    name: 'unfinished sign-ups',
    everyMs: 600_000,
    run: inBatches(({ shards, db, clock }, size) => reapSignUps(shards.control, { db }, clock.nowMs(), size)),
  },
  {
    name: 'times too far ahead',
    everyMs: 60_000,
    run: inBatches(({ db, log }, size) => bringBackDueTimes(db, log, size)),
  },
  {
    name: 'old mails',
    everyMs: hourMs,
    run: inBatches(({ db, retention }, size) => forgetOldMails(db, size, retention.mailDays)),
  },
  {
    name: 'old audit entries',
    everyMs: hourMs,
    run: inBatches(({ db, retention }, size) => forgetOldEntries(db, retention.audit, size)),
  },
  { name: 'sizes of tables', everyMs: hourMs, run: atOnce(({ db }) => measureTables(db)) },
  { name: 'partitions', everyMs: hourMs, run: atOnce(({ db }) => maintainPartitions(db)) },
  { name: 'partitions of requests', everyMs: hourMs, run: atOnce(({ db }) => maintainRequestPartitions(db)) },
] as const satisfies readonly Job<OnShard>[];

export type ShardJobName = (typeof shardJobs)[number]['name'];

function sendingMails({ toCustomers }: { readonly toCustomers: boolean }): Job<OnShard>['run'] {
  return inBatches(({ db, mailer, mailKey, log, movedTo, renderer }, size) => {
    const documentOf = documentsOf(db, (document, companyId) => renderer.render(document, companyId));
    return sendDueMails(db, mailer, mailKey, log, size, { toCustomers, movedTo, documentOf });
  }, mailBatch);
}

/** Batches run in parallel: while the cards of one batch are charged, the intents of the next are recorded. */
const billingWidth = 3;
const billingCount = 64;

async function billAllDue(subscriptions: Subscriptions): Promise<WorkLeft> {
  const found = await Promise.all(Array.from({ length: billingWidth }, () => subscriptions.billDue(billingCount)));
  return found.includes(billingCount) ? 'more' : 'idle';
}
