import type { TUnsafe } from 'typebox';
import { createdAtFilters, listSchema } from '../../http/lists.ts';
import { choicesParameter, integerParameter, textParameter, uuidParameter } from '../../http/query-parameters.ts';
import { defineList, defineRoute, type Route } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import { eventType } from './catalogue.ts';
import { cursorForm } from './feed.ts';
import { type Event, eventFeedOf } from './schemas.ts';
import { getEvent, getEvents, getFeed } from './service.ts';

const common = { tag: 'Events', resource: 'event', permission: 'events:read' } as const;

export function eventRoutes(event: TUnsafe<Event>): Route[] {
  return [
    defineList({
      ...common,
      path: '/v1/events',
      operationId: 'listEvents',
      summary: 'List events',
      description: `Lists the events of the last ${limits.eventRetentionDays} days.`,
      sorts: [],
      filters: {
        type: choicesParameter(eventType, 'types'),
        object_id: uuidParameter('Only events about this object.'),
        ...createdAtFilters,
      },
      success: { status: 200, schema: listSchema('EventList', event, '/v1/events'), shape: 'list' },
      errors: [],
      handle: ({ context, query, page }) => getEvents(context, query, page),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: '/v1/events/feed',
      operationId: 'readEventFeed',
      summary: 'Follow events',
      description:
        'Returns the events after a cursor, for programs that cannot receive webhooks. Without a cursor, it returns ' +
        'the current cursor. An event can appear more than once; compare its ID.',
      category: 'read',
      idempotency: 'none',
      parameters: {
        cursor: textParameter(limits.textLength, 'The cursor of the last response.', cursorForm.source),
        limit: integerParameter(1, limits.pageSizeMax, 'Maximum number of events in the response.', limits.pageSizeMax),
      },
      success: { status: 200, schema: eventFeedOf(event), shape: 'other' },
      errors: [],
      handle: ({ context, query }) => getFeed(context, query.cursor, query.limit ?? limits.pageSizeMax),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: '/v1/events/:id',
      operationId: 'getEvent',
      summary: 'Retrieve an event',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: event, shape: 'resource' },
      errors: [],
      handle: ({ context, params }) => getEvent(context, params.id ?? ''),
    }),
  ];
}
