// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { EventType } from './events.ts';

export interface Clock {
  now: string;
  /** How far the clock is ahead of real time, rounded up to whole seconds. */
  offset_seconds: number;
}

export interface ClockStep {
  months?: number | undefined;
  days?: number | undefined;
  hours?: number | undefined;
  minutes?: number | undefined;
  seconds?: number | undefined;
}

/** Either `to` or `by`. */
export interface ClockAdvance {
  /** Later than the clock shows now. */
  to?: string | undefined;
  by?: ClockStep | undefined;
}

export interface ClockHappening {
  at: string;
  /** An event, or `webhook.delivered`, `webhook.failed`, `card_token.expired`, `coupon.expired`. */
  type: string;
  object_id: string;
  summary: string;
}

export interface ClockAdvanced {
  now: string;
  /** How far the clock is ahead of real time, rounded up to whole seconds. */
  offset_seconds: number;
  /** In order of time; the first 10000 of it. All events are in `/v1/events`. */
  happened: ClockHappening[];
}

export interface EventTrigger {
  type: EventType;
  /** Fields of the customer or order that is made for it. Default: `{}`. */
  overrides?: Record<string, unknown> | undefined;
}

export type ChargebackOutcome = 'accepted' | 'dismissed';

export interface ChargebackResolve {
  outcome: ChargebackOutcome;
}
