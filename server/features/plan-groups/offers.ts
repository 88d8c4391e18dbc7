import { ApiError, invalidField } from '../../errors.ts';
import type { Plan } from '../plans/schemas.ts';
import type { PlanChangeRequest } from '../subscriptions/service.ts';
import type { PlanGroupRow } from './queries.ts';
import type { GroupWithPlans } from './service.ts';

/** What the rules of a group allow a customer. Pure functions without I/O. */

/** A subscription, as far as the rules ask. */
export interface Offered {
  readonly plan_id: string;
  /** Of a cycle, for all seats. */
  readonly amount: number;
  readonly quantity: number;
  readonly interval: 'day' | 'month';
  readonly interval_count: number;
  readonly completed_cycles: number;
  readonly status: string;
}

export interface CustomerChange extends Pick<PlanChangeRequest, 'plan_id' | 'when' | 'proration'> {
  readonly quantity: number;
}

interface Price {
  readonly amount: number;
  readonly interval: 'day' | 'month';
  readonly interval_count: number;
}

/** By year, so that plans of different intervals compare. */
const yearly = ({ amount, interval, interval_count }: Price): number =>
  (amount * (interval === 'day' ? 365 : 12)) / interval_count;

const priceOf = ({ amount, billing_cycle: { interval, interval_count } }: Plan, quantity: number): Price => ({
  amount: amount * quantity,
  interval,
  interval_count,
});

/** The seats of the same plan cost what they cost the subscriber, whose price may be an earlier one. */
function priceAfter(subscription: Offered, plan: Plan, quantity: number): Price {
  if (plan.id !== subscription.plan_id) return priceOf(plan, quantity);
  return { ...subscription, amount: (subscription.amount / subscription.quantity) * quantity };
}

function whenOf(group: PlanGroupRow, subscription: Offered, plan: Plan, quantity: number): PlanGroupRow['upgrade'] {
  const [before, after] = [yearly(subscription), yearly(priceAfter(subscription, plan, quantity))];
  return after < before ? group.downgrade : group.upgrade;
}

const mayChange = ({ after_cycles }: PlanGroupRow, { completed_cycles, status }: Offered): boolean =>
  status === 'active' && completed_cycles >= after_cycles;

export interface Offer {
  readonly plans: readonly { readonly plan: Plan; readonly when: 'now' | 'renewal' }[];
  readonly seats_max: number | null;
}

/** The plans and seats that the customer can choose; null if there is nothing to choose. */
export function offeredTo(subscription: Offered, { group, plans }: GroupWithPlans): Offer | null {
  if (!mayChange(group, subscription)) return null;
  const offered = plans.flatMap((plan) => {
    const when = plan.id === subscription.plan_id ? 'off' : whenOf(group, subscription, plan, subscription.quantity);
    return when === 'off' ? [] : [{ plan, when }];
  });
  // More seats or fewer: at least one of the two must be allowed.
  const hasSeats = group.seats_max !== null && (group.upgrade !== 'off' || group.downgrade !== 'off');
  if (offered.length === 0 && !hasSeats) return null;
  return { plans: offered, seats_max: hasSeats ? group.seats_max : null };
}

const refused = (message: string): ApiError => new ApiError('invalid_request', message);

/** The change as the rules make it; refuses what they do not allow. */
export function offeredChange(
  subscription: Offered,
  found: GroupWithPlans | undefined,
  { plan_id, quantity }: { readonly plan_id: string; readonly quantity: number },
): CustomerChange {
  const plan = found?.plans.find(({ id }) => id === plan_id);
  if (!found || !plan || !mayChange(found.group, subscription)) {
    throw refused('This shop does not allow this change here. Write to the shop instead.');
  }
  const { group } = found;
  if (quantity !== subscription.quantity && (group.seats_max === null || quantity > group.seats_max)) {
    throw invalidField('quantity', `must be at most ${group.seats_max ?? subscription.quantity}`);
  }
  const when = whenOf(group, subscription, plan, quantity);
  if (when === 'off') throw refused('This shop does not allow this change here. Write to the shop instead.');
  if (when === 'renewal') return { plan_id, quantity, when };
  return { plan_id, quantity, when, proration: prorationOf(group, subscription, plan) };
}

/** A change now between different intervals can only begin a new period. */
function prorationOf(group: PlanGroupRow, subscription: Offered, plan: Plan): PlanGroupRow['proration'] {
  const { interval, interval_count } = plan.billing_cycle;
  const isSame = plan.id === subscription.plan_id;
  const sameCycle = interval === subscription.interval && interval_count === subscription.interval_count;
  return isSame || sameCycle || group.proration === 'none' ? group.proration : 'restart';
}
