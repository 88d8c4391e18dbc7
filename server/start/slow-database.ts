import { setTimeout as sleep } from 'node:timers/promises';
import { isAway } from '../platform/database.ts';
import { errorCode } from '../platform/error-code.ts';
import type { Logger } from '../platform/log.ts';

const retryMs = 500;
const patienceMs = 60_000;

/** A mistake in a setting shows at once: the address is wrong, nothing listens there, or it has no such database. */
const wrongAddress = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', '3D000'];

const isSlow = (error: unknown): boolean => isAway(error) && !wrongAddress.includes(errorCode(error) ?? '');

/** Repeats a step of the start while the database accepts connections but does not answer in time, for example because it is recovering. */
export async function whileSlow<Result>(log: Pick<Logger, 'warn'>, step: () => Promise<Result>): Promise<Result> {
  const deadlineMs = performance.now() + patienceMs;
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await step();
    } catch (error) {
      if (!isSlow(error) || performance.now() > deadlineMs) throw error;
      const problem = error instanceof Error ? error.message : String(error);
      if (isFirst) log.warn({ problem }, 'the database does not answer yet; the start waits for it for a minute');
      await sleep(retryMs);
    }
  }
}
