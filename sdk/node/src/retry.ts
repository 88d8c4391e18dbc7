import { ConnectionError, type SvcError } from './errors.ts';

/**
 * What is tried again, and when. Every call that changes something carries an idempotency key that stays the same over
 * the attempts, and the service does the work of a key once; so a lost answer may be asked for again.
 */

const retriedStatuses: ReadonlySet<number | undefined> = new Set([429, 500, 502, 503, 504]);

export function isWorthRetrying(error: SvcError): boolean {
  if (error instanceof ConnectionError) return true;
  return retriedStatuses.has(error.status) || error.code === 'request_in_progress';
}

const firstDelayMs = 250;
const delayMsMax = 8_000;
/** Nobody waits longer inside one call: the caller is told, and `retryAfterSeconds` says how long it would have been. */
const retryAfterSecondsMax = 60;

/** How long to wait before attempt number `attempt + 1`; undefined when that would be too long. */
export function retryDelayMs(
  attempt: number,
  retryAfterSeconds: number | undefined,
  random: () => number = Math.random,
): number | undefined {
  const backOffMs = Math.min(delayMsMax, firstDelayMs * 2 ** (attempt - 1));
  if (retryAfterSeconds === undefined) return backOffMs * (0.5 + random() / 2);
  if (retryAfterSeconds > retryAfterSecondsMax) return undefined;
  // Never earlier than asked; spread, so that those who were refused together do not come back together.
  return retryAfterSeconds * 1_000 + random() * firstDelayMs;
}

/** Ends early, with the caller's reason, when the caller gives up. */
export function pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, delayMs);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
