import { notFound } from '../../errors.ts';
import type { PhasedRequest } from '../../http/phases.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest, PhasedAnswer } from '../../http/route.ts';
import type { Queryable } from '../../platform/database.ts';
import { consentsOf } from '../consents/service.ts';
import { customersById } from '../customers/service.ts';
import type { Order } from '../orders/schemas.ts';
import { hasOrdersOf } from '../orders/service.ts';
import type { PlanCreate } from '../plans/schemas.ts';
import { plansById } from '../plans/service.ts';
import {
  backdateSubscription,
  cancelSubscription,
  cancelSubscriptionsOf,
  changeSubscription,
  lockedSubscription,
  pauseSubscription,
  repointSubscriptions,
  resumeSubscription,
} from './change-subscription.ts';
import { createSubscription, type ShownSubscription } from './create-subscription.ts';
import { changePlan } from './change-plan.ts';
import { previewChange, undoChange } from './change-preview.ts';
import type { ShownPlanChange } from './change-schemas.ts';
import { continueNow, pauseUntil } from './pauses.ts';
import { findTermsAt } from './change-queries.ts';
import { addRenewalItem, removeRenewalItem } from './renewal-items.ts';
import {
  cardToConfirm,
  moveFailedTo,
  overdueOrderOf,
  payFailedRenewal,
  shownToCustomer,
  tryAnotherCard,
} from './customer-changes.ts';
import { countDue, findSubscription, findSubscriptionsOf, hasSubscriptions, isCardInUse } from './queries.ts';
import { listSubscriptions, type SubscriptionFilters } from './list-queries.ts';
import { endRenewal, getRenewal, keepRenewal } from './renewal-end.ts';
import { type BilledBatch, billDue, billDueOf, type RenewalDependencies } from './renewals.ts';
import { amountsOf, plannedCharges, type UpcomingCharge, upcomingCharges, withPassedDatesLeftOut } from './schedule.ts';
import type { Subscription, UpcomingBills } from './schemas.ts';
import { type SubscriptionRow, toWire } from './subscription.ts';
import type { RequestContext } from '../../request-context.ts';

export { subscriptionBilling } from './billing.ts';
export { monthsLater } from './calendar.ts';
export {
  backdateSubscription,
  cancelSubscription,
  changeSubscription,
  lockedSubscription,
  pauseSubscription,
  resumeSubscription,
};
export { scheduleForMany, type ScheduledOne, takeBackForMany } from './schedule-many.ts';
export { continueNow, pauseUntil };
export { addRenewalItem, previewChange, removeRenewalItem, undoChange };
export { endRenewal, getRenewal, keepRenewal, moveFailedTo, overdueOrderOf, payFailedRenewal, shownToCustomer };
export { cardToConfirm, tryAnotherCard };
export { type CustomerSubscription, customerSubscription } from './customer-changes.ts';
export type { PlanChange, PlanChangePreview, PlanChangeRequest } from './change-schemas.ts';
export { subscriptionsDueChannel } from './subscription.ts';
export type { SubscriptionFilters };

/** The operations on subscriptions that move money. */
export interface Subscriptions {
  create(context: RequestContext, input: ShownSubscription, key: PhasedRequest): Promise<PhasedAnswer>;
  /** Changes the plan, or the number of seats. */
  changePlan(context: RequestContext, id: string, input: ShownPlanChange, key: PhasedRequest): Promise<PhasedAnswer>;
  /** Job: bills one batch and returns how many subscriptions were due. */
  billDue(count: number): Promise<number>;
  /** For a company whose clock is being advanced. */
  billDueOf(companyId: string, fromMs: number, untilMs: number, count: number): Promise<BilledBatch>;
}

export function openSubscriptions(dependencies: RenewalDependencies): Subscriptions {
  return {
    create: (context, input, key) => createSubscription(dependencies, context, input, key),
    changePlan: (context, id, input, key) => changePlan(dependencies, context, id, input, key),
    billDue: (count) => billDue(dependencies, count),
    billDueOf: (companyId, fromMs, untilMs, count) => billDueOf(dependencies, companyId, fromMs, untilMs, count),
  };
}

/** Checks of other features on the subscriptions of a customer or a card. */
export const subscriptionReferences = {
  hasOpenSubscriptions: (db: Queryable, companyId: string, customerId: string): Promise<boolean> =>
    hasSubscriptions(db, companyId, customerId, ['pending', 'active', 'paused']),
  hasHistory: async (db: Queryable, companyId: string, customerId: string): Promise<boolean> =>
    (await hasOrdersOf(db, companyId, customerId)) || hasSubscriptions(db, companyId, customerId),
  cancelSubscriptions: cancelSubscriptionsOf,
  inUse: isCardInUse,
  repoint: repointSubscriptions,
  subscriptionsOf,
};

async function subscriptionsOf(
  { db, company }: RequestContext,
  customerIds: readonly string[],
): Promise<Map<string, Subscription[]>> {
  const rows = await findSubscriptionsOf(db, company.id, customerIds);
  return Map.groupBy(
    rows.map((row) => toWire(row, company.mode === 'live')),
    ({ customer_id }) => customer_id,
  );
}

