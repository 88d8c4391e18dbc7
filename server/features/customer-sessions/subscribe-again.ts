import { ApiError, notFound } from '../../errors.ts';
import { keyForWork } from '../../http/phases.ts';
import type { RequestContext } from '../../request-context.ts';
import { type CardTestingGuard, limitingDeclines } from '../checkout-sessions/service.ts';
import { type Orders, withdrawConfirmation } from '../orders/service.ts';
import { paymentMethodsOf } from '../payment-methods/service.ts';
import { plansById } from '../plans/service.ts';
import type { Subscription } from '../subscriptions/schemas.ts';
import { type CustomerSubscription, type Subscriptions, subscriptionReferences } from '../subscriptions/service.ts';
import type { ChosenOutcome } from './plan-changes.ts';

/** The customer subscribes again to the plan of a subscription that has ended: a new subscription, at the price of today. */

export interface AgainDependencies {
  readonly orders: Pick<Orders, 'get' | 'endAtBank'>;
  readonly subscriptions: Pick<Subscriptions, 'create'>;
  readonly guard: CardTestingGuard;
}

export interface AgainOffer {
  readonly plan_id: string;
  readonly name: string;
  readonly quantity: number;
  /** Of each cycle. */
  readonly amount: number;
  /** Of the first one, with a setup fee. */
  readonly total: number;
  readonly currency: string;
  readonly interval: 'day' | 'month';
  readonly interval_count: number;
}

type Earlier = Pick<CustomerSubscription, 'id' | 'plan_id' | 'quantity' | 'status'>;

const ended: readonly string[] = ['canceled', 'completed'];

/**
 * By the subscription that has ended, the newest of its plan. None for a plan that has a running subscription: the customer would pay
 * for the same thing twice.
 */
export async function againOffers(
  context: RequestContext,
  subscriptions: readonly Earlier[],
): Promise<Map<string, AgainOffer>> {
  const newest = Map.groupBy(subscriptions, ({ plan_id }) => plan_id);
  const again = [...newest.values()].flatMap((ofPlan) =>
    ofPlan.every(({ status }) => ended.includes(status)) ? ofPlan.slice(0, 1) : [],
  );
  const plans = await plansById(
    context,
    again.map(({ plan_id }) => plan_id),
  );
  return new Map(
    again.flatMap(({ id, plan_id, quantity }) => {
      const plan = plans.get(plan_id);
      if (!plan?.active) return [];
      const amount = plan.amount * quantity;
      const { interval, interval_count } = plan.billing_cycle;
      const price = { amount, total: amount + plan.one_time_amount, currency: plan.currency };
      return [[id, { plan_id, name: plan.name, quantity, ...price, interval, interval_count }] as const];
    }),
  );
}

/**
 * Charges the default card. The key is the same until there is another subscription to the plan, so that a request that is repeated,
 * or comes from two windows at once, subscribes once: also with another card, or at another price, while the outcome is unknown. No
 * refusal is stored, because the next request may have a card that is taken.
 */
export async function subscribeAgain(
  { orders, subscriptions, guard }: AgainDependencies,
  context: RequestContext,
  customerId: string,
  id: string,
  expected: number,
  address: string,
): Promise<ChosenOutcome> {
  const { db, company } = context;
  await endEarlierTries(orders, context, await ofSamePlan(context, customerId, id));
  const ofPlan = await ofSamePlan(context, customerId, id);
  const offer = (await againOffers(context, ofPlan.filter(hasBegun))).get(id);
  if (!offer)
    throw new ApiError('invalid_state_transition', 'This subscription cannot be begun again.', { param: 'id' });
  if (offer.total !== expected) throw new ApiError('invalid_request', 'The price has changed. Load the page again.');
  const cards = (await paymentMethodsOf(db, company.id, [customerId])).get(customerId) ?? [];
  const card = cards.find(({ is_default }) => is_default);
  if (!card) throw notFound('payment method', 'payment_method_id');
  const input = {
    customer_id: customerId,
    plan_id: offer.plan_id,
    quantity: offer.quantity,
    payment_method_id: card.id,
    shipping: ofPlan.find((one) => one.id === id)?.shipping ?? null,
  };
  const phased = { ...keyForWork(context, `again ${id} ${ofPlan.length}`, '/customer'), refusal: () => undefined };
  return limitingDeclines(guard, context, address, async (tried) => {
    try {
      const answer = await subscriptions.create(context, { ...input, shownTotal: expected }, phased);
      const { status, latest_order_id } = JSON.parse(answer.body) as Subscription;
      const isDeclined = status === 'failed';
      tried.outcome = isDeclined ? 'declined' : 'succeeded';
      const order = isDeclined && latest_order_id ? await orders.get(context, latest_order_id, new Set()) : undefined;
      return { status: isDeclined ? 'declined' : 'applied', confirm_url: order?.authentication_url ?? null };
    } catch (error) {
      tried.outcome = error instanceof ApiError && error.code !== 'gateway_error' ? 'not charged' : 'unknown';
      throw error;
    }
  });
}

async function ofSamePlan(context: RequestContext, customerId: string, id: string): Promise<Subscription[]> {
  const all = (await subscriptionReferences.subscriptionsOf(context, [customerId])).get(customerId) ?? [];
  const earlier = all.find((one) => one.id === id);
  if (!earlier) throw notFound('subscription');
  return all.filter(({ plan_id }) => plan_id === earlier.plan_id);
}

/** The customer pays now, and not also by confirming an earlier try with the bank. */
async function endEarlierTries(
  orders: AgainDependencies['orders'],
  { db, company }: RequestContext,
  subscriptions: readonly Subscription[],
): Promise<void> {
  for (const { latest_order_id } of subscriptions.filter((one) => !hasBegun(one))) {
    if (!latest_order_id) continue;
    await orders.endAtBank(company.id, latest_order_id);
    await withdrawConfirmation(db, company.id, latest_order_id);
  }
}

/** A subscription whose first charge was declined never began. */
const hasBegun = ({ status, completed_cycles }: Subscription): boolean => status !== 'failed' || completed_cycles > 0;
