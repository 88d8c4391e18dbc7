import type { BrandName } from '../platform/card-brands.ts';
import { dayMs } from '../platform/durations.ts';
import type { FailureCode } from './processors/processor.ts';

/**
 * Card networks charge fees for a card that is declined too often at one merchant account. Decides whether another
 * attempt may be sent. A pure function without I/O.
 */

/** After how many declines a card is not sent any more. Each is less than the network allows. */
export interface DeclineLimits {
  /** In 30 days, with and without the customer apart. */
  readonly visa: number;
  /** In 24 hours. */
  readonly mastercardDaily: number;
  /** In 30 days, of one amount. */
  readonly mastercardOfAmount: number;
}

/** A charge or verification of a card. */
export interface CardAttempt {
  readonly amount: number;
  /** Null for a verification. */
  readonly currency: string | null;
  readonly byCustomer: boolean;
}

export interface Decline extends CardAttempt {
  readonly connectionId: string;
  readonly atMs: number;
  readonly failureCode: FailureCode;
}

/** Why an attempt is not sent. */
export interface Stop {
  /** The code of the last decline. */
  readonly failureCode: FailureCode;
  /** From when an attempt is sent again. */
  readonly retryAtMs: number;
  /** For the merchant. */
  readonly failureReason: string;
}

/** Declines are kept for this time. */
export const declineWindowMs = 30 * dayMs;

interface Rule {
  readonly network: string;
  readonly max: number;
  readonly windowMs: number;
  /** As the failure reason says it: the declines that count, and the limit of the network. */
  readonly counted: string;
  readonly allowed: number;
  readonly counts: (decline: CardAttempt, attempt: CardAttempt) => boolean;
}

function mastercardRules({ mastercardDaily, mastercardOfAmount }: DeclineLimits): readonly Rule[] {
  return [
    {
      network: 'Mastercard',
      max: mastercardDaily,
      windowMs: dayMs,
      counted: 'in 24 hours',
      allowed: 10,
      counts: () => true,
    },
    {
      network: 'Mastercard',
      max: mastercardOfAmount,
      windowMs: declineWindowMs,
      counted: 'for this amount in 30 days',
      allowed: 35,
      counts: (decline, { amount, currency }) => decline.amount === amount && decline.currency === currency,
    },
  ];
}

const rulesOf: Partial<Record<BrandName, (limits: DeclineLimits) => readonly Rule[]>> = {
  visa: ({ visa }) => [
    {
      network: 'Visa',
      max: visa,
      windowMs: declineWindowMs,
      counted: 'in 30 days',
      allowed: 20,
      counts: (decline, { byCustomer }) => decline.byCustomer === byCustomer,
    },
  ],
  mastercard: mastercardRules,
  maestro: mastercardRules,
};

/** `declines` are those of the card at the connection, of the last 30 days. */
export function stopOf(
  brand: BrandName,
  declines: readonly Decline[],
  attempt: CardAttempt,
  limits: DeclineLimits,
  nowMs: number,
): Stop | undefined {
  const rules = declines.length === 0 ? undefined : rulesOf[brand]?.(limits);
  const stops = rules?.flatMap((rule) => stopBy(rule, declines, attempt, nowMs) ?? []) ?? [];
  return stops.toSorted((left, right) => right.retryAtMs - left.retryAtMs)[0];
}

function stopBy(rule: Rule, declines: readonly Decline[], attempt: CardAttempt, nowMs: number): Stop | undefined {
  const { network, max, windowMs, counted, allowed } = rule;
  const found = declines
    .filter((decline) => nowMs - decline.atMs < windowMs && rule.counts(decline, attempt))
    .toSorted((left, right) => left.atMs - right.atMs);
  const last = found.at(-1);
  // When this one leaves the window, one attempt fits in.
  const leaving = found.at(-max);
  if (!last || !leaving) return undefined;
  const retryAtMs = leaving.atMs + windowMs;
  const date = `${new Date(retryAtMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const failureReason =
    `Not sent to the bank: this card was declined ${found.length} times ${counted}. ` +
    `${network} charges fees from ${allowed} on. The card can be charged again from ${date}.`;
  return { failureCode: last.failureCode, retryAtMs, failureReason };
}
