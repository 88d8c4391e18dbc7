import { useEffect, useState } from 'react';
import type { Question } from '../questions.ts';

/** Returns the function that answers the question while it is open. */
export function useQuestion({ answerWith }: Question): ((agreed: boolean) => void) | undefined {
  const [answer, setAnswer] = useState<(agreed: boolean) => void>();
  useEffect(
    () =>
      answerWith(
        () =>
          new Promise<boolean>((resolve) => {
            setAnswer(() => (agreed: boolean) => {
              setAnswer(undefined);
              resolve(agreed);
            });
          }),
      ),
    [answerWith],
  );
  return answer;
}
