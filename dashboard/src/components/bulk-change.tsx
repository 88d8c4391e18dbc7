import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError } from '../api.ts';
import { bulk } from '../texts/bulk.ts';
import { Button } from './button.tsx';
import { Confirm } from './confirm.tsx';
import { toast } from './toasts.tsx';

interface BulkChangeProps<T> {
  readonly rows: readonly T[];
  readonly label: string;
  readonly title: (count: number) => string;
  readonly nameOf: (row: T) => string;
  readonly reason?: string | undefined;
  /** Repeating it does no harm. */
  readonly send: (row: T) => Promise<unknown>;
  readonly onDone: () => void;
}

/** Changes the selected objects one by one, for example archives them. Those that are refused stay as they are. */
export function BulkChange<T>({ rows, label, title, nameOf, reason, send, onDone }: BulkChangeProps<T>) {
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  async function run(): Promise<void> {
    let changed = 0;
    let refused: ApiError | undefined;
    for (const row of rows) {
      try {
        await send(row);
        changed += 1;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        refused ??= error;
      }
    }
    await client.invalidateQueries();
    toast(
      refused ? `${bulk.done(changed, rows.length)} ${refused.message}` : bulk.done(changed, rows.length),
      Boolean(refused),
    );
  }
  return (
    <>
      <Button
        small
        reason={reason ?? (rows.length === 0 ? bulk.nothingToChange : undefined)}
        onClick={() => setAsking(true)}
      >
        {label}
      </Button>
      {asking && (
        <Confirm title={title(rows.length)} confirm={label} send={run} onDone={onDone} onClose={() => setAsking(false)}>
          <ul className="max-h-60 list-disc overflow-y-auto pl-5 text-sm wrap-anywhere">
            {rows.map((row, index) => (
              <li key={index}>{nameOf(row)}</li>
            ))}
          </ul>
        </Confirm>
      )}
    </>
  );
}
