import { discardChanges } from '../questions.ts';
import { common } from '../texts/common.ts';
import { hasUnsaved, mayDiscard } from '../unsaved.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { useQuestion } from './use-question.ts';
import { useBlocker } from '../routing.tsx';

/** Asks before the user leaves a form that is not saved: by a link, the back button, the switch of the company or the browser. */
export function DiscardChanges() {
  useBlocker({ asks: hasUnsaved, mayLeave: mayDiscard });
  const answer = useQuestion(discardChanges);
  if (!answer) return null;
  return (
    <Dialog title={common.discardTitle} onClose={() => answer(false)}>
      <p>{common.discardText}</p>
      <div className="mt-5 flex flex-wrap justify-end gap-2">
        <Button autoFocus onClick={() => answer(false)}>
          {common.keepEditing}
        </Button>
        <Button kind="danger" onClick={() => answer(true)}>
          {common.discard}
        </Button>
      </div>
    </Dialog>
  );
}
