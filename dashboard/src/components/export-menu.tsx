import { lazy, Suspense, useState } from 'react';
import type { ExportedList } from '../../../server/features/exports/columns.ts';
import type { Query } from '../api.ts';
import { bulk } from '../texts/bulk.ts';
import { Button } from './button.tsx';
import { Popover } from './popover.tsx';

const Exports = lazy(async () => ({ default: (await import('./exports.tsx')).Exports }));
const Selected = lazy(async () => ({ default: (await import('./exports.tsx')).ExportSelected }));

/** Exports the whole list in the background, and offers the exports of the last day. */
export function ExportMenu({ list, query }: { list: ExportedList; query: Query }) {
  const [open, setOpen] = useState(false);
  return (
    <Popover
      label={bulk.export}
      align="end"
      open={open}
      onOpenChange={setOpen}
      trigger={
        <Button small icon="download">
          <span className="max-sm:sr-only">{bulk.export}</span>
        </Button>
      }
    >
      <Suspense>
        <Exports list={list} query={query} />
      </Suspense>
    </Popover>
  );
}

export function ExportSelected({ list, rows }: { list: ExportedList; rows: readonly unknown[] }) {
  return (
    <Suspense>
      <Selected list={list} rows={rows} />
    </Suspense>
  );
}
