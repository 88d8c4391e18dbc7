import { ApiError } from '../../errors.ts';
import { failpoint } from '../../platform/failpoints.ts';
import type { Finding } from '../../vault/processors/processor.ts';
import type { VaultLookup } from '../../vault/vault.ts';
import {
  claimDue,
  deriveReference,
  firstUnused,
  type Numbered,
  type OpenTransaction,
  renewSending,
} from '../transactions/service.ts';
import { type Charging, checkDelaysMs, lockMs, resendDelayMs } from './dependencies.ts';
import { chargeReferenceOf, type OrderState } from './order.ts';
import { findOrder } from './queries.ts';
import { concludeRefund, isRefundOf, settleRefund } from './refunds.ts';
import { attemptOf } from './retry.ts';
import { charge } from './sales.ts';
import { executedBefore, isFoundOfExpiredKey } from './sending.ts';
import { recordVoid } from './voids.ts';
import { resendOrGiveUp } from './waiting.ts';

/**
 * Asks the processor, by our own reference, what became of an operation, and does what the answer says. Nothing is
 * guessed: without an answer everything stays as it is.
 */
export async function lookAt(charging: Charging, open: OpenTransaction): Promise<void> {
  const state = await findOrder(charging.db, open.company_id, open.order_id);
  if (!state) return;
  const { transactions, card, livemode } = state;
  const chargeReference = open.type === 'sale' ? undefined : chargeReferenceOf(state);
  // It ended while we came to look.
  if (open.type === 'sale' && transactions.find(({ id }) => id === open.id)?.status !== 'in_progress') return;
  const finding = await charging.vault.lookup({
    companyId: open.company_id,
    mode: livemode ? 'live' : 'sandbox',
    reference: open.reference,
    validUntilMs: open.valid_until_ms,
    ...(open.type !== 'void' && { sent: contentOf(open) }),
    ...(open.type === 'sale' && card && { card }),
    ...(chargeReference && { chargeReference }),
  });
  failpoint('recovery.after_lookup');
  if (finding.outcome === 'unknown') return;
  if (isDoubtful(finding, open)) {
    const { company_id, order_id, id } = open;
    charging.log.error(
      { company_id, order_id, transaction_id: id },
      'the processor executed something else than we sent',
    );
    return;
  }
  if (open.type === 'void') return recordVoid(charging, open, finding.outcome === 'conflict' ? never : finding);
  if (open.type === 'refund') {
    if (open.accepted) await settleRefund(charging, open, finding);
    else await concludeRefund(charging, open, isAnotherRefund(state, open, finding) ? never : finding);
    return;
  }
  await endSale(charging, state, open, finding);
}

const never = { outcome: 'not_found' } as const;

function contentOf({ type, amount, currency, card_last4 }: OpenTransaction): NonNullable<VaultLookup['sent']> {
  return { amount, currency, last4: type === 'sale' ? card_last4 : null };
}

type Known = Exclude<Finding, { outcome: 'unknown' }>;

/** The key was used again after its time, and what the processor has is of the first use. */
function isAnotherRefund(
  state: OrderState,
  open: OpenTransaction,
  finding: Known,
): finding is Extract<Known, { outcome: 'conflict' }> {
  if (finding.outcome === 'conflict') return true;
  return finding.outcome !== 'not_found' && isFoundOfExpiredKey(finding, open) && !isRefundOf(state, open);
}

/** Other content under our reference is older than our operation; else the processor itself contradicts what we sent. */
function isDoubtful(finding: Finding, { age_ms }: OpenTransaction): boolean {
  return finding.outcome === 'conflict' && finding.executed !== undefined && !executedBefore(finding, age_ms);
}

async function endSale(charging: Charging, state: OrderState, open: OpenTransaction, finding: Known): Promise<void> {
  const nowMs = charging.clock.nowMs() + state.clockOffsetMs;
  const attempt = attemptOf(state, open);
  if (finding.outcome === 'conflict' && attempt) {
    // Another charge that holds money stands for the same thing: what becomes of this one is for people to decide.
    if (finding.approved === false) await chargeNext(charging, state, open, attempt);
    return;
  }
  // The key was used again after its time, and what the processor has is of the first use: nothing was charged for this one.
  const isAnother = !attempt && finding.outcome !== 'not_found' && isFoundOfExpiredKey(finding, open);
  const decided = isAnother ? never : finding;
  await charging.end({ state, sale: open, decided, disowned: isAnother, nowMs });
}

/** What the processor has under the reference is another operation: the sale goes on under the next number. */
async function chargeNext(
  charging: Charging,
  state: OrderState,
  open: OpenTransaction,
  attempt: Numbered,
): Promise<void> {
  const numbered = await firstUnused(charging.db, open.company_id, attempt.subject, attempt.number + 1);
  const reference = deriveReference(open.company_id, numbered);
  const opened = await renewSending(charging.db, open, { reference }, lockMs[state.livemode ? 'live' : 'sandbox']);
  if (!opened) return;
  await charge(
    charging,
    state,
    { ...open, ...opened, reference, numbered },
    open.request_id === null ? 'renewal' : 'retry',
  );
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
