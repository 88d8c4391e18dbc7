import { integerParameter, uuidParameter } from '../../http/query-parameters.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import { creditCreate, creditEntry, customerCredit } from './schemas.ts';
import { changeCredit, getCredit } from './service.ts';

const common = { tag: 'Customers', resource: 'customer', path: '/v1/customers/:id/credit' } as const;

export function creditRoutes(): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'GET',
      operationId: 'getCustomerCredit',
      summary: 'Retrieve the credit of a customer',
      description: 'Returns the balance in each currency, and the newest entries.',
      permission: 'credit:read',
      category: 'read',
      idempotency: 'none',
      parameters: {
        limit: integerParameter(1, limits.pageSizeMax, 'Number of entries.', limits.pageSize),
        starting_after: uuidParameter('Returns the entries that are older than the one with this ID.'),
      },
      success: { status: 200, schema: customerCredit, shape: 'other' },
      errors: [],
      handle: ({ context, params, query }) => getCredit(context, params.id ?? '', query),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      operationId: 'createCustomerCredit',
      summary: 'Grant credit to a customer, or take it back',
      description:
        'Adds an entry, which cannot be changed. The balance is never negative, and it is never paid out to the card.',
      permission: 'credit:write',
      category: 'write',
      idempotency: 'required',
      audit: 'with_change',
      body: creditCreate,
      bodyExample: { type: 'grant', amount: 1500, currency: 'usd', reason: 'Late delivery in March' },
      success: { status: 201, schema: creditEntry, shape: 'resource' },
      errors: ['resource_not_found', 'invalid_request'],
      handle: ({ context, params, body }) => changeCredit(context, params.id ?? '', body),
    }),
  ];
}
