import { closeRedemptions } from '../coupons/service.ts';
import type { Database } from '../../platform/database.ts';
import { type EventType, newEvent } from '../events/service.ts';
import { authorizationOf, type OrderRow, type OrderState, toWire } from './order.ts';
import { moveHeld } from './authorization-queries.ts';
import { changeSale } from './queries.ts';
import { nextOrderStatus, transactionChanges } from './transitions.ts';
import { redemptionIdOf } from './operations/sales.ts';

/** What ends an authorization: its funds are captured, or released without a capture. */

interface Circumstances {
  readonly at: Date;
  /** The request that ended it; null if it ended by itself. */
  readonly requestId: string | null;
}

/** The order as the caller has locked it, with the capture among its transactions. */
export async function recordCaptured(
  transaction: Database,
  state: OrderState,
  sale: { readonly id: string; readonly amount: number },
  circumstances: Circumstances,
): Promise<void> {
  const captured = { sale_id: sale.id, captured_amount: sale.amount };
  await end(transaction, state, captured, 'authorization_captured', circumstances);
}

/** No funds are held any more, and none were captured: the customer pays nothing. */
export async function recordReleased(
  transaction: Database,
  state: OrderState,
  circumstances: Circumstances,
): Promise<void> {
  const authorization = authorizationOf(state);
  if (!authorization) throw new Error('an order without an authorization has nothing to release');
  await changeSale(transaction, state.order.company_id, authorization.id, 'voided', circumstances.at);
  const transactions = state.transactions.map((entry) =>
    entry.id === authorization.id ? { ...entry, status: transactionChanges.voided.to } : entry,
  );
  await end(transaction, { ...state, transactions }, {}, 'authorization_released', circumstances);
}

const events = {
  authorization_captured: 'order.succeeded',
  authorization_released: 'order.voided',
} as const satisfies Record<string, EventType>;

/** The coupon counts with the capture, and is given back if nothing is captured. */
async function end(
  transaction: Database,
  state: OrderState,
  change: Partial<Pick<OrderRow, 'sale_id' | 'captured_amount'>>,
  trigger: keyof typeof events,
  { at, requestId }: Circumstances,
): Promise<void> {
  const { order } = state;
  const status = nextOrderStatus(order.status, trigger);
  if (!status) throw new Error(`the authorization of an order with status ${order.status} cannot end`);
  const sequence = order.sequence + 1;
  const to: OrderRow = { ...order, ...change, status, capture_before: null, sequence, updated_at: at };
  const event = newEvent(
    order.company_id,
    at.getTime(),
    events[trigger],
    toWire({ ...state, order: to }),
    sequence,
    requestId,
  );
  if (!(await moveHeld(transaction, { from: order, to, events: [event] }))) {
    throw new Error('a locked order has changed');
  }
  const id = redemptionIdOf(order);
  const redeemed = trigger === 'authorization_captured';
  const { company_id, id: order_id } = order;
  if (id !== undefined) await closeRedemptions(transaction, [{ company_id, id, order_id, redeemed }]);
}
