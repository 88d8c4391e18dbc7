import { inProgress } from '../../../http/idempotency.ts';
import type { Charging } from '../operations/charging.ts';
import { customerAsked, gatewayError } from '../operations/errors.ts';
import { findFirstAnswer } from '../operations/first-answer.ts';
import { checkGate } from '../../restores/service.ts';
import { findOpenOf, type OpenTransaction } from '../operations/open-queries.ts';
import { isInDoubt } from '../operations/operation-moves.ts';
import { isOpenSale, kindOf } from '../operations/sales.ts';

/** Answers a repeated idempotency key whose operation may still be open. */

/** Returns the response to a repeated idempotency key of a new order; undefined if no order was recorded. */
export async function resumeOrder(charging: Charging, companyId: string, orderId: string): Promise<unknown> {
  await reconcileOrFail(charging, companyId, orderId, isOpenSale);
  return findFirstAnswer(charging.db, companyId, orderId);
}

/** Reconciles an operation that is in flight. Throws while its outcome is still unknown. */
export async function reconcileOrFail(
  charging: Charging,
  companyId: string,
  orderId: string,
  isIt: (open: OpenTransaction) => boolean,
): Promise<void> {
  const findInFlight = async (): Promise<OpenTransaction | undefined> =>
    (await findOpenOf(charging.db, companyId, orderId)).find((open) => open.state !== 'accepted' && isIt(open));
  const open = await findInFlight();
  if (!open) return;
  if (open.state === 'with_customer') throw customerAsked();
  if (open.locked && !isInDoubt(open)) throw inProgress();
  const unfinished = gatewayError(kindOf(open));
  if (open.state !== 'waiting') await reconcileInFlight(charging, open, unfinished);
  // A charge that was interrupted and not executed waits for this request.
  const left = open.state === 'waiting' ? open : await findInFlight();
  if (left?.state === 'waiting' && isOpenSale(left)) await charging.resend(left);
  if (left && (await findInFlight())) throw unfinished;
}

async function reconcileInFlight(charging: Charging, open: OpenTransaction, unfinished: Error): Promise<void> {
  if (open.held) {
    await checkGate(charging.db, open.company_id);
    throw unfinished;
  }
  await charging.reconcile(open);
}
