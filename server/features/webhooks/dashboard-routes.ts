import Type, { type Static } from 'typebox';
import { ApiError } from '../../errors.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import { nullable, timestamp } from '../../http/schemas.ts';
import { hourMs, minuteMs } from '../../platform/durations.ts';
import { createdAt, firstIdOf } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import { logToWire } from './deliveries.ts';
import { countFailed, findAttempts, findLastAttempt, resendFailed, sumRecentAttempts } from './health-queries.ts';
import { type DeliveryLog, deliveryLog } from './schemas.ts';
import { getEndpoint } from './service.ts';

/** How an endpoint is doing, for the dashboard. */

const count = Type.Integer({ minimum: 0 });
const failedMax = 10_000;

const health = Type.Object({
  /** Of the last 24 hours, at most the last thousand attempts. */
  attempts: count,
  failed_attempts: count,
  median_ms: nullable(count),
  last_success_at: nullable(timestamp()),
  /** Events that were not delivered and are not tried again. At most 10,000 are counted. */
  failed_events: count,
  first_failed_at: nullable(timestamp()),
});
export type Health = Static<typeof health>;

const attempts = Type.Object({ data: Type.Array(deliveryLog) });

const resend = Type.Object({ since: timestamp() }, { additionalProperties: false });
const resent = Type.Object({ resent: count });

const common = {
  tag: 'Webhooks',
  resource: 'webhook endpoint',
  permission: 'webhook_endpoints:read',
  errors: [],
} as const;
const reads = { method: 'GET', category: 'read', idempotency: 'none' } as const;
const path = '/dashboard/webhook_endpoints/:id';

export function webhookDashboardRoutes(): Route[] {
  return [
    defineRoute({
      ...common,
      ...reads,
      path: `${path}/health`,
      operationId: 'getWebhookEndpointHealth',
      summary: 'Retrieve the recent results of an endpoint',
      success: { status: 200, schema: health, shape: 'other' },
      handle: ({ context, params }) => getHealth(context, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      ...reads,
      path: `${path}/events/:eventId/attempts`,
      operationId: 'listDeliveryAttempts',
      summary: 'List the attempts to deliver an event',
      success: { status: 200, schema: attempts, shape: 'other' },
      handle: async ({ context, params }) => ({
        data: await getAttempts(context, params.id ?? '', params.eventId ?? ''),
      }),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: `${path}/resend_failed`,
      operationId: 'resendFailedEvents',
      summary: 'Resend all events that were not delivered',
      description: `Resends at most ${failedMax.toLocaleString('en-US')} events, the oldest first. Repeat it to resend more.`,
      permission: 'webhook_endpoints:write',
      category: 'write',
      idempotency: 'optional',
      body: resend,
      success: { status: 200, schema: resent, shape: 'other' },
      handle: ({ context, params, body }) => resendSince(context, params.id ?? '', Date.parse(body.since)),
    }),
  ];
}

async function getHealth(context: RequestContext, id: string): Promise<Health> {
  const { db, company, nowMs } = context;
  await getEndpoint(context, id);
  const [recent, failed] = await Promise.all([
    sumRecentAttempts(db, company.id, id, firstIdOf(nowMs - 24 * hourMs)),
    countFailed(db, company.id, id, failedMax),
  ]);
  return {
    attempts: recent.attempts,
    failed_attempts: recent.failed,
    median_ms: recent.median_ms,
    last_success_at: recent.last_success_id && createdAt(recent.last_success_id),
    failed_events: failed.failed,
    first_failed_at: failed.first_id && createdAt(failed.first_id),
  };
}

async function getAttempts(context: RequestContext, id: string, eventId: string): Promise<DeliveryLog[]> {
  const { db, company } = context;
  await getEndpoint(context, id);
  const last = await findLastAttempt(db, company.id, id, eventId);
  if (!last) return [];
  const first = firstIdOf(Date.parse(createdAt(eventId)));
  // The log is written after the time of the attempt.
  const rows = await findAttempts(db, company.id, id, eventId, first, firstIdOf(last.getTime() + minuteMs));
  return rows.map(logToWire);
}

async function resendSince(context: RequestContext, id: string, sinceMs: number): Promise<Static<typeof resent>> {
  const { db, company } = context;
  return db.transaction(async (transaction) => {
    const endpoint = await getEndpoint({ ...context, db: transaction }, id);
    if (endpoint.status === 'disabled') {
      throw new ApiError('invalid_request', 'This endpoint is disabled. Enable it first.', { param: 'id' });
    }
    return { resent: await resendFailed(transaction, company.id, id, firstIdOf(sinceMs), failedMax) };
  });
}
