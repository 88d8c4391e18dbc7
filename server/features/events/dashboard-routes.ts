import { uuidParameter } from '../../http/query-parameters.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import { timeline } from './schemas.ts';
import { getTimeline } from './timeline.ts';

export function eventDashboardRoutes(): Route[] {
  return [
    defineRoute({
      tag: 'Events',
      resource: 'object',
      method: 'GET',
      path: '/dashboard/timeline',
      operationId: 'getTimeline',
      summary: 'List the timeline of an object, oldest first',
      permission: 'events:read',
      category: 'read',
      idempotency: 'none',
      parameters: { object_id: uuidParameter('The object.') },
      success: { status: 200, schema: timeline, shape: 'other' },
      errors: [],
      handle: async ({ context, query }) => (query.object_id ? getTimeline(context, query.object_id) : { data: [] }),
    }),
  ];
}
