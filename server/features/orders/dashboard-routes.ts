import Type from 'typebox';
import { defineRoute, type Route } from '../../http/route.ts';
import { order } from './schemas.ts';
import type { Orders } from './service.ts';
import { choice } from '../../platform/choice.ts';

const common = {
  tag: 'Orders',
  resource: 'order',
  method: 'POST',
  permission: 'orders:write',
  category: 'write',
  idempotency: 'optional',
  success: { status: 200, schema: order, shape: 'resource' },
  errors: [],
} as const;

const resolution = Type.Object({ outcome: choice(['accepted', 'dismissed']) }, { additionalProperties: false });

/** What operators do to orders; the API has no calls for it. */
export function orderDashboardRoutes(orders: Orders): Route[] {
  return [
    defineRoute({
      ...common,
      path: '/dashboard/orders/:id/void',
      operationId: 'voidOrder',
      summary: 'Take back a charge that has not settled',
      // It calls the processor, so it cannot be part of a transaction.
      prepare: ({ context, params }) => orders.void(context, params.id ?? ''),
      handle: async ({ prepared }) => prepared,
    }),
    defineRoute({
      ...common,
      path: '/dashboard/orders/:id/chargeback/resolve',
      operationId: 'resolveChargeback',
      summary: 'Accept or dismiss a chargeback',
      body: resolution,
      handle: ({ context, params, body }) => orders.resolveChargeback(context, params.id ?? '', body.outcome),
    }),
  ];
}
