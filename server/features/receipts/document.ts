import type { Mode } from '../../company.ts';
import { addressLines, amountText, cardText, dateText } from '../../customer-texts/formats.ts';
import { receiptTexts } from '../../customer-texts/receipts.ts';
import { hasLink, readsLikeAddress } from '../../platform/web-addresses.ts';
import type { Customer } from '../customers/schemas.ts';
import type { Order } from '../orders/schemas.ts';
import { paidOf } from '../orders/service.ts';
import type { Profile } from '../profile/schemas.ts';
import type { PlanCharge } from '../subscriptions/service.ts';
import { defaultColor } from '../profile/service.ts';

/** What a receipt says, as texts in the order in which they are printed. A thread lays them out. */
export interface ReceiptDocument {
  readonly title: string;
  /** Whether the order is paid or refunded, shown as a mark. */
  readonly mark: string | null;
  readonly subject: string;
  readonly paper: 'A4' | 'LETTER';
  readonly color: string;
  readonly logo: Uint8Array | null;
  readonly merchantName: string;
  readonly merchant: readonly string[];
  readonly customer: readonly string[];
  readonly shipTo: readonly string[];
  readonly facts: readonly (readonly [label: string, value: string])[];
  readonly lines: readonly ReceiptLine[];
  readonly sums: readonly ReceiptSum[];
  readonly notes: readonly string[];
  readonly createdAtMs: number;
}

interface ReceiptLine {
  readonly description: string;
  readonly quantity: string;
  readonly unitPrice: string;
  readonly amount: string;
}

interface ReceiptSum {
  readonly label: string;
  readonly amount: string;
  readonly isStrong?: boolean;
}

export interface ReceiptFacts {
  readonly mode: Mode;
  readonly number: string;
  readonly createdAt: Date;
  readonly refundId: string | null;
  readonly order: Order;
  readonly plan: PlanCharge | null;
  readonly customer: Customer | undefined;
  readonly profile: Profile;
  readonly logo: Buffer | undefined;
}

/** Where Letter is the usual paper. */
const letterCountries = new Set(['US', 'CA', 'MX', 'PH', 'CL', 'CO', 'CR', 'GT', 'PA', 'PR', 'SV', 'DO', 'VE', 'NI']);
const letterCurrencies = new Set(['usd', 'cad', 'mxn', 'php', 'clp', 'cop']);

function paperOf({ address }: Profile, { currency }: Order): ReceiptDocument['paper'] {
  const isLetter = address?.country ? letterCountries.has(address.country) : letterCurrencies.has(currency);
  return isLetter ? 'LETTER' : 'A4';
}

const present = (texts: readonly (string | null | undefined | false)[]): string[] =>
  texts.filter((text): text is string => typeof text === 'string' && text !== '');

/** A stranger may have typed these on a checkout page, so a name or company that is a link is left out. */
function billedTo({ first_name, last_name, company, email }: Customer): string[] {
  const name = `${first_name} ${last_name}`;
  return present([!readsLikeAddress(name) && name, company && !hasLink(company) && company, email]);
}

export function receiptDocument({ profile, order, customer, ...receipt }: ReceiptFacts): ReceiptDocument {
  const { number, createdAt, refundId, plan, logo, mode } = receipt;
  const refund = refundId === null ? undefined : order.transactions.find(({ id }) => id === refundId);
  const { support_email: email, website } = profile;
  const contact = email ?? website;
  return {
    title: refund ? receiptTexts.refundTitle : receiptTexts.title,
    mark: markOf(order, refund),
    subject: `${refund ? receiptTexts.refundTitle : receiptTexts.title} ${number}`,
    paper: paperOf(profile, order),
    color: profile.color ?? defaultColor,
    logo: logo ?? null,
    merchantName: profile.display_name,
    merchant: present([
      ...addressLines(profile.address),
      profile.tax_id && receiptTexts.taxId(profile.tax_id),
      email,
      website,
    ]),
    customer: customer ? billedTo(customer) : [],
    // The address is as personal as the name.
    shipTo: customer && !refund ? shipToLines(order) : [],
    facts: [
      [receiptTexts.number, number],
      [receiptTexts.date, dateText(refund?.created_at ?? order.created_at)],
      [receiptTexts.order, order.order_number],
    ],
    lines: receiptLines(order, plan),
    sums: refund ? refundSums(order, refund) : orderSums(order),
    notes: present([
      refund && refundedText(order, refund),
      !refund && paidText(order),
      receiptTexts.notes[mode],
      contact && receiptTexts.questions(contact),
    ]),
    createdAtMs: createdAt.getTime(),
  };
}

