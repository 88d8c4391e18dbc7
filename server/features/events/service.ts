import { notFound } from '../../errors.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import { latestVersion } from '../../http/versions/versions.ts';
import { changedFields } from '../../platform/changed-fields.ts';
import { eventIdOf, newId } from '../../platform/ids.ts';
import { traceparent } from '../../platform/spans.ts';
import type { EventType } from './catalogue.ts';
import { type EventFacts, envelopeOf } from './envelope.ts';
import { type EventFilters, type EventRow, findEvent, insertEvents, latestEvents, listEvents } from './queries.ts';
import type { Queryable } from '../../platform/database.ts';
import type { Event } from './schemas.ts';
import type { RequestContext } from '../../request-context.ts';

export { eventCatalogue, eventPattern, eventType, type EventType, eventTypes } from './catalogue.ts';
export { getFeed } from './feed.ts';
export { envelopeOf, envelopeText, type EventFacts, type StoredEvent } from './envelope.ts';
export type { EventRow } from './queries.ts';

/** Creates an event, to be emitted in the transaction of the change that it describes. */
export function newEvent(
  companyId: string,
  nowMs: number,
  type: EventType,
  object: { readonly id: string },
  sequence: number,
  requestId: string | null,
  previous: object | null = null,
): EventRow {
  const trace = traceparent();
  return {
    company_id: companyId,
    id: newId(nowMs),
    type,
    object_id: object.id,
    sequence,
    request_id: requestId,
    object,
    previous,
    ...(trace !== undefined && { trace }),
  };
}

/** Returns the previous values of the fields that changed. */
export const previousOf = changedFields;

const shown = ({ company }: RequestContext, event: EventFacts): Event =>
  envelopeOf(event, company.mode === 'live', latestVersion);

export async function getEvent(context: RequestContext, id: string): Promise<Event> {
  const event = await findEvent(context.db, context.company.id, id);
  if (!event) throw notFound('event');
  return shown(context, event);
}

export async function getEvents(
  context: RequestContext,
  filters: EventFilters,
  page: PageRequest,
): Promise<Page<Event>> {
  const found = await listEvents(context.db, context.company.id, filters, page);
  return {
    ...found,
    items: found.items.map((event) => shown(context, event)),
    next: found.next && eventIdOf(found.next),
    previous: found.previous && eventIdOf(found.previous),
  };
}

/** Emits events in the transaction of the change that they describe. */
export async function emitEvents(db: Queryable, events: readonly EventRow[]): Promise<void> {
  await insertEvents(db, events);
}

export async function getLatestEvents(db: Queryable, companyId: string, count: number): Promise<EventFacts[]> {
  return latestEvents(db, companyId, count);
}
