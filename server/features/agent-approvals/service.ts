import { ApiError, notFound } from '../../errors.ts';
import { lackingOf, requirePermissions } from '../../http/caller.ts';
import type { MemberPermission, ReadPermission } from '../../http/permissions.ts';
import { limits } from '../../limits.ts';
import type { RequestContext } from '../../request-context.ts';
import {
  type ApprovalRow,
  type ApprovalTool,
  approvalTools,
  decideApproval,
  findApproval,
  listApprovals,
} from './queries.ts';
import type { AgentApproval, AgentApprovalList } from './schemas.ts';

/** What agents want to do in live, in the dashboard: a member reads the exact words, and approves or refuses. */

/** What a key and a member need for the operation, and what a member needs to see it. */
export const rightsFor: Readonly<
  Record<ApprovalTool, { readonly read: ReadPermission; readonly write: MemberPermission }>
> = {
  refund_order: { read: 'orders:read', write: 'orders:write' },
  retry_order: { read: 'orders:read', write: 'orders:write' },
  cancel_subscription: { read: 'subscriptions:read', write: 'subscriptions:write' },
};

function toWire({ caller }: RequestContext, row: ApprovalRow): AgentApproval {
  const needs = rightsFor[row.tool].write;
  const waitsHere = row.state === 'waiting' && row.asked_in === 'dashboard';
  return {
    id: row.id,
    state: row.state,
    tool: row.tool,
    object_id: row.object_id,
    question: row.question,
    amount: row.amount,
    currency: row.currency,
    key: { id: row.key_id, name: row.key_name },
    asked_in: row.asked_in,
    may_decide: waitsHere && lackingOf(caller, [needs]).length === 0,
    needs,
    decided_by: row.decided_by_name,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    decided_at: row.decided_at?.toISOString() ?? null,
    used_at: row.used_at?.toISOString() ?? null,
  };
}

export async function getApprovals(context: RequestContext, nowMs: number): Promise<AgentApprovalList> {
  const seen = approvalTools.filter((tool) => lackingOf(context.caller, [rightsFor[tool].read]).length === 0);
  const rows = await listApprovals(context.db, context.company.id, seen, limits.agentApprovalsShown);
  return { now: new Date(nowMs).toISOString(), data: rows.map((row) => toWire(context, row)) };
}

export async function getApproval(context: RequestContext, id: string): Promise<AgentApproval> {
  return toWire(context, await readable(context, id));
}

async function readable({ db, company, caller }: RequestContext, id: string): Promise<ApprovalRow> {
  const row = await findApproval(db, company.id, id);
  if (!row || lackingOf(caller, [rightsFor[row.tool].read]).length > 0) throw notFound('approval');
  return row;
}

/** The member needs the permission for the operation itself. Of two answers at once, the first counts. */
export async function decide(
  context: RequestContext,
  id: string,
  because: 'approve' | 'refuse',
): Promise<AgentApproval> {
  const { db, company, caller } = context;
  const row = await readable(context, id);
  if (caller?.kind !== 'member') throw new Error('only a member of the team decides about an approval');
  requirePermissions(caller, [rightsFor[row.tool].write], 'this operation requires');
  const by = { id: caller.id, name: caller.name };
  const isDecided = await decideApproval(db, company.id, id, { because, askedIn: 'dashboard', by });
  const now = await findApproval(db, company.id, id);
  if (!now) throw notFound('approval');
  if (!isDecided) throw notWaiting(now);
  return toWire(context, now);
}

function notWaiting({ state, asked_in }: ApprovalRow): ApiError {
  const why =
    asked_in === 'client'
      ? 'The program of the agent asks its user. It cannot be decided here.'
      : `It is ${state}, so it can no longer be decided.`;
  return new ApiError('invalid_state_transition', why, { param: 'id' });
}
