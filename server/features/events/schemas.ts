import Type, { type Static, type TUnsafe } from 'typebox';
import { timestamp } from '../../http/schemas.ts';
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
  data: Type.Array(Type.Object({ at: timestamp(), type: Type.String(), summary: Type.String() })),
});
export type Timeline = Static<typeof timeline>;
