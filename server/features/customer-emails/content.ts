import type { Words } from '../../customer-texts/words.ts';
import { withLocale } from '../../http/locale.ts';
import type { FailureCode } from '../../vault/processors/processor.ts';
import type { Order } from '../orders/schemas.ts';
import { paidOf } from '../orders/service.ts';
import { creditSums, discountText, receiptLines } from '../receipts/service.ts';
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

interface Surroundings {
  readonly merchant: string;
  /** The language of the customer. */
  readonly words: Words;
  /** Undefined if the email does not link to the page of the customer. */
  readonly customerPageUrl: string | undefined;
}

type Writer<Kind extends Occasion['kind']> = (
  occasion: Extract<Occasion, { readonly kind: Kind }>,
  surroundings: Surroundings,
) => EmailContent;

const plain = { lines: [], facts: [], button: null } as const;

const buttonTo = (url: string | undefined, text: string): EmailContent['button'] => (url ? { text, url } : null);

const cardOf = ({ words }: Surroundings, { card_brand, card_last_four }: Card): string =>
  words.card(card_brand, card_last_four);

const ofPayment = (
  { order, plan, receipt, kind }: ReceiptOf<'order_receipt' | 'renewal_receipt'>,
  surroundings: Surroundings,
): EmailContent => {
  const { merchant, words } = surroundings;
  const { emails } = words.texts;
  return {
    subject: words.fill(emails.receipt.subject, { merchant, number: receipt.number }),
    headline: words.fill(emails.receipt.headline, { amount: words.amount(paidOf(order), order.currency) }),
    paragraphs: [kind === 'order_receipt' ? emails.receipt.order : emails.receipt.renewal],
    lines: [...itemLines(words, order, plan), ...sumLines(words, order)],
    facts: receiptFacts(surroundings, order, receipt, order.created_at),
    button: { text: emails.viewReceipt, url: receipt.url },
  };
};

const ofRefund: Writer<'refund_receipt'> = ({ order, refund, receipt }, surroundings) => {
  const { merchant, words } = surroundings;
  const { emails, receipts } = words.texts;
  const amount = words.amount(refund.amount, order.currency);
  return {
    subject: words.fill(emails.refund.subject, { merchant, amount }),
    headline: words.fill(emails.refund.headline, { amount }),
    paragraphs: [words.fill(emails.refund.text, { card: cardOf(surroundings, order.payment_method) })],
    lines: [
      { text: receipts.originalTotal, amount: words.amount(order.total, order.currency) },
      { text: receipts.refundAmount, amount, isStrong: true },
    ],
    facts: receiptFacts(surroundings, order, receipt, refund.created_at),
    button: { text: emails.viewReceipt, url: receipt.url },
  };
};

/** Nothing is wrong with the card, so the customer needs no other one. */
const ofConfirmation = (
  { name, amount, currency, card }: Paid,
  { url, until }: { readonly url: string; readonly until: string | null },
  surroundings: Surroundings,
): EmailContent => {
  const { merchant, words } = surroundings;
  const { emails } = words.texts;
  const { confirmPayment } = emails;
  return {
    ...plain,
    subject: words.fill(confirmPayment.subject, { merchant }),
    headline: confirmPayment.headline,
    paragraphs: [
      words.fill(confirmPayment.text, { name, card: cardOf(surroundings, card) }),
      until ? words.fill(confirmPayment.until, { date: words.date(until) }) : confirmPayment.ask,
    ],
    facts: [[emails.amount, words.amount(amount, currency)]],
    button: { text: confirmPayment.button, url: withLocale(url, { locale: words.locale }) },
  };
};

const ofDecline: Writer<'payment_failed'> = (occasion, surroundings) => {
  if (occasion.confirmation) return ofConfirmation(occasion, occasion.confirmation, surroundings);
  const { merchant, words, customerPageUrl } = surroundings;
  const { name, amount, currency, card, failureCode, nextAttemptAt } = occasion;
  const { emails, payments } = words.texts;
  const { paymentFailed } = emails;
  const nextDate = nextAttemptAt && words.date(nextAttemptAt);
  return {
    ...plain,
    subject: words.fill(paymentFailed.subject, { merchant }),
    headline: words.fill(paymentFailed.headline, { amount: words.amount(amount, currency) }),
    paragraphs: [
      words.fill(paymentFailed.text, { name, card: cardOf(surroundings, card) }),
      nextDate ? words.fill(paymentFailed.retry, { date: nextDate }) : paymentFailed.noRetry,
    ],
    facts: [
      [emails.reason, payments.declined[failureCode ?? 'unknown']],
      [emails.amount, words.amount(amount, currency)],
      ...(nextDate ? [[emails.nextAttempt, nextDate] as const] : []),
    ],
    button: buttonTo(customerPageUrl, emails.updateCard),
  };
};

const ofCardExpiry: Writer<'card_expiring'> = ({ card, year, month }, surroundings) => {
  const { merchant, words, customerPageUrl } = surroundings;
  const { cardExpiring, updateCard } = words.texts.emails;
  const values = { card: cardOf(surroundings, card), month: words.month(year, month) };
  return {
    ...plain,
    subject: words.fill(cardExpiring.subject, { merchant }),
    headline: cardExpiring.headline,
    paragraphs: [words.fill(cardExpiring.text, values)],
    button: buttonTo(customerPageUrl, updateCard),
  };
};

