import { halfToEven } from '../../platform/half-to-even.ts';
import { coversCycle, discountOf, termsOf } from '../coupons/service.ts';
import type { SubscriptionRow } from './subscription.ts';

/**
 * Proration: what the rest of a period is worth, by whole seconds. Each line is rounded once, half to even. Pure functions
 * without I/O.
 */

/** What was paid for the time from `from` until the period ends. */
export interface PeriodPayment {
  readonly paid: number;
  /** The part of it that is for the plan; the rest was a setup fee. */
  readonly part: number;
  readonly of: number;
  readonly from: string;
  /** The orders that paid it, with what had been refunded of them then. */
  readonly orders: readonly { readonly id: string; readonly refunded: number }[];
}

/** What of a payment has not been returned. */
export interface NetPayment extends PeriodPayment {
  readonly net: number;
}

/** A period at a moment, in whole seconds since its start. */
export interface Moment {
  readonly startMs: number;
  readonly lengthSeconds: number;
  readonly elapsedSeconds: number;
}

type Period = Pick<SubscriptionRow, 'current_period_start' | 'current_period_end'>;

/** Undefined if the subscription has no period, or the moment is not in it. */
export function momentOf({ current_period_start, current_period_end }: Period, atMs: number): Moment | undefined {
  if (!current_period_start || !current_period_end) return undefined;
  const startMs = current_period_start.getTime();
  const endMs = current_period_end.getTime();
  if (atMs < startMs || atMs >= endMs) return undefined;
  return {
    startMs,
    lengthSeconds: Math.floor((endMs - startMs) / 1000),
    elapsedSeconds: Math.floor((atMs - startMs) / 1000),
  };
}

/** The moment as a time that is a whole number of seconds after the start of the period. */
export const timeOf = ({ startMs, elapsedSeconds }: Moment): number => startMs + elapsedSeconds * 1000;

const restOf = ({ lengthSeconds, elapsedSeconds }: Moment): number => lengthSeconds - elapsedSeconds;

/** The rest of what was paid for the time that is left. */
export function unusedOf({ net, part, of, from }: NetPayment, moment: Moment): number {
  const fromSeconds = Math.round((Date.parse(from) - moment.startMs) / 1000);
  const paidSeconds = moment.lengthSeconds - fromSeconds;
  if (net === 0 || of === 0 || paidSeconds <= 0) return 0;
  return halfToEven(BigInt(net) * BigInt(part) * BigInt(restOf(moment)), BigInt(of) * BigInt(paidSeconds));
}

/** The price of the rest of the period, and its discount. */
export function restPrice(
  { amount, coupon }: Pick<SubscriptionRow, 'amount' | 'coupon'>,
  cycle: number,
  moment: Moment,
): { readonly charge: number; readonly discount: number } {
  const length = BigInt(moment.lengthSeconds);
  const share = (whole: number): number => halfToEven(BigInt(whole) * BigInt(restOf(moment)), length);
  return { charge: share(amount), discount: share(discountFor({ amount, coupon }, cycle)) };
}

/** The discount of a whole cycle, without a setup fee. */
export function discountFor({ amount, coupon }: Pick<SubscriptionRow, 'amount' | 'coupon'>, cycle: number): number {
  const terms = coupon && termsOf(coupon);
  return terms && coversCycle(terms, cycle) ? discountOf(terms, amount) : 0;
}
