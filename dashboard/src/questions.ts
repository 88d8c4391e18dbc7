/** Questions that any code can ask, and that one dialog in the page answers. */

type Asker = () => Promise<boolean>;

export interface Question {
  /** True if the user agreed. Callers at the same time share one dialog. */
  readonly ask: () => Promise<boolean>;
  /** Sets the dialog that answers. The result removes it. */
  readonly answerWith: (asker: Asker) => () => void;
}

function makeQuestion(withoutDialog: boolean): Question {
  let asker: Asker | undefined;
  let asking: Promise<boolean> | undefined;
  return {
    ask() {
      if (!asker) return Promise.resolve(withoutDialog);
      asking ??= asker().finally(() => {
        asking = undefined;
      });
      return asking;
    },
    answerWith(next) {
      asker = next;
      return () => {
        if (asker === next) asker = undefined;
      };
    },
  };
}

/** A call requires the password again. */
export const stepUp = makeQuestion(false);
/** The session has expired, and the page still holds what the user typed. */
export const signInAgain = makeQuestion(false);
/** The user leaves a form that is not saved. */
export const discardChanges = makeQuestion(true);
