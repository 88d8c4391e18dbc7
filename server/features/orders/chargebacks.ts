import { ApiError, notFound } from '../../errors.ts';
import type { RequestContext } from '../../http/route.ts';
import type { Database } from '../../platform/database.ts';
import { type EventType, newEvent } from '../events/service.ts';
import { reclassify } from '../transactions/service.ts';
import type { Charging } from './dependencies.ts';
import { type OrderRow, toWire } from './order.ts';
import { inUse } from './refunds.ts';
import { lockOrder, moveOrder, takeDueChargebacks } from './queries.ts';
import type { Order } from './schemas.ts';
import { nextOrderStatus, type OrderTrigger } from './transitions.ts';

/** A cardholder disputes a charge; the merchant accepts that, or wins. */

type Dispute = Extract<OrderTrigger, `chargeback_${string}`>;

const eventTypes: Readonly<Record<Dispute, EventType>> = {
  chargeback_raised: 'order.chargeback',
  chargeback_accepted: 'order.chargeback_accepted',
  chargeback_dismissed: 'order.chargeback_dismissed',
};

/** Undefined when there is no such order; refused when it is not in a status for it. */
async function dispute(
  { clock }: Charging,
  db: Database,
  companyId: string,
  orderId: string,
  trigger: Dispute,
  requestId: string | null,
): Promise<Order | undefined> {
  return db.transaction(async (transaction) => {
    const state = await lockOrder(transaction, companyId, orderId);
    if (!state) return undefined;
    const { order } = state;
    const status = nextOrderStatus(order.status, trigger);
    if (!status || !order.sale_id) throw wrongStatus(order, trigger);
    // If the charge is being taken back, there may be nothing to dispute in a moment.
    if (state.voiding) throw inUse();
    const at = new Date(clock.nowMs() + state.clockOffsetMs);
    const raised = trigger === 'chargeback_raised';
    if (raised) await reclassify(transaction, companyId, order.sale_id, 'chargeback', at);
    const transactions = state.transactions.map((entry) =>
      raised && entry.id === order.sale_id ? { ...entry, status: 'chargeback' as const } : entry,
    );
    const to: OrderRow = { ...order, status, sequence: order.sequence + 1, updated_at: at };
    const object = toWire({ ...state, order: to, transactions });
    const event = newEvent(companyId, at.getTime(), eventTypes[trigger], object, to.sequence, requestId);
    if (!(await moveOrder(transaction, { from: order, to, events: [event] }))) {
      throw new Error('a locked order has moved');
    }
    return object;
  });
}

function wrongStatus(order: OrderRow, trigger: Dispute): ApiError {
  const needed = trigger === 'chargeback_raised' ? 'succeeded or partially_refunded' : 'under chargeback';
  const message = order.sale_id
    ? `This order is ${order.status}; it must be ${needed}.`
    : 'Nothing was charged for this order.';
  return new ApiError('invalid_state_transition', message, { param: 'id' });
}

export async function raiseChargeback(charging: Charging, context: RequestContext, orderId: string): Promise<Order> {
  const order = await dispute(
    charging,
    context.db,
    context.company.id,
    orderId,
    'chargeback_raised',
    context.requestId,
  );
  if (!order) throw notFound('order');
  return order;
}

export async function resolveChargeback(
  charging: Charging,
  context: RequestContext,
  orderId: string,
  outcome: 'accepted' | 'dismissed',
): Promise<Order> {
  const order = await dispute(
    charging,
    context.db,
    context.company.id,
    orderId,
    `chargeback_${outcome}`,
    context.requestId,
  );
  if (!order) throw notFound('order');
  return order;
}

/**
 * What the sandbox card for it has in store, each taken from the store in the transaction that raises it. An order that
 * was refunded in the meantime ignores it.
 */
export async function raiseDueChargebacks(charging: Charging, batch: number): Promise<number> {
  for (let count = 0; count < batch; count += 1) {
    const found = await charging.db.transaction(async (transaction) => {
      const [due] = await takeDueChargebacks(transaction, 1);
      if (due) await raiseIfPossible(charging, transaction, due);
      return due;
    });
    if (!found) return count;
  }
  return batch;
}

async function raiseIfPossible(
  charging: Charging,
  transaction: Database,
  { companyId, orderId }: { companyId: string; orderId: string },
): Promise<void> {
  try {
    await dispute(charging, transaction, companyId, orderId, 'chargeback_raised', null);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}
