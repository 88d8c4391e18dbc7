import { defineRoute, type Route } from '../../http/route.ts';
import type { Clock } from '../../platform/clock.ts';
import { agentApproval, agentApprovalList } from './schemas.ts';
import { decide, getApproval, getApprovals } from './service.ts';

/** Used only by the dashboard. What an approval is about decides which permission a member needs, so the service checks it. */
const common = { tag: 'Agents', resource: 'approval', permission: null } as const;
const path = '/dashboard/agent_approvals';
const reads = { method: 'GET', category: 'read', idempotency: 'none', errors: [] } as const;
const writes = { method: 'POST', category: 'write', idempotency: 'optional' } as const;
const one = { status: 200, schema: agentApproval, shape: 'other' } as const;

export function agentApprovalRoutes(clock: Clock): Route[] {
  return [
    defineRoute({
      ...common,
      ...reads,
      path,
      operationId: 'listAgentApprovals',
      summary: 'List what agents want to do in live',
      success: { status: 200, schema: agentApprovalList, shape: 'other' },
      handle: ({ context }) => getApprovals(context, clock.nowMs()),
    }),
    defineRoute({
      ...common,
      ...reads,
      path: `${path}/:id`,
      operationId: 'getAgentApproval',
      summary: 'Retrieve what an agent wants to do in live',
      success: one,
      handle: ({ context, params }) => getApproval(context, params.id ?? ''),
    }),
    ...(['approve', 'refuse'] as const).map((because) =>
      defineRoute({
        ...common,
        ...writes,
        path: `${path}/:id/${because}`,
        operationId: because === 'approve' ? 'approveAgentCall' : 'refuseAgentCall',
        summary: because === 'approve' ? 'Let an agent do what it asked for' : 'Refuse what an agent asked for',
        success: one,
        errors: ['invalid_state_transition'],
        handle: ({ context, params }) => decide(context, params.id ?? '', because),
      }),
    ),
  ];
}
