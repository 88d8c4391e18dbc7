import { connects } from '../../../company.ts';
import { inProgress } from '../../../http/idempotency.ts';
import { isCompared } from '../../restores/service.ts';
import { charge } from '../operations/charge.ts';
import type { Charging } from '../operations/charging.ts';
import { claimWaiting } from '../operations/open-queries.ts';
import type { OrderState } from '../order.ts';
import { findOrder } from '../queries.ts';
import type { ChargeOutcome } from '../operations/record-outcomes.ts';
import { recordResult } from '../operations/record-result.ts';
import { numberedOf } from '../operations/reference.ts';
import type { OpenSale } from '../operations/sales.ts';
import { lockMs } from '../operations/timing.ts';

/**
 * Sends sales that wait. Their intent is recorded and nothing was executed, so they are sent later under the reference
 * that is recorded: a sale of a request when the client repeats the request, a renewal by the worker.
 */

/**
 * Throws if another process has just begun to send it. A change of plan is not sent if the subscription has ended meanwhile:
 * it would pay for nothing.
 */
export async function resend(charging: Charging, open: OpenSale): Promise<void> {
  const state = await findOrder(charging.db, open.company_id, open.order_id);
  if (!state) return;
  const nowMs = charging.clock.nowMs() + state.clockOffsetMs;
  const why = open.cause === 'plan_change' && (await charging.billing.whyUnwanted(charging.db, state.order, nowMs));
  if (why) return giveUp(charging, state, open, { ...unwanted, failureReason: why });
  const opened = await claimWaiting(charging.db, open, lockMs[state.mode]);
  if (!opened) throw inProgress();
  await charge(charging, state, { ...open, ...opened, numbered: numberedOf(open) });
}

/**
 * The worker resends renewals, which may have waited for days. A sale whose request was not repeated in time fails, and
 * so does a renewal of a subscription that was canceled or paused meanwhile.
 */
export async function resendOrGiveUp(charging: Charging, open: OpenSale): Promise<void> {
  const state = await findOrder(charging.db, open.company_id, open.order_id);
  if (!state) return;
  const nowMs = charging.clock.nowMs() + state.clockOffsetMs;
  const isRenewal = open.cause === 'renewal';
  const failureReason = isRenewal && (await charging.billing.whyUnwanted(charging.db, state.order, nowMs));
  if (isRenewal && !failureReason) return resend(charging, open);
  await giveUp(charging, state, open, failureReason ? { ...unwanted, failureReason } : notRepeated);
}

async function giveUp(
  charging: Charging,
  state: OrderState,
  open: OpenSale,
  outcome: ChargeOutcome['outcome'],
): Promise<void> {
  // Until then it may have been executed before a restore.
  if (connects(state.mode) && !(await isCompared(charging.db, open.company_id))) return;
  const opened = await claimWaiting(charging.db, open, lockMs.sandbox);
  if (!opened) return;
  const nowMs = charging.clock.nowMs() + state.clockOffsetMs;
  const charged = { state, sale: { ...open, ...opened }, outcome, nowMs };
  await recordResult(charging, open, (there) => there.recordOutcome(charged));
}

const notRepeated = { outcome: 'not_sent', reason: 'the request was not repeated' } as const;
const unwanted = {
  outcome: 'not_sent',
  reason: 'the subscription has ended, was paused or was changed',
  failureCode: 'transaction_not_allowed',
} as const;
