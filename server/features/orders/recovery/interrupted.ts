import { newId } from '../../../platform/ids.ts';
import { closeRedemptions } from '../../coupons/service.ts';
import type { Charging } from '../operations/charging.ts';
import type { LookupAnswer } from '../operations/next-step.ts';
import { closeOpen, discardOpen, insertOpen, type OpenTransaction, waitAgain } from '../operations/open-queries.ts';
import { openOperation } from '../operations/open-operation.ts';
import { releaseCredit } from '../credit.ts';
import type { OrderState } from '../order.ts';
import { deriveReference, followingOf } from '../operations/reference.ts';
import { firstUnused } from '../operations/reference-queries.ts';
import { isOpenSale, notRetried, type OpenSale, redemptionIdOf } from '../operations/sales.ts';
import { repeatWithinMs } from '../operations/timing.ts';

/**
 * A part of the service stopped while it had a charge: the process that was to send it, the vault, or the connection to the
 * database. It is certain that the charge was not executed, and that what was sent will not be. The bank has declined
 * nothing, so it does not count as an attempt. A renewal is sent by the worker, and the charge of a request when the
 * request is repeated: the customer may have gone.
 */
export async function waitToBeSent(
  charging: Charging,
  state: OrderState,
  open: OpenTransaction,
  heard: LookupAnswer,
): Promise<void> {
  if (!isOpenSale(open)) throw new Error('this is not a charge');
  const delayMs = open.cause === 'renewal' ? 0 : repeatWithinMs;
  const isWaiting =
    heard === 'never_executed'
      ? await replace(charging, state, open, delayMs)
      : await waitAgain(charging.db, open, delayMs);
  if (!isWaiting) return;
  const { company_id, order_id, id, cause } = open;
  charging.log.warn(
    { company_id, order_id, transaction_id: id, cause },
    'the charge was interrupted; it is sent again',
  );
}

/**
 * A retry that was interrupted leaves the order declined as it was. A reference that will never be executed stays recorded, so
 * that the repeated request uses the next one.
 */
export async function discardRetry(
  { db, clock }: Charging,
  { order, clockOffsetMs }: OrderState,
  open: OpenSale,
  heard: LookupAnswer,
): Promise<void> {
  const at = new Date(clock.nowMs() + clockOffsetMs);
  await db.transaction(async (transaction) => {
    const isEnded =
      heard === 'never_executed'
        ? await closeOpen(transaction, open, { change: 'declined', response: null, ...notRetried, at })
        : await discardOpen(transaction, open);
    if (!isEnded) return;
    await releaseCredit(transaction, order, { type: 'order_failed', nowMs: at.getTime() });
    const id = redemptionIdOf(order);
    const { company_id, id: order_id } = order;
    if (id !== undefined) await closeRedemptions(transaction, [{ company_id, id, order_id, redeemed: false }]);
  });
}

const failure = {
  failureCode: 'issuer_unavailable',
  failureReason: 'The service was interrupted before the charge was made. The charge is sent again.',
} as const;

/**
 * The reference will never be executed: closes the sale, and opens one with the next reference in its place.
 * Returns false if another process has recorded an outcome, or has done the same.
 */
async function replace(charging: Charging, state: OrderState, open: OpenSale, delayMs: number): Promise<boolean> {
  const { order, clockOffsetMs } = state;
  const { subject, number } = followingOf(open);
  const next = await firstUnused(charging.db, open.company_id, subject, number);
  const at = new Date(charging.clock.nowMs() + clockOffsetMs);
  const reference = deriveReference(open.company_id, next);
  const replacement = { ...open, id: newId(at.getTime()), reference, numbered: next, updated_at: at };
  const operation = openOperation(order, replacement);
  return charging.db.transaction(async (transaction) => {
    if (!(await closeOpen(transaction, open, { change: 'declined', response: null, ...failure, at }))) return false;
    const opened = await insertOpen(transaction, operation, 0);
    if (!opened) throw new Error('another operation of the order is in flight');
    return waitAgain(transaction, { ...operation, ...opened, interruptions: open.interruptions }, delayMs);
  });
}
