import type { BrandName } from './platform/card-brands.ts';
import { decimalsOf, decimalText } from './platform/currencies.ts';

/**
 * Every text that the customers of a merchant read in emails and on receipts, and how amounts and dates are written in it. For
 * another language, translate this file.
 */

const locale = 'en-US';

export function amountText(amount: number, currency: string): string {
  const decimals = decimalsOf(currency);
  const format = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: currency.toUpperCase(),
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return format.format(decimalText(amount, currency) as Intl.StringNumericLiteral);
}

const dateFormat = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' });
export const dateText = (at: Date | string): string => dateFormat.format(new Date(at));

const brandTexts: Readonly<Record<BrandName, string>> = {
  amex: 'American Express',
  diners: 'Diners Club',
  jcb: 'JCB',
  discover: 'Discover',
  unionpay: 'UnionPay',
  mastercard: 'Mastercard',
  maestro: 'Maestro',
  visa: 'Visa',
  unknown: 'Card',
};

export const cardText = (brand: string, lastFour: string): string =>
  `${brandTexts[brand as BrandName] ?? brandTexts.unknown} ending in ${lastFour}`;

export const receiptTexts = {
  title: 'Receipt',
  refundTitle: 'Refund receipt',
  number: 'Receipt number',
  date: 'Date',
  order: 'Order',
  from: 'From',
  billedTo: 'Billed to',
  taxId: (id: string) => `Tax ID: ${id}`,
  item: 'Description',
  quantity: 'Qty',
  unitPrice: 'Unit price',
  amount: 'Amount',
  subtotal: 'Subtotal',
  discount: (code: string | null) => (code === null ? 'Discount' : `Discount (${code})`),
  total: 'Total',
  paid: (card: string, date: string) => `Paid with ${card} on ${date}`,
  refundedTo: (card: string, date: string) => `Refunded to ${card} on ${date}`,
  free: 'Nothing was charged.',
  refund: (date: string) => `Refund on ${date}`,
  refundAmount: 'Refunded',
  originalTotal: 'Total of the order',
  net: 'Total after refunds',
  questions: (contact: string) => `Questions? Contact ${contact}.`,
  page: (page: number, count: number) => `Page ${page} of ${count}`,
  sandbox: 'Test mode: no money was moved.',
};
