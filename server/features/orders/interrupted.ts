import { newId } from '../../platform/ids.ts';
import type { LookupOutcome } from '../../vault/processors/processor.ts';
import type { Charging } from './charging.ts';
import { closeOpen, insertOpen, waitForWorker } from './open-queries.ts';
import { openOperation } from './open-operation.ts';
import type { OrderState } from './order.ts';
import { deriveReference, interruptionsMax, type Numbered, numberedOf } from './reference.ts';
import { firstUnused } from './reference-queries.ts';
import type { OpenSale } from './sales.ts';

/**
 * A part of the service stopped while it had a scheduled charge: the worker that was to send it, or the vault. It
 * is certain that the charge was not executed, and that what was sent will not be. The bank has declined nothing, so it
 * does not count as an attempt, and the worker sends it again.
 */

type NotFound = Extract<LookupOutcome, { outcome: 'not_found' }>;

/** Returns false if the sale is to be recorded as failed. */
export async function sendLater(
  charging: Charging,
  state: OrderState,
  open: OpenSale,
  { isFinal = false, isSafeToRepeat = false }: NotFound,
): Promise<boolean> {
  const attempt = numberedOf(open);
  const isScheduled = open.cause === 'renewal';
  if (!isScheduled || open.state !== 'interrupted' || open.interruptions >= interruptionsMax || !attempt) return false;
  if (!isFinal && !isSafeToRepeat) return false;
  const isWaiting = isFinal ? await replace(charging, state, open, attempt) : await waitForWorker(charging.db, open);
  if (isWaiting) {
    const { company_id, order_id, id } = open;
    charging.log.warn({ company_id, order_id, transaction_id: id }, 'the charge was interrupted; it is sent again');
  }
  return true;
}

const failure = {
  failureCode: 'issuer_unavailable',
  failureReason: 'The service was interrupted before the charge was made. The charge is sent again.',
} as const;

/**
 * The reference will never be executed: closes the sale, and opens one with the next reference in its place.
 * Returns false if another process has recorded an outcome, or has done the same.
 */
async function replace(
  charging: Charging,
  { order, clockOffsetMs }: OrderState,
  open: OpenSale,
  { subject, number }: Numbered,
): Promise<boolean> {
  const next = await firstUnused(charging.db, open.company_id, subject, number + 1);
  const at = new Date(charging.clock.nowMs() + clockOffsetMs);
  const reference = deriveReference(open.company_id, next);
  const operation = openOperation(order, { ...open, id: newId(at.getTime()), reference, numbered: next, updated_at: at });
  return charging.db.transaction(async (transaction) => {
    if (!(await closeOpen(transaction, open, { change: 'declined', response: null, ...failure, at }))) return false;
    const opened = await insertOpen(transaction, operation, 0);
    if (!opened) throw new Error('another operation of the order is in flight');
    return waitForWorker(transaction, { ...operation, ...opened, interruptions: open.interruptions });
  });
}
