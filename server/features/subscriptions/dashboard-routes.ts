import { defineRoute, type Route } from '../../http/route.ts';
import { billPreview, billPreviewRequest, subscription } from './schemas.ts';
import { pauseSubscription, previewBills, resumeSubscription } from './service.ts';

const common = {
  tag: 'Subscriptions',
  resource: 'subscription',
  method: 'POST',
  permission: 'subscriptions:write',
  category: 'write',
  idempotency: 'optional',
  success: { status: 200, schema: subscription, shape: 'resource' },
  errors: [],
} as const;

const previewCount = 12;

export function subscriptionDashboardRoutes(): Route[] {
  return [
    defineRoute({
      ...common,
      path: '/dashboard/subscriptions/:id/pause',
      operationId: 'pauseSubscription',
      summary: 'Pause a subscription',
      handle: ({ context, params }) => pauseSubscription(context, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      path: '/dashboard/subscriptions/:id/resume',
      operationId: 'resumeSubscription',
      summary: 'Resume a subscription',
      handle: ({ context, params }) => resumeSubscription(context, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      resource: 'plan',
      path: '/dashboard/plans/preview',
      operationId: 'previewPlan',
      summary: 'Preview the payments of a plan',
      permission: 'plans:read',
      category: 'read',
      idempotency: 'none',
      audit: 'none',
      body: billPreviewRequest,
      success: { status: 200, schema: billPreview, shape: 'other' },
      handle: async ({ context, body }) => {
        const startMs = body.start_date ? Date.parse(`${body.start_date}T00:00:00Z`) : context.nowMs;
        return { data: previewBills(body, startMs, previewCount) };
      },
    }),
  ];
}
