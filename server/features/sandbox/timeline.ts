import Type, { type Static } from 'typebox';
import { lackingOf } from '../../http/caller.ts';
import { nullable, timestamp } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { choice } from '../../platform/choice.ts';
import { dayMs } from '../../platform/durations.ts';
import { createdAt } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import { customersById } from '../customers/service.ts';
import {
  findCustomerEmails,
  findDeliveries,
  findEvents,
  findExpiredCoupons,
  type RecordedEvent,
} from './timeline-queries.ts';

/**
 * The days of a sandbox for people: one entry for each charge with its outcome, where the API has an event for each change of each
 * object.
 */

/** What one event is in a timeline. Events that only repeat another one, such as `subscription.charged`, are not in it. */
const kindsOfEvents = {
  'order.authorized': 'authorized',
  'order.succeeded': 'paid',
  'order.failed': 'declined',
  'order.refunded': 'refunded',
  'order.partially_refunded': 'refunded',
  'order.refund_failed': 'refund_failed',
  'order.voided': 'voided',
  'order.chargeback': 'disputed',
  'order.chargeback_accepted': 'dispute_lost',
  'order.chargeback_dismissed': 'dispute_won',
  'subscription.failed': 'subscription_failed',
  'subscription.canceled': 'subscription_canceled',
  'subscription.completed': 'subscription_completed',
  'subscription.plan_changed': 'plan_changed',
  'subscription.paused': 'subscription_paused',
  'subscription.resumed': 'subscription_resumed',
  'customer.created': 'customer_created',
  'checkout_session.expired': 'checkout_expired',
} as const;

const kinds = [
  ...new Set(Object.values(kindsOfEvents)),
  'first_paid',
  'first_declined',
  'renewal_paid',
  'renewal_declined',
  'retry_paid',
  'retry_declined',
  'email',
  'webhooks',
  'coupon_expired',
] as const;

export const sandboxTimeline = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        at: timestamp(),
        kind: choice(kinds),
        object: Type.Object({ type: Type.String(), id: Type.String(), title: nullable(Type.String()) }),
        customer: nullable(Type.Object({ id: Type.String(), name: Type.String() })),
        amount: nullable(Type.Number()),
        currency: nullable(Type.String()),
        failure: nullable(Type.String()),
        next_retry_at: nullable(timestamp()),
        text: nullable(
          Type.String({ description: 'The subject of an email, the URL of an endpoint, the name of a plan.' }),
        ),
        delivered: Type.Integer(),
        failed: Type.Integer(),
      }),
      { description: 'The latest first.' },
    ),
    from: timestamp(),
    until: timestamp(),
    is_whole: Type.Boolean({ description: 'False if only the latest entries are in it.' }),
  },
  { title: 'SandboxTimeline' },
);
export type SandboxTimeline = Static<typeof sandboxTimeline>;
type Entry = SandboxTimeline['data'][number];

export async function getSandboxTimeline(
  context: RequestContext,
  { from, until }: { readonly from?: number; readonly until?: number },
): Promise<SandboxTimeline> {
  const { db, company, nowMs } = context;
  const untilMs = until ?? nowMs;
  const period = { fromMs: from ?? untilMs - 30 * dayMs, untilMs, count: limits.timelineEntries };
  const mayRead = (permission: string): boolean => lackingOf(context.caller, [permission]).length === 0;
  const events = await findEvents(db, company.id, Object.keys(kindsOfEvents), period);
  const emails = mayRead('customers:read') ? await findCustomerEmails(db, company.id, period) : [];
  const deliveries = mayRead('webhook_endpoints:read') ? await findDeliveries(db, company.id, period) : [];
  const coupons = mayRead('coupons:read') ? await findExpiredCoupons(db, company.id, period) : [];
  const customerOf = await namesOf(context, [
    ...events.map(customerIdOf),
    ...emails.map(({ customer_id }) => customer_id),
  ]);
  const entries: Entry[] = [
    ...events.map((event) => entryOf(event, customerOf(customerIdOf(event)))),
    ...emails.map(({ id, subject, kind, customer_id, object_id }) => ({
      ...blank,
      at: createdAt(id),
      kind: 'email' as const,
      object: {
        type: /_receipt$|_request$|^payment_failed$/.test(kind) ? 'order' : 'subscription',
        id: object_id,
        title: null,
      },
      customer: customerOf(customer_id),
      text: subject,
    })),
    ...deliveries.map(({ endpoint_id, url, last_id, delivered, failed }) => ({
      ...blank,
      at: createdAt(last_id),
      kind: 'webhooks' as const,
      object: { type: 'webhook_endpoint', id: endpoint_id, title: null },
      text: url,
      delivered,
      failed,
    })),
    ...coupons.map(({ id, name, expires_at }) => ({
      ...blank,
      at: expires_at.toISOString(),
      kind: 'coupon_expired' as const,
      object: { type: 'coupon', id, title: name },
    })),
  ];
  const sorted = entries.toSorted((one, other) => Date.parse(other.at) - Date.parse(one.at));
  const [start, end] = [period.fromMs, untilMs].map((ms) => new Date(ms).toISOString()) as [string, string];
  return { data: sorted.slice(0, period.count), from: start, until: end, is_whole: sorted.length < period.count };
}

const blank = {
  customer: null,
  amount: null,
  currency: null,
  failure: null,
  next_retry_at: null,
  text: null,
  delivered: 0,
  failed: 0,
} as const;

const customerIdOf = ({ type, object_id, customer_id }: RecordedEvent): string | null =>
  type.startsWith('customer.') ? object_id : customer_id;

function entryOf(event: RecordedEvent, customer: Entry['customer']): Entry {
  const [type = ''] = event.type.split('.');
  return {
    ...blank,
    at: createdAt(event.id),
    kind: kindOf(event),
    object: { type, id: event.object_id, title: event.order_number },
    customer,
    amount: event.amount,
    currency: event.currency,
    failure: event.failure,
    next_retry_at: event.next_retry_at,
    text: event.plan_name,
  };
}

/** A charge of a subscription is its first one, a renewal, or a retry of a renewal that was declined before. */
function kindOf({ type, subscription_id, cycle, change, attempts }: RecordedEvent): Entry['kind'] {
  const kind = kindsOfEvents[type as keyof typeof kindsOfEvents];
  if (subscription_id === null || (kind !== 'paid' && kind !== 'declined')) return kind;
  if (change !== null) return kind;
  if ((cycle ?? 1) === 1) return `first_${kind}`;
  const declinesBefore = kind === 'paid' ? attempts : attempts - 1;
  return `${declinesBefore > 0 ? 'retry' : 'renewal'}_${kind}`;
}

/** The names of customers, for those who may read them. */
async function namesOf(
  context: RequestContext,
  ids: readonly (string | null)[],
): Promise<(id: string | null) => Entry['customer']> {
  const wanted = [...new Set(ids.filter((id) => id !== null))];
  const mayRead = lackingOf(context.caller, ['customers:read']).length === 0;
  const known = mayRead ? await customersById(context, wanted) : new Map();
  return (id) => {
    const customer = id === null ? undefined : known.get(id);
    return customer ? { id: customer.id, name: `${customer.first_name} ${customer.last_name}`.trim() } : null;
  };
}
