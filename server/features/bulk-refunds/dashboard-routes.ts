import { defineRoute, type Route } from '../../http/route.ts';
import { bulkRefund, bulkRefundCreate } from './schemas.ts';
import { createBulkRefund, getBulkRefund } from './service.ts';

const common = { tag: 'Orders', resource: 'bulk refund' } as const;

/** Used only by the dashboard. */
export function bulkRefundRoutes(): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'POST',
      path: '/dashboard/bulk_refunds',
      operationId: 'createBulkRefund',
      summary: 'Refund the remaining balance of several orders',
      permission: 'orders:write',
      category: 'write',
      idempotency: 'optional',
      stepUp: true,
      body: bulkRefundCreate,
      success: { status: 201, schema: bulkRefund, shape: 'resource' },
      errors: ['resource_in_use'],
      handle: ({ context, body }) => createBulkRefund(context, body),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: '/dashboard/bulk_refunds/:id',
      operationId: 'getBulkRefund',
      summary: 'Retrieve a bulk refund with the result of each order',
      permission: 'orders:read',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: bulkRefund, shape: 'resource' },
      errors: [],
      handle: ({ context, params }) => getBulkRefund(context, params.id ?? ''),
    }),
  ];
}
