import { emailTexts } from '../../customer-texts/emails.ts';
import { amountText, cardText, dateText, monthText } from '../../customer-texts/formats.ts';
import { declineTexts } from '../../customer-texts/payments.ts';
import { receiptTexts } from '../../customer-texts/receipts.ts';
import type { FailureCode } from '../../vault/processors/processor.ts';
import type { Order } from '../orders/schemas.ts';
import { paidOf } from '../orders/service.ts';
import { creditSums, receiptLines } from '../receipts/service.ts';
import type { PlanCharge } from '../subscriptions/service.ts';

/** What each email says, independent of how it is laid out. Pure functions without I/O. */

export interface EmailContent {
  readonly subject: string;
  readonly headline: string;
  readonly paragraphs: readonly string[];
  /** Items and sums, the amount at the end of the line. */
  readonly lines: readonly { readonly text: string; readonly amount: string; readonly isStrong?: boolean }[];
  readonly facts: readonly (readonly [label: string, value: string])[];
  readonly button: { readonly text: string; readonly url: string } | null;
}

interface LinkedReceipt {
  readonly number: string;
  readonly url: string;
}

interface Card {
  readonly card_brand: string;
  readonly card_last_four: string;
}

interface Paid {
  readonly name: string;
  readonly amount: number;
  readonly currency: string;
  readonly card: Card;
}

interface ReceiptOf<Kind> {
  readonly kind: Kind;
  readonly order: Order;
  readonly plan: PlanCharge | null;
  readonly receipt: LinkedReceipt;
}

/** What has happened, for which there is one kind of email. */
export type Occasion =
  | ReceiptOf<'order_receipt'>
  | ReceiptOf<'renewal_receipt'>
  | {
      readonly kind: 'refund_receipt';
      readonly order: Order;
      readonly refund: { readonly amount: number; readonly created_at: string };
      readonly receipt: LinkedReceipt;
    }
  | (Paid & {
      readonly kind: 'payment_failed';
      readonly failureCode: FailureCode | null;
      readonly nextAttemptAt: string | null;
      /** The bank wants to ask the customer: the page where that is possible, and until when. */
      readonly confirmation?: { readonly url: string; readonly until: string | null } | undefined;
    })
  | { readonly kind: 'final_notice'; readonly name: string; readonly card: Card }
  | { readonly kind: 'card_expiring'; readonly card: Card; readonly year: number; readonly month: number }
  | { readonly kind: 'subscription_canceled'; readonly name: string }
  | (Paid & { readonly kind: 'upcoming_renewal'; readonly at: string })
  | { readonly kind: 'payment_request'; readonly order: Order; readonly url: string }
  | { readonly kind: 'card_request'; readonly order: Order };

/** Emails that a member sends by hand. The settings of the merchant do not switch them off. */
export const requestKinds = ['payment_request', 'card_request'] as const;

/** Emails that the service sends when something has happened. */
export type EmailKind = Exclude<Occasion['kind'], (typeof requestKinds)[number]>;

/** Emails that a customer can stop. The others are about their money, and the law may require them. */
export const optionalKinds: ReadonlySet<Occasion['kind']> = new Set(['card_expiring', 'upcoming_renewal']);

/** Emails that link to the page of the customer. */
export const pageKinds: ReadonlySet<EmailKind> = new Set([
  'payment_failed',
  'final_notice',
  'card_expiring',
  'upcoming_renewal',
]);

const textOf = ({ card_brand, card_last_four }: Card): string => cardText(card_brand, card_last_four);

interface Surroundings {
  readonly merchant: string;
  /** Undefined if the email does not link to the page of the customer. */
  readonly customerPageUrl: string | undefined;
}

type Writer<Kind extends Occasion['kind']> = (
  occasion: Extract<Occasion, { readonly kind: Kind }>,
  surroundings: Surroundings,
) => EmailContent;

const plain = { lines: [], facts: [], button: null } as const;

const buttonTo = (url: string | undefined, text: string): EmailContent['button'] => (url ? { text, url } : null);

