import { formatLocale, moneyText } from '../../server/customer-texts/messages.ts';
import { decimalsOf } from '../../server/platform/currencies.ts';

/** `$73.00`, `¥1,250`, `KWD 1.250`, as the language of the page writes it. */
export function money(amount: number, currency: string): string {
  const decimals = decimalsOf(currency);
  const locale = document.documentElement.lang;
  const format = new Intl.NumberFormat(formatLocale(locale), {
    style: 'currency',
    currency: currency.toUpperCase(),
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return moneyText(format.format(amount / 10 ** decimals), locale);
}
