import { failpoint } from '../../platform/failpoints.ts';
import { insist } from '../../platform/insist.ts';
import { closeRedemptions } from '../coupons/service.ts';
import type { Charging } from './charging.ts';
import { countOpenCharge } from './counting.ts';
import { gatewayError, usedByAnother, vaultUnavailable } from './errors.ts';
import { discardOpen, markInDoubt, markWaiting, type OpenKey } from './open-queries.ts';
import { type OrderRow, type OrderState, toWire } from './order.ts';
import { findOrder } from './queries.ts';
import { isKeyed } from './reference.ts';
import { type OpenedSale, redemptionIdOf, type Sale } from './sales.ts';
import type { Order } from './schemas.ts';
import { send, type Sent } from './sending.ts';
import { firstCheckMs, repeatWithinMs, resendDelayMs } from './timing.ts';

/** Sends a sale whose intent is recorded to the processor, and records the outcome. */
export async function charge(
  charging: Charging,
  state: OrderState,
  sale: OpenedSale,
  path: 'charge' | 'retry' | 'renewal',
  /** The time by the company's clock, if it is not now. */
  atMs?: number,
): Promise<Order> {
  const { order } = state;
  failpoint(`${path}.after_intent`);
  const sent = await sendCharge(charging, state, sale);
  failpoint(`${path}.after_processor`);
  if (!sent) return currentOrder(charging, order, sale.id);
  const { intent, outcome } = sent;
  if (outcome.outcome === 'unavailable') {
    countOpenCharge(state.mode, 'waiting');
    throw path === 'retry'
      ? await abandonRetry(charging, order, intent)
      : await waitForVault(charging, intent, outcome.reason);
  }
  const isRefused = outcome.outcome === 'conflict' && isOfKey(sale);
  if (outcome.outcome === 'unknown' || (outcome.outcome === 'conflict' && !isRefused)) {
    countOpenCharge(state.mode, 'in_doubt');
    await insist(() => markInDoubt(charging.db, intent, firstCheckMs));
    throw gatewayError('charge');
  }
  const nowMs = atMs ?? charging.clock.nowMs() + state.clockOffsetMs;
  const recorded = await insist(() => charging.recordOutcome({ state, sale: intent, outcome, nowMs }));
  failpoint(`${path}.after_record`);
  if (isRefused) throw usedByAnother();
  return recorded ?? currentOrder(charging, order, sale.id);
}

/** Whether the reference of the sale is derived from the idempotency key of its request. */
function isOfKey({ numbered, request_id }: OpenedSale): boolean {
  return numbered ? isKeyed(numbered) : request_id !== null;
}

async function sendCharge(
  charging: Charging,
  { order, card, mode }: OrderState,
  sale: OpenedSale,
): Promise<Sent<OpenedSale & OpenKey> | undefined> {
  const { company_id, id: order_id, currency } = order;
  const intent = { ...sale, company_id, order_id };
  if (!card) {
    return { intent, outcome: { outcome: 'not_sent', reason: 'the card was deleted', failureCode: 'invalid_account' } };
  }
  return send(charging, {
    mode,
    intent,
    numbered: sale.numbered,
    call: ({ reference, validUntilMs, amount }) => {
      const lookFirst = charging.restores?.looksFirst() ?? false;
      const about = { companyId: company_id, mode, reference, validUntilMs, lookFirst } as const;
      return charging.vault.charge({ ...about, card, amount, currency });
    },
  });
}

/**
 * Returns the order after another process recorded the outcome first. That process called the same processor with the
 * same reference.
 */
async function currentOrder({ db }: Charging, { company_id, id }: OrderRow, saleId: string): Promise<Order> {
  const now = await findOrder(db, company_id, id);
  if (!now) throw new Error('the order does not exist any more');
  if (now.transactions.some((one) => one.id === saleId && one.status === 'in_progress')) throw gatewayError('charge');
  return toWire(now);
}

/** Leaves the sale to be sent later, see `resend.ts`. Returns the error for the request. */
async function waitForVault(
  charging: Charging,
  open: OpenKey & Pick<Sale, 'request_id'>,
  reason: string,
): Promise<Error> {
  const { company_id, order_id, id, request_id } = open;
  charging.log.warn(
    { company_id, order_id, transaction_id: id, reason },
    'the charge was not sent; it waits for the vault',
  );
  await insist(() => markWaiting(charging.db, open, request_id === null ? resendDelayMs : repeatWithinMs));
  return vaultUnavailable('charge', { unfinished: true });
}

/** A retry that was not sent leaves the order as it was: nothing counts as an attempt. */
async function abandonRetry(charging: Charging, order: OrderRow, open: OpenKey): Promise<Error> {
  const redemptionId = redemptionIdOf(order);
  await insist(() =>
    charging.db.transaction(async (transaction) => {
      if (!(await discardOpen(transaction, open)) || redemptionId === undefined) return;
      const end = { company_id: order.company_id, id: redemptionId, order_id: order.id, redeemed: false };
      await closeRedemptions(transaction, [end]);
    }),
  );
  return vaultUnavailable('charge', { unfinished: false });
}
