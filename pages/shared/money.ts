import { formatLocale } from '../../server/customer-texts/messages.ts';
import { decimalsOf } from '../../server/platform/currencies.ts';

/** `$73.00`, `¥1,250`, `KWD 1.250`, as the language of the page writes it. */
export function money(amount: number, currency: string): string {
  const decimals = decimalsOf(currency);
  return new Intl.NumberFormat(formatLocale(document.documentElement.lang), {
    style: 'currency',
    currency: currency.toUpperCase(),
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  }).format(amount / 10 ** decimals);
}
