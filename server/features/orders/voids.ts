import { ApiError, notFound } from '../../errors.ts';
import type { RequestContext } from '../../http/route.ts';
import { failpoint } from '../../platform/failpoints.ts';
import { newId } from '../../platform/ids.ts';
import type { Finding, Outcome } from '../../vault/processors/processor.ts';
import { newEvent } from '../events/service.ts';
import { discardOpen, insertOpen, markInDoubt, reclassify } from '../transactions/service.ts';
import { type Charging, firstCheckMs, gatewayError, insist, lockMs, notSentError } from './dependencies.ts';
import { type OrderRow, toWire } from './order.ts';
import { findOrder, lockOrder, moveOrder } from './queries.ts';
import { inUse, refuseUndecided } from './refunds.ts';
import type { Order } from './schemas.ts';
import { nextOrderStatus } from './transitions.ts';

/** Takes back a charge that has not settled: the cardholder never sees it. For operators; there is no API call. */
export async function voidOrder(charging: Charging, context: RequestContext, orderId: string): Promise<Order> {
  const { company, nowMs, requestId, tellFirst } = context;
  const { order, intent } = await charging.db.transaction(async (transaction) => {
    const state = await lockOrder(transaction, company.id, orderId);
    if (!state) throw notFound('order');
    const { order: found } = state;
    if (!nextOrderStatus(found.status, 'void_approved') || !found.sale_id) throw notVoidable(`it is ${found.status}`);
    await refuseUndecided(transaction, found);
    const { company_id, id, customer_id, payment_method_id, currency, card_brand, card_last4, total } = found;
    const open = { company_id, order_id: id, id: newId(nowMs), request_id: requestId };
    const opened = await insertOpen(
      transaction,
      {
        ...open,
        type: 'void',
        customer_id,
        payment_method_id,
        amount: total,
        currency,
        card_brand,
        card_last4,
        updated_at: new Date(nowMs),
      },
      lockMs[company.mode],
    );
    if (!opened) throw inUse();
    await tellFirst?.(transaction);
    return { order: found, intent: open };
  });
  failpoint('void.after_intent');
  const outcome = await charging.vault.void({
    companyId: company.id,
    mode: company.mode,
    reference: intent.id,
    chargeReference: order.sale_id ?? '',
  });
  failpoint('void.after_processor');
  if (outcome.outcome === 'unknown') {
    await insist(() => markInDoubt(charging.db, intent, firstCheckMs));
    throw gatewayError('void');
  }
  if (outcome.outcome === 'not_sent') {
    await insist(() => discardOpen(charging.db, intent));
    throw notSentError('void');
  }
  await insist(() => concludeVoid(charging, intent, outcome));
  if (outcome.outcome === 'declined') throw notVoidable(outcome.failureReason);
  const state = await findOrder(charging.db, company.id, orderId);
  if (!state) throw notFound('order');
  return toWire(state);
}

function notVoidable(why: string): ApiError {
  return new ApiError('invalid_state_transition', `This order cannot be voided: ${why}`, { param: 'id' });
}

type Told = Extract<Outcome | Finding, { outcome: 'approved' | 'declined' | 'not_found' }>;

export async function concludeVoid(
  charging: Charging,
  intent: {
    readonly company_id: string;
    readonly order_id: string;
    readonly id: string;
    readonly request_id: string | null;
  },
  told: Told,
): Promise<void> {
  await charging.db.transaction(async (transaction) => {
    const state = await lockOrder(transaction, intent.company_id, intent.order_id);
    if (!state || !(await discardOpen(transaction, intent)) || told.outcome !== 'approved') return;
    const { order } = state;
    const status = nextOrderStatus(order.status, 'void_approved');
    if (!status || !order.sale_id) return;
    const at = new Date(charging.clock.nowMs() + state.clockOffsetMs);
    await reclassify(transaction, order.company_id, order.sale_id, 'voided', at);
    const to: OrderRow = { ...order, status, sequence: order.sequence + 1, updated_at: at };
    const transactions = state.transactions.map((entry) =>
      entry.id === order.sale_id ? { ...entry, status: 'voided' as const } : entry,
    );
    const object = toWire({ ...state, order: to, transactions });
    const event = newEvent(order.company_id, at.getTime(), 'order.voided', object, to.sequence, intent.request_id);
    await moveOrder(transaction, { from: order, to, events: [event] });
  });
}
