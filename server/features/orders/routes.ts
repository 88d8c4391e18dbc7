import { createdAtFilters, listSchema } from '../../http/lists.ts';
import {
  booleanParameter,
  cardBrandsParameter,
  centsFilters,
  choicesParameter,
  currenciesParameter,
  textParameter,
  uuidParameter,
} from '../../http/query-parameters.ts';
import { defineList, definePhased, defineRoute, type Route } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import { failureCode, order, orderCapture, orderCreate, orderRefund, orderStatus } from './schemas.ts';
import type { OfCompany } from '../../request-context.ts';
import type { Orders } from './service.ts';

const common = { tag: 'Orders', resource: 'order' } as const;
const writes = { permission: 'orders:write', category: 'write' } as const;
const fields = { name: 'orders', schema: order };

export function orderRoutes(orders: OfCompany<Orders>): Route[] {
  return [
    definePhased({
      ...common,
      ...writes,
      method: 'POST',
      path: '/v1/orders',
      operationId: 'createOrder',
      summary: 'Create an order and charge it',
      description:
        'Creating an order charges the card, or with `capture: manual` only holds the funds. A declined card is not an error: the order has the status `failed` and a ' +
        '`failure_code`. 502 `gateway_error` means that the outcome is unknown: repeat the request with the same idempotency key.',
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
        'restore_in_progress',
      ],
      phased: ({ context, body }, key) => orders(context).create(context, body, key),
    }),
    defineList({
      ...common,
      path: '/v1/orders',
      operationId: 'listOrders',
      summary: 'List orders',
      permission: 'orders:read',
      fields,
      expand: { customer: 'customers:read', consents: 'orders:read' },
      sorts: ['total'],
      filters: {
        q: textParameter(
          limits.searchLength,
          'Only orders with this number or its first four characters or more, a customer with these words in name, email or ' +
            'company, this amount (for example `49.00`), a card with these last four digits, or a product with this text in its ' +
            'name or SKU.',
        ),
        customer_id: uuidParameter('Filters by customer.'),
        subscription_id: uuidParameter('Only orders of this subscription.'),
        product_id: uuidParameter('Only orders that contain this product.'),
        coupon_id: uuidParameter('Only orders with this coupon.'),
        plan_id: uuidParameter('Only orders of subscriptions to this plan.'),
        status: choicesParameter(orderStatus, 'statuses'),
        authorized: booleanParameter(
          '`true` for orders whose funds are held now, so that they can be captured or voided.',
        ),
        failure_code: choicesParameter(failureCode, 'failure codes of failed orders'),
        currency: currenciesParameter,
        card_brand: cardBrandsParameter,
        ...centsFilters('total'),
        ...createdAtFilters,
      },
      success: { status: 200, schema: listSchema('OrderList', order, '/v1/orders'), shape: 'list' },
      errors: [],
      handle: ({ context, query, page, expand }) => orders(context).list(context, query, page, expand),
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
      expand: { customer: 'customers:read', consents: 'orders:read' },
      success: { status: 200, schema: order, shape: 'resource' },
      errors: [],
      handle: ({ context, params, expand }) => orders(context).get(context, params.id ?? '', expand),
    }),
    definePhased({
      ...common,
      ...writes,
      method: 'POST',
      path: '/v1/orders/:id/refund',
      operationId: 'refundOrder',
      summary: 'Refund an order',
      description:
        'Refunds the remaining balance, or `amount` for a partial refund. The response shows the order as refunded and the refund as `in_progress`. An ' +
        'event is sent when the refund settles. Use a new idempotency key for each refund.',
      idempotency: 'optional',
      body: orderRefund,
      bodyExample: { amount: 4900 },
      success: { status: 200, schema: order, shape: 'resource' },
      errors: ['invalid_state_transition', 'resource_in_use', 'gateway_error', 'restore_in_progress'],
      phased: ({ context, params, body }, key) => orders(context).refund(context, params.id ?? '', body, key),
    }),
    definePhased({
      ...common,
      ...writes,
      method: 'POST',
      path: '/v1/orders/:id/capture',
      operationId: 'captureOrder',
      summary: 'Capture the held funds of an order',
      description:
        'Takes the funds that an order with `capture: manual` holds: all of them, or `amount`, and then releases the rest. An order can be ' +
        'captured once. A refused capture is not an error: the order stays `pending` with a failed transaction, or is `voided` if the funds are ' +
        'not held any more.',
      idempotency: 'optional',
      body: orderCapture,
      bodyExample: { amount: 4900 },
      success: { status: 200, schema: order, shape: 'resource' },
      errors: ['invalid_state_transition', 'resource_in_use', 'gateway_error', 'restore_in_progress'],
      phased: ({ context, params, body }, key) => orders(context).capture(context, params.id ?? '', body, key),
    }),
    definePhased({
      ...common,
      ...writes,
      method: 'POST',
      path: '/v1/orders/:id/void',
      operationId: 'voidOrder',
      summary: 'Void an order',
      description:
        'Releases the held funds of an order with `capture: manual`, or cancels a charge that has not settled. The customer pays nothing.',
      idempotency: 'optional',
      success: { status: 200, schema: order, shape: 'resource' },
      errors: ['invalid_state_transition', 'resource_in_use', 'gateway_error', 'restore_in_progress'],
      phased: ({ context, params }, key) => orders(context).void(context, params.id ?? '', key),
    }),
    definePhased({
      ...common,
      ...writes,
      method: 'POST',
      path: '/v1/orders/:id/retry',
      operationId: 'retryOrder',
      summary: 'Retry a failed charge or refund',
      description:
        'Charges the card of the order again, or retries a rejected refund. To use another card, create a new order.',
      idempotency: 'optional',
      success: { status: 200, schema: order, shape: 'resource' },
      errors: [
        { code: 'invalid_state_transition', status: 400 },
        'merchant_not_configured',
        'resource_in_use',
        'gateway_error',
        'restore_in_progress',
      ],
      phased: ({ context, params }, key) => orders(context).retry(context, params.id ?? '', key),
    }),
  ];
}
