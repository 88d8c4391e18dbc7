export interface RateLimit {
  count: number;
  windowSeconds: number;
}

export interface RateCheck {
  key: string;
  limit: RateLimit;
}

export interface RateDecision {
  /** Whether this bucket had room. The call takes from its buckets only if all of them had room. */
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Whole seconds until the bucket is full again. */
  resetSeconds: number;
  /** 0 when allowed, otherwise at least 1. */
  retryAfterSeconds: number;
}

export interface RateLimiter {
  /** Takes one from every bucket, or from none. The keys of one call must differ from each other. */
  consume(checks: readonly RateCheck[], nowMs: number): RateDecision[] | Promise<RateDecision[]>;
  /**
   * Takes `amount` from every bucket, even if it does not have that much: the cost of a request is known only when it
   * is done. A bucket in debt has room again when it has refilled; its debt never exceeds one window.
   */
  charge(checks: readonly RateCheck[], amount: number, nowMs: number): void | Promise<void>;
  /**
   * Gives back what `consume` took. `taken` is what it returned: all buckets had room. See `reserve`, which is how
   * callers use it.
   */
  giveBack(checks: readonly RateCheck[], taken: readonly RateDecision[], nowMs: number): void | Promise<void>;
  close?(): Promise<void>;
}

/** A limit in whole microseconds, so that JavaScript, Lua and PostgreSQL agree to the last digit. */
export interface Pace {
  intervalUs: number;
  burstUs: number;
}

// Otherwise a clock that ran ahead, or a window that has since been shortened, would block a key until that time in
// the future.
export const clockToleranceUs = 60_000_000;

export function parseRateLimit(text: string): RateLimit | null {
  if (text === 'off') return null;
  const [, count, windowSeconds] = /^([1-9]\d{0,8})\/([1-9]\d{0,5})$/.exec(text) ?? [];
  if (!count || !windowSeconds) {
    throw new Error(`A rate limit must be count/seconds, for example 1000/10, or off, not "${text.slice(0, 40)}".`);
  }
  return { count: Number(count), windowSeconds: Number(windowSeconds) };
}

export function paceOf(limit: RateLimit): Pace {
  const intervalUs = Math.max(1, Math.floor((limit.windowSeconds * 1_000_000) / limit.count));
  return { intervalUs, burstUs: intervalUs * limit.count };
}

export function toMicroseconds(nowMs: number): number {
  return Math.round(nowMs * 1000);
}

/** Returns the time from which the next request is counted, given the stored theoretical arrival time. */
export function startOf(storedUs: number | undefined, pace: Pace, nowUs: number): number {
  if (storedUs === undefined || storedUs > nowUs + pace.burstUs + clockToleranceUs) return nowUs;
  return Math.max(storedUs, nowUs);
}

/** The maximum debt of a bucket; beyond the tolerance it would look like a clock that ran ahead. */
export function latestArrivalUs(pace: Pace, nowUs: number): number {
  return nowUs + pace.burstUs + Math.min(pace.burstUs, clockToleranceUs);
}

export function allHaveRoom(checks: readonly RateCheck[], startsUs: readonly number[], nowUs: number): boolean {
  return checks.every(({ limit }, index) => hasRoom(startsUs[index] ?? nowUs, paceOf(limit), nowUs));
}

export function decideAll(checks: readonly RateCheck[], startsUs: readonly number[], nowUs: number): RateDecision[] {
  const taken = allHaveRoom(checks, startsUs, nowUs);
  return checks.map(({ limit }, index) => decide(limit, startsUs[index] ?? nowUs, nowUs, taken));
}

function hasRoom(startUs: number, pace: Pace, nowUs: number): boolean {
  return startUs + pace.intervalUs <= nowUs + pace.burstUs;
}

function decide(limit: RateLimit, startUs: number, nowUs: number, taken: boolean): RateDecision {
  const pace = paceOf(limit);
  const allowed = hasRoom(startUs, pace, nowUs);
  const usedUs = startUs - nowUs + (taken ? pace.intervalUs : 0);
  const waitUs = usedUs + pace.intervalUs - pace.burstUs;
  return {
    allowed,
    limit: limit.count,
    remaining: Math.max(0, Math.floor((pace.burstUs - usedUs) / pace.intervalUs)),
    resetSeconds: Math.ceil(usedUs / 1_000_000),
    retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil(waitUs / 1_000_000)),
  };
}
