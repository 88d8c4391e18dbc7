import { uuidParameter } from '../../http/query-parameters.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import { receipt } from './schemas.ts';
import { getReceipt, type ReceiptLinks } from './service.ts';

export function receiptRoutes(links: ReceiptLinks): Route[] {
  return [
    defineRoute({
      tag: 'Orders',
      resource: 'order',
      method: 'GET',
      path: '/v1/orders/:id/receipt',
      operationId: 'getOrderReceipt',
      summary: 'Retrieve the receipt of an order',
      description:
        'Returns a link to the receipt as a PDF. The first request gives the receipt its number. An order without a payment has no receipt. The receipt shows the customer only if the caller has `customers:read`.',
      permission: 'orders:read',
      category: 'read',
      idempotency: 'none',
      parameters: { refund_id: uuidParameter('A refund transaction of the order, for the receipt of the refund.') },
      success: { status: 200, schema: receipt, shape: 'resource' },
      errors: ['resource_not_found', 'invalid_state_transition'],
      handle: ({ context, params, query }) => getReceipt(context, links, params.id ?? '', query.refund_id),
    }),
  ];
}