const ofPayment = (
  { order, plan, receipt, kind }: ReceiptOf<'order_receipt' | 'renewal_receipt'>,
  { merchant }: Surroundings,
): EmailContent => {
  const texts = kind === 'order_receipt' ? emailTexts.orderReceipt : emailTexts.renewalReceipt;
  return {
    subject: texts.subject(merchant, receipt.number),
    headline: texts.headline(amountText(paidOf(order), order.currency)),
    paragraphs: [texts.text],
    lines: [...itemLines(order, plan), ...sumLines(order)],
    facts: receiptFacts(order, receipt, order.created_at),
    button: { text: emailTexts.viewReceipt, url: receipt.url },
  };
};

const ofRefund: Writer<'refund_receipt'> = ({ order, refund, receipt }, { merchant }) => {
  const amount = amountText(refund.amount, order.currency);
  return {
    subject: emailTexts.refundReceipt.subject(merchant, amount),
    headline: emailTexts.refundReceipt.headline(amount),
    paragraphs: [emailTexts.refundReceipt.text(textOf(order.payment_method))],
    lines: [
      { text: receiptTexts.originalTotal, amount: amountText(order.total, order.currency) },
      { text: receiptTexts.refundAmount, amount, isStrong: true },
    ],
    facts: receiptFacts(order, receipt, refund.created_at),
    button: { text: emailTexts.viewReceipt, url: receipt.url },
  };
};

/** Nothing is wrong with the card, so the customer needs no other one. */
const ofConfirmation = (
  { name, amount, currency, card }: Paid,
  { url, until }: { readonly url: string; readonly until: string | null },
  merchant: string,
): EmailContent => {
  const { confirmPayment } = emailTexts;
  return {
    ...plain,
    subject: confirmPayment.subject(merchant),
    headline: confirmPayment.headline,
    paragraphs: [
      confirmPayment.text(name, textOf(card)),
      until ? confirmPayment.until(dateText(until)) : confirmPayment.ask,
    ],
    facts: [[emailTexts.amount, amountText(amount, currency)]],
    button: { text: confirmPayment.button, url },
  };
};

const ofDecline: Writer<'payment_failed'> = (occasion, { merchant, customerPageUrl }) => {
  if (occasion.confirmation) return ofConfirmation(occasion, occasion.confirmation, merchant);
  const { name, amount, currency, card, failureCode, nextAttemptAt } = occasion;
  const { paymentFailed } = emailTexts;
  return {
    ...plain,
    subject: paymentFailed.subject(merchant),
    headline: paymentFailed.headline(amountText(amount, currency)),
    paragraphs: [
      paymentFailed.text(name, textOf(card)),
      nextAttemptAt ? paymentFailed.retry(dateText(nextAttemptAt)) : paymentFailed.noRetry,
    ],
    facts: [
      [emailTexts.reason, declineTexts[failureCode ?? 'unknown']],
      [emailTexts.amount, amountText(amount, currency)],
      ...(nextAttemptAt ? [[emailTexts.nextAttempt, dateText(nextAttemptAt)] as const] : []),
    ],
    button: buttonTo(customerPageUrl, emailTexts.updateCard),
  };
};

