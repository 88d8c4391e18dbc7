// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { Call, RequestOptions } from '../../request.ts';
import { listPages, type PagePromise } from '../../paging.ts';
import { operations } from '../operations.ts';
import type { Event, EventFeed, ListEventsParams, ReadEventFeedParams } from '../types/events.ts';

export class Events {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** List events. */
  list(params: ListEventsParams = {}, options?: RequestOptions): PagePromise<Event> {
    return listPages(this.#call, operations.listEvents, [], params, options);
  }

  /** Follow events. */
  feed(params: ReadEventFeedParams = {}, options?: RequestOptions): Promise<EventFeed> {
    return this.#call(operations.readEventFeed, [], { query: params }, options);
  }

  /** Retrieve an event. */
  get(eventId: string, options?: RequestOptions): Promise<Event> {
    return this.#call(operations.getEvent, [eventId], {}, options);
  }
}
