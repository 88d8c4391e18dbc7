import Type, { type Static, type TUnsafe } from 'typebox';
import { nullable, timestamp } from '../../http/schemas.ts';
import { choice } from '../../platform/choice.ts';
import type { EventType } from './catalogue.ts';

export interface Event {
  readonly id: string;
  readonly type: EventType;
  readonly created_at: string;
  readonly api_version: string;
  readonly livemode: boolean;
  readonly sequence: number;
  readonly request_id: string | null;
  readonly data: { readonly object: object; readonly previous?: object };
}

export const eventFeedOf = (event: TUnsafe<Event>) =>
  Type.Object(
    {
      data: Type.Array(event),
      cursor: Type.String({
        description: 'Send this cursor with the next request.',
        examples: ['81204-1770802200000'],
      }),
      has_more: Type.Boolean({ description: 'Whether more events are available now.' }),
    },
    { title: 'EventFeed' },
  );
export interface EventFeed {
  data: Event[];
  cursor: string;
  has_more: boolean;
}

/** Used only by the dashboard. */
export const timeline = Type.Object({
  data: Type.Array(
    Type.Object({
      at: timestamp(),
      type: Type.String(),
      object: Type.Object({ type: Type.String(), id: Type.String(), title: nullable(Type.String()) }),
      is_own: Type.Boolean({ description: 'Whether it is about the object itself, and not about a related one.' }),
      amount: nullable(Type.Integer()),
      currency: nullable(Type.String()),
      card: nullable(Type.Object({ brand: Type.String(), last4: Type.String() })),
      failure: nullable(Type.String()),
      is_renewal: Type.Boolean(),
      next_retry_at: nullable(timestamp()),
      changed: Type.Array(Type.String()),
      actor: nullable(Type.Object({ kind: choice(['key', 'member', 'operator']), name: Type.String() })),
    }),
  ),
});
export type Timeline = Static<typeof timeline>;
