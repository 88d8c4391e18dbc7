import Type, { type Static, type TString } from 'typebox';
import { clearable, defaulting, freeText, nullable, timestamp, uniqueStrings, uuid } from '../../http/schemas.ts';
import { supportedVersions } from '../../http/versions/versions.ts';
import { limits } from '../../limits.ts';
import { eventPattern, eventType } from '../events/service.ts';
import { choice } from '../../platform/choice.ts';

const url = Type.String({
  format: 'uri',
  minLength: 1,
  maxLength: limits.urlLength,
  description: 'An HTTPS URL with a public address.',
  examples: ['https://shop.example.com/webhooks'],
});
const description = clearable(freeText(limits.descriptionLength));
const enabledEvents = uniqueStrings(eventPattern as unknown as TString, {
  minItems: 1,
  maxItems: 100,
  examples: [['order.*', 'customer.created']],
});
const attemptStatus = choice(['success', 'failed'], { title: 'AttemptStatus' });
const apiVersion = choice(supportedVersions, { title: 'EventVersion' });
const status = choice(['enabled', 'disabled'], { title: 'WebhookEndpointStatus' });

export const endpointCreate = Type.Object(
  {
    url,
    description: Type.Optional(description),
    enabled_events: enabledEvents,
    api_version: Type.Optional(apiVersion),
  },
  { additionalProperties: false, title: 'WebhookEndpointCreate' },
);
export type EndpointCreate = Static<typeof endpointCreate>;

export const endpointUpdate = Type.Object(
  {
    url: Type.Optional(url),
    description: Type.Optional(description),
    enabled_events: Type.Optional(enabledEvents),
    status: Type.Optional(status),
    api_version: Type.Optional(apiVersion),
  },
  { additionalProperties: false, title: 'WebhookEndpointUpdate' },
);
export type EndpointUpdate = Static<typeof endpointUpdate>;

const endpointFields = {
  id: uuid(),
  url,
  description,
  enabled_events: Type.Array(Type.String()),
  status,
  disabled_reason: nullable(Type.String()),
  api_version: Type.String({ description: 'API version of its events.' }),
  created_at: timestamp(),
  updated_at: timestamp(),
};
const endpointExample = {
  id: '019c4c22-0b00-7f00-8a1b-2c3d4e5f6071',
  url: 'https://shop.example.com/webhooks',
  description: null,
  enabled_events: ['order.*'],
  status: 'enabled',
  disabled_reason: null,
  api_version: '2026-02-11',
  created_at: '2026-02-11T09:34:00.000Z',
  updated_at: '2026-02-11T09:34:00.000Z',
};

const eventExample = 'evt_019c4c214a207e138d4e8f706b5c4d3e';

export const endpoint = Type.Object(endpointFields, { title: 'WebhookEndpoint', examples: [endpointExample] });
export type Endpoint = Static<typeof endpoint>;

