import { ApiError, notFound } from '../../errors.ts';
import type { Database, Queryable } from '../../platform/database.ts';
import { type EventType, newEvent } from '../events/service.ts';
import { type OrderRow, toWire } from './order.ts';
import { type DueChargeback, lockOrder, moveOrder, takeDueChargeback, takeDueChargebackOf } from './queries.ts';
import type { Order } from './schemas.ts';
import { nextOrderStatus, type OrderTrigger, transactionChanges } from './transitions.ts';
import type { Charging } from './charging.ts';
import { inUse } from './errors.ts';
import { changeSale } from './open-queries.ts';
import type { RequestContext } from '../../request-context.ts';

/** Handles disputes: a cardholder disputes a charge; the merchant accepts the dispute or wins it. */

type Dispute = Extract<OrderTrigger, `chargeback_${string}`>;

const eventTypes: Readonly<Record<Dispute, EventType>> = {
  chargeback_raised: 'order.chargeback',
  chargeback_accepted: 'order.chargeback_accepted',
  chargeback_dismissed: 'order.chargeback_dismissed',
};

/** Returns undefined if there is no such order; throws if the order is in the wrong status. */
async function dispute(
  { clock }: Charging,
  db: Database,
  companyId: string,
  orderId: string,
  trigger: Dispute,
  requestId: string | null,
  atMs?: number,
): Promise<Order | undefined> {
  return db.transaction(async (transaction) => {
    const state = await lockOrder(transaction, companyId, orderId);
    if (!state) return undefined;
    const { order } = state;
    const status = nextOrderStatus(order.status, trigger);
    if (!status || !order.sale_id) throw wrongStatus(order, trigger);
    // If the void in progress succeeds, there is nothing left to dispute.
    if (state.voiding) throw inUse();
    const at = new Date(atMs ?? clock.nowMs() + state.clockOffsetMs);
    const raised = trigger === 'chargeback_raised';
    if (raised) await changeSale(transaction, companyId, order.sale_id, 'disputed', at);
    const transactions = state.transactions.map((entry) =>
      raised && entry.id === order.sale_id ? { ...entry, status: transactionChanges.disputed.to } : entry,
    );
    const to: OrderRow = { ...order, status, sequence: order.sequence + 1, updated_at: at };
    const object = toWire({ ...state, order: to, transactions });
    const event = newEvent(companyId, at.getTime(), eventTypes[trigger], object, to.sequence, requestId);
    if (!(await moveOrder(transaction, { from: order, to, events: [event] }))) {
      throw new Error('a locked order has changed');
    }
    return object;
  });
}

function wrongStatus(order: OrderRow, trigger: Dispute): ApiError {
  const needed = trigger === 'chargeback_raised' ? 'succeeded or partially_refunded' : 'chargeback';
  const message = order.sale_id
    ? `The status of this order is ${order.status}. It must be ${needed}.`
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
 * Raises the chargebacks that sandbox charges scheduled. Each is removed in the transaction that raises it. An order that was
 * refunded meanwhile ignores its chargeback.
 */
export async function raiseDueChargebacks(charging: Charging, batch: number): Promise<number> {
  return raiseEach(charging, batch, takeDueChargeback, () => undefined);
}

/** Raises the chargebacks of a company whose clock is being advanced, each at its own time. */
export async function raiseChargebacksOf(
  charging: Charging,
  companyId: string,
  fromMs: number,
  untilMs: number,
): Promise<number> {
  const take = (db: Queryable): Promise<DueChargeback | undefined> =>
    takeDueChargebackOf(db, companyId, new Date(untilMs));
  return raiseEach(charging, Number.POSITIVE_INFINITY, take, ({ due_at }) => Math.max(due_at.getTime(), fromMs));
}

async function raiseEach(
  charging: Charging,
  batch: number,
  take: (db: Queryable) => Promise<DueChargeback | undefined>,
  at: (due: DueChargeback) => number | undefined,
): Promise<number> {
  for (let count = 0; count < batch; count += 1) {
    const found = await charging.db.transaction(async (transaction) => {
      const due = await take(transaction);
      if (due) await raiseIfPossible(charging, transaction, due, at(due));
      return due;
    });
    if (!found) return count;
  }
  return batch;
}

async function raiseIfPossible(
  charging: Charging,
  transaction: Database,
  { company_id, order_id }: DueChargeback,
  atMs: number | undefined,
): Promise<void> {
  try {
    await dispute(charging, transaction, company_id, order_id, 'chargeback_raised', null, atMs);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}
