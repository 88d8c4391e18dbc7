import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../../errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database.ts';
import type { CouponSnapshot } from './schemas.ts';
import { codeKeyOf } from './codes.ts';
import { type DiscountTerms, discountOf, type Duration } from './discount.ts';
import { cartTotalOf, isOnlyReserved, type Purchase, type Reason, reasons, whyFull, whyNot } from './eligibility.ts';
import {
  type CouponFacts,
  findByCode,
  findBySnapshot,
  insertRedemptions,
  lockForRedemption,
  type Redemption,
  type RedemptionOutcome,
  recordRedemptionOutcomes,
} from './redemption-queries.ts';

/** The use of a coupon by an order or a subscription: reserved while its charge is in flight, then counted or released. */

export interface CouponUse {
  readonly facts: CouponFacts;
  readonly discount: number;
  readonly snapshot: CouponSnapshot;
}

/** Charges in flight hold the last redemptions, so it is not known yet whether one is left. */
export class RedemptionsReserved extends ApiError {
  constructor() {
    super('resource_in_use', 'The last redemptions of this coupon are held by charges in progress. Retry shortly.', {
      param: 'coupon_code',
      headers: { 'Retry-After': '1' },
    });
  }
}

/** The reason is in the words of the API. Pages for customers have their own texts for it. */
export class CouponRefused extends ApiError {
  readonly reason: Reason;

  constructor(reason: Reason) {
    const message = `cannot be used: ${reasons[reason]} (${reason})`;
    const fieldErrors = [{ field: 'coupon_code', code: 'invalid_value', message }] as const;
    super('validation_error', `coupon_code: ${message}`, { fieldErrors });
    this.reason = reason;
  }
}

export const findCouponFacts = (
  db: Database,
  companyId: string,
  code: string,
  customerId: string | null,
): Promise<CouponFacts | undefined> => findByCode(db, companyId, codeKeyOf(code), customerId);

/** Computes the discount of a code for a purchase, or throws with the reason why it cannot be used. */
export function couponFor(facts: CouponFacts | undefined, purchase: Omit<Purchase, 'customer'>): CouponUse {
  const customer = facts && { used: facts.customer_used, hasBought: facts.customer_has_bought };
  const reason = whyNot(facts, { ...purchase, customer });
  if (facts && reason && whyFull(facts, facts.customer_used) === reason && isOnlyReserved(facts)) {
    throw new RedemptionsReserved();
  }
  if (!facts || reason) throw new CouponRefused(reason ?? 'code_not_found');
  const discount = discountOf(facts, cartTotalOf(facts, { ...purchase, customer }) ?? 0);
  return { facts, discount, snapshot: snapshotOf(facts, discount) };
}

function snapshotOf(facts: CouponFacts, discount: number): CouponSnapshot {
  return {
    id: facts.id,
    code: facts.code,
    name: facts.name,
    kind: facts.kind,
    percentage: facts.percentage_hundredths && facts.percentage_hundredths / 100,
    amount: facts.amount,
    currency: facts.currency,
    duration: facts.duration,
    duration_in_cycles: facts.duration_in_cycles,
    max_discount_amount: facts.max_discount_amount,
    discount_amount: discount,
  };
}

/** Returns the terms of a snapshot for the discount calculation. */
export function termsOf(snapshot: CouponSnapshot): DiscountTerms & Duration {
  return {
    percentage_hundredths: snapshot.percentage === null ? null : Math.round(snapshot.percentage * 100),
    amount: snapshot.amount,
    max_discount_amount: snapshot.max_discount_amount,
    duration: snapshot.duration,
    duration_in_cycles: snapshot.duration_in_cycles,
  };
}

/**
 * `now`: nothing is charged, so the redemption counts at once. `later`: the charge is made when a subscription
 * starts.
 */
