import { defineRoute, type Route } from '../../http/route.ts';
import { type CopyDependencies, copyFromSandbox, prepareCopy } from './copy.ts';
import { copyRequest, copyResult, goingLive } from './schemas.ts';
import { getGoingLive } from './service.ts';

const common = { tag: 'Company', resource: 'company', errors: [] } as const;

/** Used only by the dashboard. */
export function goingLiveRoutes(dependencies: CopyDependencies): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'GET',
      path: '/dashboard/going_live',
      operationId: 'getGoingLive',
      summary: 'Retrieve the steps that a live company has completed',
      permission: 'company:read',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: goingLive, shape: 'other' },
      handle: ({ context }) => getGoingLive(context),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/dashboard/copy_from_sandbox',
      operationId: 'copyFromSandbox',
      summary: 'Copy the catalog, plans, coupons and webhook endpoints of the sandbox to the live company',
      permission: 'company:write',
      category: 'write',
      idempotency: 'optional',
      stepUp: true,
      secretAnswer: true,
      body: copyRequest,
      success: { status: 200, schema: copyResult, shape: 'other' },
      prepare: ({ context, body }) => prepareCopy(context, dependencies, body),
      handle: ({ context, body, prepared }) => copyFromSandbox(context, dependencies.webhooks, body, prepared),
    }),
  ];
}
