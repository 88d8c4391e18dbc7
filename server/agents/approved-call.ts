import { createHash } from 'node:crypto';
import { canonical } from '../http/idempotency.ts';
import { isUuid } from '../platform/ids.ts';
import type { KeyApprovals } from '../features/agent-approvals/asking.ts';
import type { ApprovalRow, AskedIn } from '../features/agent-approvals/queries.ts';
import { answerOf, type ApiReply, type Fields, ToolError } from './call.ts';
import type { LiveTool } from './live-tools.ts';
import type { Toolbox } from './tool.ts';

/**
 * A call of a live tool. First it asks, and does nothing else. After a person has approved, the same call with the same arguments
 * does exactly what was asked, once: the approval is its idempotency key.
 */

export interface LiveToolbox extends Toolbox {
  readonly approvals: KeyApprovals;
}

/** What the client can do, and what it brings. */
export interface Asking {
  /** Whether it can ask its user. */
  readonly canAsk: boolean;
  /** What the user answered to an earlier question. */
  readonly answer: { readonly id: string; readonly isAccepted: boolean } | undefined;
}

/** `ask`: the client asks its user this question, and repeats the call with the answer. */
type LiveResult = { readonly fields: Fields } | { readonly ask: Pick<ApprovalRow, 'id' | 'question'> };

export async function callLive(tool: LiveTool, input: Fields, asking: Asking, box: LiveToolbox): Promise<LiveResult> {
  const { approval_id, ...given } = input;
  const call = { tool, input: given, hash: hashOf(tool.name, given), box };
  if (asking.answer) return { fields: await answered(call, asking.answer) };
  if (typeof approval_id === 'string') return { fields: await perform(call, approval_id) };
  return ask(call, asking.canAsk ? 'client' : 'dashboard');
}

interface LiveCall {
  readonly tool: LiveTool;
  readonly input: Fields;
  readonly hash: string;
  readonly box: LiveToolbox;
}

const hashOf = (tool: string, input: Fields): string =>
  createHash('sha256').update(canonical({ tool, input })).digest('base64url');

async function ask({ tool, input, hash, box }: LiveCall, asked_in: AskedIn): Promise<LiveResult> {
  const { approvals } = box;
  const plan = await tool.plan(input as never, box);
  const asked = await approvals.ask({ ...plan, arguments_hash: hash, asked_in });
  if ('refused' in asked) throw asked.refused === 'limit' ? overLimit(box) : notFound(box);
  if ('open' in asked) {
    const { open, isOwn } = asked;
    const isSame = isOwn && open.arguments_hash === hash;
    // The client may have lost the question. Its user has still only one to answer.
    if (isSame && asked_in === 'client' && open.asked_in === 'client' && open.state === 'waiting') return { ask: open };
    throw alreadyOpen(box, open, isOwn);
  }
  const { approval } = asked;
  if (asked_in === 'client') return { ask: approval };
  return {
    fields: {
      waits_for_approval: true,
      question: approval.question,
      ...shownOf(box, approval),
      next:
        'Nothing has happened yet. Ask a member of the team to read the question at dashboard_url and approve it. Then repeat ' +
        'this call with the same arguments and the approval_id.',
    },
  };
}

async function answered(call: LiveCall, { id, isAccepted }: NonNullable<Asking['answer']>): Promise<Fields> {
  const row = await found(call, id);
  if (row.state === 'waiting') {
    if (row.asked_in !== 'client') throw refusals.waiting(call.box, row);
    const isAnswered = await call.box.approvals.answer(row.id, isAccepted ? 'approve' : 'refuse');
    if (!isAnswered) throw stateOf(call.box, await found(call, id));
  }
  if (!isAccepted) throw refusals.refused(call.box, row);
  return perform(call, id);
}

/** The approval of this key for exactly these arguments. */
async function found({ box, hash }: LiveCall, id: string): Promise<ApprovalRow> {
  const row = isUuid(id) ? await box.approvals.find(id.toLowerCase()) : undefined;
  if (!row) throw notFound(box);
  if (row.arguments_hash !== hash) {
    throw approvalError(
      box,
      'approval_mismatch',
      'This approval is for a call with other arguments. Repeat the call that was approved, or call without approval_id to ask again.',
      row,
    );
  }
  return row;
}

