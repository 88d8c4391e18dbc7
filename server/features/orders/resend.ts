import { inProgress } from '../../http/idempotency.ts';
import { charge } from './charge.ts';
import type { Charging } from './charging.ts';
import { claimWaiting, type OpenTransaction } from './open-queries.ts';
import { findOrder } from './queries.ts';
import { recordResult } from './record-result.ts';
import { attemptOf } from './retry.ts';
import { lockMs } from './timing.ts';

/**
 * Sends sales that wait for the vault. Their intent is recorded and nothing was sent, so they are sent later under
 * the same reference: a sale of a request when the client repeats the request, a renewal by the worker.
 */

/** Throws if another process has just begun to send it. */
export async function resend(charging: Charging, open: OpenTransaction): Promise<void> {
  const state = await findOrder(charging.db, open.company_id, open.order_id);
  if (!state) return;
  const opened = await claimWaiting(charging.db, open, lockMs[state.mode]);
  if (!opened) throw inProgress();
  await charge(
    charging,
    state,
    { ...open, ...opened, numbered: attemptOf(state, open) },
    open.request_id === null ? 'renewal' : 'charge',
  );
}

/** The worker resends renewals. A sale whose request was not repeated in time fails. */
export async function resendOrGiveUp(charging: Charging, open: OpenTransaction): Promise<void> {
  if (open.request_id === null) return resend(charging, open);
  const state = await findOrder(charging.db, open.company_id, open.order_id);
  const opened = state && (await claimWaiting(charging.db, open, lockMs.sandbox));
  if (!opened) return undefined;
  const nowMs = charging.clock.nowMs() + state.clockOffsetMs;
  const outcome = { outcome: 'not_sent', reason: 'the request was not repeated' } as const;
  const charged = { state, sale: { ...open, ...opened }, outcome, nowMs };
  await recordResult(charging, open, (home) => home.recordOutcome(charged));
  return undefined;
}