export async function getSubscription(
  context: RequestContext,
  id: string,
  expand: ReadonlySet<string>,
): Promise<Subscription> {
  const row = await findSubscription(context.db, context.company.id, id);
  if (!row) throw notFound('subscription');
  const shown = toWire(row, context.company.mode === 'live');
  const [subscription] = await expanded(context, [shown], expand);
  return subscription ?? shown;
}

/** What an order charges for a plan, before discounts. */
export interface PlanCharge {
  readonly name: string;
  readonly price: number;
  /** 0 after the first cycle. */
  readonly setupFee: number;
}

type ChargedOrder = Pick<
  Order,
  'subscription_id' | 'subscription_cycle' | 'subscription_change' | 'subtotal' | 'items' | 'description' | 'created_at'
>;

/** Null for an order without a subscription. An order keeps the name of the plan that it was charged for. */
export async function planChargeOf(
  { db, company }: Pick<RequestContext, 'db' | 'company'>,
  order: ChargedOrder,
): Promise<PlanCharge | null> {
  const id = order.subscription_id;
  const row = id === null ? undefined : await findSubscription(db, company.id, id);
  if (!row) return null;
  const { subtotal, description } = order;
  // An order of the release before has no number of a change in its events.
  if (typeof order.subscription_change === 'number') {
    return { name: description ?? row.plan_name, price: subtotal, setupFee: 0 };
  }
  const then = (await findTermsAt(db, company.id, row.id, new Date(order.created_at))) ?? row;
  const setupFee = (order.subscription_cycle ?? 1) === 1 ? then.one_time_amount : 0;
  const added = order.items.reduce((sum, { total }) => sum + (total ?? 0), 0);
  return { name: then.plan_name, price: subtotal - added - setupFee, setupFee };
}

export async function getSubscriptions(
  context: RequestContext,
  filters: SubscriptionFilters,
  page: PageRequest,
  expand: ReadonlySet<string>,
): Promise<Page<Subscription>> {
  const found = await listSubscriptions(context, filters, page);
  const shown = found.items.map((row) => toWire(row, context.company.mode === 'live'));
  return { ...found, items: await expanded(context, shown, expand) };
}

async function expanded(
  context: RequestContext,
  subscriptions: readonly Subscription[],
  expand: ReadonlySet<string>,
): Promise<Subscription[]> {
  const { db, company } = context;
  const ids = (name: 'id' | 'customer_id' | 'plan_id'): string[] => subscriptions.map((one) => one[name]);
  const customers = expand.has('customer') ? await customersById(context, ids('customer_id')) : undefined;
  const plans = expand.has('plan') ? await plansById(context, ids('plan_id')) : undefined;
  const consents = expand.has('consents') ? await consentsOf(db, company.id, 'subscription_id', ids('id')) : undefined;
  return subscriptions.map((subscription) => {
    const customer = customers?.get(subscription.customer_id);
    const plan = plans?.get(subscription.plan_id);
    return {
      ...{ ...subscription, ...(customer && { customer }), ...(plan && { plan }) },
      ...(consents && { consents: consents.get(subscription.id) ?? [] }),
    };
  });
}

/**
 * Returns the next bills if nothing changes. A past due subscription continues once it is paid, without the dates
 * that passed.
 */
function billsToCome(row: SubscriptionRow, count: number, nowMs: number): UpcomingCharge[] {
  if (row.status === 'active') return upcomingCharges(row, count);
  return row.status === 'past_due' ? upcomingCharges(withPassedDatesLeftOut(row, nowMs), count) : [];
}

/** Returns the first bills of a subscription that would start now, for the preview of a new plan in the dashboard. */
export function previewBills(
  plan: Pick<PlanCreate, 'billing_cycle' | 'billing_cycles' | 'amount' | 'one_time_amount'>,
  startMs: number,
  count: number,
): { cycle: number; at: string; amount: number }[] {
  const { interval, interval_count, anchor_day } = plan.billing_cycle;
  const startAt = new Date(startMs);
  const course = {
    start_at: startAt,
    base_at: startAt,
    interval,
    interval_count,
    anchor_day: anchor_day === 'signup_date' ? null : anchor_day,
    current_cycle: 0,
    next_number: 0,
    end_date: null,
    billing_cycles: plan.billing_cycles ?? 0,
  };
  const price = { amount: plan.amount, one_time_amount: plan.one_time_amount ?? 0, coupon: null };
  return plannedCharges(course, count).map(({ cycle, atMs }) => ({
    cycle,
    at: new Date(atMs).toISOString(),
    amount: amountsOf(price, cycle).total,
  }));
}

export async function upcomingBillsOf(context: RequestContext, id: string, count: number): Promise<UpcomingBills> {
  const row = await findSubscription(context.db, context.company.id, id);
  if (!row) throw notFound('subscription');
  return {
    data: billsToCome(row, count, context.nowMs).map(({ cycle, atMs, subtotal, discount, total }) => ({
      cycle,
      date: new Date(atMs).toISOString(),
      amount: subtotal,
      discount_amount: discount,
      total,
      currency: row.currency,
    })),
  };
}

const countedMax = 10_000;
const overdueSeconds = 600;

export async function subscriptionsDue(db: Queryable): ReturnType<typeof countDue> {
  return countDue(db, countedMax, overdueSeconds);
}
