import { ApiError, notFound } from '../../errors.ts';
import type { Database } from '../../platform/database.ts';
import type { RequestContext } from '../../request-context.ts';
import { previousOf } from '../events/service.ts';
import { isWaitingCharge } from '../orders/service.ts';
import { changed, policyOf, recordChanges } from './billing.ts';
import { lockOne, refuseWhileChanging } from './change-subscription.ts';
import { withoutPending, writesPlan } from './changes.ts';
import { dunningEndsAt } from './dunning.ts';
import { findHeld, type HeldSubscription, isUnderWay } from './queries.ts';
import { nextCharge, withNextDue } from './schedule.ts';
import type { Renewal, Subscription } from './schemas.ts';
import { type SubscriptionRow, toWire } from './subscription.ts';

/** A subscription whose renewal has ended runs until its paid period is over. Until then, it can be kept. */

export const canEndRenewal = (row: SubscriptionRow): boolean =>
  row.status === 'active' &&
  row.renewal_ended_at === null &&
  row.current_period_end !== null &&
  nextCharge(row) !== undefined;

export const canKeepRenewal = (
  { status, renewal_ended_at, current_period_end }: SubscriptionRow,
  nowMs: number,
): boolean => status === 'active' && renewal_ended_at !== null && (current_period_end?.getTime() ?? 0) > nowMs;

/** The end date becomes the end of the paid period. A subscription of another than the given customer does not exist. */
export async function endRenewal(context: RequestContext, id: string, customerId?: string): Promise<Subscription> {
  return change(context, id, customerId, async (transaction, row) => {
    if (row.renewal_ended_at) return undefined;
    refuseWhileChanging(row);
    if (!canEndRenewal(row)) throw refused('This subscription does not renew, so its renewal cannot be ended.');
    // The outcome of a charge in flight decides which period is paid.
    if (row.latest_order_id && (await isUnderWay(transaction, row.company_id, row.latest_order_id))) {
      throw new ApiError('resource_in_use', await whyInUse(transaction, row.company_id, row.latest_order_id));
    }
    return {
      ...withoutPending(row),
      end_date: row.current_period_end?.toISOString().slice(0, 10) ?? null,
      renewal_ended_at: new Date(context.nowMs),
      earlier_end_date: row.end_date,
    };
  });
}

async function whyInUse(db: Database, companyId: string, orderId: string): Promise<string> {
  return (await isWaitingCharge(db, companyId, orderId))
    ? 'The renewal waits to be charged, so it is not known yet when the paid period ends. Cancel the subscription now, or end the renewal after the charge.'
    : 'A charge of this subscription is in progress. Retry shortly.';
}

/** Undoes it, until the paid period ends. */
export async function keepRenewal(context: RequestContext, id: string, customerId?: string): Promise<Subscription> {
  return change(context, id, customerId, async (_transaction, row) => {
    if (!row.renewal_ended_at && row.status === 'active') return undefined;
    if (!canKeepRenewal(row, context.nowMs)) throw refused('This subscription has ended and cannot be continued.');
    return { ...row, end_date: row.earlier_end_date, renewal_ended_at: null, earlier_end_date: null };
  });
}

function refused(message: string): ApiError {
  return new ApiError('invalid_state_transition', message, { param: 'id', status: 400 });
}

async function change(
  { db, company, nowMs, requestId }: RequestContext,
  id: string,
  customerId: string | undefined,
  move: (transaction: Database, row: SubscriptionRow) => Promise<SubscriptionRow | undefined>,
): Promise<Subscription> {
  const livemode = company.mode === 'live';
  return db.transaction(async (transaction) => {
    const row = await lockOne(transaction, company.id, id);
    if (customerId !== undefined && row.customer_id !== customerId) throw notFound('subscription');
    const moved = await move(transaction, row);
    if (!moved) return toWire(row, livemode);
    const to = withNextDue({ ...moved, updated_at: new Date(nowMs) });
    const after = toWire(to, livemode);
    const previous = previousOf(toWire(row, livemode), after);
    const recorded = changed(to, ['subscription.updated'], livemode, nowMs, requestId, previous);
    await recordChanges(transaction, [{ ...recorded, writesPlan: writesPlan(row, to) }]);
    return after;
  });
}

/** What a merchant can do with the renewal, and what happens after a decline. */
export async function getRenewal({ db, company, nowMs }: RequestContext, id: string): Promise<Renewal> {
  const row = await findHeld(db, company.id, id);
  if (!row) throw notFound('subscription');
  const ends = row.status === 'active' && !nextCharge(row);
  const { latest_order_id } = row;
  const waits = latest_order_id !== null && (await isWaitingCharge(db, company.id, latest_order_id));
  return {
    ends_at: ends ? (row.current_period_end?.toISOString() ?? null) : null,
    can_end: canEndRenewal(row) && !waits,
    can_keep: canKeepRenewal(row, nowMs),
    dunning: dunningOf(row),
  };
}

function dunningOf(row: HeldSubscription): Renewal['dunning'] {
  if (row.status !== 'past_due' || !row.first_declined_at) return null;
  const policy = policyOf(row);
  return {
    declined_at: row.first_declined_at.toISOString(),
    reason: row.last_failure_message,
    attempts: row.attempt_count,
    attempts_max: policy.days.length + 1,
    next_retry_at: row.next_retry_at?.toISOString() ?? null,
    ends_at: dunningEndsAt(row, policy)?.toISOString() ?? null,
    afterwards: policy.afterwards,
  };
}
