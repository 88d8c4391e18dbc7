import { ApiError, invalidField, notFound } from '../../errors.ts';
import { decimalText } from '../../platform/currencies.ts';
import { createdAt, newId } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import { refundableStatuses } from '../orders/service.ts';
import { type Balance, type BulkOrder, findBalances, findBulk, insertBulk } from './queries.ts';
import type { BulkRefund, BulkRefundCreate } from './schemas.ts';

/**
 * Records that a member confirmed to refund these orders. Each amount and each sum must still be what the member saw: an order that
 * changed meanwhile rejects the whole request, and nothing is refunded.
 */
export async function createBulkRefund(context: RequestContext, input: BulkRefundCreate): Promise<BulkRefund> {
  const { db, company, caller } = context;
  const wanted = new Map(input.orders.map(({ order_id, amount }) => [order_id.toLowerCase(), amount]));
  if (wanted.size < input.orders.length) throw invalidField('orders', 'must not contain an order twice');
  const balances = await findBalances(db, company.id, [...wanted.keys()]);
  if (balances.length < wanted.size) throw notFound('order', 'orders');
  for (const balance of balances) checkBalance(balance, wanted.get(balance.id) ?? 0);
  checkTotals(balances, input.totals);
  const bulk = {
    companyId: company.id,
    id: newId(context.nowMs),
    memberId: caller?.id ?? '',
    requestId: context.requestId,
  };
  const orders = balances.map(({ id, currency, left }) => ({ order_id: id, currency, amount: left }));
  if ((await insertBulk(db, bulk, orders)) < orders.length) {
    throw new ApiError('resource_in_use', 'One of these orders is in another bulk refund that is not completed yet.');
  }
  return getBulkRefund(context, bulk.id);
}

function checkBalance({ order_number, status, currency, left }: Balance, amount: number): void {
  if (!refundableStatuses.includes(status) || left === 0) {
    throw invalidField(
      'orders',
      `must not contain order ${order_number}, which cannot be refunded: its status is ${status}`,
    );
  }
  if (left === amount) return;
  const now = `${decimalText(left, currency)} ${currency.toUpperCase()}`;
  throw invalidField('orders', `must have the current amounts. Order ${order_number} has ${now} left to refund`);
}

function sumsOf(orders: readonly { readonly currency: string; readonly amount: number }[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { currency, amount } of orders) sums.set(currency, (sums.get(currency) ?? 0) + amount);
  return sums;
}

function checkTotals(balances: readonly Balance[], confirmed: BulkRefundCreate['totals']): void {
  const sums = sumsOf(balances.map(({ currency, left }) => ({ currency, amount: left })));
  const isSame =
    confirmed.length === sums.size && confirmed.every(({ currency, amount }) => sums.get(currency) === amount);
  if (isSame) return;
  const texts = [...sums].map(([currency, amount]) => `${decimalText(amount, currency)} ${currency.toUpperCase()}`);
  throw invalidField('totals', `must be the sums of the orders: ${texts.join(', ')}`);
}

export async function getBulkRefund({ db, company }: RequestContext, id: string): Promise<BulkRefund> {
  const orders = await findBulk(db, company.id, id);
  if (orders.length === 0) throw notFound('bulk refund');
  const sum = (currency: string, state?: BulkOrder['state']): number =>
    orders
      .filter((order) => order.currency === currency && (state === undefined || order.state === state))
      .reduce((total, { amount }) => total + amount, 0);
  return {
    id,
    status: orders.some(({ state }) => state === 'waiting') ? 'in_progress' : 'completed',
    totals: [...sumsOf(orders)].map(([currency, amount]) => ({
      currency,
      amount,
      refunded: sum(currency, 'refunded'),
      refused: sum(currency, 'refused'),
    })),
    orders: orders.map(({ state, ...order }) => ({ ...order, status: state })),
    created_at: createdAt(id),
  };
}
