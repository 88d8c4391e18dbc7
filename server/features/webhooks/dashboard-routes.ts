import { defineRoute, type Route } from '../../http/route.ts';
import { failedMax, getAttempts, getHealth, resendSince } from './health.ts';
import { attempts, health, resend, resent } from './schemas.ts';

/** How an endpoint is doing, for the dashboard. */

const common = {
  tag: 'Webhooks',
  resource: 'webhook endpoint',
  permission: 'webhook_endpoints:read',
  errors: [],
} as const;
const reads = { method: 'GET', category: 'read', idempotency: 'none' } as const;
const path = '/dashboard/webhook_endpoints/:id';

export function webhookDashboardRoutes(): Route[] {
  return [
    defineRoute({
      ...common,
      ...reads,
      path: `${path}/health`,
      operationId: 'getWebhookEndpointHealth',
      summary: 'Retrieve the recent results of an endpoint',
      success: { status: 200, schema: health, shape: 'other' },
      handle: ({ context, params }) => getHealth(context, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      ...reads,
      path: `${path}/events/:eventId/attempts`,
      operationId: 'listDeliveryAttempts',
      summary: 'List the attempts to deliver an event',
      success: { status: 200, schema: attempts, shape: 'other' },
      handle: async ({ context, params }) => ({
        data: await getAttempts(context, params.id ?? '', params.eventId ?? ''),
      }),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: `${path}/resend_failed`,
      operationId: 'resendFailedEvents',
      summary: 'Resend all events that were not delivered',
      description: `Resends at most ${failedMax} events, the oldest first. Repeat it to resend more.`,
      permission: 'webhook_endpoints:write',
      category: 'write',
      idempotency: 'optional',
      body: resend,
      success: { status: 200, schema: resent, shape: 'other' },
      handle: ({ context, params, body }) => resendSince(context, params.id ?? '', Date.parse(body.since)),
    }),
  ];
}
