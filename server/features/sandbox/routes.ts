import Type from 'typebox';
import { ApiError } from '../../errors.ts';
import { defineRoute, type RequestContext, type Route } from '../../http/route.ts';
import { order } from '../orders/schemas.ts';
import type { Orders } from '../orders/service.ts';

/** What only a sandbox can do: make things happen that otherwise take a cardholder, a bank or time. */

const chargebackResolve = Type.Object(
  { outcome: Type.Enum(['accepted', 'dismissed']) },
  { additionalProperties: false, title: 'ChargebackResolve' },
);

const common = {
  tag: 'Sandbox',
  resource: 'order',
  method: 'POST',
  permission: 'orders:write',
  category: 'write',
  idempotency: 'optional',
  success: { status: 200, schema: order, shape: 'resource' },
  errors: ['invalid_state_transition', 'resource_in_use'],
} as const;

function sandboxOnly(context: RequestContext): RequestContext {
  if (context.company.mode === 'sandbox') return context;
  throw new ApiError('insufficient_permissions', 'This call works with sandbox keys only.');
}

export function sandboxRoutes(orders: Orders): Route[] {
  return [
    defineRoute({
      ...common,
      path: '/v1/sandbox/orders/:id/chargeback',
      operationId: 'raiseChargeback',
      summary: 'Dispute an order',
      description: 'As the cardholder would: the order becomes `chargeback`.',
      handle: ({ context, params }) => orders.raiseChargeback(sandboxOnly(context), params.id ?? ''),
    }),
    defineRoute({
      ...common,
      path: '/v1/sandbox/orders/:id/chargeback/resolve',
      operationId: 'resolveChargeback',
      summary: 'End a dispute',
      description: '`accepted`: the merchant gives in. `dismissed`: the merchant wins.',
      body: chargebackResolve,
      bodyExample: { outcome: 'dismissed' },
      handle: ({ context, params, body }) =>
        orders.resolveChargeback(sandboxOnly(context), params.id ?? '', body.outcome),
    }),
  ];
}
