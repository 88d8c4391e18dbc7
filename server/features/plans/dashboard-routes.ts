import { defineRoute, type Route } from '../../http/route.ts';
import { plan, planCreate, planUpdate } from './schemas.ts';
import { changePlan, createPlan, lockedPlan } from './service.ts';

const common = {
  tag: 'Plans',
  resource: 'plan',
  permission: 'plans:write',
  category: 'write',
  idempotency: 'optional',
  errors: [],
} as const;

export function planDashboardRoutes(): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'POST',
      path: '/dashboard/plans',
      operationId: 'createPlan',
      summary: 'Create a plan',
      body: planCreate,
      success: { status: 201, schema: plan, shape: 'resource' },
      handle: ({ context, body }) => createPlan(context, body),
    }),
    defineRoute({
      ...common,
      method: 'PATCH',
      path: '/dashboard/plans/:id',
      operationId: 'updatePlan',
      summary: 'Update or archive a plan',
      body: planUpdate,
      success: { status: 200, schema: plan, shape: 'resource' },
      current: ({ context, params }) => lockedPlan(context, params.id ?? ''),
      handle: ({ context, params, body }) => changePlan(context, params.id ?? '', body),
    }),
  ];
}
