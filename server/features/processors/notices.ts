import { ApiError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import type { Database, Queryable } from '../../platform/database.ts';
import { dayMs, hourMs, minuteMs } from '../../platform/durations.ts';
import type { Logger } from '../../platform/log.ts';
import { counter } from '../../platform/metrics.ts';
import { type Shards, UnknownShardError } from '../../shards/shards.ts';
import type { Vault } from '../../vault/vault.ts';
import { hearOfCard } from '../card-setups/service.ts';
import type { Orders } from '../orders/service.ts';
import {
  claimNotices,
  claimPolls,
  deleteOldNotices,
  keepNotices,
  markApplied,
  markWaiting,
  type NoticeRow,
  noteRefusal,
  noticesChannel,
  type PolledConnection,
  savePollCursor,
} from './notice-queries.ts';
import { findConnectionById } from './queries.ts';

/**
 * Receives what processors report later. A notice is kept before it is acknowledged, and applied afterwards, once; what it
 * is about may not be recorded yet.
 */

export interface NoticeDependencies {
  readonly db: Database;
  readonly vault: Pick<Vault, 'receive' | 'poll'>;
  readonly orders: Pick<Orders, 'applyNotice'>;
  readonly log: Logger;
}

export interface ReceiveDependencies extends Pick<NoticeDependencies, 'vault' | 'log'> {
  readonly shards: Pick<Shards, 'all' | 'away' | 'of'>;
}

const countNotice = counter('svc_processor_notices_total');

export interface Received {
  readonly status: 200 | 400;
  readonly body: string;
}

/** A forged, stale or unreadable delivery changes nothing. If our own vault is away, the processor sends it again. */
export async function receiveNotices(
  { vault, log }: Pick<ReceiveDependencies, 'vault' | 'log'>,
  { db, connection }: NotifiedConnection,
  headers: Readonly<Record<string, string | undefined>>,
  body: Buffer,
): Promise<Received> {
  const { company_id: companyId, id: connectionId, kind, account_id: accountId } = connection;
  const delivery = { headers, body, ...(accountId && { accountId }) };
  const reception = await vault.receive({ companyId, connectionId, ...delivery });
  if (reception.outcome === 'refused') {
    countNotice({ processor: kind, result: 'refused' });
    log.warn({ company_id: companyId, connection_id: connectionId, reason: reception.reason }, 'a notice was refused');
    await noteRefusal(db, connection, reception.reason);
    return { status: 400, body: `The notice was refused: ${reception.reason}.` };
  }
  const { notices, reply = '' } = reception;
  const kept = notices.length > 0 ? await keepNotices(db, connection, notices) : 0;
  countNotice({ processor: kind, result: 'kept' }, kept);
  countNotice({ processor: kind, result: 'repeated' }, notices.length - kept);
  return { status: 200, body: reply };
}

export interface NotifiedConnection {
  readonly shard: string;
  readonly db: Queryable;
  readonly connection: NonNullable<Awaited<ReturnType<typeof findConnectionById>>>;
}

/**
 * The URL has no company, so every shard is asked. A shard that hangs does not delay the notices of the others. If one cannot answer, the
 * processor sends the notice again. Returns undefined if there is no such connection.
 */
export async function findNotifiedConnection(
  { all, away, of }: Pick<Shards, 'all' | 'away' | 'of'>,
  connectionId: string,
): Promise<NotifiedConnection | undefined> {
  const first = Promise.withResolvers<NotifiedConnection>();
  const asking = Promise.allSettled(
    all.map(async ({ name: shard, db }) => {
      const connection = await findConnectionById(db, connectionId);
      if (connection) first.resolve({ shard, db, connection });
      return connection;
    }),
  );
  const found = await Promise.race([first.promise, asking]);
  if ('connection' in found) {
    // The workers of the shard must apply the notice soon.
    of(found);
    return found.connection.removed_at ? undefined : found;
  }
  const failed = found.find((one) => one.status === 'rejected');
  if (failed) throw failed.reason;
  if (away.size > 0) throw new UnknownShardError('The company of the notice may be on a shard that is away.');
  return undefined;
}

export { noticesChannel };

/**
 * What a notice is about is usually recorded within seconds. If the process that sends it has died, it is reserved for
 * 30 seconds more. After an outage it takes longer.
 */
export const noticeDelaysMs = [
  2_000,
  5_000,
  10_000,
  15_000,
  minuteMs,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  6 * hourMs,
  dayMs,
];

/** How often a notice about a payment that was not made here is tried: for six and a half minutes. */
const foreignTries = 6;
/** After a restore: daily for five weeks, because the payment may be recorded when its request is repeated. */
const patientTries = noticeDelaysMs.length + 35;

/** Applies one batch of notices that are due. Returns how many there were. */
export async function applyDueNotices(dependencies: NoticeDependencies, count: number): Promise<number> {
  const notices = await claimNotices(dependencies.db, count, noticeDelaysMs);
  // One after the other, so that notices about one charge keep their order.
  for (const notice of notices) await apply(dependencies, notice);
  return notices.length;
}

async function apply({ db, orders, log }: NoticeDependencies, notice: NoticeRow): Promise<void> {
  const { company_id, connection_id, id, type, about, happened_at, tries } = notice;
  const context = { company_id, connection_id, notice_id: id, type };
  try {
    const place = { companyId: company_id, connectionId: connection_id };
    const { isDone, isForeign, isPatient, result } =
      about.kind === 'card_set_up'
        ? { isDone: true, result: await hearOfCard(db, place, about) }
        : await orders.applyNotice({ ...place, about, happenedAt: happened_at });
    // The first try has no delay before it.
    const triesMax = isForeign ? foreignTries : isPatient ? patientTries : noticeDelaysMs.length;
    const isGivenUp = !isDone && tries > triesMax;
    if (isGivenUp && isForeign) log.warn({ ...context, result }, 'a notice is about a payment that was not made here');
    else if (isGivenUp) log.error({ ...context, result }, 'a notice of a processor could not be applied');
    await (isDone || isGivenUp ? markApplied : markWaiting)(db, notice, result);
  } catch (error) {
    const level = error instanceof ApiError ? 'warn' : 'error';
    log[level]({ ...context, err: error }, 'a notice of a processor is applied later');
  }
}

export async function forgetOldNotices(db: Queryable, count: number): Promise<number> {
  return deleteOldNotices(db, limits.noticeRetentionDays, count);
}

export const pollEveryMs = 10 * minuteMs;

/** Asks processors for what they do not send as a notice, settlements for example. */
export async function pollProcessors(dependencies: NoticeDependencies, count: number): Promise<number> {
  const due = await claimPolls(dependencies.db, pollEveryMs, count);
  await Promise.all(due.map((connection) => poll(dependencies, connection)));
  return due.length;
}

async function poll({ db, vault, log }: NoticeDependencies, connection: PolledConnection): Promise<void> {
  const { company_id: companyId, id: connectionId } = connection;
  try {
    for (let after = connection.poll_cursor; ; ) {
      const polled = await vault.poll({ companyId, connectionId, ...(after !== null && { after }) });
      if (!polled) return;
      if (polled.notices.length > 0) await keepNotices(db, connection, polled.notices);
      await savePollCursor(db, companyId, connectionId, polled.cursor);
      if (!polled.hasMore || polled.cursor === after) return;
      after = polled.cursor;
    }
  } catch (error) {
    log.warn({ company_id: companyId, connection_id: connectionId, err: error }, 'a processor could not be polled');
  }
}
