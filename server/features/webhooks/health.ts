import { hourMs, minuteMs } from '../../platform/durations.ts';
import { createdAt, firstIdOf } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import { requireEnabled, logToWire } from './deliveries.ts';
import {
  countFailed,
  findAttempts,
  findFailingSince,
  findLastAttempt,
  resendFailed,
  sumRecentAttempts,
} from './health-queries.ts';
import type { DeliveryLog, Health, Resent } from './schemas.ts';
import { getEndpoint } from './service.ts';

/** How an endpoint is doing, for the dashboard. */

export const failedMax = 10_000;

export async function getHealth(context: RequestContext, id: string): Promise<Health> {
  const { db, company, nowMs } = context;
  await getEndpoint(context, id);
  const [recent, failed, failingSince] = await Promise.all([
    sumRecentAttempts(db, company.id, id, firstIdOf(nowMs - 24 * hourMs)),
    countFailed(db, company.id, id, failedMax),
    findFailingSince(db, company.id, id, new Date(nowMs)),
  ]);
  return {
    attempts: recent.attempts,
    failed_attempts: recent.failed,
    median_ms: recent.median_ms,
    last_success_at: recent.last_success_id && createdAt(recent.last_success_id),
    failed_events: failed.failed,
    first_failed_at: failed.first_id && createdAt(failed.first_id),
    failing_since: failingSince?.toISOString() ?? null,
  };
}

export async function getAttempts(context: RequestContext, id: string, eventId: string): Promise<DeliveryLog[]> {
  const { db, company } = context;
  await getEndpoint(context, id);
  const last = await findLastAttempt(db, company.id, id, eventId);
  if (!last) return [];
  const first = firstIdOf(Date.parse(createdAt(eventId)));
  // The log is written after the time of the attempt.
  const rows = await findAttempts(db, company.id, id, eventId, first, firstIdOf(last.getTime() + minuteMs));
  return rows.map(logToWire);
}

export async function resendSince(context: RequestContext, id: string, sinceMs: number): Promise<Resent> {
  const { db, company } = context;
  return db.transaction(async (transaction) => {
    await requireEnabled({ ...context, db: transaction }, id);
    return { resent: await resendFailed(transaction, company.id, id, firstIdOf(sinceMs), failedMax) };
  });
}
