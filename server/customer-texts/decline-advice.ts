import type { FailureCode } from '../vault/processors/processor.ts';

/** What a merchant can do about a decline. The reason itself comes with the order. */

interface Advice {
  readonly next: string;
  /** Whether another charge to the same card can succeed. */
  readonly retry: boolean;
}

/** The bank declined because it could not ask the customer. */
export const confirmationAdvice: Advice = {
  next: 'The customer’s bank wants to confirm this payment. Send the customer the link to confirm it: the order is paid then. A retry without the customer is declined again.',
  retry: false,
};

const otherCard = 'Ask the customer for another card or send a payment link.';
const sameCard = 'The same card will be declined again.';

export const declineAdvice: Readonly<Record<FailureCode, Advice>> = {
  insufficient_funds: {
    next: 'A retry can work later, for example after payday. Another card works now.',
    retry: true,
  },
  do_not_honor: { next: 'A retry can work. If not, the customer’s bank can say why.', retry: true },
  card_limit_exceeded: { next: 'A retry can work when the limit is reset, usually the next day.', retry: true },
  processor_declined: { next: 'A retry can work. Another card is more likely to.', retry: true },
  issuer_unavailable: { next: 'Nothing is wrong with the card. Retry in a few minutes.', retry: true },
  unknown: { next: 'A retry can work. Another card is more likely to.', retry: true },
  expired_card: { next: `${sameCard} ${otherCard}`, retry: false },
  incorrect_cvv: { next: 'The customer has to enter the card again. Send a payment link.', retry: false },
  invalid_account: { next: `${sameCard} ${otherCard}`, retry: false },
  blocked_card: { next: 'The customer has to call the bank, or pay with another card.', retry: true },
  closed_card: { next: `${sameCard} ${otherCard}`, retry: false },
  contact_bank: { next: 'Retry after the customer has called the bank, or ask for another card.', retry: true },
  transaction_not_allowed: { next: 'The customer has to call the bank, or pay with another card.', retry: true },
  lost_stolen_card: {
    next: 'Do not charge this card again. Check who placed the order before you ask for money.',
    retry: false,
  },
  fraud_suspected: {
    next: 'Do not charge this card again. Check who placed the order before you ask for money.',
    retry: false,
  },
  duplicate_transaction: {
    next: 'Look for an earlier order with the same amount before you charge again.',
    retry: false,
  },
  invalid_merchant_configuration: {
    next: 'Check your processor settings, then retry. The customer can do nothing about it.',
    retry: true,
  },
  validation_error: {
    next: 'The details of this transaction name the field. Correct it, then create a new order.',
    retry: false,
  },
};
