import { ApiError } from '../../errors.ts';
import { newId } from '../../platform/ids.ts';
import { type EndedAuthorization, findEnded, findEndedOf } from './authorization-queries.ts';
import { isAuthorized } from './order.ts';
import type { Charging } from './operations/charging.ts';
import { findOpenOf } from './operations/open-queries.ts';
import { lockOrder } from './queries.ts';
import { openVoid, sendVoid } from './voids.ts';

/**
 * Releases the funds of authorizations that were not captured in time. The processor releases them first, and only then is the
 * order voided: so a capture that arrives at the same moment has one outcome, by the clock of the processor.
 */

/** Job: one batch. Returns how many were released. */
export async function releaseEnded(charging: Charging, batch: number): Promise<number> {
  const ended = await findEnded(charging.db, batch);
  let released = 0;
  for (let start = 0; start < ended.length; start += releasedAtOnce) {
    const some = ended.slice(start, start + releasedAtOnce).map((one) => releaseOrLeave(charging, one));
    released += (await Promise.all(some)).filter(Boolean).length;
  }
  return released;
}

/** More would exceed the rate limits of processors. */
const releasedAtOnce = 10;
const atOnce = 100;

/** Those of a company whose clock is being advanced, each at its own time. */
export async function releaseEndedOf(
  charging: Charging,
  companyId: string,
  fromMs: number,
  untilMs: number,
): Promise<number> {
  for (let count = 0; ; ) {
    const ended = await findEndedOf(charging.db, companyId, new Date(untilMs), atOnce);
    for (const one of ended) await release(charging, one, Math.max(one.capture_before.getTime(), fromMs));
    count += ended.length;
    if (ended.length < atOnce) return count;
  }
}

/** A connection that does not answer is asked again by the next run, and a lost answer is looked up. */
async function releaseOrLeave(charging: Charging, ended: EndedAuthorization): Promise<boolean> {
  const { company_id, order_id } = ended;
  try {
    return await release(charging, ended);
  } catch (error) {
    const level = error instanceof ApiError ? 'warn' : 'error';
    charging.log[level]({ err: error, company_id, order_id }, 'an authorization that has ended was not released');
    return false;
  }
}

/** Returns false if the order was captured or voided meanwhile, or another operation on it is in progress. */
async function release(charging: Charging, ended: EndedAuthorization, atMs?: number): Promise<boolean> {
  const { company_id, order_id } = ended;
  const begun = await charging.db.transaction(async (transaction) => {
    const state = await lockOrder(transaction, company_id, order_id);
    if (!state || !isAuthorized(state.order)) return undefined;
    if ((await findOpenOf(transaction, company_id, order_id)).length > 0) return undefined;
    const nowMs = atMs ?? charging.clock.nowMs() + state.clockOffsetMs;
    const circumstances = { nowMs, company: { mode: state.mode }, requestId: null };
    return { state, intent: await openVoid(transaction, circumstances, state.order, newId(nowMs)) };
  });
  if (!begun) return false;
  await sendVoid(charging, begun.state, begun.intent, atMs);
  return true;
}
