import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import { limits } from '../limits.ts';
import { addressBucket } from '../platform/addresses.ts';
import type { Clock } from '../platform/clock.ts';
import type { RateLimiter } from '../platform/rate-limiter/rate-limiter.ts';
import { type RateLimits, type RateOutcome, takeRequest } from './rate-limits.ts';
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

/**
 * Requests of pages for customers do not count against the API of the company. Each address has a limit of its own, so
 * that one visitor cannot use up what the other customers of the company need. So has each link that only one customer
 * has. A link that all visitors share has none: one of them could use it up for the others.
 */
export async function takeFromPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { limiter, rateLimits, clock }: LimitDependencies,
  companyId: string,
  ownLink: string | undefined,
  category: RateCategory,
): Promise<void> {
  const owner = `page ${companyId}`;
  request.work.flow = owner;
  if (rateLimits.global) {
    const limit = limits.pageRequests[category];
    const buckets = [addressBucket(request.ip), ...(ownLink === undefined ? [] : [ownLink])].map((name) => ({
      key: `{${owner}}:${category}:${name}`,
      limit,
    }));
    const refused = (await limiter.consume(buckets, clock.nowMs())).find(({ allowed }) => !allowed);
    if (refused) {
      throw new ApiError('too_many_requests', 'Too many requests. Try again in a moment.', {
        headers: { 'Retry-After': String(refused.retryAfterSeconds) },
      });
    }
  }
  apply(request, reply, await takeRequest(limiter, rateLimits, owner, ['global'], clock.nowMs()));
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
