import type { Queryable } from '../../platform/database.ts';
import { getOrderState, type OrderRow } from '../orders/service.ts';
import type { NetPayment, PeriodPayment } from './proration.ts';
import type { SubscriptionRow } from './subscription.ts';

/**
 * What was paid for the current period: less its discount and what was refunded, and nothing once it is disputed. After a
 * change of plan the subscription records it; otherwise the order of the cycle has paid it.
 */
export async function netPaymentOf(db: Queryable, row: SubscriptionRow): Promise<NetPayment> {
  const payment = row.period_payment ?? (await paidByCycle(db, row));
  const orders = await Promise.all(payment.orders.map(({ id }) => getOrderState(db, row.company_id, id)));
  const isReturned = orders.some((state) => !state || !isPaid(state.order));
  const refunded = payment.orders.map(({ refunded: before }, index) =>
    Math.max(0, (orders[index]?.order.refunded_amount ?? 0) - before),
  );
  const returned = refunded.reduce((sum, amount) => sum + amount, 0);
  return { ...payment, net: isReturned ? 0 : Math.max(0, payment.paid - returned) };
}

/** The record of a later payment begins with what these orders have refunded by now. */
export async function fundedBy(
  db: Queryable,
  { company_id }: SubscriptionRow,
  { orders }: PeriodPayment,
): Promise<PeriodPayment['orders']> {
  return Promise.all(
    orders.map(async ({ id }) => ({
      id,
      refunded: (await getOrderState(db, company_id, id))?.order.refunded_amount ?? 0,
    })),
  );
}

const paidStatuses: readonly OrderRow['status'][] = [
  'succeeded',
  'partially_refunded',
  'refunded',
  'refund_failed',
  'chargeback_dismissed',
];

const isPaid = ({ status }: OrderRow): boolean => paidStatuses.includes(status);

async function paidByCycle(db: Queryable, row: SubscriptionRow): Promise<PeriodPayment> {
  const from = (row.current_period_start ?? row.start_at).toISOString();
  const state = row.latest_order_id ? await getOrderState(db, row.company_id, row.latest_order_id) : undefined;
  if (!state) return nothingPaid(from);
  const { id, subtotal, discount_amount, items, subscription_cycle } = state.order;
  // Items with a price were added to the renewal, and have no discount.
  const added = items.reduce((sum, { total }) => sum + (total ?? 0), 0);
  const of = subtotal - added;
  const setupFee = subscription_cycle === 1 ? row.one_time_amount : 0;
  return { paid: of - discount_amount, part: Math.max(0, of - setupFee), of, from, orders: [{ id, refunded: 0 }] };
}

/** For a period that began during a pause. */
export const nothingPaid = (from: string): PeriodPayment => ({ paid: 0, part: 0, of: 1, from, orders: [] });
