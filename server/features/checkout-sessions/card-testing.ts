import { createHash, timingSafeEqual } from 'node:crypto';
import { ApiError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { addressBucket } from '../../platform/addresses.ts';
import { counter } from '../../platform/metrics.ts';
import type { RateCheck, RateLimit } from '../../platform/rate-limiter/rate-limiter.ts';
import {
  isRefused,
  type Refusal,
  reserve,
  type Reservation,
  type ReserveDependencies,
} from '../../platform/rate-limiter/reservations.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import type { RequestContext } from '../../request-context.ts';
import { type CardTestingRow, findCardTesting, recordCardTesting } from './card-testing-queries.ts';
import type { SessionRow } from './queries.ts';

/**
 * Card testing: thieves pay on public pages to learn which stolen cards work. One address may only have a few payments
 * declined. If a company has many, from any addresses, its pages ask for a proof of work before each payment. It
 * makes every try cost something, and stops scripts that only repeat requests. A payment
 * counts while it is in progress or its outcome is unknown, and no longer once it has succeeded.
 */

export interface CardTestingGuard extends ReserveDependencies {
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

export interface PaymentTry {
  /** Whether this payment needs a proof of work, because too many of the company were declined. */
  readonly needsProof: boolean;
  /** What counts when the work ends, also if it fails. An unknown outcome counts against the address only. */
  outcome: 'not charged' | 'unknown' | 'declined' | 'succeeded';
}

/** Makes a payment that may be declined. Throws if too many payments from this address were declined. */
export async function limitingDeclines<Result>(
  guard: CardTestingGuard,
  context: Pick<RequestContext, 'company' | 'db'>,
  address: string,
  pay: (payment: PaymentTry) => Promise<Result>,
): Promise<Result> {
  if (!guard.refusedCards) return pay({ needsProof: false, outcome: 'not charged' });
  const { own, all } = bucketsOf(context.company.id, address);
  const ofAddress = await reserve(guard, [own]);
  if (isRefused(ofAddress)) throw tooManyDeclined(ofAddress);
  const ofCompany = await reserve(guard, [all], 0);
  const payment: PaymentTry = { needsProof: isRefused(ofCompany), outcome: 'not charged' };
  try {
    return await pay(payment);
  } finally {
    await countOutcome(guard, context, payment.outcome, ofAddress, isRefused(ofCompany) ? undefined : ofCompany);
  }
}

/** A payment counts while its customer is at the bank. It was paid, so it does not count any more. */
export async function forgetPaid(
  { limiter, clock, refusedCards }: CardTestingGuard,
  { company }: Pick<RequestContext, 'company'>,
  address: string,
): Promise<void> {
  if (refusedCards) await limiter.giveBack([bucketsOf(company.id, address).own], [], clock.nowMs());
}

function tooManyDeclined({ isBusy, retryAfterSeconds }: Refusal): ApiError {
  countLimited({ limit: 'declined_payments' });
  const message = isBusy
    ? 'Other payments from your network are still in progress. You were not charged. Try again in a few seconds.'
    : 'Too many payments from your network were declined or are in progress. You were not charged. Try again later.';
  return new ApiError('too_many_requests', message, { headers: { 'Retry-After': String(retryAfterSeconds) } });
}

async function countOutcome(
  { clock }: CardTestingGuard,
  { company, db }: Pick<RequestContext, 'company' | 'db'>,
  outcome: PaymentTry['outcome'],
  ofAddress: Reservation,
  ofCompany: Reservation | undefined,
): Promise<void> {
  if (outcome === 'unknown' || outcome === 'declined') ofAddress.keep();
  else await ofAddress.giveBack();
  if (outcome !== 'declined') return ofCompany?.giveBack();
  ofCompany?.keep();
  const isLast = !ofCompany || ofCompany.decisions[0]?.remaining === 0;
  if (isLast) await recordCardTesting(db, company.id, new Date(clock.nowMs()));
}

/** Pages ask for proofs as long as the limit of declined payments is exceeded. */
const attackMs = limits.declinedPaymentsOfCompany.windowSeconds * 1000;

/** By real time. */
export const isUnderAttack = (row: CardTestingRow | undefined, nowMs: number): row is CardTestingRow =>
  row !== undefined && nowMs - row.last_at.getTime() < attackMs;

/** The proof of work that the next payment probably needs, so that the page can begin with it; null if it needs none. */
export async function proofFor(
  { clock, refusedCards, linkKey }: CardTestingGuard,
  { company, db }: RequestContext,
  session: SessionRow,
): Promise<Proof | null> {
  if (!refusedCards) return null;
  const attack = await findCardTesting(db, company.id);
  return isUnderAttack(attack, clock.nowMs()) ? proofOf(linkKey, session, attack.declined) : null;
}

/** The proof of work that a payment needs. */
export async function neededProof(
  { linkKey }: CardTestingGuard,
  { company, db }: RequestContext,
  session: SessionRow,
): Promise<Proof> {
  return proofOf(linkKey, session, (await findCardTesting(db, company.id))?.declined ?? 0);
}

const proofOf = (key: ServiceKey, { id, attempts }: SessionRow, declined: number): Proof => ({
  challenge: challengeOf(key, id, attempts),
  difficulty: difficultyFor(declined),
});

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
