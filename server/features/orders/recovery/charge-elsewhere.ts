import { newId } from '../../../platform/ids.ts';
import { reserveAgain } from '../../coupons/service.ts';
import { charge } from '../operations/charge.ts';
import type { Charging } from '../operations/charging.ts';
import { insertOpen } from '../operations/open-queries.ts';
import { openOperation } from '../operations/open-operation.ts';
import type { OrderState } from '../order.ts';
import { lockOrder } from '../queries.ts';
import { nextAttempt } from '../retry.ts';
import { type OpenedSale, redemptionIdOf, saleOf } from '../operations/sales.ts';
import type { Order } from '../schemas.ts';
import { lockMs } from '../operations/timing.ts';

/**
 * Charges an order at its next connection, as a new transaction, after a decline for which the processor and not the
 * card's bank is to blame. Returns undefined if no other connection takes the charge.
 */
export async function chargeElsewhere(
  charging: Charging,
  { order: { company_id, id, currency }, card }: OrderState,
  { cause, card_brand: brand, reference, request_id, payment_method_id, card_last4 }: OpenedSale,
  failed: readonly string[],
  atMs: number | undefined,
): Promise<Order | undefined> {
  const candidates = await charging.connections.candidates({ companyId: company_id, reference, currency, brand });
  if (candidates.every((candidate) => failed.includes(candidate))) return undefined;
  const begin = () =>
    charging.db.transaction(async (transaction) => {
      const state = await lockOrder(transaction, company_id, id);
      // Another request may have retried it meanwhile, or the subscription was canceled.
      if (state?.order.status !== 'failed') return undefined;
      const nowMs = atMs ?? charging.clock.nowMs() + state.clockOffsetMs;
      if (state.order.subscription_id) await charging.billing.checkRetry(transaction, state.order, nowMs);
      const order = { ...state.order, payment_method_id, card_brand: brand, card_last4 };
      const sale = saleOf(order, { id: newId(nowMs), cause, request_id, numbered: nextAttempt(state) });
      const redemptionId = redemptionIdOf(order);
      if (order.coupon && redemptionId) {
        await reserveAgain(transaction, company_id, order.coupon, redemptionId, order.customer_id);
      }
      const operation = openOperation(order, { ...sale, type: 'sale', updated_at: new Date(nowMs) });
      const opened = await insertOpen(transaction, operation, lockMs[state.mode]);
      return opened && { state: { ...state, card }, sale: { ...sale, ...opened } };
    });
  // The decline is recorded, so an order that cannot be charged again is simply declined.
  const begun = await begin().catch((error: unknown) => {
    charging.log.warn({ err: error, company_id, order_id: id }, 'the charge was not repeated at another processor');
    return undefined;
  });
  return begun && charge(charging, begun.state, begun.sale, atMs, failed);
}
