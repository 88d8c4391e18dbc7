import { choice } from '../../platform/choice.ts';
import { eventPatterns, type EventType, eventTypes } from './event-names.ts';
import { eventCatalogue } from './event-texts.ts';

export { eventCatalogue, type EventType, eventTypes };
export const eventType = choice(eventTypes, { title: 'EventType' });
export const eventPattern = choice(eventPatterns, {
  title: 'EventPattern',
  description: 'An event type, `<resource>.*` for all events of a resource, or `*` for all events.',
});