const writers: { readonly [Kind in Occasion['kind']]: Writer<Kind> } = {
  order_receipt: ofPayment,
  renewal_receipt: ofPayment,
  refund_receipt: ofRefund,
  payment_failed: ofDecline,
  final_notice: ({ name, card }, { merchant, customerPageUrl }) => ({
    ...plain,
    subject: emailTexts.finalNotice.subject(merchant),
    headline: emailTexts.finalNotice.headline,
    paragraphs: [
      emailTexts.finalNotice.text(name, textOf(card)),
      ...(customerPageUrl ? [emailTexts.finalNotice.pay] : []),
    ],
    button: buttonTo(customerPageUrl, emailTexts.updateCard),
  }),
  card_expiring: ({ card, year, month }, { merchant, customerPageUrl }) => ({
    ...plain,
    subject: emailTexts.cardExpiring.subject(merchant),
    headline: emailTexts.cardExpiring.headline,
    paragraphs: [emailTexts.cardExpiring.text(textOf(card), monthText(year, month))],
    button: buttonTo(customerPageUrl, emailTexts.updateCard),
  }),
  subscription_canceled: ({ name }, { merchant }) => ({
    ...plain,
    subject: emailTexts.subscriptionCanceled.subject(merchant),
    headline: emailTexts.subscriptionCanceled.headline,
    paragraphs: [emailTexts.subscriptionCanceled.text(name)],
  }),
  upcoming_renewal: ({ name, amount, currency, card, at }, { merchant, customerPageUrl }) => ({
    ...plain,
    subject: emailTexts.upcomingRenewal.subject(merchant, dateText(at)),
    headline: emailTexts.upcomingRenewal.headline(dateText(at)),
    paragraphs: [emailTexts.upcomingRenewal.text(name, amountText(amount, currency), textOf(card))],
    button: buttonTo(customerPageUrl, emailTexts.manage),
  }),
  payment_request: ({ order, url }, { merchant }) => {
    const amount = amountText(order.total, order.currency);
    return {
      ...plain,
      subject: emailTexts.paymentRequest.subject(merchant, order.order_number),
      headline: emailTexts.paymentRequest.headline(amount),
      paragraphs: [emailTexts.paymentRequest.text(textOf(order.payment_method)), ...reasonOf(order)],
      lines: [...itemLines(order, null), ...sumLines(order)],
      facts: [[receiptTexts.order, order.order_number]],
      button: { text: emailTexts.paymentRequest.pay(amount), url },
    };
  },
  card_request: ({ order }, { merchant, customerPageUrl }) => ({
    ...plain,
    subject: emailTexts.cardRequest.subject(merchant),
    headline: emailTexts.cardRequest.headline,
    paragraphs: [
      emailTexts.cardRequest.text(amountText(order.total, order.currency), textOf(order.payment_method)),
      ...reasonOf(order),
      emailTexts.cardRequest.ask,
    ],
    button: buttonTo(customerPageUrl, emailTexts.updateCard),
  }),
};

const reasonOf = ({ failure_code, authentication_url }: Order): string[] => {
  if (authentication_url) return [`${emailTexts.confirmPayment.headline}.`];
  return failure_code ? [declineTexts[failure_code]] : [];
};

export function contentOf(occasion: Occasion, surroundings: Surroundings): EmailContent {
  // The table has the right writer for each kind; the compiler cannot see that the two belong together.
  const write = writers[occasion.kind] as (any: Occasion, surroundings: Surroundings) => EmailContent;
  return write(occasion, surroundings);
}

/** The lines of the receipt, with their quantity in the text. */
const itemLines = (order: Order, plan: PlanCharge | null): EmailContent['lines'] =>
  receiptLines(order, plan).map(({ description, quantity, amount }) => ({
    text: quantity === '' || quantity === '1' ? description : `${quantity} × ${description}`,
    amount,
  }));

function sumLines(order: Order): EmailContent['lines'] {
  const { subtotal, discount_amount, total, coupon, currency } = order;
  const paid = paidOf(order);
  const sums = [
    { text: receiptTexts.total, amount: amountText(total, currency), isStrong: true },
    ...(paid < total ? [{ text: receiptTexts.captured, amount: amountText(paid, currency), isStrong: true }] : []),
    ...creditSums(order).map(({ label, amount }) => ({ text: label, amount })),
  ];
  if (discount_amount === 0) return sums;
  return [
    { text: receiptTexts.subtotal, amount: amountText(subtotal, currency) },
    { text: receiptTexts.discount(coupon?.code ?? null), amount: `−${amountText(discount_amount, currency)}` },
    ...sums,
  ];
}

const receiptFacts = (order: Order, { number }: LinkedReceipt, at: string): EmailContent['facts'] => [
  [receiptTexts.number, number],
  [receiptTexts.date, dateText(at)],
  [receiptTexts.order, order.order_number],
  // Credit alone may have paid the order.
  ...(paidOf(order) > (order.credit_applied ?? 0) ? [[emailTexts.card, textOf(order.payment_method)] as const] : []),
];
