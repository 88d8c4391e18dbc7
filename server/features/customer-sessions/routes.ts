import { defineRoute, type Route } from '../../http/route.ts';
import { customerSession, customerSessionCreate } from './schemas.ts';
import { createCustomerSession, type CustomerPageDependencies, getCustomerSession } from './service.ts';

const common = { tag: 'Customer page', resource: 'customer session' } as const;
const path = '/v1/customer_sessions';

export function customerSessionRoutes(dependencies: CustomerPageDependencies): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'POST',
      path,
      operationId: 'createCustomerSession',
      summary: 'Create a link to the customer page',
      description:
        'Returns the `url` of a page on which the customer sees subscriptions and payments, changes the card, pays a ' +
        'failed renewal and cancels. The link is valid for one hour. Create it when the customer, who is signed in to ' +
        'your site, asks for the page, and redirect there.',
      permission: 'customer_sessions:write',
      category: 'write',
      idempotency: 'optional',
      secretAnswer: true,
      body: customerSessionCreate,
      bodyExample: {
        customer_id: '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60',
        return_url: 'https://shop.example.com/account',
      },
      success: { status: 201, schema: customerSession, shape: 'resource' },
      errors: ['resource_not_found', 'invalid_request'],
      handle: ({ context, body }) => createCustomerSession(context, dependencies, body),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: `${path}/:id`,
      operationId: 'getCustomerSession',
      summary: 'Retrieve a customer session',
      description: 'A session is deleted some days after it has expired.',
      permission: 'customer_sessions:read',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: customerSession, shape: 'resource' },
      errors: [],
      handle: ({ context, params }) => getCustomerSession(context, params.id ?? ''),
    }),
  ];
}
