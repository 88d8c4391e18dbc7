import { discardChanges } from './questions.ts';

/** Forms with changes that are not saved. An action that would lose them asks first. */

interface WatchedForm {
  readonly element: () => Element | null;
  readonly isUnsaved: () => boolean;
}

const forms = new Set<WatchedForm>();

export function watchForm(form: WatchedForm): () => void {
  forms.add(form);
  return () => forms.delete(form);
}

const unsavedIn = (within?: Element | null): WatchedForm[] =>
  [...forms].filter(({ element, isUnsaved }) => isUnsaved() && (!within || within.contains(element())));

export const hasUnsaved = (): boolean => unsavedIn().length > 0;

/** True if there is nothing to lose, or the user agrees. Without an element, this concerns the whole page. */
export async function mayDiscard(within?: Element | null): Promise<boolean> {
  const unsaved = unsavedIn(within);
  if (unsaved.length === 0) return true;
  const agreed = await discardChanges.ask();
  if (agreed) for (const form of unsaved) forms.delete(form);
  return agreed;
}
