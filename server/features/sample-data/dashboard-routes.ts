import { defineRoute, type Route } from '../../http/route.ts';
import { clearSteps } from './clear.ts';
import { sampleData, sandboxClear } from './schemas.ts';
import { clearSandbox, fillSandbox, getSampleData } from './service.ts';

const common = {
  tag: 'Sandbox',
  resource: 'sample data',
  permission: 'company:write',
  category: 'write',
  idempotency: 'optional',
  success: { status: 200, schema: sampleData, shape: 'other' },
} as const;

/** Used only by the dashboard. */
export function sampleDataRoutes(): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'GET',
      path: '/dashboard/sample_data',
      operationId: 'getSampleData',
      summary: 'Retrieve the progress of the sample data',
      permission: 'company:read',
      category: 'read',
      idempotency: 'none',
      errors: [],
      handle: ({ context }) => getSampleData(context),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/dashboard/sample_data/fill',
      operationId: 'fillSandbox',
      summary: 'Fill an empty sandbox with sample data in the background',
      errors: ['invalid_state_transition', 'resource_in_use'],
      handle: ({ context }) => fillSandbox(context),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/dashboard/sample_data/clear',
      operationId: 'clearSandbox',
      summary: 'Delete the objects of a sandbox in the background',
      description:
        'Deletes customers, orders, subscriptions, the catalog, events and emails, also those that are not sample data. ' +
        'Settings, team, API keys, webhook endpoints and the audit log stay.',
      body: sandboxClear,
      errors: ['invalid_request', 'resource_in_use'],
      handle: ({ context, body }) => clearSandbox(context, body, clearSteps),
    }),
  ];
}
