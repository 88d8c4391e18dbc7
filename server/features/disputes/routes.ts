import { createdAtFilters, listSchema } from '../../http/lists.ts';
import { choicesParameter, textParameter, uuidParameter } from '../../http/query-parameters.ts';
import { defineList, defineRoute, type Route } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import { choice } from '../../platform/choice.ts';
import { disputeReasons } from '../../vault/processors/notices.ts';
import {
  defenseReasons,
  dispute,
  disputeDetail,
  disputeResolution,
  disputeStatus,
  disputeUpdate,
  evidenceSuggestions,
  fileCreate,
} from './schemas.ts';
import { suggestEvidence } from './suggestions.ts';
import {
  addFile,
  changeEvidence,
  type DisputeDependencies,
  findDefenseReasons,
  getDispute,
  getDisputes,
  lockedDispute,
  recordAcceptance,
  recordSubmission,
  removeFile,
  resolveDispute,
  sendAcceptance,
  sendEvidence,
} from './service.ts';

export type { DisputeDependencies };

const common = {
  tag: 'Disputes',
  resource: 'dispute',
  category: 'write',
  idempotency: 'optional',
  permission: 'orders:write',
  success: { status: 200, schema: disputeDetail, shape: 'resource' },
  errors: [],
} as const;
const path = '/dashboard/disputes';

/** Used only by the dashboard. */
export function disputeRoutes(dependencies: DisputeDependencies): Route[] {
  return [
    defineList({
      tag: 'Disputes',
      resource: 'dispute',
      path,
      operationId: 'listDisputes',
      summary: 'List disputes',
      permission: 'orders:read',
      expand: { customer: 'customers:read' },
      sorts: [],
      filters: {
        q: textParameter(
          limits.searchLength,
          'Only disputes of an order with this number, of a customer with these words in name, email or company, or of this amount.',
        ),
        status: choicesParameter(disputeStatus, 'statuses'),
        reason: choicesParameter(choice(disputeReasons), 'reasons'),
        order_id: uuidParameter('Only disputes of this order.'),
        ...createdAtFilters,
      },
      success: { status: 200, schema: listSchema('DisputeList', dispute, path), shape: 'list' },
      errors: [],
      handle: ({ context, query, page, expand }) => getDisputes(context, query, page, expand),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: `${path}/:id`,
      operationId: 'getDispute',
      summary: 'Retrieve a dispute, and what evidence its processor takes',
      permission: 'orders:read',
      category: 'read',
      idempotency: 'none',
      version: disputeUpdate,
      handle: ({ context, params }) => getDispute(context, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: `${path}/:id/suggestions`,
      operationId: 'suggestDisputeEvidence',
      summary: 'Draft evidence from what is recorded of the payment',
      permission: 'orders:read',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: evidenceSuggestions, shape: 'other' },
      handle: ({ context, params }) => suggestEvidence(context, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: `${path}/:id/defense_reasons`,
      operationId: 'listDefenseReasons',
      summary: 'List the reasons for which the processor defends a dispute, with the documents that each needs',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: defenseReasons, shape: 'other' },
      prepare: ({ context, params }) => findDefenseReasons(context, dependencies, params.id ?? ''),
      handle: async ({ prepared }) => prepared,
    }),
    defineRoute({
      ...common,
      method: 'PATCH',
      path: `${path}/:id`,
      operationId: 'updateDispute',
      summary: 'Save the draft of the evidence, and the reason for which it is submitted',
      body: disputeUpdate,
      current: ({ context, params }) => lockedDispute(context, params.id ?? ''),
      handle: ({ context, params, body }) => changeEvidence(context, params.id ?? '', body),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: `${path}/:id/files`,
      operationId: 'addDisputeFile',
      summary: 'Add a file to the evidence',
      body: fileCreate,
      bodyBytes: limits.evidenceBodyBytes,
      handle: ({ context, params, body }) => addFile(context, params.id ?? '', body),
    }),
    defineRoute({
      ...common,
      method: 'DELETE',
      path: `${path}/:id/files/:file_id`,
      operationId: 'removeDisputeFile',
      summary: 'Remove a file from the evidence',
      handle: ({ context, params }) => removeFile(context, params.id ?? '', params.file_id ?? ''),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: `${path}/:id/submit`,
      operationId: 'submitDispute',
      summary: 'Submit the evidence to the processor, once: it cannot be changed afterwards',
      prepare: ({ context, params }) => sendEvidence(context, dependencies, params.id ?? ''),
      handle: ({ context, params, prepared }) => recordSubmission(context, dependencies, params.id ?? '', prepared),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: `${path}/:id/resolve`,
      operationId: 'resolveDispute',
      summary: 'Record how a dispute ended that no processor reports',
      body: disputeResolution,
      handle: ({ context, params, body }) => resolveDispute(context, dependencies, params.id ?? '', body.outcome),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: `${path}/:id/accept`,
      operationId: 'acceptDispute',
      summary: 'Accept a dispute: the cardholder keeps the money',
      prepare: ({ context, params }) => sendAcceptance(context, dependencies, params.id ?? ''),
      handle: ({ context, params, prepared }) => recordAcceptance(context, dependencies, params.id ?? '', prepared),
    }),
  ];
}
