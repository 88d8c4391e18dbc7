import { inProgress } from '../../http/idempotency.ts';
import { claimWaiting, type OpenTransaction } from '../transactions/service.ts';
import { type Charging, insist, lockMs } from './dependencies.ts';
import { findOrder } from './queries.ts';
import { attemptOf } from './retry.ts';
import { charge } from './sales.ts';

/**
 * Sales that wait for the vault. Their intent is recorded and nothing was sent, so they are sent later under the same
 * reference: a sale that a request asked for when that request is repeated, one that fell due by the worker.
 */

/** Sends a waiting sale, unless another process has just begun to. */
export async function resend(charging: Charging, open: OpenTransaction): Promise<void> {
  const state = await findOrder(charging.db, open.company_id, open.order_id);
  if (!state) return;
  const mode = state.livemode ? 'live' : 'sandbox';
  const opened = await claimWaiting(charging.db, open, lockMs[mode]);
  if (!opened) throw inProgress();
  await charge(
    charging,
    state,
    { ...open, ...opened, numbered: attemptOf(state, open) },
    open.request_id === null ? 'renewal' : 'charge',
  );
}

/** What the worker does with a waiting sale when its time has come. */
export async function resendOrGiveUp(charging: Charging, open: OpenTransaction): Promise<void> {
  if (open.request_id === null) return resend(charging, open);
  const state = await findOrder(charging.db, open.company_id, open.order_id);
  const opened = state && (await claimWaiting(charging.db, open, lockMs.sandbox));
  if (!opened) return undefined;
  const nowMs = charging.clock.nowMs() + state.clockOffsetMs;
  const decided = { outcome: 'not_sent', reason: 'the request was not repeated' } as const;
  await insist(() => charging.end({ state, sale: { ...open, ...opened }, decided, nowMs }));
  return undefined;
}
