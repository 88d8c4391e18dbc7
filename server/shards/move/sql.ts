import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabasePool, Queryable } from '../../platform/database.ts';
import type { Table } from './tables.ts';

/** A move that cannot go on. The message says why, and what to do. */
export class MoveError extends Error {}

export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

export const isOneOf = (companyIds: readonly string[]): string => `IN (${companyIds.map(literal).join(', ')})`;

/** SQL for the rows of these companies. */
export const rowsOf = (table: Table, companyIds: readonly string[], row: string): string =>
  `${table.company(row)} ${isOneOf(companyIds)}`;

const lockTries = 100;
const lockMs = 300;
const restMs = 100;
const lockNotAvailable = '55P03';

/** Runs a statement that locks a table. It gives up soon and tries again, so that requests wait only briefly. */
export async function withBriefLock(
  db: DatabasePool,
  work: (transaction: Queryable) => Promise<unknown>,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await db.transaction(async (transaction) => {
        await transaction.query(`SET LOCAL lock_timeout = '${lockMs}ms'`);
        await work(transaction);
      });
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== lockNotAvailable || tries === lockTries) throw error;
      await sleep(restMs);
    }
  }
}

/** Asks again until the answer is yes. */
export async function until(
  what: string,
  waitMs: number,
  everyMs: number,
  isDone: () => Promise<boolean>,
): Promise<void> {
  for (const deadlineMs = performance.now() + waitMs; !(await isDone()); await sleep(everyMs))
    if (performance.now() > deadlineMs) throw new MoveError(`${what} takes longer than ${waitMs / 1_000} seconds.`);
}
