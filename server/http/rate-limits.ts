import type { Config } from '../config.ts';
import { ApiError, type ErrorCode } from '../errors.ts';
import { counter } from '../platform/metrics.ts';
import type { RateCheck, RateDecision, RateLimit, RateLimiter } from '../platform/rate-limiter/rate-limiter.ts';
import type { RateCategory } from './route.ts';

type Bucket = RateCategory | 'global';

const countLimited = counter('svc_http_requests_rate_limited_total');

const refusalCodes: Readonly<Record<Bucket, ErrorCode>> = {
  global: 'global_rate_limit_exceeded',
  read: 'rate_limit_exceeded',
  write: 'rate_limit_exceeded',
  capture: 'rate_limit_exceeded',
  coupon_validation: 'too_many_requests',
};

export type RateLimits = Readonly<Record<Bucket, RateLimit | null>>;

export function rateLimitsOf(config: Config): RateLimits {
  return {
    global: config.SVC_RATE_LIMIT_GLOBAL,
    read: config.SVC_RATE_LIMIT_READ,
    write: config.SVC_RATE_LIMIT_WRITE,
    coupon_validation: config.SVC_RATE_LIMIT_COUPON_VALIDATION,
    capture: config.SVC_RATE_LIMIT_CAPTURE,
  };
}

/** A bucket that a request takes from. */
export interface TakenBucket extends RateCheck {
  readonly bucket: Bucket;
}

/** All visitors of the pages of one company together. */
export const pageLimitsOf = (config: Config): RateLimits => ({
  ...rateLimitsOf(config),
  global: config.SVC_RATE_LIMIT_PAGES,
});

export interface RateOutcome {
  readonly headers: Readonly<Record<string, string>>;
  /** The buckets that were checked. */
  readonly taken: readonly TakenBucket[];
  readonly refusal: ApiError | undefined;
}

/**
 * Takes one request from the buckets of a company, or of an IP address if the company is unknown. The headers
 * describe the bucket that is closest to empty.
 */
export async function takeRequest(
  limiter: RateLimiter,
  rateLimits: RateLimits,
  owner: string,
  buckets: readonly Bucket[],
  nowMs: number,
): Promise<RateOutcome> {
  const limited = buckets.flatMap((bucket) => {
    const limit = rateLimits[bucket];
    return limit ? [{ bucket, key: `{${owner}}:${bucket}`, limit }] : [];
  });
  if (limited.length === 0) return { headers: {}, taken: [], refusal: undefined };
  const pending = limiter.consume(limited, nowMs);
  const decisions = pending instanceof Promise ? await pending : pending;
  const judged = limited.flatMap((entry, index) => {
    const decision = decisions[index];
    return decision ? [{ ...entry, decision }] : [];
  });
  const tightest = judged.reduce((least, next) => (tighter(next.decision, least.decision) ? next : least));
  const { limit, decision } = tightest;
  const headers: Record<string, string> = {
    'RateLimit-Limit': String(limit.count),
    'RateLimit-Remaining': String(decision.remaining),
    'RateLimit-Reset': String(decision.resetSeconds),
    'RateLimit-Policy': `${limit.count};w=${limit.windowSeconds}`,
  };
  if (decision.allowed) return { headers, taken: limited, refusal: undefined };
  return { headers, taken: limited, refusal: rateLimitExceeded(tightest, decision.retryAfterSeconds) };
}

export function rateLimitExceeded({ bucket, limit }: TakenBucket, retryAfterSeconds: number): ApiError {
  countLimited({ limit: bucket });
  const retryAfter = String(retryAfterSeconds);
  const message = `Rate limit exceeded: ${limit.count} requests in ${limit.windowSeconds} s (${bucket}), weighted by cost. Retry after ${retryAfter} s, plus a random delay.`;
  return new ApiError(refusalCodes[bucket], message, { headers: { 'Retry-After': retryAfter } });
}

function tighter(left: RateDecision, right: RateDecision): boolean {
  if (left.allowed !== right.allowed) return !left.allowed;
  return left.remaining < right.remaining;
}
