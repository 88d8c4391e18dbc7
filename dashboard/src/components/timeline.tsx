import { useEffect, useRef } from 'react';
import { useGet } from '../data.ts';
import { common } from '../texts/common.ts';
import type { TimelineEntry } from '../types.ts';
import { DateTime } from './date-time.tsx';
import { Panel, Skeleton } from './page.tsx';

/** Reloads the timeline whenever `state` changes. */
export function Timeline({ objectId, state }: { objectId: string; state?: string }) {
  const shown = useRef(state);
  const entries = useGet<{ data: readonly TimelineEntry[] }>('/dashboard/timeline', { object_id: objectId });
  useEffect(() => {
    if (shown.current !== state) void entries.refetch();
    shown.current = state;
  }, [state, entries]);
  return (
    <Panel title={common.timeline}>
      {entries.data ? (
        <TimelineList entries={entries.data.data.toReversed()} />
      ) : entries.error ? (
        <p className="text-muted">{entries.error.message}</p>
      ) : (
        <Skeleton />
      )}
    </Panel>
  );
}

interface Entry extends Pick<TimelineEntry, 'at' | 'summary'> {
  /** The type of the event, if there is one. */
  readonly type?: string;
}

/** The newest entry comes first. */
export function TimelineList({ entries }: { entries: readonly Entry[] }) {
  if (entries.length === 0) return <p className="text-muted">{common.nothingYet}</p>;
  return (
    <ol className="relative ml-1.5 border-l border-line">
      {entries.map((entry, index) => (
        <li key={`${entry.at}-${index}`} className="relative pb-4 pl-5 last:pb-0">
          <span
            aria-hidden="true"
            className="absolute top-1.5 -left-[5px] size-2.5 rounded-full border-2 border-accent-ink bg-surface"
          />
          <p>{entry.summary}</p>
          <p className="text-sm text-muted">
            <DateTime at={entry.at} />
            {entry.type && (
              <>
                {' '}
                · <span className="font-mono text-[13px]">{entry.type}</span>
              </>
            )}
          </p>
        </li>
      ))}
    </ol>
  );
}
