import { allHaveRoom, decideAll, latestArrivalUs, paceOf, startOf, toMicroseconds } from './rate-limiter.ts';
import type { RateCheck, RateDecision, RateLimiter } from './rate-limiter.ts';

export interface MemoryRateLimiter extends RateLimiter {
  /** Synchronous, so that a request that is allowed costs no microtask. */
  consume(checks: readonly RateCheck[], nowMs: number): RateDecision[];
  charge(checks: readonly RateCheck[], amount: number, nowMs: number): void;
  giveBack(checks: readonly RateCheck[]): void;
  readonly size: number;
}

const defaultKeysMax = 200_000;

// Checks two keys for every key that may be added, so the sweep always completes its round, at any rate of new
// keys.
const sweptPerKey = 2;

export function createMemoryRateLimiter(keysMax: number = defaultKeysMax): MemoryRateLimiter {
  const arrivalsUs = new Map<string, number>();
  let hand = arrivalsUs.entries();

  // One iterator for the life of the map: a new one would step over all deleted entries at the front each time.
  function sweepOne(nowUs: number): void {
    let step = hand.next();
    if (step.done) {
      hand = arrivalsUs.entries();
      step = hand.next();
      if (step.done) return;
    }
    const [key, arrivalUs] = step.value;
    if (arrivalUs <= nowUs || arrivalsUs.size > keysMax) arrivalsUs.delete(key);
  }

  function take(checks: readonly RateCheck[], startsUs: readonly number[], nowUs: number): void {
    checks.forEach(({ key, limit }, index) => {
      arrivalsUs.set(key, (startsUs[index] ?? nowUs) + paceOf(limit).intervalUs);
    });
  }

  return {
    consume(checks, nowMs) {
      const nowUs = toMicroseconds(nowMs);
      const startsUs = checks.map(({ key, limit }) => startOf(arrivalsUs.get(key), paceOf(limit), nowUs));
      if (allHaveRoom(checks, startsUs, nowUs)) take(checks, startsUs, nowUs);
      for (let swept = 0; swept < checks.length * sweptPerKey; swept++) sweepOne(nowUs);
      return decideAll(checks, startsUs, nowUs);
    },
    charge(checks, amount, nowMs) {
      const nowUs = toMicroseconds(nowMs);
      for (const { key, limit } of checks) {
        const pace = paceOf(limit);
        const arrivalUs = startOf(arrivalsUs.get(key), pace, nowUs) + amount * pace.intervalUs;
        arrivalsUs.set(key, Math.min(arrivalUs, latestArrivalUs(pace, nowUs)));
      }
    },
    giveBack(checks) {
      for (const { key, limit } of checks) {
        const arrivalUs = arrivalsUs.get(key);
        if (arrivalUs !== undefined) arrivalsUs.set(key, arrivalUs - paceOf(limit).intervalUs);
      }
    },
    get size() {
      return arrivalsUs.size;
    },
  };
}
