import type { DefenseDocument as SentDocument } from '@adyen/api-library/lib/src/typings/disputes/defenseDocument.js';
import Type from 'typebox';
import {
  type DefenseDocument,
  type DefenseReason,
  documentNeeds,
  type EvidenceFile,
  type EvidenceRequest,
  textsAsDocument,
} from '../notices.ts';
import { pdfOf } from './evidence.ts';

/** The reasons for which Adyen defends a dispute, and what is sent for one of them. Defending is final, so nothing is guessed. */

export const reasonSchema = Type.Object({
  defenseReasonCode: Type.String(),
  defenseDocumentTypes: Type.Optional(
    Type.Array(
      Type.Object({
        defenseDocumentTypeCode: Type.String(),
        requirementLevel: Type.String(),
        available: Type.Optional(Type.Boolean()),
      }),
    ),
  ),
});
type OfferedReason = Type.Static<typeof reasonSchema>;

/** Adyen takes any material for it. Not every account and card network has it. */
const anyMaterial = 'SupplyDefenseMaterial';

const names: Readonly<Record<string, string>> = {
  [anyMaterial]: 'Supply defense material',
  DefenseMaterial: 'Defense material',
  TIDorInvoice: 'Transaction receipt or invoice',
  TAndC: 'Terms and conditions',
};

/** `GoodsWereAsDescribed` → `Goods were as described` */
function nameOf(code: string): string {
  const words = code.replace(/([a-z\d])([A-Z])/g, '$1 $2').replace(/_/g, ' ');
  return (
    names[code] ?? words.slice(0, 1) + words.slice(1).replace(/\b[A-Z](?=[a-z]|\b)/g, (letter) => letter.toLowerCase())
  );
}

const needs: Readonly<Record<string, DefenseDocument['need']>> = {
  Required: 'required',
  OneOrMore: 'one_of',
  AlternativeRequired: 'alternative',
};

function reasonOf({ defenseReasonCode: code, defenseDocumentTypes = [] }: OfferedReason): DefenseReason {
  const documents = defenseDocumentTypes.map(({ defenseDocumentTypeCode: type, requirementLevel, available }) => ({
    type,
    name: nameOf(type),
    need: needs[requirementLevel] ?? 'optional',
    isSupplied: available === true,
  }));
  const byNeed = ({ need }: DefenseDocument): number => documentNeeds.indexOf(need);
  return { code, name: nameOf(code), documents: documents.toSorted((one, other) => byNeed(one) - byNeed(other)) };
}

/** The one that takes any material comes first: it fits every case. */
export function reasonsOf(offered: readonly OfferedReason[]): DefenseReason[] {
  const reasons = offered.map(reasonOf);
  return [...reasons.filter(({ code }) => code === anyMaterial), ...reasons.filter(({ code }) => code !== anyMaterial)];
}

/** What the merchant gave: the texts as one document, and each file. */
interface Material {
  readonly source: string;
  /** As a sentence names it. */
  readonly name: string;
  readonly contentType: EvidenceFile['contentType'];
  readonly content: Buffer;
}

function materialOf({ texts, files }: EvidenceRequest): Material[] {
  const written = Object.keys(texts).length > 0;
  const name = 'the texts';
  const document = { source: textsAsDocument, name, contentType: 'application/pdf', content: pdfOf(texts) } as const;
  return [
    ...(written ? [document] : []),
    ...files.map(({ id, name: file, ...content }, index) => ({
      ...content,
      source: id ?? `${index}`,
      name: `"${file}"`,
    })),
  ];
}

export interface DefensePlan {
  readonly reason: string;
  readonly documents: readonly SentDocument[];
}

/** Why nothing is sent: a sentence for the merchant. */
export interface DefenseProblem {
  readonly problem: string;
}

const listed = (all: readonly string[]): string => all.join(', ');

function missingIn({ documents }: DefenseReason, given: ReadonlySet<string>): string | undefined {
  const isThere = ({ type, isSupplied }: DefenseDocument): boolean => isSupplied || given.has(type);
  const of = (need: DefenseDocument['need']): DefenseDocument[] => documents.filter((one) => one.need === need);
  const [required, oneOf, alternatives] = [of('required'), of('one_of'), of('alternative')];
  const hasAlternative = alternatives.some(isThere);
  const absent = required.filter((one) => !isThere(one));
  if (absent.length > 0 && !hasAlternative) return `Adyen also needs: ${listed(absent.map(({ name }) => name))}.`;
  const choices = oneOf.length > 0 ? oneOf : required.length > 0 ? [] : alternatives;
  if (choices.length === 0 || choices.some(isThere) || hasAlternative) return undefined;
  return `Adyen needs at least one of: ${listed(choices.map(({ name }) => name))}.`;
}

/** Without a choice: the documents that are needed come first. */
const inOrder = ({ documents }: DefenseReason, material: readonly Material[]) =>
  material.flatMap(({ source }, index) => {
    const type = documents[index]?.type;
    return type === undefined ? [] : [{ type, source }];
  });

/** Everything that the merchant gave is sent, as what the merchant chose, or nothing is. */
export function planOf(reasons: readonly DefenseReason[], request: EvidenceRequest): DefensePlan | DefenseProblem {
  const { defense } = request;
  const wanted = defense?.reason ?? anyMaterial;
  const reason = reasons.find(({ code }) => code === wanted);
  if (!reason) {
    const problem = defense
      ? 'Adyen does not offer this reason any more. Choose another one.'
      : 'Choose the reason for which Adyen defends this dispute.';
    return { problem };
  }
  const material = materialOf(request);
  const chosen = defense?.documents ?? inOrder(reason, material);
  const odd = chosen.find(({ type }) => !reason.documents.some((document) => document.type === type));
  if (odd) return { problem: `Adyen does not take the document "${nameOf(odd.type)}" for this reason.` };
  const sent = chosen.flatMap(({ type, source }) => {
    const found = material.find((one) => one.source === source);
    return found ? { type, ...found } : [];
  });
  const given = new Set(sent.map(({ type }) => type));
  if (sent.length !== chosen.length)
    return { problem: 'A document that you chose is not there any more. Choose it again.' };
  if (given.size !== sent.length) return { problem: 'Choose one file for each document.' };
  const missing = missingIn(reason, given);
  if (missing !== undefined) return { problem: missing };
  const unused = material.filter(({ source }) => !sent.some((one) => one.source === source));
  if (unused.length > 0) {
    const which = listed(unused.map(({ name }) => name));
    return { problem: `Choose as which document Adyen gets ${which}, or remove it. Nothing is left out.` };
  }
  const documents = sent.map(({ type, contentType, content }) => ({
    defenseDocumentTypeCode: type,
    contentType,
    content: content.toString('base64'),
  }));
  return { reason: reason.code, documents: documents satisfies SentDocument[] };
}
