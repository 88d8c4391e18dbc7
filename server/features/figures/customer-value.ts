import { notFound } from '../../errors.ts';
import { lackingOf } from '../../http/caller.ts';
import type { ReadPermission } from '../../http/permissions.ts';
import { createdAt } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import { findLastOrder, findRevenue, findSpend, findSummaries, isCustomer } from './customer-value-queries.ts';
import type { CustomerSummaries, CustomerValue } from './schemas.ts';

const transactionsMax = 10_000;
/** Of each customer of a list. */
const summarizedMax = 250;

/** What a customer is worth, by currency. Parts that the member may not read are null. */
export async function getCustomerValue({ db, company, caller }: RequestContext, id: string): Promise<CustomerValue> {
  if (!(await isCustomer(db, company.id, id))) throw notFound('customer');
  const mayRead = (permission: ReadPermission): boolean => lackingOf(caller, [permission]).length === 0;
  const [spend, last, revenue] = await Promise.all([
    mayRead('orders:read') ? findSpend(db, company.id, id, transactionsMax) : null,
    mayRead('orders:read') ? findLastOrder(db, company.id, id) : undefined,
    mayRead('subscriptions:read') ? findRevenue(db, company.id, id) : null,
  ]);
  return {
    spend:
      spend?.map(({ currency, gross, refunded, payments, failed }) => ({
        currency,
        gross,
        refunded,
        payments,
        failed_payments: failed,
      })) ?? null,
    is_partial: (spend ?? []).reduce((sum, { rows }) => sum + rows, 0) >= transactionsMax,
    last_order: last ? { id: last.id, order_number: last.order_number, created_at: createdAt(last.id) } : null,
    mrr: revenue,
  };
}

/** What the customers of a page of a list have ordered and paid. Unknown customers are left out. */
export async function getCustomerSummaries(
  { db, company }: RequestContext,
  ids: readonly string[],
): Promise<CustomerSummaries> {
  const rows = await findSummaries(db, company.id, ids, summarizedMax + 1);
  return {
    data: rows.map((row) => ({
      customer_id: row.customer_id,
      orders: Math.min(row.orders, summarizedMax),
      spend: [...(row.spend ?? [])],
      is_partial: row.orders > summarizedMax || row.transactions > summarizedMax,
      last_order_at: row.last_order_id && createdAt(row.last_order_id),
    })),
  };
}
