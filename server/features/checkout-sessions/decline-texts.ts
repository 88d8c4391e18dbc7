import { ApiError } from '../../errors.ts';
import type { FailureCode } from '../../vault/processors/processor.ts';

/**
 * Why a payment failed, in words for the customer. They say what to do, and never that a card was reported stolen or
 * looks fraudulent: that is for the merchant to know.
 */
const anotherCard = 'Your bank declined this card. Use another card, or ask your bank.';

const texts: Readonly<Record<FailureCode, string>> = {
  insufficient_funds: 'The card does not have enough funds. Use another card.',
  do_not_honor: anotherCard,
  card_limit_exceeded: 'The payment is over the limit of this card. Use another card, or ask your bank.',
  processor_declined: anotherCard,
  issuer_unavailable: 'Your bank did not answer. You were not charged. Try again in a few minutes.',
  unknown: anotherCard,
  expired_card: 'The card has expired. Check the date, or use another card.',
  incorrect_cvv: 'The security code is wrong. Check the digits on the card.',
  invalid_account: 'The card number is wrong. Check it, or use another card.',
  blocked_card: anotherCard,
  closed_card: anotherCard,
  contact_bank: 'Your bank wants to hear from you before it allows this payment. Call the number on your card.',
  transaction_not_allowed: 'This card cannot be used for this payment. Use another card.',
  lost_stolen_card: anotherCard,
  fraud_suspected: anotherCard,
  duplicate_transaction: 'Your bank took this for a repeated payment. Wait a few minutes, then try again.',
  invalid_merchant_configuration: 'This shop cannot take the payment now. You were not charged.',
  validation_error: 'The card data is wrong. Check it, or use another card.',
};

/** For a decline by its code, or for a payment that was refused before anything was charged. */
export function customerReason(why: FailureCode | ApiError): string {
  if (!(why instanceof ApiError)) return texts[why];
  if (why.param === 'total') return 'The price has changed. You were not charged. Check the new total.';
  if (why.param === 'coupon_code') return 'The code cannot be used any more. You were not charged.';
  return 'This shop cannot take the payment now. You were not charged.';
}
