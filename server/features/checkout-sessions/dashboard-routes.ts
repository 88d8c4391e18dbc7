import Type from 'typebox';
import { defineRoute, type Route } from '../../http/route.ts';
import { nullable, timestamp } from '../../http/schemas.ts';
import type { OfCompany } from '../../request-context.ts';
import { checkoutDraft, showDraft } from './draft-preview.ts';
import { type CheckoutPageDependencies, getCardTesting } from './service.ts';

const cardTesting = Type.Object(
  {
    under_attack: Type.Boolean({ description: 'Whether the checkout pages ask for a proof of work now.' }),
    started_at: nullable(timestamp()),
    last_at: nullable(timestamp()),
    declined: Type.Integer({ description: 'Declined payments beyond the limit, since `started_at`.' }),
  },
  { title: 'CardTesting' },
);

/** Used only by the dashboard. */
export function checkoutDashboardRoutes(checkout: OfCompany<Pick<CheckoutPageDependencies, 'images'>>): Route[] {
  return [
    defineRoute({
      tag: 'Checkout',
      resource: 'preview',
      method: 'POST',
      path: '/dashboard/checkout_preview',
      operationId: 'previewCheckout',
      summary: 'Show the checkout page of a draft',
      permission: 'payment_links:read',
      category: 'read',
      idempotency: 'none',
      audit: 'none',
      body: checkoutDraft,
      success: { status: 200, schema: Type.Object({}, { description: 'What the page shows.' }), shape: 'other' },
      errors: ['invalid_request', 'resource_not_found'],
      handle: ({ context, body }) => showDraft(checkout(context), context, body),
    }),
    defineRoute({
      tag: 'Checkout',
      resource: 'card testing',
      method: 'GET',
      path: '/dashboard/card_testing',
      operationId: 'getCardTesting',
      summary: 'Show whether thieves test cards on your checkout pages',
      permission: 'orders:read',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: cardTesting, shape: 'other' },
      errors: [],
      handle: ({ context }) => getCardTesting(context),
    }),
  ];
}
