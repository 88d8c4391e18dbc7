import { eventCatalogue } from './event-texts.ts';

/** The types of events, and the patterns that select some of them. The `svc` command has them too, so there are no schemas here. */

export type EventType = keyof typeof eventCatalogue;
export const eventTypes = Object.keys(eventCatalogue) as EventType[];

/** Valid values of `enabled_events`: one event, all events of a resource, or all events. */
export const eventPatterns: readonly string[] = [
  '*',
  ...new Set(eventTypes.map((type) => `${type.split('.', 1)[0]}.*`)),
  ...eventTypes,
];
