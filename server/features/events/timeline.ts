import { lackingOf } from '../../http/caller.ts';
import { createdAt } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import type { EventFacts } from './envelope.ts';
import type { Timeline } from './schemas.ts';
import { type ActorRow, findActors, findEventsOf, findTimelineObjects } from './timeline-queries.ts';

/** The history of an object: its events, with what a sentence about each needs. */

type Entry = Timeline['data'][number];

const length = 60;

/** Events that another one in the same history says better. */
const without = {
  customer: ['order.created', 'subscription.charged'],
  subscription: ['order.created', 'subscription.charged'],
  other: [],
} as const;

/** The fields of the objects that are read here; events store objects as the API returned them. */
interface Shown {
  readonly id: string;
  readonly order_number?: string;
  readonly total?: number;
  readonly amount?: number;
  readonly refunded_amount?: number;
  readonly credit_applied?: number;
  readonly credit_refunded?: number;
  readonly transactions?: readonly {
    readonly id: string;
    readonly type: string;
    readonly status: string;
    readonly amount: number;
  }[];
  readonly currency?: string;
  readonly failure_code?: string | null;
  readonly last_failure_message?: string | null;
  readonly subscription_cycle?: number | null;
  readonly next_retry_at?: string | null;
  readonly payment_method?: { readonly card_brand: string; readonly card_last_four: string };
  readonly card?: { readonly brand: string; readonly last4: string };
  readonly quantity?: number;
  readonly plan?: { readonly name: string; readonly amount: number; readonly currency: string };
}

const typeOf = (event: EventFacts): string => event.type.split('.')[0] ?? '';

/** Oldest first. Who caused an event is shown to members who may read the audit log. */
export async function getTimeline({ db, company, caller }: RequestContext, objectId: string): Promise<Timeline> {
  const { kind, ids } = await findTimelineObjects(db, company.id, objectId);
  const showsActors = lackingOf(caller, ['audit_log:read']).length === 0;
  const events = await findEventsOf(db, company.id, ids, without[kind], length);
  const requests = events.flatMap(({ request_id }) => (request_id === null ? [] : [request_id]));
  const actors = showsActors && requests.length > 0 ? await findActors(db, company.id, ids, requests) : [];
  const byRequest = new Map(actors.map((actor) => [actor.request_id, actor]));
  const seen: Seen = new Map();
  return {
    data: events.toReversed().map((event) => {
      const entry = entryOf(event, seen, event.request_id === null ? undefined : byRequest.get(event.request_id));
      return { ...entry, is_own: entry.object.id === objectId };
    }),
  };
}

function entryOf(event: EventFacts, seen: Seen, actor: ActorRow | undefined): Omit<Entry, 'is_own'> {
  const object = event.object as Shown;
  const card = object.payment_method
    ? { brand: object.payment_method.card_brand, last4: object.payment_method.card_last_four }
    : object.card && { brand: object.card.brand, last4: object.card.last4 };
  return {
    at: createdAt(event.id),
    type: event.type,
    object: { type: typeOf(event), id: object.id, title: object.order_number ?? object.plan?.name ?? null },
    amount: amountOf(event, object, seen),
    currency: object.currency ?? object.plan?.currency ?? null,
    card: card ?? null,
    failure: object.failure_code ?? object.last_failure_message ?? null,
    is_renewal: (object.subscription_cycle ?? 0) > 1,
    next_retry_at: object.next_retry_at ?? null,
    changed: Object.keys(event.previous ?? {}).filter((name) => name !== 'updated_at'),
    actor: actor ? { kind: actor.actor_kind, name: actor.actor_name } : null,
  };
}

/** The refunds of the earlier events, with their status. */
type Seen = Map<string, string>;

/** The status that the refund of an event has since the event. */
const refundStatus: Readonly<Record<string, string>> = {
  'order.refunded': 'succeeded',
  'order.partially_refunded': 'succeeded',
  'order.refund_failed': 'failed',
};

/** An event has the order with all of its refunds. Its own is the one that had another status in the events before. */
function amountOf({ type }: EventFacts, object: Shown, seen: Seen): number | null {
  const refunds = (object.transactions ?? []).filter((one) => one.type === 'refund');
  const changed = refunds.findLast(({ id, status }) => status === refundStatus[type] && seen.get(id) !== status);
  for (const { id, status } of refunds) seen.set(id, status);
  if (type in refundStatus) return changed?.amount ?? null;
  // Credit cannot be disputed.
  if (type.startsWith('order.chargeback')) {
    const { total = 0, refunded_amount = 0, credit_applied = 0, credit_refunded = 0 } = object;
    return total - credit_applied - (refunded_amount - credit_refunded);
  }
  if (object.total !== undefined) return object.total;
  return object.plan ? object.plan.amount * (object.quantity ?? 1) : null;
}