const ofRenewal: Writer<'upcoming_renewal'> = ({ name, amount, currency, card, at }, surroundings) => {
  const { merchant, words, customerPageUrl } = surroundings;
  const { upcomingRenewal, manage } = words.texts.emails;
  const date = words.date(at);
  const values = { name, amount: words.amount(amount, currency), card: cardOf(surroundings, card) };
  return {
    ...plain,
    subject: words.fill(upcomingRenewal.subject, { merchant, date }),
    headline: words.fill(upcomingRenewal.headline, { date }),
    paragraphs: [words.fill(upcomingRenewal.text, values)],
    button: buttonTo(customerPageUrl, manage),
  };
};

const ofPaymentRequest: Writer<'payment_request'> = ({ order, url }, surroundings) => {
  const { merchant, words } = surroundings;
  const { emails, receipts } = words.texts;
  const amount = words.amount(order.total, order.currency);
  return {
    ...plain,
    subject: words.fill(emails.paymentRequest.subject, { merchant, number: order.order_number }),
    headline: words.fill(emails.paymentRequest.headline, { amount }),
    paragraphs: [
      words.fill(emails.paymentRequest.text, { card: cardOf(surroundings, order.payment_method) }),
      ...reasonOf(words, order),
    ],
    lines: [...itemLines(words, order, null), ...sumLines(words, order)],
    facts: [[receipts.order, order.order_number]],
    button: { text: words.fill(emails.paymentRequest.pay, { amount }), url },
  };
};

const ofCardRequest: Writer<'card_request'> = ({ order }, surroundings) => {
  const { merchant, words, customerPageUrl } = surroundings;
  const { cardRequest, updateCard } = words.texts.emails;
  const values = {
    amount: words.amount(order.total, order.currency),
    card: cardOf(surroundings, order.payment_method),
  };
  return {
    ...plain,
    subject: words.fill(cardRequest.subject, { merchant }),
    headline: cardRequest.headline,
    paragraphs: [words.fill(cardRequest.text, values), ...reasonOf(words, order), cardRequest.ask],
    button: buttonTo(customerPageUrl, updateCard),
  };
};

const writers: { readonly [Kind in Occasion['kind']]: Writer<Kind> } = {
  order_receipt: ofPayment,
  renewal_receipt: ofPayment,
  refund_receipt: ofRefund,
  payment_failed: ofDecline,
  final_notice: ({ name, card }, surroundings) => {
    const { merchant, words, customerPageUrl } = surroundings;
    const { finalNotice, updateCard } = words.texts.emails;
    return {
      ...plain,
      subject: words.fill(finalNotice.subject, { merchant }),
      headline: finalNotice.headline,
      paragraphs: [
        words.fill(finalNotice.text, { name, card: cardOf(surroundings, card) }),
        ...(customerPageUrl ? [finalNotice.pay] : []),
      ],
      button: buttonTo(customerPageUrl, updateCard),
    };
  },
  card_expiring: ofCardExpiry,
  subscription_canceled: ({ name }, { merchant, words }) => ({
    ...plain,
    subject: words.fill(words.texts.emails.subscriptionCanceled.subject, { merchant }),
    headline: words.texts.emails.subscriptionCanceled.headline,
    paragraphs: [words.fill(words.texts.emails.subscriptionCanceled.text, { name })],
  }),
  upcoming_renewal: ofRenewal,
  payment_request: ofPaymentRequest,
  card_request: ofCardRequest,
};

const reasonOf = ({ texts }: Words, { failure_code, authentication_url }: Order): string[] => {
  if (authentication_url) return [texts.emails.confirmPayment.reason];
  return failure_code ? [texts.payments.declined[failure_code]] : [];
};

export function contentOf(occasion: Occasion, surroundings: Surroundings): EmailContent {
  // The table has the right writer for each kind; the compiler cannot see that the two belong together.
  const write = writers[occasion.kind] as (any: Occasion, surroundings: Surroundings) => EmailContent;
  return write(occasion, surroundings);
}

/** The lines of the receipt, with their quantity in the text. */
const itemLines = (words: Words, order: Order, plan: PlanCharge | null): EmailContent['lines'] =>
  receiptLines(words, order, plan).map(({ description, quantity, amount }) => ({
    text: quantity === '' || quantity === '1' ? description : `${quantity} × ${description}`,
    amount,
  }));

function sumLines(words: Words, order: Order): EmailContent['lines'] {
  const { subtotal, discount_amount, total, coupon, currency } = order;
  const { receipts } = words.texts;
  const paid = paidOf(order);
  const sums = [
    { text: receipts.total, amount: words.amount(total, currency), isStrong: true },
    ...(paid < total ? [{ text: receipts.captured, amount: words.amount(paid, currency), isStrong: true }] : []),
    ...creditSums(words, order).map(({ label, amount }) => ({ text: label, amount })),
  ];
  if (discount_amount === 0) return sums;
  return [
    { text: receipts.subtotal, amount: words.amount(subtotal, currency) },
    { text: discountText(words, coupon?.code), amount: `−${words.amount(discount_amount, currency)}` },
    ...sums,
  ];
}

const receiptFacts = (
  surroundings: Surroundings,
  order: Order,
  { number }: LinkedReceipt,
  at: string,
): EmailContent['facts'] => {
  const { words } = surroundings;
  const { emails, receipts } = words.texts;
  return [
    [receipts.number, number],
    [receipts.date, words.date(at)],
    [receipts.order, order.order_number],
    // Credit alone may have paid the order.
    ...(paidOf(order) > (order.credit_applied ?? 0)
      ? [[emails.card, cardOf(surroundings, order.payment_method)] as const]
      : []),
  ];
};
