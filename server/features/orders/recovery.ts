import { ApiError } from '../../errors.ts';
import { failpoint } from '../../platform/failpoints.ts';
import { claimDue, type OpenTransaction } from '../transactions/service.ts';
import { type Charging, checkDelaysMs, resendDelayMs } from './dependencies.ts';
import { chargeReferenceOf } from './order.ts';
import { findOrder } from './queries.ts';
import { concludeRefund, settleRefund } from './refunds.ts';
import { recordVoid } from './voids.ts';
import { resendOrGiveUp } from './waiting.ts';

/**
 * Asks the processor, by our own reference, what became of an operation, and does what the answer says. Nothing is
 * guessed: without an answer everything stays as it is.
 */
export async function lookAt(charging: Charging, open: OpenTransaction): Promise<void> {
  const state = await findOrder(charging.db, open.company_id, open.order_id);
  if (!state) return;
  const { transactions, card, livemode, clockOffsetMs } = state;
  const chargeReference = open.type === 'sale' ? undefined : chargeReferenceOf(state);
  // It ended while we came to look.
  if (open.type === 'sale' && transactions.find(({ id }) => id === open.id)?.status !== 'in_progress') return;
  const finding = await charging.vault.lookup({
    companyId: open.company_id,
    mode: livemode ? 'live' : 'sandbox',
    reference: open.reference,
    validUntilMs: open.valid_until_ms,
    ...(open.type === 'sale' && card && { card }),
    ...(chargeReference && { chargeReference }),
  });
  failpoint('recovery.after_lookup');
  if (finding.outcome === 'unknown') return;
  if (open.type === 'void') return recordVoid(charging, open, finding);
  if (open.type === 'refund') {
    await (open.accepted ? settleRefund(charging, open, finding) : concludeRefund(charging, open, finding));
    return;
  }
  await charging.end({ state, sale: open, decided: finding, nowMs: charging.clock.nowMs() + clockOffsetMs });
}

/** One batch of what is due: operations in doubt, those whose process died, refunds that may have settled, waiting sales. */
export async function checkOpenTransactions(charging: Charging, batch: number): Promise<number> {
  const due = await claimDue(charging.db, batch, checkDelaysMs, resendDelayMs);
  await Promise.all(
    due.map((open) =>
      (open.waiting ? resendOrGiveUp : lookAt)(charging, open).catch((error: unknown) => {
        const { company_id, order_id, id } = open;
        const level = error instanceof ApiError ? 'warn' : 'error';
        charging.log[level]({ err: error, company_id, order_id, transaction_id: id }, 'a transaction stays open');
      }),
    ),
  );
  return due.length;
}
