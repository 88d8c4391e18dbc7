import { ConnectionError, SvcError } from './errors.ts';

/**
 * What is tried again, and for how long. Every call that changes something carries an idempotency key that stays the same
 * over the attempts, and the service does the work of a key once; so a lost answer may be asked for again.
 *
 * The failover of a database takes up to half a minute: a call that gave up after a few attempts would fail in each of them.
 */

export interface Patience {
  /** Attempts after the first one, at most. */
  readonly maxRetries: number;
  /** No attempt begins later than this after the first failure. */
  readonly retryForMs: number;
}

export const usualPatience: Patience = { maxRetries: Infinity, retryForMs: 45_000 };

const passingStatuses: ReadonlySet<number | undefined> = new Set([429, 502, 503, 504]);
/** What broke once may break each time: that is worth some attempts, not all of the time. */
const retriesOfInternalErrors = 3;

function retriesFor(error: SvcError): number {
  if (error instanceof ConnectionError || passingStatuses.has(error.status)) return Infinity;
  if (error.code === 'request_in_progress') return Infinity;
  return error.status === 500 ? retriesOfInternalErrors : 0;
}

const firstDelayMs = 250;
const delayMsMax = 5_000;

/** How long to wait before attempt number `attempt + 1`. */
export function retryDelayMs(
  attempt: number,
  retryAfterSeconds: number | undefined,
  random: () => number = Math.random,
): number {
  const backOffMs = Math.min(delayMsMax, firstDelayMs * 2 ** (attempt - 1)) * (0.5 + random() / 2);
  if (retryAfterSeconds === undefined) return backOffMs;
  // Never earlier than asked; spread, so that those who were refused together do not come back together.
  return Math.max(retryAfterSeconds * 1_000 + random() * firstDelayMs, backOffMs);
}

export interface RetryClock {
  nowMs(): number;
  pause(delayMs: number, signal: AbortSignal | undefined): Promise<void>;
}

const realClock: RetryClock = { nowMs: () => performance.now(), pause };

/** Throws the last error as soon as no further attempt may begin: it does not wait for what will not be. */
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

/** Ends early, with the caller's reason, when the caller gives up. */
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
