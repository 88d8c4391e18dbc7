import { ApiError, invalidField, notFound } from '../../errors.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import { createdAt, eventIdOf, newId } from '../../platform/ids.ts';
import { envelopeOf, type EventFacts, type EventType, getLatestEvents } from '../events/service.ts';
import { replayDelivery } from './delivery-queries.ts';
import { getEndpoint, previousSecrets, type WebhookDependencies } from './service.ts';
import { type DeliveryRow, listDeliveries, listLogs, lockEndpoint, type LogRow, updateEndpoint } from './queries.ts';
import type { Delivery, DeliveryLog, EndpointTest, TestResult, VersionMove, VersionMoved } from './schemas.ts';
import { keysOf } from './secrets.ts';
import { send } from './send.ts';
import type { RequestContext } from '../../request-context.ts';

/** The deliveries of an endpoint: list, test and resend. */

function deliveryToWire(row: DeliveryRow): Delivery {
  return {
    id: eventIdOf(row.id),
    type: row.type,
    created_at: createdAt(row.id),
    delivery_status: row.status,
    attempts: row.attempts,
    last_attempt_at: row.last_attempt_at?.toISOString() ?? null,
    next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
    data: { object: row.object, ...(row.previous && { previous: row.previous }) },
  };
}

export function logToWire(row: LogRow): DeliveryLog {
  return {
    id: row.id,
    event_id: eventIdOf(row.event_id),
    event_type: row.event_type,
    attempt: row.attempt,
    status: row.status,
    http_status: row.http_status,
    duration_ms: row.duration_ms,
    error: row.error,
    request_headers: row.request_headers,
    response_body: row.response_body,
    created_at: createdAt(row.id),
  };
}

export async function getDeliveries(
  context: RequestContext,
  endpointId: string,
  status: DeliveryRow['status'] | undefined,
  page: PageRequest,
): Promise<Page<Delivery>> {
  await getEndpoint(context, endpointId);
  const found = await listDeliveries(context.db, context.company.id, endpointId, status, page);
  const asEventId = (id: string | null): string | null => (id === null ? null : eventIdOf(id));
  return {
    ...found,
    items: found.items.map(deliveryToWire),
    next: asEventId(found.next),
    previous: asEventId(found.previous),
  };
}

export async function getDeliveryLogs(
  context: RequestContext,
  endpointId: string,
  page: PageRequest,
): Promise<Page<DeliveryLog>> {
  await getEndpoint(context, endpointId);
  const found = await listLogs(context.db, context.company.id, endpointId, page);
  return { ...found, items: found.items.map(logToWire) };
}

/** An object that an event of this type could be about. */
export type ExampleObjects = (type: EventType) => object;

/** Uses the same timeout as a delivery, so that the result is valid for deliveries. */
export async function testEndpoint(
  context: RequestContext,
  dependencies: WebhookDependencies,
  endpointId: string,
  input: EndpointTest,
  exampleObjectOf: ExampleObjects,
): Promise<TestResult> {
  const { company, nowMs, requestId } = context;
  const row = await getEndpoint(context, endpointId);
  const id = newId(nowMs);
  const type = input.event_type ?? 'order.succeeded';
  const event: EventFacts = {
    id,
    type,
    sequence: 1,
    request_id: requestId,
    object: exampleObjectOf(type),
    previous: null,
  };
  const previous = previousSecrets(row, dependencies.clock.nowMs());
  const sealed = [row.secret, ...previous.map(({ secret }) => secret)];
  const envelope = envelopeOf(event, company.mode === 'live', input.api_version ?? row.api_version);
  const sent = await send(dependencies, {
    url: row.url,
    keys: keysOf(dependencies.secretKey, company.id, row.id, sealed),
    event: envelope,
    body: JSON.stringify(envelope),
    attempt: 1,
  });
  return {
    id: eventIdOf(id),
    webhook_endpoint_id: row.id,
    status: sent.succeeded ? 'success' : 'failed',
    http_status: sent.httpStatus,
    duration_ms: sent.durationMs,
    error: sent.error,
  };
}

const sampleSize = 3;

export async function moveVersion(
  context: RequestContext,
  endpointId: string,
  input: VersionMove,
  direction: 'upgrade' | 'downgrade',
): Promise<VersionMoved> {
  const { db, company, nowMs } = context;
  return db.transaction(async (transaction) => {
    const row = await lockEndpoint(transaction, company.id, endpointId);
    if (!row) throw notFound('webhook endpoint');
    const moves = direction === 'upgrade' ? input.api_version > row.api_version : input.api_version < row.api_version;
    if (!moves) {
      const side = direction === 'upgrade' ? 'later' : 'earlier';
      throw invalidField('api_version', `must be ${side} than ${row.api_version}, the version of this endpoint`);
    }
    const dryRun = input.dry_run ?? false;
    const events = await getLatestEvents(transaction, company.id, sampleSize);
    const livemode = company.mode === 'live';
    if (!dryRun) {
      const moved = { ...row, api_version: input.api_version, updated_at: new Date(nowMs) };
      await updateEndpoint(transaction, company.id, moved);
    }
    return {
      id: row.id,
      api_version: input.api_version,
      previous_api_version: row.api_version,
      dry_run: dryRun,
      sample: events.map((event) => ({
        event_id: eventIdOf(event.id),
        before: envelopeOf(event, livemode, row.api_version),
        after: envelopeOf(event, livemode, input.api_version),
      })),
    };
  });
}

/** For resending: nothing is sent to a disabled endpoint. */
export async function requireEnabled(context: RequestContext, id: string): Promise<void> {
  const { status } = await getEndpoint(context, id);
  if (status === 'enabled') return;
  throw new ApiError('invalid_request', 'This endpoint is disabled. Enable it first.', { param: 'id' });
}

export async function replayEvent(
  context: RequestContext,
  endpointId: string,
  eventId: string,
  force: boolean,
): Promise<Delivery> {
  const { db, company } = context;
  return db.transaction(async (transaction) => {
    await requireEnabled({ ...context, db: transaction }, endpointId);
    const done = await replayDelivery(transaction, company.id, endpointId, eventId, force);
    if (!done) throw notFound('event', 'eventId');
    if (!done.replayed) {
      throw new ApiError('invalid_request', 'This event was already delivered. Send force: true to resend it.', {
        param: 'force',
      });
    }
    const page = { limit: 1, sort: { field: 'created_at', descending: true }, cursor: null };
    const [row] = (await listDeliveries(transaction, company.id, endpointId, undefined, page, eventId)).items;
    if (!row) throw notFound('event', 'eventId');
    return deliveryToWire(row);
  });
}
