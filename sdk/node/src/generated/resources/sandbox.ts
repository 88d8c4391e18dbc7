// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { Call, RequestOptions } from '../../request.ts';
import { operations } from '../operations.ts';
import type { ChargebackResolve, Clock, ClockAdvance, ClockAdvanced, EventTrigger } from '../types/sandbox.ts';
import type { Event } from '../types/events.ts';
import type { Order } from '../types/orders.ts';

export class SandboxClock {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Read the clock of the sandbox. */
  get(options?: RequestOptions): Promise<Clock> {
    return this.#call(operations.getClock, [], {}, options);
  }

  /** Let time pass in the sandbox. */
  advance(body: ClockAdvance, options?: RequestOptions): Promise<ClockAdvanced> {
    return this.#call(operations.advanceClock, [], { body }, options);
  }
}

export class SandboxEvents {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Make an event happen. */
  trigger(body: EventTrigger, options?: RequestOptions): Promise<Event> {
    return this.#call(operations.triggerEvent, [], { body }, options);
  }
}

export class SandboxOrders {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Dispute an order. */
  chargeback(orderId: string, options?: RequestOptions): Promise<Order> {
    return this.#call(operations.raiseChargeback, [orderId], {}, options);
  }

  /** End a dispute. */
  resolveChargeback(orderId: string, body: ChargebackResolve, options?: RequestOptions): Promise<Order> {
    return this.#call(operations.resolveChargeback, [orderId], { body }, options);
  }
}

export class Sandbox {
  readonly clock: SandboxClock;
  readonly events: SandboxEvents;
  readonly orders: SandboxOrders;

  constructor(call: Call) {
    this.clock = new SandboxClock(call);
    this.events = new SandboxEvents(call);
    this.orders = new SandboxOrders(call);
  }
}
