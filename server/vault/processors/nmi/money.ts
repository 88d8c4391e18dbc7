import { decimalsOf } from '../../../platform/currencies.ts';

/**
 * Returns an amount like `12.50` in the smallest unit of the currency, without its sign, because a refund may be
 * negative; undefined if it is not an amount.
 */
export function minorUnits(text: string, currency: string): number | undefined {
  const [, whole, fraction = ''] = /^-?(\d{1,12})(?:\.(\d{1,4}))?$/.exec(text) ?? [];
  const decimals = decimalsOf(currency);
  if (whole === undefined || !/^0*$/.test(fraction.slice(decimals))) return undefined;
  return Number(whole + fraction.slice(0, decimals).padEnd(decimals, '0'));
}
