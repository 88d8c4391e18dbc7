import { withoutKey } from '../../http/phases.ts';
import type { OfCompany, RequestContext } from '../../request-context.ts';
import type { Subscription } from '../subscriptions/schemas.ts';
import type { Subscriptions } from '../subscriptions/service.ts';

/** Changes a triggered subscription to two seats of the same plan. */
export const changeSeats =
  (when: 'now' | 'renewal') =>
  (
    context: RequestContext,
    { subscriptions }: { readonly subscriptions: OfCompany<Subscriptions> },
    { subscription: { id, plan_id } }: { readonly subscription: Subscription },
  ): Promise<unknown> =>
    subscriptions(context).changePlan(context, id, { plan_id, quantity: 2, when }, withoutKey);
