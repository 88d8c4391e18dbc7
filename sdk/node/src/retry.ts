import { ConnectionError, SvcError } from './errors.ts';

/**
 * Which calls are retried, and for how long. Every write has an idempotency key that stays the same for all attempts, and the
 * service executes a key once. So it is safe to retry after a lost response.
 *
 * A database failover takes up to half a minute. A call that gives up after a few attempts would fail in each of them.
 */

export interface Patience {
  /** Maximum number of retries. */
  readonly maxRetries: number;
  /** Time after the first failure in which attempts can start. */
  readonly retryForMs: number;
}

export const usualPatience: Patience = { maxRetries: Infinity, retryForMs: 45_000 };

const passingStatuses: ReadonlySet<number | undefined> = new Set([429, 502, 503, 504]);
/** A 500 may fail on every attempt, so it is retried only a few times. */
const retriesOfInternalErrors = 3;

function retriesFor(error: SvcError): number {
  if (error instanceof ConnectionError || passingStatuses.has(error.status)) return Infinity;
  if (error.code === 'request_in_progress') return Infinity;
  return error.status === 500 ? retriesOfInternalErrors : 0;
}

const firstDelayMs = 250;
const delayMsMax = 5_000;

/** The delay before attempt number `attempt + 1`. */
export function retryDelayMs(
  attempt: number,
  retryAfterSeconds: number | undefined,
  random: () => number = Math.random,
): number {
  const backOffMs = Math.min(delayMsMax, firstDelayMs * 2 ** (attempt - 1)) * (0.5 + random() / 2);
  if (retryAfterSeconds === undefined) return backOffMs;
  // Never earlier than requested, with jitter so that clients do not return at the same time.
  return Math.max(retryAfterSeconds * 1_000 + random() * firstDelayMs, backOffMs);
}

export interface RetryClock {
  nowMs(): number;
  pause(delayMs: number, signal: AbortSignal | undefined): Promise<void>;
}

const realClock: RetryClock = { nowMs: () => performance.now(), pause };

/** Throws the last error as soon as no further attempt can start, without waiting. */
export async function withRetries<Answer>(
  attempt: () => Promise<Answer>,
  { maxRetries, retryForMs }: Patience,
  signal: AbortSignal | undefined,
  clock: RetryClock = realClock,
): Promise<Answer> {
  let endMs: number | undefined;
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof SvcError) || attempts > Math.min(maxRetries, retriesFor(error))) throw error;
      endMs ??= clock.nowMs() + retryForMs;
      const delayMs = retryDelayMs(attempts, error.retryAfterSeconds);
      if (clock.nowMs() + delayMs > endMs) throw error;
      await clock.pause(delayMs, signal);
    }
  }
}

/** Ends early with the caller's reason if the caller aborts. */
function pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
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
