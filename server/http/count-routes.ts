import Type from 'typebox';
import type { Page } from './lists.ts';
import { defineRoute, type PageRequest, type Route, type RouteRequest } from './route.ts';

/** For each list, a route of the dashboard that counts its objects with the same filters, so that no list waits for its count. */

const counted = Type.Object(
  {
    count: Type.Integer({ description: 'How many objects match, at most 10,000.' }),
    exact: Type.Boolean({ description: 'False if there are more, or if only part of the list was searched.' }),
  },
  { title: 'Count' },
);

const counting: PageRequest = {
  limit: 1,
  sort: { field: 'created_at', descending: true },
  cursor: null,
  counting: true,
};

export function countRoutes(routes: readonly Route[]): Route[] {
  return routes.flatMap((route) => (route.list && !route.path.includes(':') ? [countRoute(route)] : []));
}

function countRoute({ path, operationId, tag, resource, permission, list, handle }: Route): Route {
  return defineRoute({
    method: 'GET',
    path: `/dashboard/counts/${path.split('/').at(-1)}`,
    operationId: operationId.replace(/^list/, 'count'),
    tag,
    resource,
    summary: `Count the objects of ${path}`,
    permission,
    category: 'read',
    isSearch: true,
    mayUseReplica: true,
    idempotency: 'none',
    parameters: list?.filters ?? {},
    success: { status: 200, schema: counted, shape: 'other' },
    errors: [],
    handle: async (request) => {
      const page = (await handle?.({ ...request, page: counting } as RouteRequest<unknown, unknown>)) as Page<unknown>;
      return page.count ?? { count: page.items.length, exact: !page.hasMore };
    },
  });
}
