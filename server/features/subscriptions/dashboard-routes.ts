import { defineRoute, type Route } from '../../http/route.ts';
import { billPreview, billPreviewRequest, renewal, subscription } from './schemas.ts';
import { endRenewal, getRenewal, keepRenewal, pauseSubscription, previewBills, resumeSubscription } from './service.ts';

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
      path: '/dashboard/subscriptions/:id/end_renewal',
      operationId: 'endRenewal',
      summary: 'End a subscription when its paid period is over',
      handle: ({ context, params }) => endRenewal(context, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      path: '/dashboard/subscriptions/:id/keep_renewal',
      operationId: 'keepRenewal',
      summary: 'Keep a subscription whose renewal was ended',
      handle: ({ context, params }) => keepRenewal(context, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      path: '/dashboard/subscriptions/:id/renewal',
      method: 'GET',
      operationId: 'getRenewal',
      summary: 'Retrieve whether a subscription renews, and the state of its dunning',
      permission: 'subscriptions:read',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: renewal, shape: 'other' },
      handle: ({ context, params }) => getRenewal(context, params.id ?? ''),
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
