import { createHash, timingSafeEqual } from 'node:crypto';
import { ApiError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { addressBucket } from '../../platform/addresses.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database.ts';
import { counter } from '../../platform/metrics.ts';
import type { RateCheck, RateLimit, RateLimiter } from '../../platform/rate-limiter/rate-limiter.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import type { RequestContext } from '../../request-context.ts';
import { findCardTesting, recordCardTesting } from './card-testing-queries.ts';
import type { SessionRow } from './queries.ts';

/**
 * Card testing: thieves pay on public pages to learn which stolen cards work. One address may only have a few payments
 * declined. If a company has many, from whatever addresses, its pages ask for a proof of work before each payment. It
 * makes every try cost something, and stops scripts that only repeat requests. Honest customers are never blocked.
 */

export interface CardTestingGuard {
  readonly limiter: RateLimiter;
  readonly clock: Clock;
  /** Null if rejected cards are not limited. */
  readonly refusedCards: RateLimit | null;
  readonly linkKey: ServiceKey;
}

export interface Proof {
  readonly challenge: string;
  /** How many bits at the beginning of the hash must be zero. */
  readonly difficulty: number;
}

export interface ProofAnswer {
  readonly challenge: string;
  readonly answer: string;
}

/** About a second in a browser. Each doubling of the declined payments doubles the work, up to about eight seconds. */
const difficultyMin = 18;
const difficultyMax = 21;
const declinedPerBit = 50;

const difficultyFor = (declined: number): number =>
  Math.min(difficultyMax, difficultyMin + Math.floor(Math.log2(1 + declined / declinedPerBit)));

const countLimited = counter('svc_http_requests_rate_limited_total');

function bucketsOf(companyId: string, address: string): { readonly own: RateCheck; readonly all: RateCheck } {
  const bucket = (name: string, limit: RateLimit): RateCheck => ({
    key: `{${companyId}}:declined_payments:${name}`,
    limit,
  });
  return {
    own: bucket(addressBucket(address), limits.declinedPayments),
    all: bucket('company', limits.declinedPaymentsOfCompany),
  };
}

/** Throws if too many payments from this address were declined. */
export async function checkAddress(
  { limiter, clock, refusedCards }: CardTestingGuard,
  { company }: RequestContext,
  address: string,
): Promise<void> {
  if (!refusedCards) return;
  const { allowed, retryAfterSeconds } = await limiter.peek(bucketsOf(company.id, address).own, clock.nowMs());
  if (allowed) return;
  countLimited({ limit: 'declined_payments' });
  throw new ApiError('too_many_requests', 'Too many payments from your network were declined. Try again later.', {
    headers: { 'Retry-After': String(retryAfterSeconds) },
  });
}

/** Returns the proof of work that the next payment needs; null unless the pages of the company are under attack. */
export async function proofFor(
  { limiter, clock, refusedCards, linkKey }: CardTestingGuard,
  { company, db }: RequestContext,
  { id, attempts }: SessionRow,
): Promise<Proof | null> {
  if (!refusedCards) return null;
  const { allowed } = await limiter.peek(bucketsOf(company.id, '').all, clock.nowMs());
  if (allowed) return null;
  const attack = await findCardTesting(db, company.id);
  return { challenge: challengeOf(linkKey, id, attempts), difficulty: difficultyFor(attack?.declined ?? 0) };
}

/** The challenge belongs to one payment, so a proof cannot be used twice. */
function challengeOf(key: ServiceKey, sessionId: string, attempt: number): string {
  return `${sessionId}.${attempt}.${key.hash(`proof ${sessionId} ${attempt}`).toString('base64url', 0, 16)}`;
}

export function isProven({ challenge, difficulty: bits }: Proof, given: ProofAnswer | undefined): boolean {
  if (!given) return false;
  const [one, other] = [Buffer.from(challenge), Buffer.from(given.challenge)];
  if (one.length !== other.length || !timingSafeEqual(one, other)) return false;
  const hash = createHash('sha256').update(`${challenge}.${given.answer}`).digest();
  return hash.readUInt32BE(0) >>> (32 - bits) === 0;
}

/** Counts a payment whose outcome the request does not learn, against its address only. */
export async function countTry(
  { limiter, clock, refusedCards }: CardTestingGuard,
  { company }: Pick<RequestContext, 'company'>,
  address: string,
): Promise<void> {
  if (refusedCards) await limiter.consume([bucketsOf(company.id, address).own], clock.nowMs());
}

/** Counts a payment that was declined. */
export async function countDeclined(
  { limiter, clock, refusedCards }: CardTestingGuard,
  { company, db }: Pick<RequestContext, 'company'> & { readonly db: Database },
  address: string,
): Promise<void> {
  if (!refusedCards) return;
  const { own, all } = bucketsOf(company.id, address);
  const nowMs = clock.nowMs();
  await limiter.consume([own], nowMs);
  const [decision] = await limiter.consume([all], nowMs);
  if (decision && decision.remaining === 0) await recordCardTesting(db, company.id, new Date(nowMs));
}
