import { readAmount } from './amounts.ts';
import { dateTime, money } from './format.ts';
import { editing } from './texts/editing.ts';

/** Editing an object that others can change at the same time: which fields to send, and which were changed by both. */

/** What a person sees as one field. A price, for example, is an amount with its currency. */
export interface EditedField<Draft extends object> {
  readonly label: string;
  /** The fields of the draft that belong to it. */
  readonly of: readonly (keyof Draft & string)[];
  readonly show: (draft: Draft) => string;
  /** Where the form marks it. */
  readonly path: string;
}

type FieldText<Draft extends object> = { readonly label: string; readonly path?: string } & (
  | { readonly choices: Readonly<Record<string, string>> }
  | { readonly of?: readonly (keyof Draft & string)[]; readonly show?: (draft: Draft) => string }
);

/** By the name in the draft: the label, or how the field is shown. Every field of the draft belongs to one of them. */
export function editedFields<Draft extends object>(
  texts: Readonly<Record<string, string | FieldText<Draft>>>,
): EditedField<Draft>[] {
  return Object.entries(texts).map(([name, text]) => {
    const own = name as keyof Draft & string;
    if (typeof text === 'string') return { label: text, of: [own], path: name, show: (draft) => shown(draft[own]) };
    const { label, path = name } = text;
    if ('choices' in text) {
      const { choices } = text;
      return { label, path, of: [own], show: (draft) => choices[String(draft[own])] ?? shown(draft[own]) };
    }
    const { of = [own], show = (draft: Draft) => shown(draft[own]) } = text;
    return { label, path, of, show };
  });
}

export function checkCovered<Draft extends object>(fields: readonly EditedField<Draft>[], draft: Draft): void {
  const covered = new Set<string>(fields.flatMap(({ of }) => of));
  const missing = Object.keys(draft).filter((name) => !covered.has(name));
  if (missing.length > 0) throw new Error(`A change of ${missing.join(', ')} by a colleague would go unnoticed.`);
}

const shownLength = 160;

/** A value as a sentence contains it. */
export function shown(value: unknown): string {
  if (typeof value === 'boolean') return value ? editing.on : editing.off;
  const text = (Array.isArray(value) ? value.join(', ') : typeof value === 'string' ? value : '').trim();
  if (text === '') return editing.empty;
  return `“${text.length > shownLength ? `${text.slice(0, shownLength)}…` : text}”`;
}

/** `12,5` → `$12.50` */
export function typedMoney(text: string, currency: string): string {
  const { amount } = readAmount(text, currency);
  return amount === undefined ? shown(text) : money(amount, currency);
}

/** `2026-11-18T09:30` → `Nov 18, 2026, 09:30 UTC` */
export const typedTime = (text: string): string => (text === '' ? editing.empty : `${dateTime(`${text}:00Z`)} UTC`);

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

export function picked<Draft extends object>({ of }: EditedField<Draft>, draft: Draft): Partial<Draft> {
  return Object.fromEntries(of.map((name) => [name, draft[name]])) as Partial<Draft>;
}

export interface Merged<Draft extends object> {
  /** What the user typed, and for all other fields what the service has now. */
  readonly draft: Draft;
  /** Changed by others only. */
  readonly taken: readonly EditedField<Draft>[];
  /** Changed by both, to different values. The draft has what the user typed. */
  readonly conflicts: readonly EditedField<Draft>[];
}

/** `base` is what the form was opened with, `mine` what is typed, `theirs` what the service has now. */
export function mergeDrafts<Draft extends object>(
  fields: readonly EditedField<Draft>[],
  base: Draft,
  mine: Draft,
  theirs: Draft,
): Merged<Draft> {
  const differs = (field: EditedField<Draft>, one: Draft, other: Draft): boolean =>
    !same(picked(field, one), picked(field, other));
  const changed = fields.filter((field) => differs(field, base, theirs));
  const taken = changed.filter((field) => !differs(field, base, mine));
  const conflicts = changed.filter((field) => differs(field, base, mine) && differs(field, mine, theirs));
  const draft = Object.assign({ ...mine }, ...taken.map((field) => picked(field, theirs))) as Draft;
  return { draft, taken, conflicts };
}

export type Body = Readonly<Record<string, unknown>>;

/** The fields of a body that differ from what the service has. */
export const changesOf = (before: Body, after: Body): Record<string, unknown> =>
  Object.fromEntries(Object.entries(after).filter(([name, value]) => !same(value, before[name])));

/** `{ 'emails.reply_to': … }` → `{ emails: { reply_to: … } }` */
export function nested(changes: Body): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [path, value] of Object.entries(changes)) {
    const [name = '', part] = path.split('.');
    body[name] = part === undefined ? value : { ...(body[name] as object | undefined), [part]: value };
  }
  return body;
}

/** The names of the fields in the API that belong to a field of the form. */
export function namesInBody<Draft extends object>(
  field: EditedField<Draft>,
  bodyOf: (draft: Draft) => Body,
  base: Draft,
  theirs: Draft,
): string[] {
  return Object.keys(nested(changesOf(bodyOf(base), bodyOf({ ...base, ...picked(field, theirs) }))));
}
