import type { LookupOutcome } from '../../vault/processors/processor.ts';
import type { Charging } from './charging.ts';
import { aboutCharge, connectionOf } from './connection.ts';
import { markInDoubt, markWaiting, type OpenTransaction, renewSending } from './open-queries.ts';
import type { OrderState } from './order.ts';
import { recordResult } from './record-result.ts';
import { isExecuted, refusesCredentials } from './sending.ts';
import { firstCheckMs, lockMs, misconfiguredDelayMs } from './timing.ts';

/**
 * A renewal whose process died is sent again if the processor did not execute it. The customer's bank declined nothing,
 * so nothing is recorded as declined.
 */

/** If this many sendings have ended with the process, the charge itself may be the cause. */
const sendingsMax = 50;

export function canResume({ type, request_id, orphaned, sending }: OpenTransaction): boolean {
  return orphaned && type === 'sale' && request_id === null && sending < sendingsMax;
}

/** Whether the subscription was neither ended nor paused meanwhile. */
export async function isWanted(
  { db, billing, clock }: Charging,
  { order, clockOffsetMs }: OrderState,
): Promise<boolean> {
  return !(await billing.whyUnwanted(db, order, clock.nowMs() + clockOffsetMs));
}

type Executed = Extract<LookupOutcome, { outcome: 'approved' | 'declined' | 'conflict' }>;

/** What another sending has found out; `waiting` if the worker may send it anywhere. */
type Resumed = Executed | 'waiting';

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
  charging.log.warn({ company_id, order_id, transaction_id: id }, 'a process died with a renewal; it is sent again');
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
