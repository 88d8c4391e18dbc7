import Type, { type TSchema } from 'typebox';
import { checkoutSession } from './features/checkout-sessions/schemas.ts';
import { customer } from './features/customers/schemas.ts';
import type { Event } from './features/events/schemas.ts';
import { eventCatalogue, type EventType, eventTypes } from './features/events/service.ts';
import { invoice } from './features/invoices/schemas.ts';
import { order } from './features/orders/schemas.ts';
import { paymentMethod } from './features/payment-methods/schemas.ts';
import { subscription } from './features/subscriptions/schemas.ts';
import { teamMember } from './features/team/schemas.ts';
import { endpoint } from './features/webhooks/schemas.ts';
import { nullable, timestamp } from './http/schemas.ts';

/** The schemas of events. They are above the features, because an event can contain an object of any of them. */

type Documented = TSchema & { readonly title?: string; readonly examples?: unknown };

/** The object of an event, by the first part of the event type. */
const objects: Readonly<Record<string, Documented>> = {
  customer,
  payment_method: paymentMethod,
  order,
  subscription,
  invoice,
  credit_note: invoice,
  checkout_session: checkoutSession,
  team_member: teamMember,
  webhook_endpoint: endpoint,
};

function objectOf(type: EventType): Documented {
  const schema = objects[type.split('.', 1)[0] ?? ''];
  if (!schema) throw new Error(`there is no schema for the event type ${type}`);
  return schema;
}

/** Returns the object that the API reference shows as an example. */
export function exampleObjectOf(type: EventType): object {
  const { examples } = objectOf(type);
  const [first] = Array.isArray(examples) ? (examples as readonly object[]) : [];
  return first ?? {};
}

const envelope = {
  id: Type.String({ pattern: '^evt_[0-9a-f]{32}$', description: 'The same in every delivery attempt.' }),
  created_at: timestamp(),
  api_version: Type.String({ examples: ['2026-02-11'] }),
  livemode: Type.Boolean(),
  sequence: Type.Integer({
    description: 'Number of this event among the events of its object. Use it to put events in order.',
  }),
  request_id: nullable(Type.String({ description: 'ID of the API request that caused the event.' })),
};

const titleOf = (type: EventType): string =>
  `${type.replace(/(^|[._])(\w)/g, (_, __, letter: string) => letter.toUpperCase())}Event`;

const previous = Type.Unsafe<object>({
  type: 'object',
  additionalProperties: true,
  description: 'For updates: the changed fields with their old values.',
});

function eventOf(type: EventType): TSchema {
  const object = objectOf(type);
  const data = Type.Object(
    { object, previous: Type.Optional(previous) },
    { title: `${object.title}EventData`, description: 'The object at the time of the event.' },
  );
  return Type.Object(
    { ...envelope, type: Type.Literal(type), data },
    { title: titleOf(type), description: eventCatalogue[type] },
  );
}

/** Each event with its description and its content. */
export const documentedEvents = eventTypes.map((type) => ({
  type,
  meaning: eventCatalogue[type],
  schema: eventOf(type),
}));

export const event = Type.Unsafe<Event>({
  title: 'Event',
  description: 'Any event. `type` determines the type of `data.object`.',
  oneOf: documentedEvents.map(({ schema }) => schema),
  discriminator: {
    propertyName: 'type',
    mapping: Object.fromEntries(eventTypes.map((type) => [type, `#/components/schemas/${titleOf(type)}`])),
  },
  examples: [
    {
      id: 'evt_019c4c214a207e138d4e8f706b5c4d3e',
      type: 'customer.created',
      created_at: '2026-02-11T09:30:00.000Z',
      api_version: '2026-02-11',
      livemode: false,
      sequence: 1,
      request_id: 'req_3k7q2m5x9w4t6y8p2r5v7n3b',
      data: { object: exampleObjectOf('customer.created') },
    },
  ],
});
