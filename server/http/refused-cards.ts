import { ApiError, type FieldError, validationError } from '../errors.ts';
import { limits } from '../limits.ts';
import { addressBucket } from '../platform/addresses.ts';
import { counter } from '../platform/metrics.ts';
import type { RateCheck, RateLimit } from '../platform/rate-limiter/rate-limiter.ts';
import {
  isRefused,
  reserve,
  type ReserveDependencies,
  withReservation,
} from '../platform/rate-limiter/reservations.ts';
import type { Admitted } from './caller.ts';

/**
 * Card testing: trying numbers, dates and codes until one is accepted. After too many rejections every card is
 * rejected, valid ones too, so that further tries reveal nothing. Each bucket belongs to one company, so that no
 * company can block another.
 */

/** The data of a card was checked and rejected. A body without a card, or with a malformed one, does not count. */
export class RefusedCard extends ApiError {
  /** Not stored under an idempotency key: the same key can be used with the corrected card. */
  constructor(problems: readonly FieldError[]) {
    const { message, fieldErrors } = validationError(problems);
    super('validation_error', message, { fieldErrors, stored: false });
  }
}

/** The card of a request, and the customer it is for. */
export interface TestedCard {
  readonly customerId?: string;
  /**
   * From the vault, so that no card number reaches the rate limit store. Undefined if the input cannot be a card
   * number.
   */
  readonly fingerprint?: string | undefined;
}

interface Bucket extends RateCheck {
  readonly refusal: string;
}

/**
 * Public pages are distinguished by the IP address of the shopper. A secret key belongs to a server that captures for
 * all its shoppers from one address: there the mistakes of one shopper must not block the others.
 */
function bucketsOf(
  { company, caller }: Admitted,
  address: string,
  { customerId, fingerprint }: TestedCard,
  refusedCards: RateLimit,
): Bucket[] {
  const bucket = (name: string, refusal: string, limit: RateLimit = refusedCards): Bucket => ({
    key: `{${company.id}}:refused_cards:${name}`,
    limit,
    refusal,
  });
  if (caller.kind !== 'key' || caller.publishable) {
    return [bucket(addressBucket(address), 'Too many cards from your IP address were rejected.')];
  }
  return [
    bucket('company', 'Too many cards of this company were rejected.', limits.refusedCardsOfCompany),
    ...(customerId ? [bucket(`customer ${customerId}`, 'Too many cards of this customer were rejected.')] : []),
    ...(fingerprint ? [bucket(`card ${fingerprint}`, 'This card was rejected too often.')] : []),
  ];
}

const countLimited = counter('svc_http_requests_rate_limited_total');

export interface CardTesting extends ReserveDependencies {
  /** Null if rejected cards are not limited. */
  readonly refusedCards: RateLimit | null;
}

/** Without a tested card it only answers. */
export async function refusingCardTesters<Answer>(
  { limiter, clock, refusedCards }: CardTesting,
  admitted: Admitted,
  address: string,
  tested: TestedCard | undefined,
  answer: () => Promise<Answer>,
): Promise<Answer> {
  if (!refusedCards || !tested) return answer();
  const buckets = bucketsOf(admitted, address, tested, refusedCards);
  const outcome = await reserve({ limiter, clock }, buckets);
  if (!isRefused(outcome)) return withReservation(outcome, (error) => error instanceof RefusedCard, answer);
  countLimited({ limit: 'refused_cards' });
  const { at, isBusy, retryAfterSeconds } = outcome;
  const message = isBusy
    ? 'Too many cards are being checked at once. Try again in a few seconds.'
    : `${buckets[at]?.refusal} Try again later.`;
  throw new ApiError('rate_limit_exceeded', message, { headers: { 'Retry-After': String(retryAfterSeconds) } });
}
