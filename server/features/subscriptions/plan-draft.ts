import { ApiError, invalidField } from '../../errors.ts';
import { minuteMs } from '../../platform/durations.ts';
import type { Database } from '../../platform/database.ts';
import type { RequestContext } from '../../request-context.ts';
import { fitsPlan } from '../coupons/service.ts';
import { type PlanToSubscribe, planToSubscribe, plansById } from '../plans/service.ts';
import type { PlanChangeRequest } from './change-schemas.ts';
import { refuseWhileChanging } from './change-subscription.ts';
import { netPaymentOf } from './period-payment.ts';
import { changesWithoutCharge, decide, type Decision, type Proration } from './plan-change.ts';
import type { NetPayment, PeriodPayment } from './proration.ts';
import { nextCharge } from './schedule.ts';
import type { SubscriptionRow } from './subscription.ts';
import { type PlanTerms, termsForSeats, termsOfPlan } from './terms.ts';
import { modifiable } from './transitions.ts';

/** Checks a request to change a plan and decides what it charges. The preview and the change both use it. */

export interface Draft {
  readonly decision: Decision;
  /** What was paid for the current period before. */
  readonly payment: PeriodPayment;
  readonly isScheduled: boolean;
}

/** A preview is valid for as long. */
const atMinutesMax = 10;

export async function draftChange(
  db: Database,
  context: RequestContext,
  row: SubscriptionRow,
  input: PlanChangeRequest,
): Promise<Draft> {
  const isScheduled = input.when === 'renewal';
  refuseUnlessChangeable(row);
  if (isScheduled && input.proration) {
    throw invalidField('proration', 'is only for when: now. A renewal charges the new plan in full');
  }
  const terms = await termsOf(db, context, row, input);
  const { net, ...payment } = await netPaymentOf(db, row);
  if (isScheduled) {
    refuseWithoutRenewal(row);
    return { decision: scheduled(row, terms, { net, ...payment }, context.nowMs), payment, isScheduled };
  }
  const proration = input.proration ?? 'difference';
  checkInterval(row, terms, proration);
  const atMs = momentFor(row, input, proration, payment, context.nowMs);
  return { decision: decide(row, terms, proration, { net, ...payment }, atMs), payment, isScheduled };
}

const scheduled = (row: SubscriptionRow, terms: PlanTerms, payment: NetPayment, nowMs: number): Decision =>
  decide(row, terms, 'none', payment, nowMs);

function refuseUnlessChangeable(row: SubscriptionRow): void {
  if (row.status === 'past_due') {
    const message = 'The renewal of this subscription was declined. It must be paid before the plan can be changed.';
    throw new ApiError('subscription_not_modifiable', message);
  }
  if (!modifiable.includes(row.status)) {
    const message = `The status of the subscription is ${row.status}. Only the plan of an active or paused one can be changed.`;
    throw new ApiError('subscription_not_modifiable', message);
  }
  refuseWhileChanging(row);
}

function refuseWithoutRenewal(row: SubscriptionRow): void {
  if (row.status !== 'active' || nextCharge(row)) return;
  const message = 'This subscription does not renew, so its plan cannot be changed at the renewal.';
  throw new ApiError('subscription_not_modifiable', message, { param: 'when' });
}

async function termsOf(
  db: Database,
  context: RequestContext,
  row: SubscriptionRow,
  { plan_id, quantity = row.quantity }: PlanChangeRequest,
): Promise<PlanTerms> {
  const planId = plan_id.toLowerCase();
  if (planId === row.plan_id) {
    if (quantity !== row.quantity) return termsForSeats(row, quantity);
    throw invalidField('plan_id', 'is the plan that this subscription has, with the same quantity');
  }
  const plan = await planToSubscribe(db, context.company.id, planId);
  if (plan.currency !== row.currency) {
    throw invalidField('plan_id', `must be a plan in ${row.currency}, the currency of the subscription`);
  }
  const keeps_coupon = row.coupon === null || (await fitsPlan(db, context.company.id, row.coupon.id, plan.id));
  return termsOfPlan(plan, quantity, { cycle: await cycleFor(db, context, row, plan), keeps_coupon });
}

/** A billing cycle of its own stays, unless the new plan has another interval than the plan before. */
export async function cycleFor(
  db: Database,
  { company }: RequestContext,
  { plan_id }: Pick<SubscriptionRow, 'plan_id'>,
  { billing_cycle: { interval, interval_count, anchor_day } }: PlanToSubscribe,
): Promise<PlanTerms['cycle']> {
  const before = (await plansById({ db, company } as RequestContext, [plan_id])).get(plan_id)?.billing_cycle;
  if (before?.interval === interval && before.interval_count === interval_count) return null;
  return { interval, interval_count, anchor_day: anchor_day === 'signup_date' ? null : anchor_day };
}

function checkInterval(row: SubscriptionRow, { cycle }: PlanTerms, proration: Proration): void {
  if (!cycle || proration === 'restart' || changesWithoutCharge(row, 'difference')) return;
  throw invalidField('proration', 'must be restart, because the new plan has another billing interval');
}

function momentFor(
  row: SubscriptionRow,
  { at }: PlanChangeRequest,
  proration: Proration,
  payment: PeriodPayment,
  nowMs: number,
): number {
  if (row.status !== 'active') return nowMs;
  refuseDuringCharge(row, nowMs);
  if (row.current_cycle === 0) return nowMs;
  if (at === undefined || proration === 'none') return nowMs;
  const atMs = Date.parse(at);
  if (atMs > nowMs) throw invalidField('at', 'must not be in the future');
  if (nowMs - atMs > atMinutesMax * minuteMs) {
    throw invalidField('at', `must be at most ${atMinutesMax} minutes old. Preview the change again`);
  }
  const fromMs = Math.max(row.current_period_start?.getTime() ?? 0, Date.parse(payment.from));
  // The time of a preview is that of the last whole second.
  if (atMs < fromMs) throw invalidField('at', 'is before the last charge or change. Preview the change again');
  return atMs;
}

/** The outcome of a charge that is due or in progress decides what is paid. */
function refuseDuringCharge({ due_at }: SubscriptionRow, nowMs: number): void {
  if (due_at !== null && due_at.getTime() > nowMs) return;
  throw chargeInProgress();
}

export const chargeInProgress = (): ApiError =>
  new ApiError('resource_in_use', 'A charge of this subscription is due or in progress. Retry shortly.');
