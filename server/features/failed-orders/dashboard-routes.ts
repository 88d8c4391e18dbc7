import { defineRoute, type Route } from '../../http/route.ts';
import { linkRequest, sentLink, sentRequest, whatNow } from './schemas.ts';
import { type FailedOrderDependencies, getWhatNow, requestCard, requestPayment } from './service.ts';

const common = { tag: 'Orders', resource: 'order' } as const;
const writes = { ...common, method: 'POST', category: 'write', idempotency: 'optional' } as const;

/** Used only by the dashboard. */
export function failedOrderRoutes(dependencies: FailedOrderDependencies): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'GET',
      path: '/dashboard/orders/:id/what_now',
      operationId: 'getWhatNow',
      summary: 'What can be done about a failed order',
      permission: 'orders:read',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: whatNow, shape: 'other' },
      errors: [],
      handle: ({ context, params }) => getWhatNow(context, dependencies, params.id ?? ''),
    }),
    defineRoute({
      ...writes,
      path: '/dashboard/orders/:id/payment_link',
      operationId: 'requestPayment',
      summary: 'Ask the customer of a failed order to pay it with a payment link',
      permission: 'payment_links:write',
      body: linkRequest,
      success: { status: 200, schema: sentLink, shape: 'other' },
      errors: ['invalid_state_transition', 'resource_in_use', 'invalid_request', 'too_many_requests'],
      handle: ({ context, params, body }) => requestPayment(context, dependencies, params.id ?? '', body.send),
    }),
    defineRoute({
      ...writes,
      path: '/dashboard/orders/:id/card_request',
      operationId: 'requestCard',
      summary: 'Ask the customer of a failed order for another card',
      permission: 'customer_sessions:write',
      success: { status: 200, schema: sentRequest, shape: 'other' },
      errors: ['invalid_state_transition', 'invalid_request', 'too_many_requests'],
      handle: ({ context, params }) => requestCard(context, dependencies, params.id ?? ''),
    }),
  ];
}
