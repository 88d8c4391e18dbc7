// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { EventPattern, EventType } from './events.ts';

export type WebhookEndpointStatus = 'enabled' | 'disabled';

export interface WebhookEndpoint {
  id: string;
  /** HTTPS, at a public address. */
  url: string;
  description: string | null;
  enabled_events: string[];
  status: WebhookEndpointStatus;
  disabled_reason: string | null;
  /** The version its events are rendered in. */
  api_version: string;
  created_at: string;
  updated_at: string;
}

export type EventVersion = '2026-02-11' | '2025-11-04';

export interface WebhookEndpointCreate {
  /** HTTPS, at a public address. */
  url: string;
  description?: string | null | undefined;
  enabled_events: readonly EventPattern[];
  api_version?: EventVersion | undefined;
}

export interface CreatedWebhookEndpoint {
  id: string;
  /** HTTPS, at a public address. */
  url: string;
  description: string | null;
  enabled_events: string[];
  status: WebhookEndpointStatus;
  disabled_reason: string | null;
  /** The version its events are rendered in. */
  api_version: string;
  created_at: string;
  updated_at: string;
  /** Shown this once. */
  signing_secret: string;
}

export interface WebhookEndpointUpdate {
  /** HTTPS, at a public address. */
  url?: string | undefined;
  description?: string | null | undefined;
  enabled_events?: readonly EventPattern[] | undefined;
  status?: WebhookEndpointStatus | undefined;
  api_version?: EventVersion | undefined;
}

export interface DeletedWebhookEndpoint {
  id: string;
  deleted: true;
  message: string;
}

/** How long the old secret keeps signing too. */
export type GracePeriodHours = 1 | 24 | 72;

export interface WebhookSecretRotate {
  /** Default: `24`. */
  grace_period_hours?: GracePeriodHours | undefined;
}

export interface RotatedWebhookSecret {
  id: string;
  new_signing_secret: string;
  previous_secret_valid_until: string;
  message: string;
}

export interface WebhookEndpointTest {
  /** Default: `'order.succeeded'`. */
  event_type?: EventType | undefined;
  api_version?: EventVersion | undefined;
}

export type AttemptStatus = 'success' | 'failed';

export interface WebhookTestResult {
  id: string;
  webhook_endpoint_id: string;
  status: AttemptStatus;
  http_status: number | null;
  duration_ms: number;
  error: string | null;
}

export type DeliveryStatus = 'pending' | 'delivered' | 'failed';

export interface WebhookDeliveryData {
  object: Record<string, unknown>;
  previous?: Record<string, unknown>;
}

export interface WebhookDelivery {
  /** Of the event. */
  id: string;
  type: EventType;
  created_at: string;
  delivery_status: DeliveryStatus;
  /** One that is under way included. */
  attempts: number;
  last_attempt_at: string | null;
  next_attempt_at: string | null;
  data: WebhookDeliveryData;
}

export interface WebhookDeliveryLog {
  id: string;
  event_id: string;
  event_type: EventType;
  attempt: number;
  status: AttemptStatus;
  http_status: number | null;
  duration_ms: number;
  error: string | null;
  request_headers: Record<string, string>;
  response_body: string | null;
  created_at: string;
}

export interface WebhookVersionMove {
  api_version: EventVersion;
  /** Default: `false`. */
  dry_run?: boolean | undefined;
}

export interface EventInBothVersions {
  event_id: string;
  before: Record<string, unknown>;
  after: Record<string, unknown>;
}

export interface WebhookVersionMoved {
  id: string;
  api_version: string;
  previous_api_version: string;
  dry_run: boolean;
  /** The last events of the company, in both versions. */
  sample: EventInBothVersions[];
}

export interface WebhookReplay {
  /** Also when it was already delivered. Default: `false`. */
  force?: boolean | undefined;
}

export interface ListWebhookEndpointsParams {
  /** How many objects a page has. Default: `10`. */
  limit?: number | undefined;
  /** Gives the page after the object with this id. */
  starting_after?: string | undefined;
  /** Gives the page before the object with this id. */
  ending_before?: string | undefined;
  /** Order of the list, by created_at; `field` and `field[asc]` ascend, `-field` and `field[desc]` descend. Default: `'created_at[desc]'`. */
  sort?: 'created_at' | '-created_at' | 'created_at[asc]' | 'created_at[desc]' | undefined;
}

export interface ListWebhookEndpointEventsParams {
  /** How many objects a page has. Default: `10`. */
  limit?: number | undefined;
  /** Gives the page after the object with this id. */
  starting_after?: string | undefined;
  /** Gives the page before the object with this id. */
  ending_before?: string | undefined;
  /** Order of the list, by created_at; `field` and `field[asc]` ascend, `-field` and `field[desc]` descend. Default: `'created_at[desc]'`. */
  sort?: 'created_at' | '-created_at' | 'created_at[asc]' | 'created_at[desc]' | undefined;
  /** Only those in this state. */
  delivery_status?: 'pending' | 'delivered' | 'failed' | undefined;
}

export interface ListWebhookEndpointDeliveryLogsParams {
  /** How many objects a page has. Default: `10`. */
  limit?: number | undefined;
  /** Gives the page after the object with this id. */
  starting_after?: string | undefined;
  /** Gives the page before the object with this id. */
  ending_before?: string | undefined;
  /** Order of the list, by created_at; `field` and `field[asc]` ascend, `-field` and `field[desc]` descend. Default: `'created_at[desc]'`. */
  sort?: 'created_at' | '-created_at' | 'created_at[asc]' | 'created_at[desc]' | undefined;
}
