import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Counts the rows that a request writes, where its statements run. So every route is counted, however it writes. A
 * batcher, whose statements are for many requests, runs outside of all of them.
 */
export interface WriteCount {
  /** The rows that the request is charged for: those it was expected to write, or those it wrote if these are more. */
  rowsWritten: number;
  rowsCounted: number;
}

const storage = new AsyncLocalStorage<WriteCount | undefined>();

export const countingWrites = <Result>(count: WriteCount, work: () => Result): Result => storage.run(count, work);

export const outsideOfRequests = <Result>(work: () => Result): Result => storage.run(undefined, work);

const knownMax = 1_000;
const known = new Map<string, boolean>();
const writing =
  /\b(?:INSERT\s+INTO|DELETE\s+FROM|MERGE\s+INTO|UPDATE\s+(?:ONLY\s+)?[\w.]+(?:\s+(?:AS\s+)?\w+)?\s+SET)\b/i;

function writes(text: string): boolean {
  const remembered = known.get(text);
  if (remembered !== undefined) return remembered;
  const found = writing.test(text);
  if (known.size < knownMax) known.set(text, found);
  return found;
}

/**
 * A statement that writes in a WITH query returns fewer rows than it writes. It gets them as arrays, so it counts as
 * many as the longest of these.
 */
export function noteWrites(text: string, values: readonly unknown[] | undefined, rowCount: number | null): void {
  const count = storage.getStore();
  if (!count || !writes(text)) return;
  let rows = rowCount ?? 0;
  for (const value of values ?? []) if (Array.isArray(value) && value.length > rows) rows = value.length;
  count.rowsCounted += rows;
  count.rowsWritten = Math.max(count.rowsWritten, count.rowsCounted);
}
