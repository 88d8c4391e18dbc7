import { setTimeout as sleep } from 'node:timers/promises';
import { ApiFailure, call, chosenTarget, type Target } from './api.ts';
import type { Flags } from './options.ts';
import { withProgress } from './progress.ts';

/** Reads as many objects of a list as are wanted, page by page. */

export type Row = Readonly<Record<string, unknown>>;

interface Page {
  readonly data: readonly Row[];
  readonly has_more: boolean;
  readonly cursors: { readonly next: string | null };
}

const pageSizeMax = 100;
const triesMax = 5;

export async function readPages(
  path: string,
  query: Readonly<Record<string, string>>,
  wanted: number,
  flags: Flags,
): Promise<{ readonly rows: readonly Row[]; readonly next: string | undefined }> {
  const target = await chosenTarget(flags);
  const rows: Row[] = [];
  let next: string | undefined;
  try {
    await withProgress(`GET ${path}`, async () => {
      do {
        const limit = String(Math.min(pageSizeMax, wanted - rows.length));
        const parameters = new URLSearchParams({ ...query, ...(next && { starting_after: next }), limit });
        const page = await readPage(target, `${path}?${parameters.toString()}`);
        rows.push(...page.data);
        next = page.has_more ? (page.cursors.next ?? undefined) : undefined;
      } while (next && rows.length < wanted && !query.ending_before);
    });
  } catch (error) {
    throw flags.json && error instanceof ApiFailure && error.text ? error.asJson() : error;
  }
  return { rows, next };
}

/** Waits if the service asks for it, because a list of many pages can reach the rate limit. */
async function readPage(target: Target, path: string): Promise<Page> {
  for (let tries = 1; ; tries += 1) {
    try {
      return (await call(target, 'GET', path)) as Page;
    } catch (error) {
      const waits = error instanceof ApiFailure && error.retryAfterSeconds > 0 && tries < triesMax;
      if (!waits) throw error;
      await sleep(error.retryAfterSeconds * 1_000);
    }
  }
}
