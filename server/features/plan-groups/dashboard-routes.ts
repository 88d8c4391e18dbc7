import { defineRoute, type Route } from '../../http/route.ts';
import { deletedPlanGroup, planGroup, planGroupCreate, planGroups, planGroupUpdate } from './schemas.ts';
import {
  changePlanGroup,
  createPlanGroup,
  getPlanGroup,
  getPlanGroups,
  lockedPlanGroup,
  removePlanGroup,
} from './service.ts';

const common = { tag: 'Plans', resource: 'plan group', errors: [] } as const;
const reads = { ...common, method: 'GET', permission: 'plans:read', category: 'read', idempotency: 'none' } as const;
const writes = { ...common, permission: 'plans:write', category: 'write', idempotency: 'optional' } as const;

/** Used only by the dashboard. */
export function planGroupRoutes(): Route[] {
  return [
    defineRoute({
      ...reads,
      path: '/dashboard/plan_groups',
      operationId: 'listPlanGroups',
      summary: 'List the groups of plans between which customers may change',
      success: { status: 200, schema: planGroups, shape: 'other' },
      handle: ({ context }) => getPlanGroups(context),
    }),
    defineRoute({
      ...reads,
      path: '/dashboard/plan_groups/:id',
      operationId: 'getPlanGroup',
      summary: 'Retrieve a plan group',
      version: planGroupUpdate,
      success: { status: 200, schema: planGroup, shape: 'resource' },
      handle: ({ context, params }) => getPlanGroup(context, params.id ?? ''),
    }),
    defineRoute({
      ...writes,
      method: 'POST',
      path: '/dashboard/plan_groups',
      operationId: 'createPlanGroup',
      summary: 'Create a plan group',
      body: planGroupCreate,
      success: { status: 201, schema: planGroup, shape: 'resource' },
      handle: ({ context, body }) => createPlanGroup(context, body),
    }),
    defineRoute({
      ...writes,
      method: 'PATCH',
      path: '/dashboard/plan_groups/:id',
      operationId: 'updatePlanGroup',
      summary: 'Update a plan group',
      body: planGroupUpdate,
      success: { status: 200, schema: planGroup, shape: 'resource' },
      current: ({ context, params }) => lockedPlanGroup(context, params.id ?? ''),
      handle: ({ context, params, body }) => changePlanGroup(context, params.id ?? '', body),
    }),
    defineRoute({
      ...writes,
      method: 'DELETE',
      path: '/dashboard/plan_groups/:id',
      operationId: 'deletePlanGroup',
      summary: 'Delete a plan group; customers can no longer change between its plans',
      success: { status: 200, schema: deletedPlanGroup, shape: 'other' },
      handle: ({ context, params }) => removePlanGroup(context, params.id ?? ''),
    }),
  ];
}
