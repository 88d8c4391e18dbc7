import Type from 'typebox';
import { defineRoute, type Route } from '../../http/route.ts';
import { order } from './schemas.ts';
import type { OfCompany } from '../../request-context.ts';
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

const resolution = Type.Object({ outcome: choice(['accepted', 'lost', 'dismissed']) }, { additionalProperties: false });

/** Operations on orders in the dashboard; the API has no calls for them. */
export function orderDashboardRoutes(orders: OfCompany<Orders>): Route[] {
  return [
    defineRoute({
      ...common,
      path: '/dashboard/orders/:id/chargeback/resolve',
      operationId: 'resolveChargeback',
      summary: 'Record how a dispute ended that no processor reports',
      body: resolution,
      handle: ({ context, params, body }) => orders(context).resolveChargeback(context, params.id ?? '', body.outcome),
    }),
  ];
}
