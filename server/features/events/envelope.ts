import { renderEvent, rewritesEvents } from '../../http/versions/versions.ts';
import { createdAt, eventIdOf } from '../../platform/ids.ts';
import type { Event } from './schemas.ts';

export interface EventFacts {
  readonly id: string;
  readonly type: string;
  readonly sequence: number;
  readonly request_id: string | null;
  readonly object: object;
  readonly previous: object | null;
  /** Read only for deliveries. */
  readonly trace?: string | null;
}

/** An event whose objects are JSON texts, as they are stored. */
export interface StoredEvent extends Omit<EventFacts, 'object' | 'previous'> {
  readonly object: string;
  readonly previous: string | null;
}

const headOf = (
  { id, type, sequence, request_id }: Pick<EventFacts, 'id' | 'type' | 'sequence' | 'request_id'>,
  livemode: boolean,
  apiVersion: string,
) => ({
  id: eventIdOf(id),
  type,
  created_at: createdAt(id),
  api_version: apiVersion,
  livemode,
  sequence,
  request_id,
});

/** Renders an event for a receiver, in the receiver's API version. */
export function envelopeOf(event: EventFacts, livemode: boolean, apiVersion: string): Event {
  return renderEvent(apiVersion, {
    ...headOf(event, livemode, apiVersion),
    data: { object: event.object, ...(event.previous && { previous: event.previous }) },
  }) as Event;
}

/** Renders the same as JSON text. The objects are not parsed, unless the version rewrites them. */
export function envelopeText(
  { object, previous, ...event }: StoredEvent,
  livemode: boolean,
  apiVersion: string,
): string {
  if (rewritesEvents(apiVersion)) {
    const parsed = { object: JSON.parse(object), previous: previous === null ? null : JSON.parse(previous) };
    return JSON.stringify(envelopeOf({ ...event, ...parsed }, livemode, apiVersion));
  }
  const head = JSON.stringify(headOf(event, livemode, apiVersion)).slice(0, -1);
  return `${head},"data":{"object":${object}${previous === null ? '' : `,"previous":${previous}`}}}`;
}
