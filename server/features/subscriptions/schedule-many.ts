import { ApiError } from '../../errors.ts';
import { newId } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import { fitsPlan } from '../coupons/service.ts';
import { previousOf } from '../events/service.ts';
import { type PlanToSubscribe, planToSubscribe } from '../plans/service.ts';
import { type Change, changed, recordChanges } from './billing.ts';
import { rowOf } from './change-subscription.ts';
import { cycleFor } from './plan-draft.ts';
import { lockSubscriptions } from './queries.ts';
import { nextCharge } from './schedule.ts';
import { type SubscriptionRow, toWire } from './subscription.ts';
import { type PlanTerms, termsOfPlan } from './terms.ts';
import { modifiable } from './transitions.ts';

/** Schedules the same change of plan for many subscriptions, and takes it back. Each statement is for all of them. */

export type ScheduledOne =
  | { readonly kind: 'scheduled'; readonly scheduledId: string }
  | { readonly kind: 'refused'; readonly reason: string }
  /** A charge decides first. */
  | { readonly kind: 'later' };

interface Switch {
  readonly from: string;
  readonly plan: PlanToSubscribe;
  readonly cycle: PlanTerms['cycle'];
  readonly couponFits: (couponId: string) => Promise<boolean>;
}

/** In a transaction, which holds the locks of the subscriptions until it ends. */
export async function scheduleForMany(
  context: RequestContext,
  ids: readonly string[],
  plans: { readonly from: string; readonly to: string },
): Promise<Map<string, ScheduledOne>> {
  const { db, company } = context;
  const rows = await lockRows(context, ids);
  let plan: PlanToSubscribe;
  try {
    plan = await planToSubscribe(db, company.id, plans.to);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return new Map(ids.map((id) => [id, { kind: 'refused', reason: 'The new plan was archived.' }]));
  }
  const fits = new Map<string, Promise<boolean>>();
  const to: Switch = {
    from: plans.from,
    plan,
    cycle: await cycleFor(db, context, { plan_id: plans.from }, plan),
    couponFits(couponId) {
      const known = fits.get(couponId) ?? fitsPlan(db, company.id, couponId, plan.id);
      fits.set(couponId, known);
      return known;
    },
  };
  const changes: Change[] = [];
  const results = new Map<string, ScheduledOne>();
  for (const row of rows) {
    const result = whyNot(row, to) ?? (await scheduleOne(context, row, to, changes));
    results.set(row.id, result);
  }
  await recordChanges(db, changes);
  return results;
}

async function lockRows({ db, company }: RequestContext, ids: readonly string[]): Promise<SubscriptionRow[]> {
  const wanted = ids.map((id) => ({ company_id: company.id, id }));
  return (await lockSubscriptions(db, wanted)).map(rowOf);
}

const refused = (reason: string): ScheduledOne => ({ kind: 'refused', reason });

function whyNot(row: SubscriptionRow, { from, plan }: Switch): ScheduledOne | undefined {
  if (row.status === 'past_due') return refused('Its renewal was declined, and must be paid first.');
  if (!modifiable.includes(row.status)) return refused('It ended meanwhile.');
  if (row.pending_change?.in_flight) return { kind: 'later' };
  if (row.plan_id !== from) return refused('It has another plan now.');
  if (row.currency !== plan.currency) return refused('The new plan has another currency.');
  if (row.scheduled_change) return refused('Another change is scheduled for its next renewal.');
  return nextCharge(row) ? undefined : refused('It does not renew.');
}

async function scheduleOne(
  { company, nowMs, requestId }: RequestContext,
  row: SubscriptionRow,
  { plan, cycle, couponFits }: Switch,
  changes: Change[],
): Promise<ScheduledOne> {
  const livemode = company.mode === 'live';
  const at = new Date(nowMs);
  const scheduledId = newId(nowMs);
  try {
    const keeps_coupon = row.coupon === null || (await couponFits(row.coupon.id));
    const terms = termsOfPlan(plan, row.quantity, { cycle, keeps_coupon });
    const scheduled_change = { ...terms, id: scheduledId, at: at.toISOString() };
    const to = { ...row, scheduled_change, pending_change: null, updated_at: at };
    const previous = previousOf(toWire(row, livemode), toWire(to, livemode));
    const types = ['subscription.change_scheduled'] as const;
    changes.push({ ...changed(to, types, livemode, nowMs, requestId, previous), writesPlan: true });
    return { kind: 'scheduled', scheduledId };
  } catch (error) {
    if (error instanceof ApiError) return refused(error.message);
    throw error;
  }
}

/** Takes back these scheduled changes. Returns the subscriptions that still had theirs; the others have begun it, or dropped it. */
export async function takeBackForMany(
  context: RequestContext,
  scheduled: readonly { readonly id: string; readonly scheduledId: string }[],
): Promise<Set<string>> {
  const { db, company, nowMs, requestId } = context;
  const livemode = company.mode === 'live';
  const wanted = new Map(scheduled.map(({ id, scheduledId }) => [id, scheduledId]));
  const rows = await lockRows(context, [...wanted.keys()]);
  const waiting = rows.filter(({ id, scheduled_change }) => scheduled_change?.id === wanted.get(id));
  const changes = waiting.map((row) => {
    const to = { ...row, scheduled_change: null, updated_at: new Date(nowMs) };
    const previous = previousOf(toWire(row, livemode), toWire(to, livemode));
    return { ...changed(to, ['subscription.updated'], livemode, nowMs, requestId, previous), writesPlan: true };
  });
  await recordChanges(db, changes);
  return new Set(waiting.map(({ id }) => id));
}
