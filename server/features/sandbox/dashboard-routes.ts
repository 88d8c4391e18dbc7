import { momentParameter } from '../../http/query-parameters.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import { getSandboxTimeline, sandboxTimeline } from './timeline.ts';

/** Used only by the dashboard. */
export function sandboxDashboardRoutes(): Route[] {
  return [
    defineRoute({
      tag: 'Sandbox',
      resource: 'clock',
      method: 'GET',
      path: '/dashboard/sandbox/timeline',
      operationId: 'getSandboxTimeline',
      summary: 'What happened in a sandbox, the latest first',
      permission: 'events:read',
      category: 'read',
      idempotency: 'none',
      parameters: {
        from: momentParameter('From this time of the sandbox clock. Default: 30 days before the end.'),
        until: momentParameter('Until this time. Default: now.'),
      },
      success: { status: 200, schema: sandboxTimeline, shape: 'other' },
      errors: [],
      handle: ({ context, query }) => getSandboxTimeline(context, query),
    }),
  ];
}
