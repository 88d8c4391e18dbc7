import type { BrandName } from './platform/card-brands.ts';
import { decimalsOf, decimalText } from './platform/currencies.ts';
import type { Reason } from './features/coupons/eligibility.ts';
import type { FailureCode } from './vault/processors/processor.ts';

/**
 * Every text that the customers of a merchant read in emails, on receipts and in answers of the service, and how amounts and dates are written in it. For
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

// Loading the data of a locale takes as long as loading the rest of the service's texts, so it waits for the first use.
let dateFormat: Intl.DateTimeFormat | undefined;
let countryNames: Intl.DisplayNames | undefined;

export function dateText(at: Date | string): string {
  dateFormat ??= new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' });
  return dateFormat.format(new Date(at));
}

function countryName(code: string): string {
  countryNames ??= new Intl.DisplayNames(locale, { type: 'region' });
  return countryNames.of(code) ?? code;
}

interface PostalAddress {
  readonly line1: string | null;
  readonly line2: string | null;
  readonly city: string | null;
  readonly state: string | null;
  readonly postal_code: string | null;
  readonly country: string | null;
}

const joined = (texts: readonly (string | null)[], between: string): string => texts.filter(Boolean).join(between);

/** An address as it is written on a letter: the postal code follows a state and otherwise comes before the city. */
export function addressLines(address: PostalAddress | null): string[] {
  if (!address) return [];
  const { line1, line2, city, state, postal_code, country } = address;
  const town = state ? joined([city, joined([state, postal_code], ' ')], ', ') : joined([postal_code, city], ' ');
  const lines = [line1, line2, town, country && countryName(country)];
  return lines.filter((line): line is string => Boolean(line));
}

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

/** Why a charge was declined, and what the customer can do. Nothing here tells a thief what the bank suspects. */
export const declineTexts: Readonly<Record<FailureCode, string>> = {
  insufficient_funds: 'The card does not have enough funds. Please use another card.',
  do_not_honor: 'Your bank declined the payment. Your bank can tell you why.',
  card_limit_exceeded: 'The amount is above a limit of your card. Please use another card or ask your bank.',
  processor_declined: 'The payment was declined. Please try another card.',
  issuer_unavailable: 'Your bank could not be reached. You were not charged.',
  unknown: 'The payment was declined. Please try another card.',
  expired_card: 'Your card has expired. Please check the date or use another card.',
  incorrect_cvv: 'The CVC is wrong. Please check the digits on the card.',
  invalid_account: 'The card number is not valid. Please check it or use another card.',
  blocked_card: 'Your card is blocked. Please contact your bank or use another card.',
  closed_card: 'The account of your card is closed. Please use another card.',
  contact_bank: 'Your bank asks you to call it before it allows this payment.',
  transaction_not_allowed: 'Your card does not allow this payment. Please use another card.',
  lost_stolen_card: 'Your bank declined the payment. Please use another card.',
  fraud_suspected: 'Your bank declined the payment. Please use another card.',
  duplicate_transaction: 'The payment could not be completed.',
  invalid_merchant_configuration: 'The payment could not be completed.',
  validation_error: 'The payment could not be completed.',
};

/** Why a promotion code cannot be used on the checkout page. */
export const couponTexts: Readonly<Record<Reason, string>> = {
  code_not_found: 'This code is not valid. Please check the spelling.',
  coupon_archived: 'This code is no longer valid.',
  coupon_inactive: 'This code is not valid at the moment.',
  coupon_not_started: 'This code is not valid yet.',
  coupon_expired: 'This code has expired.',
  currency_mismatch: 'This code is for another currency.',
  product_not_eligible: 'This code does not apply to these products.',
  plan_not_eligible: 'This code does not apply to this subscription.',
  minimum_amount_not_met: 'Your order is below the minimum amount for this code.',
  not_first_time_customer: 'This code is for first-time customers only.',
  max_redemptions_reached: 'This code has already been used as often as it can be.',
  max_redemptions_per_customer_reached: 'You have already used this code as often as you can.',
  max_redemptions_per_code_reached: 'This code has already been used.',
};

