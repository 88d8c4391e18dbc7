import { newId } from '../../platform/ids.ts';
import type { LookupOutcome } from '../../vault/processors/processor.ts';
import { closeRedemptions } from '../coupons/service.ts';
import type { Charging } from './charging.ts';
import { closeOpen, discardOpen, insertOpen, type OpenKey, waitAgain } from './open-queries.ts';
import { openOperation } from './open-operation.ts';
import type { ChargeCause } from './operation-moves.ts';
import type { OrderRow, OrderState } from './order.ts';
import { deriveReference, interruptionsMax, type Numbered, numberedOf } from './reference.ts';
import { firstUnused } from './reference-queries.ts';
import { nextAttempt } from './retry.ts';
import { type OpenSale, redemptionIdOf } from './sales.ts';
import { repeatWithinMs } from './timing.ts';

/**
 * A part of the service stopped while it had a charge: the process that was to send it, the vault, or the connection to the
 * database. It is certain that the charge was not executed, and that what was sent will not be. The bank has declined
 * nothing, so it does not count as an attempt. What happens next depends on who waits for it.
 */
const waitsFor: Readonly<Record<ChargeCause, 'the worker' | 'its request' | 'no one'>> = {
  renewal: 'the worker',
  // The customer may have gone, so it is sent only if the request is repeated.
  order: 'its request',
  first_charge: 'its request',
  // The order stays declined as it was, and can be retried again.
  retry: 'no one',
};

const delaysMs = { 'the worker': 0, 'its request': repeatWithinMs } as const;

type NotFound = Extract<LookupOutcome, { outcome: 'not_found' }>;

/** Returns false if the sale is to be recorded as failed. */
export async function continueLater(
  charging: Charging,
  state: OrderState,
  open: OpenSale,
  { isFinal = false, isSafeToRepeat = false }: NotFound,
): Promise<boolean> {
  if (open.state !== 'interrupted' || open.interruptions >= interruptionsMax) return false;
  if (!isFinal && !isSafeToRepeat) return false;
  const awaited = waitsFor[open.cause];
  const isMine =
    awaited === 'no one'
      ? await discardRetry(charging, state.order, open)
      : isFinal
        ? await replace(charging, state, open, delaysMs[awaited])
        : await waitAgain(charging.db, open, delaysMs[awaited]);
  if (isMine) {
    const { company_id, order_id, id } = open;
    charging.log.warn(
      { company_id, order_id, transaction_id: id },
      `the charge was interrupted; it waits for ${awaited}`,
    );
  }
  return true;
}

async function discardRetry({ db }: Charging, order: OrderRow, open: OpenKey): Promise<boolean> {
  return db.transaction(async (transaction) => {
    if (!(await discardOpen(transaction, open))) return false;
    const id = redemptionIdOf(order);
    const { company_id, id: order_id } = order;
    if (id !== undefined) await closeRedemptions(transaction, [{ company_id, id, order_id, redeemed: false }]);
    return true;
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
  const next = await nextOf(charging, state, open);
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

/** Without its idempotency key, a charge continues as the next attempt at its order. */
async function nextOf({ db }: Charging, state: OrderState, open: OpenSale): Promise<Numbered> {
  const attempt = numberedOf(open);
  return attempt ? firstUnused(db, open.company_id, attempt.subject, attempt.number + 1) : nextAttempt(state);
}
