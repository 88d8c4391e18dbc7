import { newId } from '../../../platform/ids.ts';
import { reserveAgain } from '../../coupons/service.ts';
import { charge } from '../operations/charge.ts';
import type { Charging } from '../operations/charging.ts';
import { insertOpen } from '../operations/open-queries.ts';
import { openOperation } from '../operations/open-operation.ts';
import type { OrderState } from '../order.ts';
import { takeCreditAgain } from '../credit.ts';
import { lockOrder } from '../queries.ts';
import { nextAttempt } from '../retry.ts';
import { isKeyed, nextFree, type Numbered, subjects } from '../operations/reference.ts';
import { decidedWhen, type OpenedSale, redemptionIdOf, saleOf } from '../operations/sales.ts';
import type { Order } from '../schemas.ts';
import { lockMs } from '../operations/timing.ts';

/**
 * Charges an order at its next connection, as a new transaction, after a decline for which the processor and not the
 * card's bank is to blame. Returns undefined if no other connection takes the charge.
 */
export async function chargeElsewhere(
  charging: Charging,
  { order: { company_id, id, currency, credit_applied }, card, presence }: OrderState,
  declined: OpenedSale,
  failed: readonly string[],
  atMs: number | undefined,
): Promise<Order | undefined> {
  const { cause, card_brand: brand, reference, request_id, payment_method_id, card_last4 } = declined;
  const candidates = await charging.connections.candidates({ companyId: company_id, reference, currency, brand });
  if (candidates.every((candidate) => failed.includes(candidate))) return undefined;
  const begin = () =>
    charging.db.transaction(async (transaction) => {
      const state = await lockOrder(transaction, company_id, id);
      // Another request may have retried it meanwhile, or the subscription was canceled.
      if (state?.order.status !== 'failed') return undefined;
      const nowMs = atMs ?? charging.clock.nowMs() + state.clockOffsetMs;
      if (state.order.subscription_id) await charging.billing.checkRetry(transaction, state.order, nowMs);
      const paidWith = credit_applied
        ? await takeCreditAgain(transaction, state.order, credit_applied, nowMs)
        : state.order;
      const order = { ...paidWith, payment_method_id, card_brand: brand, card_last4 };
      const numbered = attemptElsewhere(state, declined);
      const sale = saleOf(order, { id: newId(nowMs), type: declined.type, cause, request_id, numbered });
      const redemptionId = redemptionIdOf(order);
      if (order.coupon && redemptionId) {
        await reserveAgain(transaction, company_id, order.coupon, redemptionId, order.customer_id, decidedWhen(sale));
      }
      const operation = openOperation(order, { ...sale, updated_at: new Date(nowMs) });
      const opened = await insertOpen(transaction, operation, lockMs[state.mode]);
      // Rolls back the credit too.
      if (!opened && credit_applied) throw new Error('another charge of this order is in progress');
      return opened && { state: { ...state, order: paidWith, card, presence }, sale: { ...sale, ...opened } };
    });
  // The decline is recorded, so an order that cannot be charged again is simply declined.
  const begun = await begin().catch((error: unknown) => {
    charging.log.warn({ err: error, company_id, order_id: id }, 'the charge was not repeated at another processor');
    return undefined;
  });
  return begun && charge(charging, begun.state, begun.sale, atMs, failed);
}

/**
 * A charge by an idempotency key is repeated under a reference that follows from its own: a restored database can have
 * forgotten the order with its id, and the repeated key must not be paid again.
 */
function attemptElsewhere(state: OrderState, { subject, reference }: OpenedSale): Numbered {
  const { order, transactions } = state;
  const [kind, id] = subject;
  const isRepeated = kind === subjects.retry('')[0] && id !== order.id;
  if (!isKeyed({ subject }) && !isRepeated) return nextAttempt(state);
  const taken = new Set(transactions.map((one) => one.reference));
  return nextFree(order.company_id, { subject: isRepeated ? subject : subjects.retry(reference), number: 0 }, taken);
}
