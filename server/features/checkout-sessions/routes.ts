import { createdAtFilters, listSchema } from '../../http/lists.ts';
import { choicesParameter, uuidParameter } from '../../http/query-parameters.ts';
import { defineList, defineRoute, type Route } from '../../http/route.ts';
import { checkoutSession, checkoutSessionCreate, checkoutStatus } from './schemas.ts';
import { createSession, expireNow, getSession, getSessions, type LinkDependencies } from './service.ts';

const common = { tag: 'Checkout', resource: 'checkout session' } as const;
const path = '/v1/checkout_sessions';
const fields = { name: 'checkout_sessions', schema: checkoutSession };

export function checkoutSessionRoutes(dependencies: LinkDependencies): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'POST',
      path,
      operationId: 'createCheckoutSession',
      summary: 'Create a checkout session',
      description:
        'Returns the `url` of a page on which the customer pays. Send the customer there. `checkout_session.completed` ' +
        'reports the payment; the page then leads to `success_url`.',
      permission: 'checkout_sessions:write',
      category: 'write',
      idempotency: 'optional',
      secretAnswer: true,
      body: checkoutSessionCreate,
      bodyExample: {
        mode: 'payment',
        items: [{ product_id: '019c4c1e-9a10-7d20-a1b2-c3d4e5f60718', quantity: 1 }],
        success_url: 'https://shop.example.com/thanks',
        cancel_url: 'https://shop.example.com/cart',
      },
      success: { status: 201, schema: checkoutSession, shape: 'resource' },
      errors: ['resource_not_found', 'invalid_request', 'merchant_not_configured'],
      handle: ({ context, body }) => createSession(context, dependencies, body),
    }),
    defineList({
      ...common,
      path,
      operationId: 'listCheckoutSessions',
      summary: 'List checkout sessions',
      description: 'Sessions that expired are listed for 30 days.',
      permission: 'checkout_sessions:read',
      fields,
      sorts: [],
      filters: {
        status: choicesParameter(checkoutStatus, 'statuses'),
        customer_id: uuidParameter('Filters by customer.'),
        payment_link_id: uuidParameter('Only sessions of this payment link.'),
        ...createdAtFilters,
      },
      success: { status: 200, schema: listSchema('CheckoutSessionList', checkoutSession, path), shape: 'list' },
      errors: [],
      handle: ({ context, query, page }) => getSessions(context, dependencies, query, page),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: `${path}/:id`,
      operationId: 'getCheckoutSession',
      summary: 'Retrieve a checkout session',
      permission: 'checkout_sessions:read',
      category: 'read',
      idempotency: 'none',
      fields,
      success: { status: 200, schema: checkoutSession, shape: 'resource' },
      errors: [],
      handle: ({ context, params }) => getSession(context, dependencies, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: `${path}/:id/expire`,
      operationId: 'expireCheckoutSession',
      summary: 'Expire a checkout session',
      description: 'The page can then no longer be paid. A session whose payment is in progress cannot expire.',
      permission: 'checkout_sessions:write',
      category: 'write',
      idempotency: 'optional',
      success: { status: 200, schema: checkoutSession, shape: 'resource' },
      errors: ['invalid_state_transition', 'resource_in_use'],
      handle: ({ context, params }) => expireNow(context, params.id ?? ''),
    }),
  ];
}
