// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { Customer } from './customers.ts';
import type { Order } from './orders.ts';
import type { PaymentMethod } from './payment-methods.ts';
import type { Subscription } from './subscriptions.ts';
import type { TeamMember } from './team.ts';
import type { WebhookEndpoint } from './webhook-endpoints.ts';

export interface EventFeed {
  data: Event[];
  /** Send it with the next call. */
  cursor: string;
  /** Whether the next call has more at once. */
  has_more: boolean;
}

/** An event type, `<resource>.*` for all events of a resource, or `*` for all events. */
export type EventPattern = '*' | 'customer.*' | 'payment_method.*' | 'order.*' | 'subscription.*' | 'team_member.*' | 'webhook_endpoint.*' | 'customer.created' | 'customer.updated' | 'customer.deleted' | 'payment_method.attached' | 'payment_method.detached' | 'order.created' | 'order.succeeded' | 'order.failed' | 'order.refunded' | 'order.partially_refunded' | 'order.refund_failed' | 'order.voided' | 'order.chargeback' | 'order.chargeback_accepted' | 'order.chargeback_dismissed' | 'subscription.created' | 'subscription.charged' | 'subscription.updated' | 'subscription.billing.updated' | 'subscription.past_due' | 'subscription.recovered' | 'subscription.failed' | 'subscription.completed' | 'subscription.paused' | 'subscription.resumed' | 'subscription.canceled' | 'team_member.invited' | 'webhook_endpoint.disabled';

/** What each event is about. */
export interface EventObjects {
  'customer.created': Customer;
  'customer.updated': Customer;
  'customer.deleted': Customer;
  'payment_method.attached': PaymentMethod;
  'payment_method.detached': PaymentMethod;
  'order.created': Order;
  'order.succeeded': Order;
  'order.failed': Order;
  'order.refunded': Order;
  'order.partially_refunded': Order;
  'order.refund_failed': Order;
  'order.voided': Order;
  'order.chargeback': Order;
  'order.chargeback_accepted': Order;
  'order.chargeback_dismissed': Order;
  'subscription.created': Subscription;
  'subscription.charged': Subscription;
  'subscription.updated': Subscription;
  'subscription.billing.updated': Subscription;
  'subscription.past_due': Subscription;
  'subscription.recovered': Subscription;
  'subscription.failed': Subscription;
  'subscription.completed': Subscription;
  'subscription.paused': Subscription;
  'subscription.resumed': Subscription;
  'subscription.canceled': Subscription;
  'team_member.invited': TeamMember;
  'webhook_endpoint.disabled': WebhookEndpoint;
}

export type EventType = keyof EventObjects;

export interface EventOf<Type extends EventType> {
  /** The same in every attempt to deliver it. */
  id: string;
  created_at: string;
  api_version: string;
  livemode: boolean;
  /** Counts the events of one object, so that a receiver can order what arrives out of order. */
  sequence: number;
  request_id: string | null;
  type: Type;
  data: {
    object: EventObjects[Type];
    /** Of a change: the fields that were different before. */
    previous?: Partial<EventObjects[Type]>;
  };
}

/** Any event; its `type` tells what `data.object` is. */
export type Event = { [Type in EventType]: EventOf<Type> }[EventType];

export interface ListEventsParams {
  /** How many objects a page has. Default: `10`. */
  limit?: number | undefined;
  /** Gives the page after the object with this id. */
  starting_after?: string | undefined;
  /** Gives the page before the object with this id. */
  ending_before?: string | undefined;
  /** Order of the list, by created_at; `field` and `field[asc]` ascend, `-field` and `field[desc]` descend. Default: `'created_at[desc]'`. */
  sort?: 'created_at' | '-created_at' | 'created_at[asc]' | 'created_at[desc]' | undefined;
  /** One or more types, separated by commas. */
  type?: EventType | readonly EventType[] | undefined;
  /** Those about this object. */
  object_id?: string | undefined;
  created_at?: { gt?: string | undefined; gte?: string | undefined; lt?: string | undefined; lte?: string | undefined } | undefined;
}

export interface ReadEventFeedParams {
  /** The cursor of the last answer. */
  cursor?: string | undefined;
  /** How many events an answer has. Default: `100`. */
  limit?: number | undefined;
}
