import { useState } from 'react';
import { type CsvColumn, csvOf } from '../../../server/platform/csv.ts';
import { ApiError, call, type Query } from '../api.ts';
import { download } from '../download.ts';
import { common } from '../texts/common.ts';
import type { List } from '../types.ts';
import { Button } from './button.tsx';
import { toast } from './toasts.tsx';

interface ExportProps<T> {
  readonly path: string;
  readonly query: Query;
  readonly columns: readonly CsvColumn<T>[];
  readonly name: string;
}

/** Loads all pages of a short list, for example the codes of a coupon. */
export function CsvExport<T>({ path, query, columns, name }: ExportProps<T>) {
  const [count, setCount] = useState<number>();
  async function run(): Promise<void> {
    const rows: T[] = [];
    let after: string | null = null;
    setCount(0);
    try {
      do {
        const page: List<T> = await call('GET', path, { query: { ...query, limit: 100, starting_after: after } });
        rows.push(...page.data);
        after = page.has_more ? page.cursors.next : null;
        setCount(rows.length);
      } while (after);
      download(`${name}.csv`, [csvOf(rows, columns)]);
      toast(common.exported(rows.length));
    } catch (error) {
      toast(error instanceof ApiError ? error.message : String(error), true);
    } finally {
      setCount(undefined);
    }
  }
  return (
    <Button small icon="download" busy={count !== undefined} onClick={() => void run()}>
      <span aria-live="polite">{count === undefined ? common.exportCsv : common.exporting(count)}</span>
    </Button>
  );
}
