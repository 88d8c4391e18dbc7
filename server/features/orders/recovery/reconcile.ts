import { ApiError } from '../../../errors.ts';
import { failpoint } from '../../../platform/failpoints.ts';
import { applyAnswer } from './apply-answer.ts';
import type { Charging } from '../operations/charging.ts';
import { checkAllAt, claimDue, claimStopped, findProbes } from './due-queries.ts';
import { findOpenOf, type OpenTransaction, startSending } from '../operations/open-queries.ts';
import { isInDoubt } from '../operations/operation-moves.ts';
import { chargeOf, isAuthorized, type OrderState } from '../order.ts';
import { findOrder } from '../queries.ts';
import type { ExecutedCharge } from '../operations/kept-outcomes.ts';
import { lookupOf } from './lookup-request.ts';
import { resendOrGiveUp } from './resend.ts';
import { isOpenSale } from '../operations/sales.ts';
import { noteCall } from '../operations/sending.ts';
import { checkDelaysMs, lockMs, resendDelayMs } from '../operations/timing.ts';

/**
 * Looks up an open operation at the processor, by our reference, and records the result. Without a definite answer
 * nothing changes.
 */
export async function reconcile(charging: Charging, open: OpenTransaction): Promise<void> {
  const isClaimed = isInDoubt(open) || open.state === 'accepted';
  const claimed = isClaimed ? open : await claimStopped(charging.db, open);
  if (claimed) await lookUp(charging, claimed);
}

/**
 * Returns false if the processor gave no definite answer. The operation is marked as in doubt: a lookup may complete
 * what the process that sent it has prepared, so that process must not send it again.
 */
async function lookUp(charging: Charging, open: OpenTransaction): Promise<boolean> {
  const state = await findOrder(charging.db, open.company_id, open.order_id);
  if (!state) return true;
  const { transactions } = state;
  // Another process has recorded the outcome meanwhile.
  if (isOpenSale(open) && transactions.find(({ id }) => id === open.id)?.status !== 'in_progress') return true;
  const found = await charging.vault.lookup({
    ...lookupOf(state, open),
    ...(!isOpenSale(open) && chargeOf(state)),
    ...(open.type === 'void' && isAuthorized(state.order) && { ofAuthorization: true }),
  });
  noteCall(charging, open, open.cause, { ...found, isLookup: true });
  failpoint('reconcile.after_lookup');
  return applyAnswer(charging, state, { open, found });
}

/** The database was restored to a time before the charge was sent to this connection. */
export async function recordElsewhere(
  charging: Charging,
  state: OrderState,
  open: OpenTransaction,
  { connectionId, found }: ExecutedCharge,
): Promise<void> {
  const there = { connectionId, isResolved: true };
  const moved = await startSending(charging.db, open, there, lockMs[state.mode]);
  if (moved) await applyAnswer(charging, state, { open: { ...open, ...moved, state: 'in_doubt' }, found });
}

/**
 * Reconciles one batch of due operations: those in doubt, those whose process died, refunds that may have settled,
 * and waiting sales.
 */
export async function reconcileDue(charging: Charging, batch: number): Promise<number> {
  const due = await claimDue(charging.db, batch, checkDelaysMs, resendDelayMs);
  const ofConnection = Map.groupBy(due, ({ connection_id }) => connection_id);
  await Promise.all([...ofConnection].map(([id, operations]) => reconcileAt(charging, id, operations)));
  return due.length;
}

const probesOfConnection = 3;
/** Operations that are due sooner are looked up then. */
const notDueForMs = 30_000;

/**
 * After an outage of a processor, operations in doubt wait for hours or a day until they are due. Asks each processor about
 * a few of them, and makes all due if it has an answer.
 */
export async function probeConnections(charging: Charging): Promise<void> {
  const probes = await findProbes(charging.db, probesOfConnection, notDueForMs);
  await Promise.all(
    probes.map(async (open) => {
      if (!(await reconcileOne(charging, open)) || open.connection_id === null) return;
      await checkAllAt(charging.db, open.company_id, open.connection_id);
    }),
  );
}

/** More at once would exceed the rate limits of processors after an outage, and none would be answered in time. */
const lookupsAtOnce = 25;
/** Then the connection does not answer: the others are asked when they are due again, and no batch waits for long. */
const silentMs = 2_000;

async function reconcileAt(
  charging: Charging,
  connectionId: string | null,
  operations: readonly OpenTransaction[],
): Promise<void> {
  const atOnce = connectionId === null ? operations.length : lookupsAtOnce;
  for (let start = 0; start < operations.length; start += atOnce) {
    const startedMs = performance.now();
    const answered = await Promise.all(
      operations.slice(start, start + atOnce).map((open) => reconcileOne(charging, open)),
    );
    if (!answered.some(Boolean) && performance.now() - startedMs > silentMs) return;
  }
}

async function reconcileOne(charging: Charging, open: OpenTransaction): Promise<boolean> {
  try {
    if (open.state !== 'waiting' || !isOpenSale(open)) return await lookUp(charging, open);
    await resendOrGiveUp(charging, open);
    return true;
  } catch (error) {
    const { company_id, order_id, id } = open;
    const level = error instanceof ApiError ? 'warn' : 'error';
    charging.log[level]({ err: error, company_id, order_id, transaction_id: id }, 'a transaction stays open');
    return false;
  }
}

/** Reconciles the open operations of an order now, for a reader who waits. The next read shows the outcome. */
export async function reconcileOrder(charging: Charging, companyId: string, orderId: string): Promise<void> {
  try {
    const open = await findOpenOf(charging.db, companyId, orderId);
    const due = open.filter((one) => !one.held && (isInDoubt(one) || (!one.locked && one.state !== 'waiting')));
    for (const operation of due) await reconcile(charging, operation);
  } catch (error) {
    charging.log.warn({ err: error, order_id: orderId }, 'an open transaction could not be reconciled');
  }
}
