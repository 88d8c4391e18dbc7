import { type ReactNode, useState } from 'react';
import { lookEveryMs } from '../data.ts';
import { lists } from '../texts/lists.ts';
import { Button } from './button.tsx';

/** Whether a list shows new entries as they arrive: how often it is read, and the button that stops it. */
export function useLive(): [everyMs: number | undefined, button: ReactNode] {
  const [live, setLive] = useState(true);
  const button = (
    <Button small aria-pressed={live} title={lists.liveHint} onClick={() => setLive(!live)}>
      <span aria-hidden="true" className={`size-2 rounded-full ${live ? 'bg-good' : 'bg-line-strong'}`} />
      {lists.live}
    </Button>
  );
  return [live ? lookEveryMs / 2 : undefined, button];
}
