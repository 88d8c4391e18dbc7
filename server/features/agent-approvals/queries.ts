import type { Database, Queryable } from '../../platform/database.ts';
import { staysHere } from '../../shards/queries.ts';
import { type ApprovalState, type ApprovalTrigger, movesOf } from './transitions.ts';

/** All statements about approvals. Their times are real, and come from the database: several processes decide about one. */

export const approvalTools = ['refund_order', 'retry_order', 'cancel_subscription'] as const;
export type ApprovalTool = (typeof approvalTools)[number];

/** The call of the API that is approved. */
interface ApprovedRequest {
  readonly method: 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

/** Where the person is asked: by the program of the agent, or in the dashboard. */
export type AskedIn = 'client' | 'dashboard';

export interface ApprovalRow {
  id: string;
  key_id: string;
  key_name: string;
  tool: ApprovalTool;
  object_id: string;
  arguments_hash: string;
  question: string;
  amount: number | null;
  currency: string | null;
  request: ApprovedRequest;
  asked_in: AskedIn;
  state: ApprovalState;
  created_at: Date;
  expires_at: Date;
  decided_at: Date | null;
  decided_by_name: string | null;
  used_at: Date | null;
  finished_at: Date | null;
  /** Whether its operation may have stopped halfway. Its idempotency key is valid for much longer. */
  may_repeat: boolean;
}

export type NewApproval = Pick<
  ApprovalRow,
  | 'id'
  | 'key_id'
  | 'key_name'
  | 'tool'
  | 'object_id'
  | 'arguments_hash'
  | 'question'
  | 'amount'
  | 'currency'
  | 'request'
  | 'asked_in'
>;

const open = `state IN ('waiting', 'approved')`;
// What no job has moved yet has expired all the same.
const stateNow = `CASE WHEN ${open} AND expires_at <= now() THEN 'expired' ELSE state END`;
const columns = `id, key_id, key_name, tool, object_id, arguments_hash, question, amount, currency, request,
  asked_in, ${stateNow} AS state, created_at, expires_at, decided_at, decided_by_name, used_at, finished_at,
  coalesce(finished_at IS NULL AND used_at > now() - interval '1 hour', false) AS may_repeat`;

/** The lock of the key makes the limit hold for calls at the same time. False if the key does not exist. */
export async function lockAskingKey(transaction: Database, companyId: string, keyId: string): Promise<boolean> {
  const rows = await transaction.query('SELECT 1 FROM api_keys WHERE company_id = $1 AND id = $2 FOR NO KEY UPDATE', [
    companyId,
    keyId,
  ]);
  return rows.length === 1;
}

const expiring = (rows: string): string => `UPDATE agent_approvals SET state = $1 WHERE (company_id, id) IN (
  SELECT company_id, id FROM agent_approvals WHERE state = ANY($2) AND expires_at <= now() AND ${rows}
  LIMIT $3 FOR UPDATE SKIP LOCKED
) RETURNING 1`;

export async function expireApprovalsOf(db: Queryable, companyId: string): Promise<void> {
  const { from, to } = movesOf('expire');
  await db.query(expiring('company_id = $4'), [to, from, 1_000, companyId]);
}

export async function expireApprovals(db: Queryable, count: number): Promise<number> {
  const { from, to } = movesOf('expire');
  return (await db.query(expiring(staysHere('company_id')), [to, from, count])).length;
}

export async function countApprovalsOfDay(db: Queryable, companyId: string, keyId: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM agent_approvals
     WHERE company_id = $1 AND key_id = $2 AND created_at > now() - interval '1 day'`,
    [companyId, keyId],
  );
  return row?.count ?? 0;
}

/** Returns undefined if a question about the object is open. */
export async function insertApproval(
  db: Queryable,
  companyId: string,
  approval: NewApproval,
  minutes: number,
): Promise<ApprovalRow | undefined> {
  const [row] = await db.query<ApprovalRow>(
    `INSERT INTO agent_approvals (company_id, id, key_id, key_name, tool, object_id, arguments_hash, question, amount, currency,
       request, asked_in, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, now(), now() + $13 * interval '1 minute')
     ON CONFLICT DO NOTHING RETURNING ${columns}`,
    [
      companyId,
      approval.id,
      approval.key_id,
      approval.key_name,
      approval.tool,
      approval.object_id,
      approval.arguments_hash,
      approval.question,
      approval.amount,
      approval.currency,
      JSON.stringify(approval.request),
      approval.asked_in,
      minutes,
    ],
  );
  return row;
}

/** The open question about an object. */
export async function findOpenApproval(
  db: Queryable,
  companyId: string,
  { tool, object_id }: Pick<ApprovalRow, 'tool' | 'object_id'>,
): Promise<ApprovalRow | undefined> {
  const [row] = await db.query<ApprovalRow>(
    `SELECT ${columns} FROM agent_approvals WHERE company_id = $1 AND tool = $2 AND object_id = $3 AND ${open}`,
    [companyId, tool, object_id],
  );
  return row;
}

export async function findApproval(db: Queryable, companyId: string, id: string): Promise<ApprovalRow | undefined> {
  const [row] = await db.query<ApprovalRow>(
    `SELECT ${columns} FROM agent_approvals WHERE company_id = $1 AND id = $2`,
    [companyId, id],
  );
  return row;
}

/** Those that a member may see, with those that wait first. */
export async function listApprovals(
  db: Queryable,
  companyId: string,
  tools: readonly ApprovalTool[],
  count: number,
): Promise<ApprovalRow[]> {
  return db.query<ApprovalRow>(
    `SELECT ${columns} FROM agent_approvals WHERE company_id = $1 AND tool = ANY($2)
     ORDER BY (state = 'waiting' AND expires_at > now()) DESC, created_at DESC, id DESC LIMIT $3`,
    [companyId, tools, count],
  );
}

/** Returns false if the question has an answer already, was asked elsewhere, or has expired. */
export async function decideApproval(
  db: Queryable,
  companyId: string,
  id: string,
  decision: {
    readonly because: Extract<ApprovalTrigger, 'approve' | 'refuse'>;
    readonly askedIn: AskedIn;
    readonly by?: { readonly id: string; readonly name: string };
  },
): Promise<boolean> {
  const { from, to } = movesOf(decision.because);
  const rows = await db.query(
    `UPDATE agent_approvals SET state = $4, decided_at = now(), decided_by = $6, decided_by_name = $7
     WHERE company_id = $1 AND id = $2 AND state = ANY($3) AND asked_in = $5 AND expires_at > now() RETURNING 1`,
    [companyId, id, from, to, decision.askedIn, decision.by?.id ?? null, decision.by?.name ?? null],
  );
  return rows.length === 1;
}

/** Returns false if it is used, is not approved, or has expired. */
export async function takeApproval(db: Queryable, companyId: string, id: string): Promise<boolean> {
  const { from, to } = movesOf('use');
  const rows = await db.query(
    `UPDATE agent_approvals SET state = $4, used_at = now()
     WHERE company_id = $1 AND id = $2 AND state = ANY($3) AND expires_at > now() RETURNING 1`,
    [companyId, id, from, to],
  );
  return rows.length === 1;
}

export async function finishApproval(db: Queryable, companyId: string, id: string): Promise<void> {
  await db.query(
    `UPDATE agent_approvals SET finished_at = now()
     WHERE company_id = $1 AND id = $2 AND state = 'used' AND finished_at IS NULL`,
    [companyId, id],
  );
}

export async function deleteOldApprovals(db: Queryable, days: number, count: number): Promise<number> {
  const rows = await db.query(
    `DELETE FROM agent_approvals WHERE (company_id, id) IN (
       SELECT company_id, id FROM agent_approvals WHERE created_at <= now() - $1 * interval '1 day' AND ${staysHere('company_id')}
       LIMIT $2 FOR UPDATE SKIP LOCKED
     ) RETURNING 1`,
    [days, count],
  );
  return rows.length;
}
