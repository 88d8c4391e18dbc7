/** Lets a call ask the person at the screen to confirm who they are, without knowing the dialog that does it. */

type Asker = () => Promise<boolean>;

let asker: Asker | undefined;
let asking: Promise<boolean> | undefined;

export function answerStepUps(next: Asker): () => void {
  asker = next;
  return () => {
    if (asker === next) asker = undefined;
  };
}

/** True when it was confirmed. Calls that ask at the same time share one dialog. */
export function askStepUp(): Promise<boolean> {
  if (!asker) return Promise.resolve(false);
  asking ??= asker().finally(() => {
    asking = undefined;
  });
  return asking;
}
