import Type from 'typebox';
import { defineRoute, type Route } from '../../http/route.ts';
import { timestamp } from '../../http/schemas.ts';
import { planCreate } from '../plans/schemas.ts';
import { subscription } from './schemas.ts';
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

const { billing_cycle, billing_cycles, amount, one_time_amount } = planCreate.properties;
const preview = Type.Object(
  {
    billing_cycle,
    billing_cycles,
    amount,
    one_time_amount,
    start_date: Type.Optional(Type.String({ format: 'date' })),
  },
  { additionalProperties: false },
);
const previewed = Type.Object({
  data: Type.Array(Type.Object({ cycle: Type.Integer(), at: timestamp(), amount: Type.Integer() })),
});
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
      summary: 'When a plan would be billed',
      permission: 'plans:read',
      category: 'read',
      idempotency: 'none',
      changesNothing: true,
      body: preview,
      success: { status: 200, schema: previewed, shape: 'other' },
      handle: async ({ context, body }) => {
        const startMs = body.start_date ? Date.parse(`${body.start_date}T00:00:00Z`) : context.nowMs;
        return { data: previewBills(body, startMs, previewCount) };
      },
    }),
  ];
}
