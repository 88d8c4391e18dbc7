import { integerParameter, momentParameter, textParameter } from '../../http/query-parameters.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import type { Clock } from '../../platform/clock.ts';
import { found, inDoubt, statistics } from './schemas.ts';
import { getInDoubt, getStatistics, search } from './service.ts';

const common = { tag: 'Overview', method: 'GET', category: 'read', idempotency: 'none', errors: [] } as const;

/** Used only by the dashboard. */
export function overviewRoutes(clock: Clock): Route[] {
  return [
    defineRoute({
      ...common,
      resource: 'statistics',
      path: '/dashboard/statistics',
      operationId: 'getStatistics',
      summary: 'Retrieve statistics for a period',
      permission: 'orders:read',
      parameters: {
        days: integerParameter(1, limits.statisticsDays, 'Number of days, if `from` is not set.', 30),
        from: momentParameter('The first day.'),
        to: momentParameter('The last day. Default: today, by the clock of the company.'),
        currency: textParameter(3, 'Default: the currency with the highest volume.'),
      },
      success: { status: 200, schema: statistics, shape: 'other' },
      handle: ({ context, query }) => getStatistics(context, query),
    }),
    defineRoute({
      ...common,
      resource: 'transaction',
      path: '/dashboard/in_doubt',
      operationId: 'listInDoubt',
      summary: 'List in-doubt payments',
      permission: 'transactions:read',
      success: { status: 200, schema: inDoubt, shape: 'other' },
      handle: ({ context }) => getInDoubt(context, clock.nowMs()),
    }),
    defineRoute({
      ...common,
      resource: 'object',
      path: '/dashboard/search',
      operationId: 'search',
      summary: 'Search by ID, number or name',
      permission: null,
      parameters: { q: textParameter(limits.searchLength, 'The text to search for.') },
      success: { status: 200, schema: found, shape: 'other' },
      handle: async ({ context, query }) => (query.q ? search(context, query.q.trim()) : { data: [] }),
    }),
  ];
}
