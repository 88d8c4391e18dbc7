import { notFound } from '../../errors.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import { createdAt } from '../../platform/ids.ts';
import { customersById } from '../customers/service.ts';
import type { Order } from '../orders/schemas.ts';
import { findTransaction, listTransactions, type TransactionFilters, type TransactionRow } from './queries.ts';
import type { Transaction } from './schemas.ts';
import type { RequestContext } from '../../request-context.ts';

/** Single operations at the processor, as the API shows them. Orders record them. */

/** Returns the orders that transactions are expanded with. */
export type OrdersById = (context: RequestContext, ids: readonly string[]) => Promise<Map<string, Order>>;

function authenticationOf({ processor_response }: TransactionRow): Transaction['authentication'] {
  const result = processor_response?.authentication;
  if (!result) return null;
  const { flow, status, liabilityShifted, version, eci } = result;
  return { status, flow, liability_shifted: liabilityShifted, version, eci };
}

function responseOf({ processor_response }: TransactionRow): Transaction['processor_response'] {
  if (!processor_response) return null;
  const { authentication: _, ...response } = processor_response;
  return response;
}

function toWire(row: TransactionRow): Transaction {
  return {
    id: row.id,
    type: row.type,
    status: row.status,
    amount: row.amount,
    currency: row.currency,
    customer_id: row.customer_id,
    order_id: row.order_id,
    payment_method: { id: row.payment_method_id, card_last_four: row.card_last4, card_brand: row.card_brand },
    processor_response: responseOf(row),
    authentication: authenticationOf(row),
    failure_reason: row.failure_reason,
    failure_code: row.failure_code,
    description: row.description,
    metadata: row.metadata ?? {},
    settled_at: row.settled_at?.toISOString() ?? null,
    created_at: createdAt(row.id),
    updated_at: row.updated_at.toISOString(),
  };
}

async function expanded(
  context: RequestContext,
  ordersById: OrdersById,
  transactions: readonly Transaction[],
  expand: ReadonlySet<string>,
): Promise<Transaction[]> {
  const customers = expand.has('customer')
    ? await customersById(
        context,
        transactions.map(({ customer_id }) => customer_id),
      )
    : undefined;
  const orders = expand.has('order')
    ? await ordersById(
        context,
        transactions.map(({ order_id }) => order_id ?? ''),
      )
    : undefined;
  return transactions.map((transaction) => {
    const customer = customers?.get(transaction.customer_id);
    const order = orders?.get(transaction.order_id ?? '');
    return { ...transaction, ...(customer && { customer }), ...(order && { order }) };
  });
}

export async function getTransaction(
  context: RequestContext,
  ordersById: OrdersById,
  id: string,
  expand: ReadonlySet<string>,
): Promise<Transaction> {
  const row = await findTransaction(context.db, context.company.id, id);
  if (!row) throw notFound('transaction');
  const [transaction] = await expanded(context, ordersById, [toWire(row)], expand);
  return transaction ?? toWire(row);
}

export async function getTransactions(
  context: RequestContext,
  ordersById: OrdersById,
  filters: TransactionFilters,
  page: PageRequest,
  expand: ReadonlySet<string>,
): Promise<Page<Transaction>> {
  const found = await listTransactions(context, filters, page);
  return { ...found, items: await expanded(context, ordersById, found.items.map(toWire), expand) };
}
