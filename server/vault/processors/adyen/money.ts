import { decimalsOf } from '../../../platform/currencies.ts';
import type { Money } from '../processor.ts';

export interface AdyenAmount {
  readonly currency: string;
  readonly value: number;
}

/** The currencies that Adyen counts in other units than ISO 4217. */
const otherDecimals: ReadonlyMap<string, number> = new Map([
  ['clp', 2],
  ['cve', 0],
  ['idr', 0],
  ['isk', 2],
]);

/** How many more decimals Adyen counts than ISO 4217. */
function moreDecimals(currency: string): number {
  const decimals = otherDecimals.get(currency.toLowerCase());
  return decimals === undefined ? 0 : decimals - decimalsOf(currency);
}

/** Returns undefined if the amount is not a positive whole number of Adyen's units. */
export function toAdyen({ amount, currency }: Money): AdyenAmount | undefined {
  const more = moreDecimals(currency);
  const value = more < 0 ? amount / 10 ** -more : amount * 10 ** more;
  return Number.isSafeInteger(value) && value > 0 ? { currency: currency.toUpperCase(), value } : undefined;
}

export function fromAdyen({ value, currency }: AdyenAmount): Money {
  return { amount: Math.round(value / 10 ** moreDecimals(currency)), currency: currency.toLowerCase() };
}

export const isSameAmount = (one: AdyenAmount, other: AdyenAmount): boolean =>
  one.value === other.value && one.currency === other.currency;