export const receiptTexts = {
  title: 'Receipt',
  refundTitle: 'Refund receipt',
  number: 'Receipt number',
  date: 'Date',
  order: 'Order',
  from: 'From',
  billedTo: 'Billed to',
  shipTo: 'Ship to',
  paidMark: 'PAID',
  refundedMark: 'REFUNDED',
  taxId: (id: string) => `Tax ID: ${id}`,
  item: 'Description',
  quantity: 'Qty',
  unitPrice: 'Unit price',
  amount: 'Amount',
  setupFee: 'Setup fee',
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
  sandbox: 'Sandbox: no money was moved.',
};

export const emailTexts = {
  orderReceipt: {
    subject: (merchant: string, number: string) => `Your receipt from ${merchant}, ${number}`,
    headline: (amount: string) => `You paid ${amount}`,
    text: 'Thank you for your order. Here is your receipt.',
  },
  renewalReceipt: {
    subject: (merchant: string, number: string) => `Your receipt from ${merchant}, ${number}`,
    headline: (amount: string) => `You paid ${amount}`,
    text: 'Your subscription was renewed. Here is your receipt.',
  },
  refundReceipt: {
    subject: (merchant: string, amount: string) => `${merchant} refunded ${amount}`,
    headline: (amount: string) => `You were refunded ${amount}`,
    text: (card: string) => `The refund goes to your ${card}. Your bank can take up to 10 days to show it.`,
  },
  paymentFailed: {
    subject: (merchant: string) => `Your payment to ${merchant} failed`,
    headline: (amount: string) => `We could not charge ${amount}`,
    text: (name: string, card: string) => `The payment for ${name} with your ${card} failed.`,
    retry: (date: string) =>
      `We will try again on ${date}. To avoid another failed payment, update your card before then.`,
    noRetry: 'We will not charge this card again. Please update your card to keep your subscription.',
  },
  finalNotice: {
    subject: (merchant: string) => `Your subscription with ${merchant} has ended`,
    headline: 'Your subscription has ended',
    text: (name: string, card: string) =>
      `We tried several times to charge your ${card} for ${name}, and every payment failed. Your subscription has ended, and your card will not be charged again.`,
    pay: 'If you want to continue, update your card and pay the open amount.',
  },
  cardExpiring: {
    subject: (merchant: string) => `Your card at ${merchant} expires next month`,
    headline: 'Your card expires next month',
    text: (card: string, month: string) =>
      `Your ${card} expires in ${month}. Update it so that your subscription continues without interruption.`,
  },
  subscriptionCanceled: {
    subject: (merchant: string) => `Your subscription with ${merchant} is canceled`,
    headline: 'Your subscription is canceled',
    text: (name: string) => `Your subscription to ${name} is canceled. Your card will not be charged for it again.`,
  },
  upcomingRenewal: {
    subject: (merchant: string, date: string) => `Your subscription with ${merchant} renews on ${date}`,
    headline: (date: string) => `Your subscription renews on ${date}`,
    text: (name: string, amount: string, card: string) => `We will charge ${amount} for ${name} to your ${card}.`,
  },
  viewReceipt: 'View receipt (PDF)',
  updateCard: 'Update card',
  manage: 'Manage subscription',
  reason: 'Reason',
  card: 'Card',
  amount: 'Amount',
  nextAttempt: 'Next attempt',
  questions: (contact: string) => `Questions? Reply to this email or contact ${contact}.`,
  unsubscribe: 'Unsubscribe',
  sandbox: 'This is a test email from a sandbox. No money was moved.',
};

export const monthText = (year: number, month: number): string =>
  new Intl.DateTimeFormat(locale, { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(
    Date.UTC(year, month - 1),
  );

export const unsubscribeTexts = {
  title: 'Optional emails',
  ask: (merchant: string) =>
    `Unsubscribe from optional emails of ${merchant}, such as reminders? You will still get receipts and notices about failed payments.`,
  confirm: 'Unsubscribe',
  done: (merchant: string) => `You are unsubscribed from optional emails of ${merchant}.`,
  invalid: 'This link is invalid or has expired.',
};
