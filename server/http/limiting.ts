import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ApiError, tooManyRequests } from '../errors.ts';
import { limits } from '../limits.ts';
import { addressBucket } from '../platform/addresses.ts';
import type { Clock } from '../platform/clock.ts';
import type { RateCheck, RateLimiter } from '../platform/rate-limiter/rate-limiter.ts';
import { isRefused, reserve, type Reservation } from '../platform/rate-limiter/reservations.ts';
import { type RateLimits, type RateOutcome, takeRequest } from './rate-limits.ts';
import type { RateCategory } from './route.ts';

/**
 * Counts requests against the rate limits of their company or address, and reports the limits in the response
 * headers.
 */

export interface LimitDependencies {
  readonly limiter: RateLimiter;
  readonly rateLimits: RateLimits;
  /** Those of the pages of one company. */
  readonly pageLimits: RateLimits;
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
// Nor can the visitors of one shop crowd out those of all others.
const visitorFlows = 8;

const strangerFlow = (bucket: string): string => `strangers ${sumOf(bucket) % strangerFlows}`;

/** The flow of a request whose token names this company, but may be invented. */
export const visitorFlow = (companyId: string): string => `visitors ${sumOf(companyId) % visitorFlows}`;

function sumOf(text: string): number {
  let sum = 0;
  for (let at = 0; at < text.length; at += 1) sum += text.charCodeAt(at);
  return sum;
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

/** What a page request is limited by: its address, and its link if only one customer has it. */
export interface PageVisit {
  readonly companyId: string;
  readonly address: string;
  readonly ownLink: string | undefined;
}

const pageOwner = ({ companyId }: PageVisit): string => `page ${companyId}`;

function pageBuckets(visit: PageVisit, category: RateCategory): RateCheck[] {
  const names = [addressBucket(visit.address), ...(visit.ownLink === undefined ? [] : [visit.ownLink])];
  const limit = limits.pageRequests[category];
  return names.map((name) => ({ key: `{${pageOwner(visit)}}:${category}:${name}`, limit }));
}

const tooMany = (retryAfterSeconds: number): ApiError =>
  tooManyRequests('Too many requests. Try again in a moment.', retryAfterSeconds);

/**
 * Takes from the limit of another category, for a request that does what requests of that category do. Returns
 * undefined if requests are not limited.
 */
export async function reserveFromPage(
  { limiter, rateLimits, clock }: LimitDependencies,
  visit: PageVisit,
  category: RateCategory,
): Promise<Reservation | undefined> {
  if (!rateLimits.global) return undefined;
  const outcome = await reserve({ limiter, clock }, pageBuckets(visit, category));
  if (isRefused(outcome)) throw tooMany(outcome.retryAfterSeconds);
  return outcome;
}

/** Takes from buckets whose limits are not settings. They are off if the limit of all requests is off. */
async function takeFrom(
  { limiter, rateLimits, clock }: LimitDependencies,
  buckets: readonly RateCheck[],
): Promise<void> {
  if (!rateLimits.global) return;
  const refused = (await limiter.consume(buckets, clock.nowMs())).find(({ allowed }) => !allowed);
  if (!refused) return;
  throw tooMany(refused.retryAfterSeconds);
}

/** Processors send notices in bursts and from few addresses, so these have a limit of their own. */
export async function takeNoticeFromAddress(request: FastifyRequest, dependencies: LimitDependencies): Promise<void> {
  const bucket = addressBucket(request.ip);
  request.work.flow = strangerFlow(bucket);
  await takeFrom(dependencies, [{ key: `{${bucket}}:notices`, limit: limits.noticesOfAddress }]);
}

/** Anyone can send to the URL of a connection, so its requests do not count against the API of the company. */
export async function takeNoticeFromConnection(
  request: FastifyRequest,
  dependencies: LimitDependencies,
  companyId: string,
  connectionId: string,
): Promise<void> {
  const owner = `notices ${companyId}`;
  request.work.flow = owner;
  await takeFrom(dependencies, [{ key: `{${owner}}:${connectionId}`, limit: limits.noticesOfConnection }]);
}

/**
 * Requests of pages for customers do not count against the API of the company. Each address has a limit of its own, so
 * that one visitor cannot use up what the other customers of the company need. So has each link that only one customer
 * has. A link that all visitors share has none: one of them could use it up for the others. The limit of all visitors
 * of a company together only protects other companies.
 */
export async function takeFromPage(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: LimitDependencies,
  visit: PageVisit,
  category: RateCategory,
): Promise<void> {
  const { limiter, pageLimits, clock } = dependencies;
  await takeFrom(dependencies, pageBuckets(visit, category));
  apply(request, reply, await takeRequest(limiter, pageLimits, pageOwner(visit), ['global'], clock.nowMs()));
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
