import type { Mode } from '../../company.ts';
import type { ReadableTexts } from '../../customer-texts/languages.ts';
import type { Words } from '../../customer-texts/words.ts';
import { hasLink, readsLikeAddress } from '../../platform/web-addresses.ts';
import type { Customer } from '../customers/schemas.ts';
import type { Order } from '../orders/schemas.ts';
import { paidOf } from '../orders/service.ts';
import type { Profile } from '../profile/schemas.ts';
import type { PlanCharge } from '../subscriptions/service.ts';
import { defaultColor } from '../profile/service.ts';

/** What a receipt says, as texts in the order in which they are printed. A thread lays them out. */
export interface ReceiptDocument {
  readonly locale: string;
  /** The texts of the layout: headings, columns, the number of the page. */
  readonly texts: ReadableTexts['receipts'];
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
  /** The same as XML, which the PDF then carries. */
  readonly eInvoice?: string | undefined;
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
  /** The language of the customer. */
  readonly words: Words;
}

/** Where Letter is the usual paper. */
const letterCountries = new Set(['US', 'CA', 'MX', 'PH', 'CL', 'CO', 'CR', 'GT', 'PA', 'PR', 'SV', 'DO', 'VE', 'NI']);
const letterCurrencies = new Set(['usd', 'cad', 'mxn', 'php', 'clp', 'cop']);

