import { defineRoute, type Route } from '../../http/route.ts';
import { linkVisits } from './schemas.ts';
import { getVisits } from './service.ts';

/** Used only by the dashboard. */
export function paymentLinkDashboardRoutes(): Route[] {
  return [
    defineRoute({
      tag: 'Checkout',
      resource: 'payment link',
      method: 'GET',
      path: '/dashboard/payment_links/:id/visits',
      operationId: 'getPaymentLinkVisits',
      summary: 'Count the visits of a payment link, and how many of them paid',
      permission: 'payment_links:read',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: linkVisits, shape: 'other' },
      errors: [],
      handle: ({ context, params }) => getVisits(context, params.id ?? ''),
    }),
  ];
}
