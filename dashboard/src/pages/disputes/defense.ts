import { disputes } from '../../texts/disputes.ts';
import type { DefenseReasonsList, DisputeDetail } from '../../types.ts';

/** The choice of the reason for which the processor defends a dispute, and of what it gets as each document. */

export type Defense = NonNullable<DisputeDetail['defense']>;
export type Reason = DefenseReasonsList['data'][number];
type Document = Reason['documents'][number];

export const texts = 'texts';

/** What the merchant has: the texts, if there are any, and the files. */
export interface Material {
  readonly source: string;
  readonly name: string;
}

/** What was chosen for a document; empty for nothing. */
export const sourceOf = ({ documents }: Defense, type: string): string =>
  documents.find((document) => document.type === type)?.source ?? '';

export function withSource(defense: Defense, type: string, source: string): Defense {
  const others = defense.documents.filter((document) => document.type !== type);
  return { ...defense, documents: source === '' ? others : [...others, { type, source }] };
}

/** Without what was removed since. */
export function available(defense: Defense | null, material: readonly Material[]): Defense | null {
  if (!defense) return null;
  const isThere = ({ source }: Defense['documents'][number]): boolean => material.some((one) => one.source === source);
  return { ...defense, documents: defense.documents.filter(isThere) };
}

/** The documents that are needed come first, so they get what there is. The merchant sees it, and can change it. */
export function proposed({ reason, documents }: Reason, material: readonly Material[]): Defense {
  const chosen = documents.flatMap(({ type }, index) => {
    const source = material[index]?.source;
    return source === undefined ? [] : [{ type, source }];
  });
  return { reason, documents: chosen };
}

/** The documents that are still needed: all of `required`, or one of `oneOf`. */
interface Missing {
  readonly required: readonly string[];
  readonly oneOf: readonly string[];
}

function missingIn({ documents }: Reason, defense: Defense): Missing {
  const isThere = ({ type, is_supplied }: Document): boolean => is_supplied || sourceOf(defense, type) !== '';
  const of = (need: Document['need']): Document[] => documents.filter((document) => document.need === need);
  const [required, oneOf, alternatives] = [of('required'), of('one_of'), of('alternative')];
  const names = (some: readonly Document[]): string[] => some.map(({ name }) => name);
  if (alternatives.some(isThere)) return { required: [], oneOf: [] };
  const choices = oneOf.length > 0 ? oneOf : required.length > 0 ? [] : alternatives;
  return {
    required: names(required.filter((document) => !isThere(document))),
    oneOf: choices.some(isThere) ? [] : names(choices),
  };
}

/** What would not be sent. Nothing that the merchant gave may be left out. */
const unusedIn = ({ documents }: Defense, material: readonly Material[]): string[] =>
  material.filter(({ source }) => !documents.some((document) => document.source === source)).map(({ name }) => name);

/** Why this cannot be submitted yet, in words. */
export function problemsOf(reason: Reason, defense: Defense, material: readonly Material[]): string[] {
  const { required, oneOf } = missingIn(reason, defense);
  const unused = unusedIn(defense, material);
  return [
    ...(required.length > 0 ? [disputes.documentsMissing(required)] : []),
    ...(oneOf.length > 0 ? [disputes.oneOfMissing(oneOf)] : []),
    ...(unused.length > 0 ? [disputes.notSent(unused)] : []),
  ];
}
