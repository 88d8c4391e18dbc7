import { createdAtFilters, listSchema } from '../../http/lists.ts';
import { uuidParameter } from '../../http/query-parameters.ts';
import { defineList, type Route } from '../../http/route.ts';
import { creditEntry } from './schemas.ts';
import { getEntries } from './service.ts';

/** Used only by the dashboard. */
export function creditDashboardRoutes(): Route[] {
  return [
    defineList({
      tag: 'Customers',
      resource: 'credit entry',
      path: '/dashboard/credit_entries',
      operationId: 'listCreditEntries',
      summary: 'List the changes of the credit of all customers',
      permission: 'credit:read',
      sorts: [],
      filters: { customer_id: uuidParameter('Only entries of this customer.'), ...createdAtFilters },
      success: {
        status: 200,
        schema: listSchema('CreditEntryList', creditEntry, '/dashboard/credit_entries'),
        shape: 'list',
      },
      errors: [],
      handle: ({ context, query, page }) => getEntries(context, query, page),
    }),
  ];
}
