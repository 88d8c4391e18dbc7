import { createdAtFilters, listSchema } from '../../http/lists.ts';
import { booleanParameter, listParameter, textParameter } from '../../http/query-parameters.ts';
import { defineList, defineRoute, type Route } from '../../http/route.ts';
import { deletion } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { customer, customerCreate, customerUpdate } from './schemas.ts';
import {
  changeCustomer,
  createCustomer,
  type CustomerReferences,
  deleteCustomer,
  emailKeyOf,
  getCustomer,
  getCustomers,
  lockedCustomer,
} from './service.ts';

const common = { tag: 'Customers', resource: 'customer' } as const;
const fields = { name: 'customers', schema: customer };

export function customerRoutes(references: CustomerReferences): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'POST',
      path: '/v1/customers',
      operationId: 'createCustomer',
      summary: 'Create a customer',
      description: 'Creates a customer without a card. Attach a card afterwards.',
      permission: 'customers:write',
      category: 'write',
      idempotency: 'optional',
      body: customerCreate,
      bodyExample: { email: 'ada@example.com', first_name: 'Ada', last_name: 'Lovelace', phone: '+15551234567' },
      success: { status: 201, schema: customer, shape: 'resource' },
      errors: ['email_already_exists', 'phone_already_exists'],
      handle: ({ context, body }) => createCustomer(context, body),
    }),
    defineList({
      ...common,
      path: '/v1/customers',
      operationId: 'listCustomers',
      summary: 'List customers',
      permission: 'customers:read',
      fields,
      expand: { payment_methods: 'payment_methods:read', subscriptions: 'subscriptions:read' },
      sorts: ['updated_at'],
      filters: {
        email: textParameter(limits.emailLength, 'The exact email address, not case-sensitive.'),
        q: textParameter(
          limits.searchLength,
          'Searches for beginnings of words in the name, email address and company.',
        ),
        tags: listParameter(
          (tag) =>
            tag === '' || [...tag].length > limits.tagLength
              ? `must be tags of 1 to ${limits.tagLength} characters each`
              : undefined,
          'Only customers with all of these tags.',
        ),
        deleted: booleanParameter('`true` includes deleted customers.', false),
        ...createdAtFilters,
      },
      success: { status: 200, schema: listSchema('CustomerList', customer, '/v1/customers'), shape: 'list' },
      errors: [],
      handle: ({ context, query, page, expand }) =>
        getCustomers(
          context,
          references,
          {
            ...query,
            emailKey: query.email === undefined ? undefined : emailKeyOf(query.email),
            q: query.q,
            tags: query.tags,
            includeDeleted: query.deleted ?? false,
          },
          page,
          expand,
        ),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: '/v1/customers/:id',
      operationId: 'getCustomer',
      summary: 'Retrieve a customer',
      description: 'A deleted customer with orders has `deleted: true`.',
      permission: 'customers:read',
      category: 'read',
      idempotency: 'none',
      fields,
      expand: { payment_methods: 'payment_methods:read', subscriptions: 'subscriptions:read' },
      version: customerUpdate,
      success: { status: 200, schema: customer, shape: 'resource' },
      errors: [],
      handle: ({ context, params, expand }) => getCustomer(context, references, params.id ?? '', expand),
    }),
    defineRoute({
      ...common,
      method: 'PATCH',
      path: '/v1/customers/:id',
      operationId: 'updateCustomer',
      summary: 'Update a customer',
      description: 'Omitted fields keep their value. `shipping_address` is replaced as a whole; null removes it.',
      permission: 'customers:write',
      category: 'write',
      idempotency: 'optional',
      body: customerUpdate,
      bodyExample: { phone: '+15557654321', metadata: { crm_id: 'c-1002' } },
      success: { status: 200, schema: customer, shape: 'resource' },
      errors: ['email_already_exists', 'phone_already_exists', 'invalid_request'],
      current: ({ context, params }) => lockedCustomer(context, params.id ?? ''),
      handle: ({ context, params, body }) => changeCustomer(context, params.id ?? '', body),
    }),
    defineRoute({
      ...common,
      method: 'DELETE',
      path: '/v1/customers/:id',
      operationId: 'deleteCustomer',
      summary: 'Delete a customer',
      description:
        'A customer with orders is marked as deleted. Any other customer is removed. You can repeat this call.',
      permission: 'customers:write',
      category: 'write',
      idempotency: 'optional',
      success: { status: 200, schema: deletion('customer'), shape: 'other' },
      errors: ['customer_has_active_subscriptions'],
      handle: ({ context, params }) => deleteCustomer(context, params.id ?? '', references),
    }),
  ];
}
