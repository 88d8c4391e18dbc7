import { halfToEven } from '../../platform/half-to-even.ts';

/** Tax that prices include: what a merchant's rates make of the lines of an invoice. Totals never change by it. */

export interface TaxRate {
  readonly country: string;
  /** A state or province; null for the whole country. */
  readonly region: string | null;
  /** The category of products; null for all others. */
  readonly category: string | null;
  readonly name: string;
  /** With at most two decimals. */
  readonly percentage: number;
  readonly valid_from: string;
  /** The last day; null without an end. */
  readonly valid_until: string | null;
}

export interface Place {
  readonly country: string | null;
  readonly region: string | null;
}

export interface Tax {
  readonly name: string;
  readonly percentage: number;
  readonly gross_amount: number;
  readonly net_amount: number;
  readonly tax_amount: number;
}

const same = (one: string | null, other: string | null): boolean =>
  one !== null && other !== null && one.trim().toLowerCase() === other.trim().toLowerCase();

/** The most precise rate of the place on that day: one of the region before one of the country, one of the category before any. */
export function rateFor(
  rates: readonly TaxRate[],
  place: Place,
  category: string | null,
  day: string,
): TaxRate | undefined {
  const fitting = rates.filter(
    (rate) =>
      same(rate.country, place.country) &&
      (rate.region === null || same(rate.region, place.region)) &&
      (rate.category === null || same(rate.category, category)) &&
      rate.valid_from <= day &&
      (rate.valid_until === null || day <= rate.valid_until),
  );
  const precision = ({ category: of, region }: TaxRate): number => (of === null ? 0 : 2) + (region === null ? 0 : 1);
  return fitting.toSorted((one, other) => precision(other) - precision(one))[0];
}

const wholePercent = 10_000;

/** The part of a gross amount that is not tax. */
export const netOf = (gross: number, percentage: number): number =>
  halfToEven(BigInt(gross) * BigInt(wholePercent), BigInt(wholePercent + Math.round(percentage * 100)));

/**
 * Shares an amount out in proportion to weights, in whole units: what is left after rounding down goes to the largest
 * remainders, the first of them at a tie. So the shares have exactly the sum that is shared out.
 */
export function shared(amount: number, weights: readonly number[]): number[] {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  if (sum === 0) return weights.map((_, index) => (index === 0 ? amount : 0));
  const parts = weights.map((weight) => BigInt(amount) * BigInt(weight));
  const shares = parts.map((part) => Number(part / BigInt(sum)));
  const left = amount - shares.reduce((total, share) => total + share, 0);
  const byRemainder = parts
    .map((part, index) => ({ index, remainder: part % BigInt(sum) }))
    .toSorted((one, other) =>
      one.remainder === other.remainder ? one.index - other.index : one.remainder < other.remainder ? 1 : -1,
    );
  for (const { index } of byRemainder.slice(0, left)) shares[index] = (shares[index] ?? 0) + 1;
  return shares;
}

type Rate = Pick<TaxRate, 'name' | 'percentage'>;

/** The net amount of each line is rounded, and the tax is what is left of the gross. */
export function taxOf({ name, percentage }: Rate, grosses: readonly number[]): Tax {
  const gross_amount = grosses.reduce((sum, gross) => sum + gross, 0);
  const net_amount = grosses.reduce((sum, gross) => sum + netOf(gross, percentage), 0);
  return { name, percentage, gross_amount, net_amount, tax_amount: gross_amount - net_amount };
}

export interface TaxedLine {
  readonly gross: number;
  readonly rate: Rate;
}

/** By rate, the highest first. */
export function taxesOf(lines: readonly TaxedLine[]): Tax[] {
  const groups = Map.groupBy(lines, ({ rate }) => `${rate.percentage} ${rate.name}`);
  return [...groups.values()]
    .flatMap((ofRate) => {
      const [first] = ofRate;
      return first
        ? [
            taxOf(
              first.rate,
              ofRate.map(({ gross }) => gross),
            ),
          ]
        : [];
    })
    .toSorted((one, other) => other.percentage - one.percentage);
}
