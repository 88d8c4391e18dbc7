import type { LookupOutcome } from '../../vault/processors/processor.ts';
import type { Charging } from './charging.ts';
import { aboutCharge, connectionOf } from './connection.ts';
import { markInDoubt, markWaiting, type OpenTransaction, renewSending } from './open-queries.ts';
import type { OrderState } from './order.ts';
import { recordResult } from './record-result.ts';
import { isExecuted, refusesCredentials } from './sending.ts';
import { hourMs, minuteMs } from '../../platform/durations.ts';
import { firstCheckMs, lockMs, misconfiguredDelayMs, repeatWithinMs } from './timing.ts';

/**
 * A charge whose process died is sent again if the processor did not execute it: a renewal by the worker, an order if
 * the client repeats its request. The customer's bank declined nothing, so nothing is recorded as declined.
 */

/** If this many sendings have ended with the process, the charge itself may be the cause. */
const sendingsMax = 50;

/** Later, a processor may have forgotten the key under which it executes a charge once. */
const resumableMs = 12 * hourMs;
/** How long an order can be continued by its repeated request, before it is given up. */
const keptMs = 5 * minuteMs;

/**
 * `resume` sends it again if it was not executed. `keep` leaves that to the repeated request. Otherwise it is over if it
 * was not executed.
 */
export type Intention = 'resume' | 'keep' | 'end';

export async function intentionOf(
  charging: Charging,
  { order, card, clockOffsetMs }: OrderState,
  open: OpenTransaction,
  isRepeated: boolean,
): Promise<Intention> {
  const { billing, clock, db, restores } = charging;
  const { type, request_id, orphaned, sending, age_ms } = open;
  if (!orphaned || type !== 'sale' || !card || sending >= sendingsMax || age_ms > resumableMs) return 'end';
  // A restored database may have forgotten how the charge ended.
  if (restores?.looksFirst()) return 'end';
  if (request_id === null) {
    return (await billing.whyUnwanted(db, order, clock.nowMs() + clockOffsetMs)) ? 'end' : 'resume';
  }
  // A retry by hand leaves the order failed, as it was.
  if (order.status !== 'pending') return 'end';
  if (isRepeated) return 'resume';
  return age_ms < keptMs ? 'keep' : 'end';
}

type Executed = Extract<LookupOutcome, { outcome: 'approved' | 'declined' | 'conflict' }>;

/** What another sending has found out; `waiting` if the worker may send it anywhere. */
type Resumed = Executed | 'waiting';

/** Leaves an order that was not executed to its repeated request, as if the vault had been away. */
export async function leaveWaiting(charging: Charging, state: OrderState, open: OpenTransaction): Promise<void> {
  const opened = await renewSending(charging.db, open, {}, lockMs[state.mode]);
  if (!opened) return;
  const renewed = { ...open, sending: opened.sending };
  const waiting = { waitsFor: 'service', checkAfterMs: repeatWithinMs } as const;
  await recordResult(charging, renewed, ({ db }) => markWaiting(db, renewed, waiting));
}

/** Returns undefined if nothing is known yet, or another process has taken over. */
export async function resume(
  charging: Charging,
  state: OrderState,
  open: OpenTransaction,
  isPrepared: boolean,
): Promise<{ readonly result: Resumed; readonly open: OpenTransaction } | undefined> {
  const { company_id, order_id, id, reference, amount, currency } = open;
  const { card, mode } = state;
  if (isPrepared && !card) return undefined;
  const opened = await renewSending(charging.db, open, {}, lockMs[mode]);
  if (!opened) return undefined;
  const { validUntilMs, sending } = opened;
  const renewed = { ...open, sending, valid_until_ms: validUntilMs };
  charging.log.warn({ company_id, order_id, transaction_id: id }, 'a process died with a charge; it is sent again');
  if (!isPrepared || !card) {
    await recordResult(charging, renewed, ({ db }) =>
      markWaiting(db, renewed, { waitsFor: 'service', checkAfterMs: 0 }),
    );
    return { result: 'waiting', open: renewed };
  }
  // At another connection it could be charged a second time.
  const { billing: _, ...chargedCard } = card;
  const operation = { companyId: company_id, mode, reference, validUntilMs, ...connectionOf(open) };
  const about = aboutCharge('renewal', state, card);
  const outcome = await charging.vault.charge({ ...operation, ...about, card: chargedCard, amount, currency });
  if (open.connection_id !== null) {
    charging.connections.note({ companyId: company_id, connectionId: open.connection_id }, outcome);
  }
  if (isExecuted(outcome) && !refusesCredentials(outcome)) return { result: outcome, open: renewed };
  // After an unknown outcome it is looked up. Otherwise nothing more was sent, and it is sent once more.
  const isOrphaned = outcome.outcome !== 'unknown';
  const delayMs = refusesCredentials(outcome) ? misconfiguredDelayMs : firstCheckMs;
  await recordResult(charging, renewed, ({ db }) => markInDoubt(db, renewed, delayMs, isOrphaned));
  return undefined;
}
