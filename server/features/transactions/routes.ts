import { createdAtFilters, listSchema } from '../../http/lists.ts';
import {
  cardBrandsParameter,
  centsFilters,
  choicesParameter,
  currenciesParameter,
  textParameter,
  uuidParameter,
} from '../../http/query-parameters.ts';
import { defineList, defineRoute, type Route } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import { failureCode, transactionStatus, transactionType } from '../orders/schemas.ts';
import { transaction } from './schemas.ts';
import { getTransaction, getTransactions, type OrdersById } from './service.ts';

const common = { tag: 'Transactions', resource: 'transaction', permission: 'transactions:read' } as const;
const fields = { name: 'transactions', schema: transaction };
const expand = { customer: 'customers:read', order: 'orders:read' } as const;

export function transactionRoutes(ordersById: OrdersById): Route[] {
  return [
    defineList({
      ...common,
      path: '/v1/transactions',
      operationId: 'listTransactions',
      summary: 'List transactions',
      fields,
      expand,
      sorts: ['amount'],
      filters: {
        q: textParameter(
          limits.searchLength,
          'Only transactions of an order with this number or its first four characters or more, of a customer with these words in ' +
            'name, email or company, with this amount (for example `49.00`), or with a card with these last four digits.',
        ),
        customer_id: uuidParameter('Filters by customer.'),
        order_id: uuidParameter('Filters by order.'),
        status: choicesParameter(transactionStatus, 'statuses'),
        type: choicesParameter(transactionType, 'types'),
        failure_code: choicesParameter(failureCode, 'failure codes'),
        currency: currenciesParameter,
        card_brand: cardBrandsParameter,
        ...centsFilters('amount'),
        ...createdAtFilters,
      },
      success: { status: 200, schema: listSchema('TransactionList', transaction, '/v1/transactions'), shape: 'list' },
      errors: [],
      handle: ({ context, query, page, expand: wanted }) => getTransactions(context, ordersById, query, page, wanted),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: '/v1/transactions/:id',
      operationId: 'getTransaction',
      summary: 'Retrieve a transaction',
      category: 'read',
      idempotency: 'none',
      fields,
      expand,
      success: { status: 200, schema: transaction, shape: 'resource' },
      errors: [],
      handle: ({ context, params, expand: wanted }) => getTransaction(context, ordersById, params.id ?? '', wanted),
    }),
  ];
}
