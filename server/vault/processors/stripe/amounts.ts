import { decimalsOf } from '../../../platform/currencies.ts';

/**
 * Stripe's units differ from ISO 4217 for some currencies: Icelandic krónur are sent with two decimals, which must be
 * zero, and Malagasy ariary without decimals. In currencies with three decimals the last one must be zero.
 */
const decimalsAtStripe: ReadonlyMap<string, number> = new Map([
  ['isk', 2],
  ['mga', 0],
]);

/** Stripe's documents name two different units for this currency, so an amount could be wrong by a factor of 100. */
const ambiguous = 'ugx';

/** Returns the amount in Stripe's unit; undefined if Stripe cannot charge this amount. */
export function amountAtStripe(amount: number, currency: string): number | undefined {
  const decimals = decimalsOf(currency);
  const shifted = amount * 10 ** ((decimalsAtStripe.get(currency) ?? decimals) - decimals);
  const isRight = Number.isSafeInteger(shifted) && shifted > 0 && (decimals < 3 || shifted % 10 === 0);
  return isRight && currency !== ambiguous ? shifted : undefined;
}

/** Returns the amount in our unit. */
export function amountOfStripe(amount: number, currency: string): number {
  const decimals = decimalsOf(currency);
  return amount * 10 ** (decimals - (decimalsAtStripe.get(currency) ?? decimals));
}
