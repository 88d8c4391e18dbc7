import type { RequestContext } from '../../request-context.ts';
import { consentsOf } from '../consents/service.ts';
import { customersById } from '../customers/service.ts';
import type { Order } from './schemas.ts';

/** Adds what the caller asked for with `expand`. */
export async function expanded(
  context: RequestContext,
  orders: readonly Order[],
  expand: ReadonlySet<string>,
): Promise<Order[]> {
  const { db, company } = context;
  const ids = (name: 'id' | 'customer_id'): string[] => orders.map((order) => order[name]);
  const customers = expand.has('customer') ? await customersById(context, ids('customer_id')) : undefined;
  const consents = expand.has('consents') ? await consentsOf(db, company.id, 'order_id', ids('id')) : undefined;
  return orders.map((order) => {
    const customer = customers?.get(order.customer_id);
    return { ...order, ...(customer && { customer }), ...(consents && { consents: consents.get(order.id) ?? [] }) };
  });
}