export const createdEndpoint = Type.Object(
  { ...endpointFields, signing_secret: Type.String({ description: 'Returned only once.' }) },
  {
    title: 'CreatedWebhookEndpoint',
    examples: [{ ...endpointExample, signing_secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=' }],
  },
);
export type CreatedEndpoint = Static<typeof createdEndpoint>;

export const secretRotate = Type.Object(
  {
    grace_period_hours: defaulting(
      choice([1, 24, 72], {
        title: 'GracePeriodHours',
        description: 'How long deliveries are signed with the old secret too.',
      }),
      24,
    ),
  },
  { additionalProperties: false, title: 'WebhookSecretRotate' },
);
export type SecretRotate = Static<typeof secretRotate>;

export const rotatedSecret = Type.Object(
  {
    id: uuid(),
    new_signing_secret: Type.String(),
    previous_secret_valid_until: timestamp(),
    message: Type.String(),
  },
  {
    title: 'RotatedWebhookSecret',
    examples: [
      {
        id: endpointExample.id,
        new_signing_secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=',
        previous_secret_valid_until: '2026-02-12T09:34:00.000Z',
        message: 'Deliveries are signed with both secrets for 24 hours.',
      },
    ],
  },
);
export type RotatedSecret = Static<typeof rotatedSecret>;

export const endpointTest = Type.Object(
  { event_type: defaulting(eventType, 'order.succeeded'), api_version: Type.Optional(apiVersion) },
  { additionalProperties: false, title: 'WebhookEndpointTest' },
);
export type EndpointTest = Static<typeof endpointTest>;

export const testResult = Type.Object(
  {
    id: Type.String(),
    webhook_endpoint_id: uuid(),
    status: attemptStatus,
    http_status: nullable(Type.Integer()),
    duration_ms: Type.Integer(),
    error: nullable(Type.String()),
  },
  {
    title: 'WebhookTestResult',
    examples: [
      {
        id: eventExample,
        webhook_endpoint_id: endpointExample.id,
        status: 'success',
        http_status: 200,
        duration_ms: 84,
        error: null,
      },
    ],
  },
);
export type TestResult = Static<typeof testResult>;

const anyObject = Type.Unsafe<object>({ type: 'object', additionalProperties: true });

export const delivery = Type.Object(
  {
    id: Type.String({ description: 'ID of the event.' }),
    type: eventType,
    created_at: timestamp(),
    delivery_status: choice(['pending', 'delivered', 'failed'], { title: 'DeliveryStatus' }),
    attempts: Type.Integer({ description: 'Number of attempts, including one in progress.' }),
    last_attempt_at: nullable(timestamp({ description: 'Time of the last completed attempt.' })),
    next_attempt_at: nullable(
      timestamp({
        description:
          'Time of the next attempt, by the clock of the company. During an attempt, the time at which it was due. Null if there is no further attempt.',
      }),
    ),
    data: Type.Object({ object: anyObject, previous: Type.Optional(anyObject) }, { title: 'WebhookDeliveryData' }),
  },
  {
    title: 'WebhookDelivery',
    examples: [
      {
        id: eventExample,
        type: 'order.succeeded',
        created_at: '2026-02-11T09:33:00.020Z',
        delivery_status: 'delivered',
        attempts: 1,
        last_attempt_at: '2026-02-11T09:33:00.110Z',
        next_attempt_at: null,
        data: { object: { id: '019c4c21-4a00-7e11-9b2c-6d5e4f3a2b1c', status: 'succeeded' } },
      },
    ],
  },
);
export type Delivery = Static<typeof delivery>;

export const deliveryLog = Type.Object(
  {
    id: uuid(),
    event_id: Type.String(),
    event_type: eventType,
    attempt: Type.Integer(),
    status: attemptStatus,
    http_status: nullable(Type.Integer()),
    duration_ms: Type.Integer(),
    error: nullable(Type.String()),
    request_headers: Type.Record(Type.String(), Type.String()),
    response_body: nullable(Type.String({ description: 'The first 4 KiB of the response.' })),
    created_at: timestamp(),
  },
  {
    title: 'WebhookDeliveryLog',
    examples: [
      {
        id: '019c4c22-1c00-7a00-8b1c-3d4e5f607182',
        event_id: eventExample,
        event_type: 'order.succeeded',
        attempt: 1,
        status: 'success',
        http_status: 200,
        duration_ms: 84,
        error: null,
        request_headers: { 'SVC-Event-Type': 'order.succeeded' },
        response_body: 'ok',
        created_at: '2026-02-11T09:33:00.110Z',
      },
    ],
  },
);
export type DeliveryLog = Static<typeof deliveryLog>;

export const versionMove = Type.Object(
  { api_version: apiVersion, dry_run: Type.Optional(Type.Boolean({ default: false })) },
  { additionalProperties: false, title: 'WebhookVersionMove' },
);
export type VersionMove = Static<typeof versionMove>;

export const versionMoved = Type.Object(
  {
    id: uuid(),
    api_version: Type.String(),
    previous_api_version: Type.String(),
    dry_run: Type.Boolean(),
    sample: Type.Array(
      Type.Object({ event_id: Type.String(), before: anyObject, after: anyObject }, { title: 'EventInBothVersions' }),
      {
        description: 'The latest events of the company in both versions.',
      },
    ),
  },
  {
    title: 'WebhookVersionMoved',
    examples: [
      {
        id: endpointExample.id,
        api_version: '2026-02-11',
        previous_api_version: '2025-11-04',
        dry_run: true,
        sample: [],
      },
    ],
  },
);
export type VersionMoved = Static<typeof versionMoved>;

export const replay = Type.Object(
  {
    force: Type.Optional(
      Type.Boolean({ default: false, description: 'Resends the event even if it was already delivered.' }),
    ),
  },
  { additionalProperties: false, title: 'WebhookReplay' },
);

/** Used only by the dashboard, like the rest of this file: how an endpoint is doing. */
const counted = Type.Integer({ minimum: 0 });

export const health = Type.Object({
  /** Of the last 24 hours, at most the last thousand attempts. */
  attempts: counted,
  failed_attempts: counted,
  median_ms: nullable(counted),
  last_success_at: nullable(timestamp()),
  /** Events that were not delivered and are not tried again. At most 10,000 are counted. */
  failed_events: counted,
  first_failed_at: nullable(timestamp()),
  /** Since when no attempt of an enabled endpoint has succeeded; null if that is not long. */
  failing_since: nullable(timestamp()),
});
export type Health = Static<typeof health>;

export const attempts = Type.Object({ data: Type.Array(deliveryLog) });

export const resend = Type.Object({ since: timestamp() }, { additionalProperties: false });
export const resent = Type.Object({ resent: counted });
export type Resent = Static<typeof resent>;
