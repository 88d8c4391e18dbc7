import { defineRoute, type Route } from '../../http/route.ts';
import { deletion } from '../../http/schemas.ts';
import { customerSession, customerSessionCreate, deletedCustomerSessions } from './schemas.ts';
import {
  createCustomerSession,
  type CustomerPageDependencies,
  endCustomerSession,
  endCustomerSessions,
  getCustomerSession,
} from './service.ts';

const common = { tag: 'Customer page', resource: 'customer session' } as const;
const ends = {
  method: 'DELETE',
  permission: 'customer_sessions:write',
  category: 'write',
  idempotency: 'optional',
  errors: [],
} as const;
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
      description: 'A session is deleted some days after it has expired, and when it is ended before that.',
      permission: 'customer_sessions:read',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: customerSession, shape: 'resource' },
      errors: [],
      handle: ({ context, params }) => getCustomerSession(context, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      ...ends,
      path: `${path}/:id`,
      operationId: 'deleteCustomerSession',
      summary: 'End a customer session',
      description: 'The link to the customer page stops working at once.',
      success: { status: 200, schema: deletion('customer session'), shape: 'other' },
      handle: ({ context, params }) => endCustomerSession(context, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      ...ends,
      path: '/v1/customers/:id/customer_sessions',
      operationId: 'deleteCustomerSessions',
      summary: 'End all sessions of a customer',
      description:
        'All links to the page of the customer stop working at once, those in emails included. Use it if a link has come into ' +
        'the wrong hands. Sessions also end when the email address of the customer changes and when the customer is deleted.',
      success: { status: 200, schema: deletedCustomerSessions, shape: 'other' },
      handle: ({ context, params }) => endCustomerSessions(context, params.id ?? ''),
    }),
  ];
}
