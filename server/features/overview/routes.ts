import { textParameter, uuidParameter } from '../../http/query-parameters.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import type { Clock } from '../../platform/clock.ts';
import { found, inDoubt, waitingCharges } from './schemas.ts';
import { getInDoubt, getWaiting, search } from './service.ts';

const common = {
  tag: 'Overview',
  method: 'GET',
  category: 'read',
  idempotency: 'none',
  mayUseReplica: true,
  errors: [],
} as const;

/** Used only by the dashboard. */
export function overviewRoutes(clock: Clock): Route[] {
  return [
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
      resource: 'transaction',
      path: '/dashboard/waiting_charges',
      operationId: 'listWaitingCharges',
      summary: 'List charges that were not sent yet',
      permission: 'orders:read',
      parameters: { order_id: uuidParameter('Only the charge of this order.') },
      success: { status: 200, schema: waitingCharges, shape: 'other' },
      handle: ({ context, query }) => getWaiting(context, query.order_id ?? null),
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
