import Type, { type Static } from 'typebox';
import { nullable, timestamp } from '../../http/schemas.ts';
import { eventTypes } from './catalogue.ts';
import { choice } from '../../platform/choice.ts';

const anyObject = (description: string) =>
  Type.Unsafe<object>({ type: 'object', additionalProperties: true, description });

export const event = Type.Object(
  {
    id: Type.String({ pattern: '^evt_[0-9a-f]{32}$', description: 'The same in every attempt to deliver it.' }),
    type: choice(eventTypes),
    created_at: timestamp(),
    api_version: Type.String({ examples: ['2026-02-11'] }),
    livemode: Type.Boolean(),
    sequence: Type.Integer({
      description: 'Counts the events of one object, so that a receiver can order what arrives out of order.',
    }),
    request_id: nullable(Type.String({ description: 'The request that caused it, where one did.' })),
    data: Type.Object({
      object: anyObject('The object as it was at that moment.'),
      previous: Type.Optional(anyObject('What changed, with its values before.')),
    }),
  },
  {
    title: 'Event',
    examples: [
      {
        id: 'evt_019c4c214a207e138d4e8f706b5c4d3e',
        type: 'customer.created',
        created_at: '2026-02-11T09:30:00.000Z',
        api_version: '2026-02-11',
        livemode: false,
        sequence: 1,
        request_id: 'req_3k7q2m5x9w4t6y8p2r5v7n3b',
        data: { object: { id: '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60', email: 'ada@example.com' } },
      },
    ],
  },
);
export type Event = Static<typeof event>;

export const eventFeed = Type.Object(
  {
    data: Type.Array(event),
    cursor: Type.String({ description: 'Send it with the next call.', examples: ['81204-1770802200000'] }),
    has_more: Type.Boolean({ description: 'Whether the next call has more at once.' }),
  },
  { title: 'EventFeed' },
);
export type EventFeed = Static<typeof eventFeed>;
