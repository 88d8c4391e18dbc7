export interface RateLimit {
  count: number;
  windowSeconds: number;
}

export interface RateCheck {
  key: string;
  limit: RateLimit;
}

export interface RateDecision {
  /** Whether this bucket had room. Nothing is taken from any bucket unless all of the call's buckets had. */
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
   * Takes so many more from every bucket, also what they do not have: the cost of a request is known when it is done. A bucket
   * that owes has room again when it has been filled up; it never owes more than one window.
   */
  charge(checks: readonly RateCheck[], amount: number, nowMs: number): void | Promise<void>;
  /** How one bucket stands, with nothing taken. */
  peek(check: RateCheck, nowMs: number): RateDecision | Promise<RateDecision>;
  close?(): Promise<void>;
}

/** A limit as the stores count: whole microseconds, so that JavaScript, Lua and PostgreSQL agree to the last digit. */
export interface Pace {
  intervalUs: number;
  burstUs: number;
}

// A clock that ran ahead, or a window since made shorter, would otherwise refuse a key until that far time comes.
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

/** The moment from which the next request is counted, given the stored theoretical arrival time. */
export function startOf(storedUs: number | undefined, pace: Pace, nowUs: number): number {
  if (storedUs === undefined || storedUs > nowUs + pace.burstUs + clockToleranceUs) return nowUs;
  return Math.max(storedUs, nowUs);
}

/** As far as a bucket can owe; beyond the tolerance it would be taken for a clock that ran ahead. */
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

/** The state of a bucket from which nothing is taken. */
export function look(check: RateCheck, startUs: number, nowUs: number): RateDecision {
  return decide(check.limit, startUs, nowUs, false);
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