function shipToLines({ shipping }: Order): string[] {
  const name = shipping?.name;
  return present([name && !readsLikeAddress(name) && name, ...addressLines(shipping)]).filter((line) => !hasLink(line));
}

function markOf(order: Order, refund: RefundTransaction | undefined): string | null {
  if (refund || order.status === 'refunded') return receiptTexts.refundedMark;
  return saleOf(order) || order.credit_applied > 0 ? receiptTexts.paidMark : null;
}

/** What was charged for. Items of a plan have no price of their own, so the plan is a line with the price. */
export function receiptLines({ items, currency }: Order, plan: PlanCharge | null): ReceiptLine[] {
  const lines = items.map(({ name, quantity, unit_price, total }) => ({
    description: name,
    quantity: String(quantity),
    unitPrice: unit_price === null ? '' : amountText(unit_price, currency),
    amount: total === null ? '' : amountText(total, currency),
  }));
  if (plan === null) return lines;
  const ofPlan = (description: string, amount: number): ReceiptLine[] => [
    { description, quantity: '', unitPrice: '', amount: amountText(amount, currency) },
  ];
  const setupFee = plan.setupFee > 0 ? ofPlan(receiptTexts.setupFee, plan.setupFee) : [];
  return [...ofPlan(plan.name, plan.price), ...setupFee, ...lines];
}

type RefundTransaction = Order['transactions'][number];

export const refundsOf = ({ transactions }: Pick<Order, 'transactions'>): RefundTransaction[] =>
  transactions.filter(({ type, status }) => type === 'refund' && status === 'succeeded');

function orderSums(order: Order): ReceiptSum[] {
  const { subtotal, discount_amount, total, coupon, currency } = order;
  const amount = (value: number): string => amountText(value, currency);
  const refunds = refundsOf(order);
  const toCredit = order.credit_refunded ?? 0;
  const refunded = refunds.reduce((sum, refund) => sum + refund.amount, toCredit);
  const paid = paidOf(order);
  return [
    { label: receiptTexts.subtotal, amount: amount(subtotal) },
    ...(discount_amount > 0
      ? [{ label: receiptTexts.discount(coupon?.code ?? null), amount: `−${amount(discount_amount)}` }]
      : []),
    { label: receiptTexts.total, amount: amount(total), isStrong: true },
    ...(paid < total ? [{ label: receiptTexts.captured, amount: amount(paid), isStrong: true }] : []),
    ...creditSums(order),
    ...refunds.map((refund) => ({
      label: receiptTexts.refund(dateText(refund.created_at)),
      amount: `−${amount(refund.amount)}`,
    })),
    ...(toCredit > 0 ? [{ label: receiptTexts.refundedToCredit, amount: `−${amount(toCredit)}` }] : []),
    ...(refunded > 0 ? [{ label: receiptTexts.net, amount: amount(paid - refunded), isStrong: true }] : []),
  ];
}

/** What the credit of the customer paid, and what the card. An event of the release before has no credit. */
export function creditSums({ total, credit_applied, currency }: Order): ReceiptSum[] {
  if (!credit_applied) return [];
  return [
    { label: receiptTexts.creditApplied, amount: amountText(credit_applied, currency) },
    { label: receiptTexts.fromCard, amount: amountText(total - credit_applied, currency) },
  ];
}

const refundSums = ({ total, currency }: Order, refund: RefundTransaction): ReceiptSum[] => [
  { label: receiptTexts.originalTotal, amount: amountText(total, currency) },
  { label: receiptTexts.refundAmount, amount: amountText(refund.amount, currency), isStrong: true },
];

const cardOf = ({ payment_method: { card_brand, card_last_four } }: Order): string =>
  cardText(card_brand, card_last_four);

const saleOf = ({ transactions }: Order) =>
  transactions.findLast(({ type, status }) => type === 'sale' && status !== 'failed');

function paidText(order: Order): string {
  const sale = saleOf(order);
  if (sale) return receiptTexts.paid(cardOf(order), dateText(sale.created_at));
  return order.credit_applied > 0 ? receiptTexts.paidWithCredit : receiptTexts.free;
}

const refundedText = (order: Order, refund: RefundTransaction): string =>
  receiptTexts.refundedTo(cardOf(order), dateText(refund.created_at));
