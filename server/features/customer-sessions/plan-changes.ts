import { ApiError, notFound } from '../../errors.ts';
import { withoutKey } from '../../http/phases.ts';
import type { RequestContext } from '../../request-context.ts';
import { limitingDeclines } from '../checkout-sessions/service.ts';
import { type CustomerChange, groupsOf, offeredChange, offeredTo } from '../plan-groups/service.ts';
import {
  type CustomerSubscription,
  customerSubscription,
  type PlanChange,
  type PlanChangePreview,
  previewChange,
  type Subscriptions,
  undoChange,
} from '../subscriptions/service.ts';
import type { CardTestingGuard } from '../checkout-sessions/service.ts';
import type { PlanChoice, PlanChosen } from './page-schemas.ts';

/** The customer moves between the plans of a group, by the rules of the merchant. */

export interface PlanChangeDependencies {
  readonly subscriptions: Pick<Subscriptions, 'changePlan'>;
  readonly guard: CardTestingGuard;
}

/** A plan that the customer can choose. */
interface OfferedPlan {
  readonly id: string;
  readonly name: string;
  /** Of one seat. */
  readonly amount: number;
  readonly currency: string;
  readonly interval: 'day' | 'month';
  readonly interval_count: number;
  readonly when: 'now' | 'renewal';
}

export interface PlanOffer {
  readonly plans: readonly OfferedPlan[];
  readonly seats_max: number | null;
}

/** What each subscription can be changed to. A change that the merchant has scheduled is not for the customer to replace. */
export async function planOffers(
  context: RequestContext,
  subscriptions: readonly CustomerSubscription[],
): Promise<Map<string, PlanOffer>> {
  const open = subscriptions.filter(isOpen);
  const groups = await groupsOf(context, [...new Set(open.map(({ plan_id }) => plan_id))]);
  const offers = new Map<string, PlanOffer>();
  for (const subscription of open) {
    const group = groups.get(subscription.plan_id);
    const offer = group && offeredTo(subscription, group);
    if (!offer) continue;
    const plans = offer.plans.map(({ plan: { id, name, amount, currency, billing_cycle }, when }) => ({
      ...{ id, name, amount, currency, when },
      ...{ interval: billing_cycle.interval, interval_count: billing_cycle.interval_count },
    }));
    offers.set(subscription.id, { plans, seats_max: offer.seats_max });
  }
  return offers;
}

const isOpen = ({ status, scheduled, changing, next_payment }: CustomerSubscription): boolean =>
  status === 'active' && next_payment !== null && !changing && (scheduled === null || scheduled.can_undo);

async function ownSubscription(context: RequestContext, customerId: string, id: string): Promise<CustomerSubscription> {
  const subscription = await customerSubscription(context, customerId, id);
  if (!subscription) throw notFound('subscription');
  return subscription;
}

async function allowedChange(
  context: RequestContext,
  subscription: CustomerSubscription,
  { plan_id, quantity }: PlanChoice,
): Promise<CustomerChange> {
  if (!isOpen(subscription)) throw new ApiError('invalid_request', 'This subscription cannot be changed now.');
  const groups = await groupsOf(context, [subscription.plan_id]);
  const wanted = { plan_id: plan_id.toLowerCase(), quantity };
  return offeredChange(subscription, groups.get(subscription.plan_id), wanted);
}

interface ShownPreview extends Omit<PlanChangePreview, 'renewals' | 'coupon'> {
  readonly when: 'now' | 'renewal';
  readonly next: { readonly date: string; readonly total: number } | null;
}

/** What the change charges now, and the next payment after it. */
export async function previewPlanChoice(
  context: RequestContext,
  customerId: string,
  id: string,
  choice: PlanChoice,
): Promise<ShownPreview> {
  const change = await allowedChange(context, await ownSubscription(context, customerId, id), choice);
  const { renewals, coupon: _, ...charged } = await previewChange(context, id, change);
  const [next] = renewals;
  return {
    ...{ ...charged, when: change.when },
    next: next ? { date: next.date, total: next.total } : null,
  };
}

export interface ChosenOutcome {
  readonly status: PlanChange['status'];
  /** The bank wants to confirm the payment: the page for that. */
  readonly confirm_url: string | null;
}

/** A request whose answer was lost is repeated. */
function doneBefore(
  { plan_id, quantity, scheduled }: CustomerSubscription,
  wanted: PlanChoice,
): 'applied' | 'scheduled' | undefined {
  const id = wanted.plan_id.toLowerCase();
  if (plan_id === id && quantity === wanted.quantity) return 'applied';
  return scheduled?.plan_id === id && scheduled.quantity === wanted.quantity ? 'scheduled' : undefined;
}

export async function choosePlan(
  { subscriptions, guard }: PlanChangeDependencies,
  context: RequestContext,
  customerId: string,
  id: string,
  { at, expected_amount, ...choice }: PlanChosen,
  address: string,
): Promise<ChosenOutcome> {
  const subscription = await ownSubscription(context, customerId, id);
  const done = doneBefore(subscription, choice);
  if (done) return { status: done, confirm_url: null };
  const change = await allowedChange(context, subscription, choice);
  const input = { ...change, expected_amount, byCustomer: true, ...(change.when === 'now' && { at }) };
  return limitingDeclines(guard, context, address, async (tried) => {
    try {
      const { body } = await subscriptions.changePlan(context, id, input, withoutKey);
      const { status, order } = JSON.parse(body) as PlanChange;
      tried.outcome = status === 'declined' ? 'declined' : order ? 'succeeded' : 'not charged';
      return { status, confirm_url: order?.authentication_url ?? null };
    } catch (error) {
      tried.outcome = error instanceof ApiError && error.code !== 'gateway_error' ? 'not charged' : 'unknown';
      throw error;
    }
  });
}

/** Only a change that the customer has made. */
export async function undoPlanChoice(context: RequestContext, customerId: string, id: string): Promise<void> {
  const subscription = await ownSubscription(context, customerId, id);
  if (!subscription.scheduled?.can_undo) {
    throw new ApiError('invalid_state_transition', 'No change of yours is scheduled.', { param: 'id', status: 400 });
  }
  await undoChange(context, id);
}
