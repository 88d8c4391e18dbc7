import { defineRoute, type Route } from '../../http/route.ts';
import { reconciliationState } from './schemas.ts';
import { getState } from './service.ts';

/** Used only by the dashboard. */
export function reconciliationRoutes(): Route[] {
  return [
    defineRoute({
      tag: 'Overview',
      resource: 'operation',
      method: 'GET',
      path: '/dashboard/reconciliation',
      operationId: 'getReconciliation',
      summary: 'Retrieve whether the database was restored, and the missing operations',
      permission: 'transactions:read',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: reconciliationState, shape: 'other' },
      errors: [],
      handle: ({ context }) => getState(context),
    }),
  ];
}
