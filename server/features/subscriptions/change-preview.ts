import { notFound } from '../../errors.ts';
import type { RequestContext } from '../../request-context.ts';
import { creditFor, mostCredit } from '../credit/service.ts';
import { previousOf } from '../events/service.ts';
import { executedCharge } from '../restores/service.ts';
import { changed, recordChanges } from './billing.ts';
import type { PlanChangePreview, PlanChangeRequest } from './change-schemas.ts';
import { lockOne } from './change-subscription.ts';
import { forgottenOfChange } from './forgotten-charges.ts';
import { changedAtOnce, changedPaid, type Decision } from './plan-change.ts';
import { draftChange, type Draft } from './plan-draft.ts';
import { findSubscription } from './queries.ts';
import { upcomingCharges } from './schedule.ts';
import type { Subscription } from './schemas.ts';
import { type SubscriptionRow, toWire } from './subscription.ts';
import { ApiError } from '../../errors.ts';

const renewalsShown = 3;

/** What a change of plan would do now. Nothing is recorded. */
export async function previewChange(
  context: RequestContext,
  id: string,
  input: PlanChangeRequest,
): Promise<PlanChangePreview> {
  const row = await findSubscription(context.db, context.company.id, id);
  if (!row) throw notFound('subscription');
  const draft = await draftChange(context.db, context, row, input);
  const { decision } = draft;
  const next = after(row, draft, context.nowMs);
  const available = await creditFor(context.db, row, decision.due);
  const forgotten = available > 0 ? await forgottenOfChange(context.db, row, executedCharge) : undefined;
  const credit_applied = Math.min(available, mostCredit(decision.due, forgotten));
  return {
    at: new Date(decision.atMs).toISOString(),
    lines: [...decision.lines],
    amount_due: decision.due - credit_applied,
    credit_applied,
    credit_amount: decision.credit,
    currency: row.currency,
    coupon: couponOf(row, decision),
    renewals: upcomingCharges(next, renewalsShown).map(({ cycle, atMs, subtotal, discount, total }) => ({
      cycle,
      date: new Date(atMs).toISOString(),
      amount: subtotal,
      discount_amount: discount,
      total,
      currency: row.currency,
    })),
  };
}

function after(row: SubscriptionRow, { decision, isScheduled }: Draft, nowMs: number): SubscriptionRow {
  const { terms, atMs, restarts, paid } = decision;
  const at = new Date(atMs).toISOString();
  if (isScheduled) return { ...row, scheduled_change: { ...terms, id: row.id, at } };
  if (paid === undefined) return changedAtOnce(row, decision, row.period_payment, nowMs);
  return changedPaid(row, { ...terms, at, restarts, paid, orders: [] }, nowMs);
}

function couponOf({ coupon }: SubscriptionRow, { terms }: Decision): PlanChangePreview['coupon'] {
  if (!coupon) return null;
  return { id: coupon.id, code: coupon.code, continues: terms.keeps_coupon };
}

/** Takes back a change that is scheduled for the next renewal. */
export async function undoChange(context: RequestContext, id: string): Promise<Subscription> {
  const { db, company, nowMs, requestId } = context;
  const livemode = company.mode === 'live';
  return db.transaction(async (transaction) => {
    const row = await lockOne(transaction, company.id, id);
    if (!row.scheduled_change || toWire(row, livemode).scheduled_change === null) {
      throw new ApiError('invalid_state_transition', 'No change of plan is scheduled.', { param: 'id', status: 400 });
    }
    const to = { ...row, scheduled_change: null, updated_at: new Date(nowMs) };
    const previous = previousOf(toWire(row, livemode), toWire(to, livemode));
    const change = changed(to, ['subscription.updated'], livemode, nowMs, requestId, previous);
    await recordChanges(transaction, [{ ...change, writesPlan: true }]);
    return toWire(change.row, livemode);
  });
}