async function perform(call: LiveCall, id: string): Promise<Fields> {
  const { tool, box } = call;
  const row = await found(call, id);
  if (row.state === 'approved') {
    await checkUnchanged(call, row);
    if (!(await box.approvals.take(row.id))) throw stateOf(box, await found(call, id));
  } else if (!row.may_repeat) throw stateOf(box, row);
  const reply = await box.call({ ...row.request, idempotencyKey: row.id, isApproved: true });
  if (isOpen(reply)) throw repeatable(box, row, reply);
  await box.approvals.finish(row.id);
  return { ...tool.shown(answerOf(reply), box.baseUrl), approval_id: row.id };
}

/** The person approved what the question said: a part may have been refunded since. */
async function checkUnchanged({ tool, input, box }: LiveCall, row: ApprovalRow): Promise<void> {
  const { question, request } = await tool.plan(input as never, box);
  if (question === row.question && canonical(request) === canonical(row.request)) return;
  throw approvalError(
    box,
    'approval_mismatch',
    'The object has changed since a person approved this call, so the question would be another. Call again after the approval has expired.',
    row,
  );
}

/** Whether the outcome is not known, or another request was in the way: the same approval may be tried again. */
function isOpen({ status, body }: ApiReply): boolean {
  const code = (body as { error?: { code?: string } } | undefined)?.error?.code ?? '';
  return status >= 500 || status === 429 || ['request_in_progress', 'resource_in_use'].includes(code);
}

function repeatable(box: Toolbox, row: ApprovalRow, reply: ApiReply): ToolError {
  try {
    answerOf(reply);
  } catch (error) {
    if (error instanceof ToolError) {
      const next = 'The outcome is not known yet. Repeat this call with the same arguments and the approval_id.';
      return new ToolError(error.message, { ...error.details, ...shownOf(box, row), next });
    }
  }
  return approvalError(box, 'approval_waiting', 'The outcome is not known yet.', row);
}

const shownOf = ({ baseUrl }: Toolbox, { id, expires_at }: ApprovalRow): Fields => ({
  approval_id: id,
  expires_at: expires_at.toISOString(),
  dashboard_url: `${baseUrl}/approvals/${id}`,
});

function approvalError(box: Toolbox, code: string, message: string, row?: ApprovalRow): ToolError {
  const doc_url = `${box.baseUrl}/docs/agents#errors-of-approvals`;
  return new ToolError(message, { code, ...(row && shownOf(box, row)), doc_url });
}

const notFound = (box: Toolbox): ToolError =>
  approvalError(box, 'approval_not_found', 'This API key has not asked for an approval with this ID.');

const overLimit = (box: LiveToolbox): ToolError =>
  approvalError(
    box,
    'approval_limit',
    `This API key has asked ${box.approvals.perDay} times in 24 hours, which is the limit. Ask a member of the team to do it in the dashboard.`,
  );

function alreadyOpen(box: Toolbox, open: ApprovalRow, isOwn: boolean): ToolError {
  if (!isOwn) {
    return approvalError(box, 'approval_open', 'Another API key has asked for the same object. Call again later.');
  }
  const message =
    open.state === 'approved'
      ? 'A person has approved such a call for this object. Repeat it with the approval_id.'
      : 'A call for this object is waiting for a person already. Repeat it with the approval_id after the person has approved it.';
  return approvalError(box, 'approval_open', message, open);
}

type Refusal = (box: Toolbox, row: ApprovalRow) => ToolError;

const refusals: Readonly<Record<Exclude<ApprovalRow['state'], 'approved'>, Refusal>> = {
  waiting: (box, row) =>
    approvalError(box, 'approval_waiting', 'No person has approved this call yet. Nothing has happened.', row),
  refused: (box, row) =>
    approvalError(
      box,
      'approval_refused',
      'A person refused this call. Nothing has happened. Do not ask again unless they say so.',
      row,
    ),
  expired: (box, row) =>
    approvalError(
      box,
      'approval_expired',
      'The approval has expired, and nothing has happened. Call without approval_id to ask again.',
      row,
    ),
  used: (box, row) =>
    approvalError(box, 'approval_used', 'The approval was used already. Read the object to see what happened.', row),
};

const stateOf: Refusal = (box, row) => refusals[row.state === 'approved' ? 'waiting' : row.state](box, row);
