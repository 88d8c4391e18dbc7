import { createMemoryRateLimiter } from './memory.ts';
import type { RateCheck, RateDecision, RateLimiter } from './rate-limiter.ts';

const defaultTimeoutMs = 50;

// Without it every request of an outage would wait out the timeout, and pile one more call on the ailing store.
const coolDownMs = 1_000;

/** The shared store while it answers; this process's own count while it does not. */
export function createResilientRateLimiter(
  shared: RateLimiter,
  onFailure: (error: unknown) => void,
  timeoutMs: number = defaultTimeoutMs,
): RateLimiter {
  const fallback = createMemoryRateLimiter();
  let retryAtMs: number | null = null;

  async function consumeShared(checks: readonly RateCheck[], nowMs: number): Promise<RateDecision[]> {
    try {
      const decisions = await within(timeoutMs, Promise.resolve(shared.consume(checks, nowMs)));
      retryAtMs = null;
      return decisions;
    } catch (error) {
      retryAtMs = nowMs + coolDownMs;
      onFailure(error);
      return fallback.consume(checks, nowMs);
    }
  }

  return {
    consume(checks, nowMs) {
      if (retryAtMs !== null) {
        const pauseMs = retryAtMs - nowMs;
        // More than the whole pause means that the clock was set back.
        if (pauseMs > 0 && pauseMs <= coolDownMs) return fallback.consume(checks, nowMs);
        // Only the first one after the pause tries; the others stay on the fallback until it has answered.
        retryAtMs = nowMs + coolDownMs;
      }
      return consumeShared(checks, nowMs);
    },
    async charge(checks, amount, nowMs) {
      if (retryAtMs !== null) return fallback.charge(checks, amount, nowMs);
      try {
        await within(timeoutMs, Promise.resolve(shared.charge(checks, amount, nowMs)));
      } catch (error) {
        onFailure(error);
        fallback.charge(checks, amount, nowMs);
      }
    },
    async peek(check, nowMs) {
      if (retryAtMs !== null) return fallback.peek(check, nowMs);
      try {
        return await within(timeoutMs, Promise.resolve(shared.peek(check, nowMs)));
      } catch (error) {
        onFailure(error);
        return fallback.peek(check, nowMs);
      }
    },
    async close() {
      await shared.close?.();
    },
  };
}

async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  const { promise: expiry, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no response within ${timeoutMs} ms`)), timeoutMs);
  try {
    return await Promise.race([work, expiry]);
  } finally {
    clearTimeout(timer);
  }
}
