import Type, { type Static } from 'typebox';
import { nullable, timestamp, uuid } from '../../http/schemas.ts';
import { choice } from '../../platform/choice.ts';
import { approvalTools } from './queries.ts';
import { approvalStates } from './transitions.ts';

/** Used only by the dashboard. */

export const agentApproval = Type.Object({
  id: uuid(),
  state: choice(approvalStates),
  tool: choice(approvalTools),
  object_id: uuid(),
  question: Type.String({ description: 'What the agent wants to do, word for word.' }),
  amount: nullable(Type.Integer()),
  currency: nullable(Type.String()),
  key: Type.Object({ id: uuid(), name: Type.String() }),
  asked_in: choice(['client', 'dashboard'], { description: 'Where the person is asked.' }),
  may_decide: Type.Boolean({ description: 'Whether it waits for a member, and this member may decide it.' }),
  needs: Type.String({ description: 'The permission that the member needs to decide it.' }),
  decided_by: nullable(Type.String()),
  created_at: timestamp(),
  expires_at: timestamp(),
  decided_at: nullable(timestamp()),
  used_at: nullable(timestamp()),
});
export type AgentApproval = Static<typeof agentApproval>;

export const agentApprovalList = Type.Object({
  now: timestamp({ description: 'The real time, by which approvals expire.' }),
  data: Type.Array(agentApproval),
});
export type AgentApprovalList = Static<typeof agentApprovalList>;
