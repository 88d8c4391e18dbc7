import { withinTime } from '../in-time.ts';
import { createMemoryRateLimiter } from './memory.ts';
import type { RateCheck, RateDecision, RateLimiter } from './rate-limiter.ts';

const defaultTimeoutMs = 50;

// Without it every request during an outage would wait for the timeout, and add one more call to the failing store.
const coolDownMs = 1_000;

/** Uses the shared store while it answers, and the count of this process while it does not. */
export function createResilientRateLimiter(
  shared: RateLimiter,
  onFailure: (error: unknown) => void,
  timeoutMs: number = defaultTimeoutMs,
  /** Called when the store answers again after a failure. */
  onSuccess: () => void = () => undefined,
): RateLimiter {
  const fallback = createMemoryRateLimiter();
  let retryAtMs: number | null = null;
  // What was taken from one store is not given back to the other.
  const takenHere = new WeakSet<readonly RateDecision[]>();

  function consumeHere(checks: readonly RateCheck[], nowMs: number): RateDecision[] {
    const decisions = fallback.consume(checks, nowMs);
    takenHere.add(decisions);
    return decisions;
  }

  async function consumeShared(checks: readonly RateCheck[], nowMs: number): Promise<RateDecision[]> {
    try {
      const decisions = await withinTime(Promise.resolve(shared.consume(checks, nowMs)), timeoutMs);
      if (retryAtMs !== null) onSuccess();
      retryAtMs = null;
      return decisions;
    } catch (error) {
      retryAtMs = nowMs + coolDownMs;
      onFailure(error);
      return consumeHere(checks, nowMs);
    }
  }

  return {
    consume(checks, nowMs) {
      if (retryAtMs !== null) {
        const pauseMs = retryAtMs - nowMs;
        // A longer pause than the cool-down means that the clock was set back.
        if (pauseMs > 0 && pauseMs <= coolDownMs) return consumeHere(checks, nowMs);
        // Only the first request after the pause tries the store; the others use the fallback until it has answered.
        retryAtMs = nowMs + coolDownMs;
      }
      return consumeShared(checks, nowMs);
    },
    async charge(checks, amount, nowMs) {
      if (retryAtMs !== null) return fallback.charge(checks, amount, nowMs);
      try {
        await withinTime(Promise.resolve(shared.charge(checks, amount, nowMs)), timeoutMs);
      } catch (error) {
        onFailure(error);
        fallback.charge(checks, amount, nowMs);
      }
    },
    async giveBack(checks, taken, nowMs) {
      if (takenHere.has(taken)) return fallback.giveBack(checks);
      try {
        await withinTime(Promise.resolve(shared.giveBack(checks, taken, nowMs)), timeoutMs);
      } catch (error) {
        // It stays taken until the bucket has refilled.
        onFailure(error);
      }
    },
    async close() {
      await shared.close?.();
    },
  };
}
