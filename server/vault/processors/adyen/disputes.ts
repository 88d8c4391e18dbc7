import { hash, randomUUID } from 'node:crypto';
import type { AcceptDisputeRequest } from '@adyen/api-library/lib/src/typings/disputes/acceptDisputeRequest.js';
import type { DefendDisputeRequest } from '@adyen/api-library/lib/src/typings/disputes/defendDisputeRequest.js';
import type { DefenseDocument } from '@adyen/api-library/lib/src/typings/disputes/defenseDocument.js';
import type { DefenseReasonsRequest } from '@adyen/api-library/lib/src/typings/disputes/defenseReasonsRequest.js';
import type { SupplyDefenseDocumentRequest } from '@adyen/api-library/lib/src/typings/disputes/supplyDefenseDocumentRequest.js';
import Type from 'typebox';
import { checkOf } from '../../../platform/schema-check.ts';
import { type Answer, jsonOf, type Silence } from '../exchange.ts';
import type { DisputeOperations, EvidenceLimits, DisputeOutcome, EvidenceFile, EvidenceRequest } from '../notices.ts';
import { pdfOf } from './evidence.ts';
import { keyOf } from './requests.ts';

/** Answers disputes with Adyen's Disputes API, version 30: documents are supplied, then the dispute is defended. */

export type DisputesPost = (path: string, body: object, key: string) => Promise<Answer | Silence>;

const result = Type.Object({ success: Type.Boolean(), errorMessage: Type.Optional(Type.String()) });
const resultAnswer = checkOf(Type.Object({ disputeServiceResult: result }));
const reasonSchema = Type.Object({
  defenseReasonCode: Type.String(),
  defenseDocumentTypes: Type.Optional(
    Type.Array(Type.Object({ defenseDocumentTypeCode: Type.String(), requirementLevel: Type.String() })),
  ),
});
type DefenseReason = Type.Static<typeof reasonSchema>;
const reasonsAnswer = checkOf(Type.Object({ disputeServiceResult: result, defenseReasons: Type.Array(reasonSchema) }));

const refused = (reason: string): DisputeOutcome => ({ outcome: 'refused', reason });

/** Returns undefined if Adyen did what was asked. */
function problemOf(answer: Answer | Silence): DisputeOutcome | undefined {
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

interface Document {
  readonly contentType: EvidenceFile['contentType'];
  readonly content: Buffer;
  readonly name: string;
}

const requiredLevels = ['Required', 'AlternativeRequired'];

/** The types of documents without which Adyen does not defend for this reason. */
function requiredTypes({ defenseDocumentTypes = [] }: DefenseReason): string[] {
  const codes = (levels: readonly string[]): string[] =>
    defenseDocumentTypes
      .filter(({ requirementLevel }) => levels.includes(requirementLevel))
      .map(({ defenseDocumentTypeCode }) => defenseDocumentTypeCode);
  const required = codes(requiredLevels);
  return required.length > 0 ? required : codes(['OneOrMore']).slice(0, 1);
}

/** A type gets the document whose name is in the name of the type, else the main one. */
function documentsFor(reason: DefenseReason, documents: readonly Document[]): DefenseDocument[] {
  const types = requiredTypes(reason);
  const optional = (reason.defenseDocumentTypes ?? []).map(({ defenseDocumentTypeCode }) => defenseDocumentTypeCode);
  const chosen = new Map<string, Document | undefined>(types.map((type) => [type, documents[0]]));
  for (const document of documents) {
    const words = document.name.split('_');
    const isNamed = (type: string): boolean => words.some((word) => type.toLowerCase().includes(word));
    const free = optional.filter((type) => !chosen.has(type) || chosen.get(type) === documents[0]);
    const fitting =
      free.find(isNamed) ?? (document === documents[0] ? undefined : free.find((type) => !chosen.has(type)));
    if (fitting !== undefined) chosen.set(fitting, document);
  }
  return [...chosen].flatMap(([defenseDocumentTypeCode, document]) => {
    if (!document) return [];
    const content = document.content.toString('base64');
    return { defenseDocumentTypeCode, contentType: document.contentType, content } satisfies DefenseDocument;
  });
}

/** Adyen takes PDF up to 2 MB. It does not take PNG. */
export const evidenceLimits: EvidenceLimits = {
  textLengthMax: 20_000,
  fileBytesMax: 2 * 1024 * 1024,
  filesMax: 5,
  contentTypes: ['application/pdf', 'image/jpeg'],
};

/** The reason with the fewest required documents: the evidence is the same for each. */
const easiest = (reasons: readonly DefenseReason[]): DefenseReason | undefined =>
  reasons.toSorted((one, other) => requiredTypes(one).length - requiredTypes(other).length)[0];

export function disputeOperations(merchantAccountCode: string, post: DisputesPost): DisputeOperations {
  async function submit({ reference, disputeId, texts, files }: EvidenceRequest): Promise<DisputeOutcome> {
    const about = { disputePspReference: disputeId, merchantAccountCode };
    const asked = about satisfies DefenseReasonsRequest;
    const answer = await post('retrieveApplicableDefenseReasons', asked, randomUUID());
    const problem = problemOf(answer);
    if (problem) return problem;
    const body = 'reason' in answer ? undefined : jsonOf(answer);
    const reason = reasonsAnswer.Check(body) ? easiest(body.defenseReasons) : undefined;
    if (!reason) return refused('Adyen offers no way to defend this dispute.');
    const written: Document[] =
      Object.keys(texts).length === 0
        ? []
        : [{ name: 'explanation', contentType: 'application/pdf', content: pdfOf(texts) }];
    const defenseDocuments = documentsFor(reason, [
      ...written,
      ...files.map(({ kind, contentType, content }) => ({ name: kind, contentType, content })),
    ]);
    // The same evidence has the same keys: a repetition gets the first answer, and corrected evidence a new one.
    const version = hash('sha256', JSON.stringify([reason.defenseReasonCode, defenseDocuments]), 'hex');
    if (defenseDocuments.length > 0) {
      const supply = { ...about, defenseDocuments } satisfies SupplyDefenseDocumentRequest;
      const supplied = problemOf(await post('supplyDefenseDocument', supply, keyOf(reference, `documents ${version}`)));
      if (supplied) return supplied;
    }
    const defense = { ...about, defenseReasonCode: reason.defenseReasonCode } satisfies DefendDisputeRequest;
    const defended = problemOf(await post('defendDispute', defense, keyOf(reference, `defense ${version}`)));
    return defended ?? { outcome: 'done', state: 'under_review' };
  }

  return {
    submit,
    async accept({ reference, disputeId }) {
      const request = { disputePspReference: disputeId, merchantAccountCode } satisfies AcceptDisputeRequest;
      return (
        problemOf(await post('acceptDispute', request, keyOf(reference))) ?? { outcome: 'done', state: 'accepted' }
      );
    },
  };
}
