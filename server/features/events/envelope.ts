import { renderEvent } from '../../http/versions/versions.ts';
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

/** Renders an event for a receiver, in the receiver's API version. */
export function envelopeOf(event: EventFacts, livemode: boolean, apiVersion: string): Event {
  return renderEvent(apiVersion, {
    id: eventIdOf(event.id),
    type: event.type,
    created_at: createdAt(event.id),
    api_version: apiVersion,
    livemode,
    sequence: event.sequence,
    request_id: event.request_id,
    data: { object: event.object, ...(event.previous && { previous: event.previous }) },
  }) as Event;
}
