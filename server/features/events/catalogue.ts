import { choice } from '../../platform/choice.ts';
import { eventCatalogue } from './event-texts.ts';

export { eventCatalogue };
export type EventType = keyof typeof eventCatalogue;
export const eventTypes = Object.keys(eventCatalogue) as EventType[];
export const eventType = choice(eventTypes, { title: 'EventType' });

/** Valid values of `enabled_events`: one event, all events of a resource, or all events. */
export const eventPatterns: readonly string[] = [
  '*',
  ...new Set(eventTypes.map((type) => `${type.split('.', 1)[0]}.*`)),
  ...eventTypes,
];
export const eventPattern = choice(eventPatterns, {
  title: 'EventPattern',
  description: 'An event type, `<resource>.*` for all events of a resource, or `*` for all events.',
});
