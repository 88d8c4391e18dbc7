import { createdAtFilters, listSchema } from '../../http/lists.ts';
import { centsFilters, choicesParameter, uuidParameter } from '../../http/query-parameters.ts';
import { defineList, definePhased, defineRoute, type Route } from '../../http/route.ts';
import { order, orderCreate, orderRefund, orderStatus } from './schemas.ts';
import type { Orders } from './service.ts';

const common = { tag: 'Orders', resource: 'order' } as const;
const writes = { permission: 'orders:write', category: 'write' } as const;
const fields = { name: 'orders', schema: order };

export function orderRoutes(orders: Orders): Route[] {
  return [
    definePhased({
      ...common,
      ...writes,
      method: 'POST',
      path: '/v1/orders',
      operationId: 'createOrder',
      summary: 'Create an order and charge it',
      description:
        'Creating the order is the charge. A declined card is not an error: the order comes back `failed` with its ' +
        '`failure_code`. 502 `gateway_error` means that nobody knows yet; repeat the request with the same key.',
      idempotency: 'required',
      body: orderCreate,
      bodyExample: {
        customer_id: '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60',
        items: [{ product_id: '019c4c1e-9a10-7d20-a1b2-c3d4e5f60718', quantity: 2 }],
      },
      success: { status: 201, schema: order, shape: 'resource' },
      errors: [
        'resource_not_found',
        'invalid_request',
        'customer_not_configured',
        'merchant_not_configured',
        'resource_in_use',
        'gateway_error',
      ],
      phased: ({ context, body }, key) => orders.create(context, body, key),
    }),
    defineList({
      ...common,
      path: '/v1/orders',
      operationId: 'listOrders',
      summary: 'List orders',
      permission: 'orders:read',
      fields,
      expand: { customer: 'customers:read' },
      sorts: ['total'],
      filters: {
        customer_id: uuidParameter('Those of this customer.'),
        subscription_id: uuidParameter('Those that charged this subscription.'),
        status: choicesParameter(orderStatus, 'statuses'),
        ...centsFilters('total'),
        ...createdAtFilters,
      },
      success: { status: 200, schema: listSchema('OrderList', order, '/v1/orders'), shape: 'list' },
      errors: [],
      handle: ({ context, query, page, expand }) => orders.list(context, query, page, expand),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: '/v1/orders/:id',
      operationId: 'getOrder',
      summary: 'Retrieve an order',
      permission: 'orders:read',
      category: 'read',
      idempotency: 'none',
      fields,
      expand: { customer: 'customers:read' },
      success: { status: 200, schema: order, shape: 'resource' },
      errors: [],
      handle: ({ context, params, expand }) => orders.get(context, params.id ?? '', expand),
    }),
    definePhased({
      ...common,
      ...writes,
      method: 'POST',
      path: '/v1/orders/:id/refund',
      operationId: 'refundOrder',
      summary: 'Refund an order',
      description:
        'All that is left, or `amount`. The answer already shows the order refunded and the refund `in_progress`; it ' +
        'settles afterwards, and an event tells when. Use a fresh idempotency key for each refund.',
      idempotency: 'optional',
      body: orderRefund,
      bodyExample: { amount: 4900 },
      success: { status: 200, schema: order, shape: 'resource' },
      errors: ['invalid_state_transition', 'resource_in_use', 'gateway_error'],
      phased: ({ context, params, body }, key) => orders.refund(context, params.id ?? '', body, key),
    }),
    definePhased({
      ...common,
      ...writes,
      method: 'POST',
      path: '/v1/orders/:id/retry',
      operationId: 'retryOrder',
      summary: 'Retry a failed charge or refund',
      description:
        'Charges the order’s own card again, or sends a rejected refund again. For another card, create a new order.',
      idempotency: 'optional',
      success: { status: 200, schema: order, shape: 'resource' },
      errors: [
        { code: 'invalid_state_transition', status: 400 },
        'merchant_not_configured',
        'resource_in_use',
        'gateway_error',
      ],
      phased: ({ context, params }, key) => orders.retry(context, params.id ?? '', key),
    }),
  ];
}