export function redemptionOf(
  { facts }: Pick<CouponUse, 'facts'>,
  id: string,
  customerId: string,
  decided: 'now' | 'soon' | 'later',
): Redemption {
  const { company_id, id: coupon_id, code_id, updated_at } = facts;
  const seen = updated_at.getTime();
  const [counted, waits] = [decided === 'now', decided === 'later'];
  return {
    company_id,
    id,
    coupon_id,
    code_id,
    customer_id: customerId,
    counted,
    waits,
    termsOf: seen,
    farFromLimits: isFarFromLimits(facts),
  };
}

/** More redemptions than can be in flight at once. */
const marginOfLimits = 10_000;

function isFarFromLimits(coupon: CouponFacts): boolean {
  const { max_redemptions, max_redemptions_per_customer, max_redemptions_per_code, first_time_customer_only } = coupon;
  const limitless = max_redemptions_per_customer === null && max_redemptions_per_code === null;
  if (!limitless || first_time_customer_only) return false;
  return max_redemptions === null || coupon.used + marginOfLimits < max_redemptions;
}

/**
 * Decides which redemptions the limits allow, one after the other. The coupons stay locked, so that the allowed ones
 * can be inserted in this transaction.
 */
export async function admitRedemptions(
  transaction: Database,
  redemptions: readonly Redemption[],
): Promise<(Reason | 'coupon_changed' | undefined)[]> {
  const found = await lockForRedemption(transaction, redemptions);
  const taken = new Map<string, number>();
  const of = (key: string): number => taken.get(key) ?? 0;
  return redemptions.map(({ id, coupon_id, code_id, customer_id, termsOf: seen }) => {
    const facts = found.get(id);
    if (!facts) return 'code_not_found';
    if (!facts.active) return facts.archived_at ? 'coupon_archived' : 'coupon_inactive';
    // The discount was computed from terms that may have changed since, so the caller computes it again.
    if (facts.updated_at.getTime() !== seen) return 'coupon_changed';
    const keys = [coupon_id, code_id, `${coupon_id} ${customer_id}`] as const;
    const counters = { ...facts, used: facts.used + of(keys[0]), code_used: facts.code_used + of(keys[1]) };
    const reason = whyFull(counters, facts.customer_used + of(keys[2]));
    if (!reason) for (const key of keys) taken.set(key, of(key) + 1);
    return reason;
  });
}

/** A declined order released its redemption, so a retry needs a new one. Only the limits are checked. */
export async function reserveAgain(
  transaction: Database,
  companyId: string,
  snapshot: CouponSnapshot,
  id: string,
  customerId: string,
  decided: 'soon' | 'later' = 'soon',
): Promise<void> {
  const code = codeKeyOf(snapshot.code);
  const facts = await findBySnapshot(transaction, companyId, snapshot.id, code, customerId);
  if (!facts) throw new CouponRefused('code_not_found');
  const redemption = redemptionOf({ facts }, id, customerId, decided);
  const locked = (await lockForRedemption(transaction, [redemption])).get(id) ?? facts;
  // The rule for first-time customers was checked when the order was created.
  const limits = { ...locked, first_time_customer_only: false };
  const reason = whyFull(limits, locked.customer_used);
  if (reason && isOnlyReserved(limits)) throw new RedemptionsReserved();
  if (reason) throw new CouponRefused(reason);
  await insertRedemptions(transaction, [redemption]);
}

const patienceMs = 2_000;
const pollMs = 25;

/** Repeats the work for a moment while charges in flight hold the last redemptions: most of them finish soon. */
export async function waitingForReservations<Result>(
  clock: Clock,
  work: (isFirst: boolean) => Promise<Result>,
): Promise<Result> {
  const deadlineMs = clock.nowMs() + patienceMs;
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await work(isFirst);
    } catch (error) {
      if (!(error instanceof RedemptionsReserved) || clock.nowMs() >= deadlineMs) throw error;
      await sleep(pollMs);
    }
  }
}

export async function reserveRedemptions(transaction: Database, redemptions: readonly Redemption[]): Promise<void> {
  await insertRedemptions(transaction, redemptions);
}

/** Counts the redemptions of approved charges, and releases the others. */
export async function closeRedemptions(transaction: Database, outcomes: readonly RedemptionOutcome[]): Promise<void> {
  await recordRedemptionOutcomes(transaction, outcomes);
}
