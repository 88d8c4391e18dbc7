import { limits } from '../../limits.ts';
import type { Database, Queryable } from '../../platform/database.ts';
import { hourMs } from '../../platform/durations.ts';
import { newId } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import { creditFor, mostCredit, recordUse, returnCredit, useCredit } from '../credit/service.ts';
import { emitEvents, newEvent } from '../events/service.ts';
import { forgottenCharge } from '../restores/service.ts';
import { capturedAmount, type OrderRow, type OrderState, toWire } from './order.ts';
import { findOpenOf } from './operations/open-queries.ts';
import { laterReferences, type Numbered, referenced } from './operations/reference.ts';
import { lockOrder, moveOrder, writeCredit, writePaidByCredit } from './queries.ts';
import { nextOrderStatus } from './transitions.ts';

/**
 * The credit that pays for an order, or for a part of it. It is taken from the balance in the commit that records the intent to
 * charge the rest, and given back in the commit that records that the charge was declined. While the outcome is unknown it stays taken.
 */

/**
 * What credit pays of the total of a new order. After a restore, a charge of the same key may be forgotten: the card then pays the same
 * again, so that the charge is found.
 */
export async function creditForOrder(
  db: Queryable,
  order: Pick<OrderRow, 'company_id' | 'customer_id' | 'currency'>,
  total: number,
  numbered: Numbered,
): Promise<number> {
  const available = await creditFor(db, order, total);
  if (available === 0) return 0;
  const first = referenced(order.company_id, numbered);
  const later = laterReferences(order.company_id, first);
  const references = [first, ...later].map(({ reference }) => reference);
  const kept = await forgottenCharge(db, order.company_id, references);
  // A key that is used again after it has expired stands for a new purchase.
  const isExpired = kept !== undefined && kept.age_ms > limits.idempotencyKeyHours * hourMs;
  return Math.min(available, mostCredit(total, isExpired ? undefined : kept));
}

/** Gives back a part of what paid for the order. No processor is called, so it is done when it is recorded. */
export async function refundToCredit(
  transaction: Database,
  { nowMs, requestId }: Pick<RequestContext, 'nowMs' | 'requestId'>,
  state: OrderState,
  { amount, ...entry }: { readonly id: string; readonly amount: number; readonly reference: string | null },
): Promise<OrderState> {
  const { order } = state;
  const at = new Date(nowMs);
  const refunded_amount = order.refunded_amount + amount;
  const isFull = refunded_amount === capturedAmount(order);
  const status = nextOrderStatus(order.status, isFull ? 'refund_accepted_in_full' : 'refund_accepted_in_part');
  if (!status) throw new Error(`an order that is ${order.status} cannot be refunded`);
  const credit_refunded = (order.credit_refunded ?? 0) + amount;
  const to: OrderRow = {
    ...order,
    ...{ status, refunded_amount, credit_refunded, sequence: order.sequence + 1, updated_at: at },
  };
  const after = { ...state, order: to };
  const type = isFull ? 'order.refunded' : 'order.partially_refunded';
  const event = newEvent(order.company_id, nowMs, type, toWire(after), to.sequence, requestId);
  if (!(await moveOrder(transaction, { from: order, to, events: [event] }))) {
    throw new Error('a locked order has changed');
  }
  await writeCredit(transaction, to);
  await returnCredit(transaction, order, { ...entry, type: 'refund', amount });
  return after;
}

/** The charge did not happen, so what was taken for it is given back. */
export async function releaseCredit(
  transaction: Database,
  order: OrderRow,
  { type, nowMs }: { readonly type: 'order_failed' | 'order_voided'; readonly nowMs: number },
): Promise<void> {
  const amount = order.credit_applied ?? 0;
  if (amount === 0) return;
  if (type === 'order_failed') await writeCredit(transaction, { ...order, credit_applied: null });
  await returnCredit(transaction, order, { id: newId(nowMs), type, amount });
}

/** Takes the credit again for a new attempt at an order whose charge was declined. */
export async function takeCreditAgain(
  transaction: Database,
  order: OrderRow,
  wanted: number,
  nowMs: number,
): Promise<OrderRow> {
  const credit_applied = await useCredit(transaction, order, { id: newId(nowMs), most: wanted });
  if (credit_applied === 0) return order;
  const to = { ...order, credit_applied };
  await writeCredit(transaction, to);
  return to;
}

/** At the next attempt, credit pays a part of an order whose charge was declined. The balance is locked. */
export async function payPartAgain(
  transaction: Database,
  order: OrderRow,
  use: { readonly id: string; readonly amount: number },
): Promise<void> {
  await recordUse(transaction, order, use);
  await writeCredit(transaction, order);
}

/** The credit of the customer pays a declined order in full. Returns false if a charge of it is in progress, or it is paid. */
export async function payByCredit(
  transaction: Database,
  orderId: Pick<OrderRow, 'company_id' | 'id'>,
  nowMs: number,
): Promise<boolean> {
  const state = await lockOrder(transaction, orderId.company_id, orderId.id);
  const status = state && nextOrderStatus(state.order.status, 'charge_approved');
  if (!state || !status || state.order.credit_applied) return false;
  if ((await findOpenOf(transaction, orderId.company_id, orderId.id)).length > 0) return false;
  const { order } = state;
  const to: OrderRow = {
    ...order,
    ...{ status, credit_applied: order.total, failure_code: null, failure_reason: null, next_retry_at: null },
    ...{ sequence: order.sequence + 1, updated_at: new Date(nowMs) },
  };
  await recordUse(transaction, order, { id: newId(nowMs), amount: order.total });
  await writePaidByCredit(transaction, to);
  await emitEvents(transaction, [
    newEvent(order.company_id, nowMs, 'order.succeeded', toWire({ ...state, order: to }), to.sequence, null),
  ]);
  return true;
}