export function paperOf(
  { address }: Pick<Profile, 'address'>,
  { currency }: Pick<Order, 'currency'>,
): ReceiptDocument['paper'] {
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

export function receiptDocument({ profile, order, customer, words, ...receipt }: ReceiptFacts): ReceiptDocument {
  const { number, createdAt, refundId, plan, logo, mode } = receipt;
  const { receipts: texts } = words.texts;
  const refund = refundId === null ? undefined : order.transactions.find(({ id }) => id === refundId);
  const { support_email: email, website } = profile;
  const contact = email ?? website;
  const title = refund ? texts.refundTitle : texts.title;
  return {
    locale: words.locale,
    texts,
    title,
    mark: markOf(words, order, refund),
    subject: `${title} ${number}`,
    paper: paperOf(profile, order),
    color: profile.color ?? defaultColor,
    logo: logo ?? null,
    merchantName: profile.display_name,
    merchant: present([
      ...words.address(profile.address),
      profile.tax_id && words.fill(texts.taxId, { id: profile.tax_id }),
      email,
      website,
    ]),
    customer: customer ? billedTo(customer) : [],
    // The address is as personal as the name.
    shipTo: customer && !refund ? shipToLines(words, order) : [],
    facts: [
      [texts.number, number],
      [texts.date, words.date(refund?.created_at ?? order.created_at)],
      [texts.order, order.order_number],
    ],
    lines: receiptLines(words, order, plan),
    sums: refund ? refundSums(words, order, refund) : orderSums(words, order),
    notes: present([
      refund && refundedText(words, order, refund),
      !refund && paidText(words, order),
      texts.notes[mode],
      contact && words.fill(texts.questions, { contact }),
    ]),
    createdAtMs: createdAt.getTime(),
  };
}

function shipToLines(words: Words, { shipping }: Order): string[] {
  const name = shipping?.name;
  return present([name && !readsLikeAddress(name) && name, ...words.address(shipping)]).filter(
    (line) => !hasLink(line),
  );
}

function markOf({ texts }: Words, order: Order, refund: RefundTransaction | undefined): string | null {
  if (refund || order.status === 'refunded') return texts.receipts.refundedMark;
  return saleOf(order) || order.credit_applied > 0 ? texts.receipts.paidMark : null;
}

/** What was charged for. Items of a plan have no price of their own, so the plan is a line with the price. */
export function receiptLines(words: Words, { items, currency }: Order, plan: PlanCharge | null): ReceiptLine[] {
  const lines = items.map(({ name, quantity, unit_price, total }) => ({
    description: name,
    quantity: String(quantity),
    unitPrice: unit_price === null ? '' : words.amount(unit_price, currency),
    amount: total === null ? '' : words.amount(total, currency),
  }));
  if (plan === null) return lines;
  const ofPlan = (description: string, amount: number): ReceiptLine[] => [
    { description, quantity: '', unitPrice: '', amount: words.amount(amount, currency) },
  ];
  const setupFee = plan.setupFee > 0 ? ofPlan(words.texts.receipts.setupFee, plan.setupFee) : [];
  return [...ofPlan(plan.name, plan.price), ...setupFee, ...lines];
}

type RefundTransaction = Order['transactions'][number];

export const refundsOf = ({ transactions }: Pick<Order, 'transactions'>): RefundTransaction[] =>
  transactions.filter(({ type, status }) => type === 'refund' && status === 'succeeded');

/** The name of a discount, with its code if there was one. */
export const discountText = ({ texts, fill }: Words, code: string | undefined): string =>
  code === undefined ? texts.receipts.discount : fill(texts.receipts.discountCode, { code });

function orderSums(words: Words, order: Order): ReceiptSum[] {
  const { receipts: texts } = words.texts;
  const { subtotal, discount_amount, total, coupon, currency } = order;
  const amount = (value: number): string => words.amount(value, currency);
  const refunds = refundsOf(order);
  const toCredit = order.credit_refunded ?? 0;
  const refunded = refunds.reduce((sum, refund) => sum + refund.amount, toCredit);
  const paid = paidOf(order);
  return [
    { label: texts.subtotal, amount: amount(subtotal) },
    ...(discount_amount > 0
      ? [{ label: discountText(words, coupon?.code), amount: `−${amount(discount_amount)}` }]
      : []),
    { label: texts.total, amount: amount(total), isStrong: true },
    ...(paid < total ? [{ label: texts.captured, amount: amount(paid), isStrong: true }] : []),
    ...creditSums(words, order),
    ...refunds.map((refund) => ({
      label: words.fill(texts.refund, { date: words.date(refund.created_at) }),
      amount: `−${amount(refund.amount)}`,
    })),
    ...(toCredit > 0 ? [{ label: texts.refundedToCredit, amount: `−${amount(toCredit)}` }] : []),
    ...(refunded > 0 ? [{ label: texts.net, amount: amount(paid - refunded), isStrong: true }] : []),
  ];
}

/** What the credit of the customer paid, and what the card. An event of the release before has no credit. */
export function creditSums(words: Words, { total, credit_applied, currency }: Order): ReceiptSum[] {
  if (!credit_applied) return [];
  const { receipts } = words.texts;
  return [
    { label: receipts.creditApplied, amount: words.amount(credit_applied, currency) },
    { label: receipts.fromCard, amount: words.amount(total - credit_applied, currency) },
  ];
}

const refundSums = (words: Words, { total, currency }: Order, refund: RefundTransaction): ReceiptSum[] => [
  { label: words.texts.receipts.originalTotal, amount: words.amount(total, currency) },
  { label: words.texts.receipts.refundAmount, amount: words.amount(refund.amount, currency), isStrong: true },
];

const cardOf = (words: Words, { payment_method: { card_brand, card_last_four } }: Order): string =>
  words.card(card_brand, card_last_four);

const saleOf = ({ transactions }: Order) =>
  transactions.findLast(({ type, status }) => type === 'sale' && status !== 'failed');

function paidText(words: Words, order: Order): string {
  const { receipts: texts } = words.texts;
  const sale = saleOf(order);
  if (!sale) return order.credit_applied > 0 ? texts.paidWithCredit : texts.free;
  return words.fill(texts.paid, { card: cardOf(words, order), date: words.date(sale.created_at) });
}

const refundedText = (words: Words, order: Order, refund: RefundTransaction): string =>
  words.fill(words.texts.receipts.refundedTo, { card: cardOf(words, order), date: words.date(refund.created_at) });
