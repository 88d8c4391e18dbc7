import { setTimeout as sleep } from 'node:timers/promises';
import { isUnavailable } from './database.ts';

const retryDelaysMs = [100, 400, 1_500, 3_000];

/**
 * For writes that must not be lost: waits for a database that restarts. The work may have taken effect although its
 * answer was lost, so it must be safe to repeat.
 */
export async function insist<Result>(work: () => Promise<Result>): Promise<Result> {
  for (const delayMs of retryDelaysMs) {
    try {
      return await work();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      await sleep(delayMs);
    }
  }
  return work();
}
