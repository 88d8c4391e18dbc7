import { eventCatalogue } from '../../server/features/events/event-texts.ts';
import type { EventType } from './types.ts';

export const eventTypes = Object.keys(eventCatalogue) as EventType[];

export interface EventGroup {
  /** `order`, for all types that begin with `order.` */
  readonly resource: string;
  readonly events: readonly { readonly type: EventType; readonly text: string }[];
}

/** The event types by the object they are about. */
export const eventGroups: readonly EventGroup[] = [...new Set(eventTypes.map((type) => type.split('.')[0] ?? ''))].map(
  (resource) => ({
    resource,
    events: eventTypes
      .filter((type) => type.startsWith(`${resource}.`))
      .map((type) => ({ type, text: eventCatalogue[type] })),
  }),
);
