import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { columnsOf, type ExportedList } from '../../../server/features/exports/columns.ts';
import { csvOf } from '../../../server/platform/csv.ts';
import { ApiError, call, type Query } from '../api.ts';
import { useGet } from '../data.ts';
import { download } from '../download.ts';
import { lowerWords, words } from '../format.ts';
import { useCan } from '../session.ts';
import { bulk } from '../texts/bulk.ts';
import { common } from '../texts/common.ts';
import type { Export } from '../types.ts';
import { Button, IconButton } from './button.tsx';
import { DateTime } from './date-time.tsx';
import { toast } from './toasts.tsx';

const number = new Intl.NumberFormat('en-US');
const pollMs = 1_000;
const listPath = '/dashboard/exports';

async function save({ id, list }: Export): Promise<void> {
  const parts: string[] = [];
  let from: number | null = 0;
  try {
    while (from !== null) {
      const piece: { data: string[]; next: number | null } = await call('GET', `${listPath}/${id}/content`, {
        query: { from },
      });
      parts.push(...piece.data);
      from = piece.next;
    }
    download(`${list}.csv`, parts);
  } catch (error) {
    toast(error instanceof ApiError ? error.message : String(error), true);
  }
}

/** The content of the menu: a new export, and those of the last day. */
export function Exports({ list, query }: { list: ExportedList; query: Query }) {
  const client = useQueryClient();
  const [followed, setFollowed] = useState<string>();
  const [busy, setBusy] = useState(false);
  const { data } = useGet<{ data: readonly Export[] }>(listPath, {}, { keep: true, everyMs: pollMs });
  const ready = data?.data.find(({ id, status }) => id === followed && status === 'ready');
  useEffect(() => {
    if (!ready) return;
    setFollowed(undefined);
    void save(ready);
  }, [ready]);
  async function start(): Promise<void> {
    setBusy(true);
    const { expand: _expand, ...filters } = query;
    const set = Object.entries(filters).filter(([, value]) => value !== undefined && value !== null && value !== '');
    const text = new URLSearchParams(set.map(([name, value]) => [name, String(value)])).toString();
    const body = { list, ...(text && { query: text }) };
    try {
      const made = await call<Export>('POST', listPath, { body });
      setFollowed(made.id);
      await client.invalidateQueries();
    } catch (error) {
      toast(error instanceof ApiError ? error.message : String(error), true);
    } finally {
      setBusy(false);
    }
  }
  async function remove({ id }: Export): Promise<void> {
    try {
      await call('DELETE', `${listPath}/${id}`);
    } catch (error) {
      // It may have expired meanwhile, which is what was asked for.
      if (!(error instanceof ApiError && error.status === 404)) return toast(String(error), true);
    }
    return client.invalidateQueries();
  }
  return (
    <>
      <Button kind="primary" small className="w-full" busy={busy} onClick={() => void start()}>
        {bulk.exportAll}
      </Button>
      <p className="mt-2 text-xs text-muted">{bulk.exportHint}</p>
      {data && data.data.length > 0 && (
        <section aria-label={bulk.recent} className="mt-3 max-h-64 overflow-y-auto border-t border-line pt-2">
          {data.data.map((one) => (
            <div key={one.id} className="flex items-center justify-between gap-2 py-1 text-sm">
              <div className="min-w-0">
                <p className="font-medium">{words(one.list)}</p>
                <p className="text-xs text-muted" aria-live="polite">
                  {textOf(one)} · <DateTime at={one.created_at} />
                </p>
              </div>
              <div className="flex shrink-0 items-center">
                {one.status === 'ready' && (
                  <Button small aria-label={bulk.downloadOf(words(one.list))} onClick={() => void save(one)}>
                    {bulk.download}
                  </Button>
                )}
                <IconButton label={bulk.deleteOf(lowerWords(one.list))} icon="close" onClick={() => void remove(one)} />
              </div>
            </div>
          ))}
        </section>
      )}
    </>
  );
}

function textOf({ status, rows, reason }: Export): string {
  if (status === 'failed') return reason ?? bulk.failed;
  return status === 'ready' ? bulk.ready(number.format(rows)) : bulk.running(number.format(rows));
}

/** The selected rows are already here, so they need no export in the background. */
export function ExportSelected({ list, rows }: { list: ExportedList; rows: readonly unknown[] }) {
  const showsCustomers = useCan('customers:read');
  return (
    <Button
      small
      icon="download"
      onClick={() => {
        download(`${list}.csv`, [csvOf(rows as readonly never[], columnsOf(list, { showsCustomers }))]);
        toast(common.exported(rows.length));
      }}
    >
      {bulk.exportSelected}
    </Button>
  );
}
