// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { Call, RequestOptions } from '../../request.ts';
import type { ExpandChoice, FieldChoice, Shown } from '../../shown.ts';
import { listPages, type PagePromise } from '../../paging.ts';
import { operations } from '../operations.ts';
import type { CanceledSubscription, ListSubscriptionsParams, ListUpcomingBillsParams, Subscription, SubscriptionCreate, SubscriptionExpansions, SubscriptionUpdate, UpcomingBills } from '../types/subscriptions.ts';

export class Subscriptions {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Create a subscription and charge its first cycle. */
  create(body: SubscriptionCreate, options?: RequestOptions): Promise<Subscription> {
    return this.#call(operations.createSubscription, [], { body }, options);
  }

  /** List subscriptions. */
  list<const Expand extends keyof SubscriptionExpansions = never, const Field extends keyof Subscription = keyof Subscription>(params: ListSubscriptionsParams & ExpandChoice<Expand> & FieldChoice<Field> = {}, options?: RequestOptions): PagePromise<Shown<Subscription, SubscriptionExpansions, Expand, Field>> {
    return listPages(this.#call, operations.listSubscriptions, [], params, options);
  }

  /** Retrieve a subscription. */
  get<const Expand extends keyof SubscriptionExpansions = never, const Field extends keyof Subscription = keyof Subscription>(subscriptionId: string, params: ExpandChoice<Expand> & FieldChoice<Field> = {}, options?: RequestOptions): Promise<Shown<Subscription, SubscriptionExpansions, Expand, Field>> {
    return this.#call(operations.getSubscription, [subscriptionId], { query: params }, options);
  }

  /** Change a subscription. */
  update(subscriptionId: string, body: SubscriptionUpdate, options?: RequestOptions): Promise<Subscription> {
    return this.#call(operations.updateSubscription, [subscriptionId], { body }, options);
  }

  /** Cancel a subscription. */
  cancel(subscriptionId: string, options?: RequestOptions): Promise<CanceledSubscription> {
    return this.#call(operations.cancelSubscription, [subscriptionId], {}, options);
  }

  /** Preview the next bills. */
  upcoming(subscriptionId: string, params: ListUpcomingBillsParams = {}, options?: RequestOptions): Promise<UpcomingBills> {
    return this.#call(operations.listUpcomingBills, [subscriptionId], { query: params }, options);
  }

  /** Pause a subscription. */
  pause(subscriptionId: string, options?: RequestOptions): Promise<never> {
    return this.#call(operations.pauseSubscription, [subscriptionId], {}, options);
  }

  /** Resume a subscription. */
  resume(subscriptionId: string, options?: RequestOptions): Promise<never> {
    return this.#call(operations.resumeSubscription, [subscriptionId], {}, options);
  }
}
