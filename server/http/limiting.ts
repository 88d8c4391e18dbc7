import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../platform/clock.ts';
import type { RateLimiter } from '../platform/rate-limiter/rate-limiter.ts';
import { addressBucket, type RateLimits, type RateOutcome, takeRequest } from './rate-limits.ts';
import type { RateCategory } from './route.ts';

/**
 * Counts requests against the rate limits of their company or address, and reports the limits in the response
 * headers.
 */

export interface LimitDependencies {
  readonly limiter: RateLimiter;
  readonly rateLimits: RateLimits;
  readonly clock: Clock;
}

function apply(request: FastifyRequest, reply: FastifyReply, { headers, taken, refusal }: RateOutcome): void {
  for (const [name, value] of Object.entries(headers)) reply.header(name, value);
  if (refusal) throw refusal;
  request.work.taken = taken;
}

// All unauthenticated clients together get no more than a few companies, and those of one address cannot crowd out
// all others.
const strangerFlows = 4;

function strangerFlow(bucket: string): string {
  let sum = 0;
  for (let at = 0; at < bucket.length; at += 1) sum += bucket.charCodeAt(at);
  return `strangers ${sum % strangerFlows}`;
}

/** Requests without a known company count against their IP address. */
export async function takeFromAddress(
  request: FastifyRequest,
  reply: FastifyReply,
  { limiter, rateLimits, clock }: LimitDependencies,
): Promise<void> {
  const bucket = addressBucket(request.ip);
  request.work.flow ||= strangerFlow(bucket);
  apply(request, reply, await takeRequest(limiter, rateLimits, bucket, ['global'], clock.nowMs()));
}

export async function takeFromCompany(
  request: FastifyRequest,
  reply: FastifyReply,
  { limiter, rateLimits, clock }: LimitDependencies,
  companyId: string,
  category: RateCategory,
): Promise<void> {
  request.work.flow = companyId;
  apply(request, reply, await takeRequest(limiter, rateLimits, companyId, ['global', category], clock.nowMs()));
}
