import { hash, randomUUID } from 'node:crypto';
import type { AcceptDisputeRequest } from '@adyen/api-library/lib/src/typings/disputes/acceptDisputeRequest.js';
import type { DefendDisputeRequest } from '@adyen/api-library/lib/src/typings/disputes/defendDisputeRequest.js';
import type { DefenseReasonsRequest } from '@adyen/api-library/lib/src/typings/disputes/defenseReasonsRequest.js';
import type { SupplyDefenseDocumentRequest } from '@adyen/api-library/lib/src/typings/disputes/supplyDefenseDocumentRequest.js';
import Type from 'typebox';
import { checkOf } from '../../../platform/schema-check.ts';
import { type Answer, jsonOf, type Silence } from '../exchange.ts';
import type { DefenseReasons, DisputeOperations, DisputeOutcome, EvidenceLimits, EvidenceRequest } from '../notices.ts';
import { planOf, reasonSchema, reasonsOf } from './defense.ts';
import { keyOf } from './requests.ts';

/** Answers disputes with Adyen's Disputes API, version 30: documents are supplied, then the dispute is defended. */

export type DisputesPost = (path: string, body: object, key: string) => Promise<Answer | Silence>;

const result = Type.Object({ success: Type.Boolean(), errorMessage: Type.Optional(Type.String()) });
const resultAnswer = checkOf(Type.Object({ disputeServiceResult: result }));
const reasonsAnswer = checkOf(
  Type.Object({ disputeServiceResult: result, defenseReasons: Type.Optional(Type.Array(reasonSchema)) }),
);

type DisputeProblem = Exclude<DisputeOutcome, { readonly outcome: 'done' }>;

const refused = (reason: string): DisputeProblem => ({ outcome: 'refused', reason });

/** Returns undefined if Adyen did what was asked. */
function problemOf(answer: Answer | Silence): DisputeProblem | undefined {
  if ('reason' in answer) {
    return { outcome: answer.mayHaveArrived ? 'unknown' : 'not_sent', reason: answer.reason };
  }
  const { status } = answer;
  if (status === 401 || status === 403) {
    return refused('The API key may not answer disputes. Give it the role "API dispute management" at Adyen.');
  }
  const body = jsonOf(answer);
  if (status === 200 && resultAnswer.Check(body)) {
    const { success, errorMessage } = body.disputeServiceResult;
    return success ? undefined : refused(`Adyen: ${(errorMessage ?? 'the dispute cannot be answered').slice(0, 200)}`);
  }
  if (status === 400 || status === 422) return refused('Adyen does not accept an answer to this dispute.');
  return { outcome: 'unknown', reason: `Adyen answered with status ${status}` };
}

/** Adyen takes PDF up to 2 MB. It does not take PNG. */
export const evidenceLimits: EvidenceLimits = {
  textLengthMax: 20_000,
  fileBytesMax: 2 * 1024 * 1024,
  filesMax: 5,
  contentTypes: ['application/pdf', 'image/jpeg'],
  offersReasons: true,
};

export function disputeOperations(merchantAccountCode: string, post: DisputesPost): DisputeOperations {
  async function offered(disputeId: string): Promise<DefenseReasons> {
    const request = { disputePspReference: disputeId, merchantAccountCode } satisfies DefenseReasonsRequest;
    const answer = await post('retrieveApplicableDefenseReasons', request, randomUUID());
    const problem = problemOf(answer);
    if (problem) return problem;
    const body = 'reason' in answer ? undefined : jsonOf(answer);
    const reasons = reasonsAnswer.Check(body) ? reasonsOf(body.defenseReasons ?? []) : [];
    return reasons.length > 0
      ? { outcome: 'offered', reasons }
      : refused('Adyen offers no way to defend this dispute.');
  }

  async function submit(request: EvidenceRequest): Promise<DisputeOutcome> {
    const { reference, disputeId } = request;
    const offer = await offered(disputeId);
    if (offer.outcome !== 'offered') return offer;
    const plan = planOf(offer.reasons, request);
    if ('problem' in plan) return refused(plan.problem);
    const { reason: defenseReasonCode, documents } = plan;
    const about = { disputePspReference: disputeId, merchantAccountCode };
    // The same evidence has the same keys: a repetition gets the first answer, and corrected evidence a new one.
    const version = hash('sha256', JSON.stringify([defenseReasonCode, documents]), 'hex');
    if (documents.length > 0) {
      const supply = { ...about, defenseDocuments: [...documents] } satisfies SupplyDefenseDocumentRequest;
      const supplied = problemOf(await post('supplyDefenseDocument', supply, keyOf(reference, `documents ${version}`)));
      if (supplied) return supplied;
    }
    const defense = { ...about, defenseReasonCode } satisfies DefendDisputeRequest;
    const defended = problemOf(await post('defendDispute', defense, keyOf(reference, `defense ${version}`)));
    return defended ?? { outcome: 'done', state: 'under_review' };
  }

  return {
    reasons: ({ disputeId }) => offered(disputeId),
    submit,
    async accept({ reference, disputeId }) {
      const request = { disputePspReference: disputeId, merchantAccountCode } satisfies AcceptDisputeRequest;
      return (
        problemOf(await post('acceptDispute', request, keyOf(reference))) ?? { outcome: 'done', state: 'accepted' }
      );
    },
  };
}
