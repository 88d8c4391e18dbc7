import { limits } from '../../limits.ts';
import type { Queryable } from '../../platform/database.ts';
import { deleteOldApprovals, expireApprovals } from './queries.ts';

/** Job: marks approvals that were not used in time. */
export const expireAgentApprovals = (db: Queryable, count: number): Promise<number> => expireApprovals(db, count);

/** Job: deletes approvals after some weeks. The audit log keeps who approved what. */
export const forgetAgentApprovals = (db: Queryable, count: number): Promise<number> =>
  deleteOldApprovals(db, limits.agentApprovalDays, count);
