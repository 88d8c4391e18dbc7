import type { Company } from '../../company.ts';
import type { Logger } from '../../platform/log.ts';

/** The company has sent as many emails to customers as it can in a day. */
export class DailyLimitError extends Error {}

export interface BatchResult {
  readonly done: number;
  readonly failed: number;
  readonly isLimited: boolean;
}

/**
 * Writes the emails of each item; one that fails delays no other. At the limit of the day it stops, since all others would fail
 * too. Logs the first failure and how many there were.
 */
export async function eachAlone<Item extends { readonly id: string }>(
  log: Logger,
  company: Company,
  items: AsyncIterable<Item>,
  write: (item: Item) => Promise<void>,
): Promise<BatchResult> {
  let done = 0;
  let failed = 0;
  let first: { readonly err: unknown; readonly id: string } | undefined;
  let isLimited = false;
  for await (const item of items) {
    try {
      await write(item);
      done += 1;
    } catch (error) {
      failed += 1;
      first ??= { err: error, id: item.id };
      isLimited = error instanceof DailyLimitError;
      if (isLimited) break;
    }
  }
  if (first) log.error({ ...first, failed, company_id: company.id }, 'failed to write emails to customers');
  return { done, failed, isLimited };
}

/** Each company by itself: an error in one, for example of its profile, does not end the round for the others. */
export async function eachCompany<Item extends { readonly company: Company }>(
  log: Logger,
  items: readonly Item[],
  run: (item: Item) => Promise<void>,
): Promise<void> {
  for (const item of items) {
    try {
      await run(item);
    } catch (error) {
      log.error({ err: error, company_id: item.company.id }, 'failed to write the emails of a company to customers');
    }
  }
}
