import { drawing, element } from './dom.ts';

/** Cards on file, as a list to choose from. */

export interface ShownCard {
  readonly id: string;
  readonly brand: string;
  readonly last4: string;
  readonly exp_month: number;
  readonly exp_year: number;
}

const cardBrandNames: Readonly<Record<string, string>> = {
  visa: 'Visa',
  mastercard: 'Mastercard',
  amex: 'American Express',
  discover: 'Discover',
  diners: 'Diners Club',
  jcb: 'JCB',
  unionpay: 'UnionPay',
  maestro: 'Maestro',
};

export const brandName = (brand: string): string => cardBrandNames[brand] ?? 'Card';

export const cardName = ({ brand, last4 }: Pick<ShownCard, 'brand' | 'last4'>): string =>
  `${brandName(brand)} •••• ${last4}`;

export const brandMark = (brand: string): SVGElement =>
  drawing(`brand-${brand in cardBrandNames ? brand : 'unknown'}`, 'brand');

export const expiryText = ({ exp_month, exp_year }: ShownCard): string =>
  `${String(exp_month).padStart(2, '0')}/${String(exp_year).slice(-2)}`;

export function isExpired({ exp_month, exp_year }: ShownCard, now = new Date()): boolean {
  return exp_year * 12 + exp_month < now.getFullYear() * 12 + now.getMonth() + 1;
}

/** One row of the list. */
export function cardChoice(value: string, mark: SVGElement, title: string, detail: string): HTMLElement {
  const input = element('input', { type: 'radio', name: 'card-choice', value });
  const words = element('span', { class: 'words' }, element('span', {}, title));
  if (detail) words.append(element('small', {}, detail));
  return element('label', { class: 'choice' }, input, mark, words);
}
