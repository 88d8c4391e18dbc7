/** Every decline reason, with the text that people read. */
export const failureReasons = {
  insufficient_funds: 'The card does not have enough funds.',
  do_not_honor: 'The bank declined the payment without a reason.',
  card_limit_exceeded: 'The amount exceeds a limit of the card.',
  processor_declined: 'The processor declined the payment.',
  issuer_unavailable: 'The card’s bank is unavailable.',
  unknown: 'The payment was declined for an unknown reason.',
  expired_card: 'The card has expired.',
  incorrect_cvv: 'The card’s security code (CVC) is wrong.',
  invalid_account: 'The card or its account does not exist.',
  blocked_card: 'The card is blocked.',
  closed_card: 'The card’s account is closed.',
  contact_bank: 'The cardholder must contact their bank.',
  transaction_not_allowed: 'The card or its account does not allow this payment.',
  lost_stolen_card: 'The card was reported lost or stolen.',
  fraud_suspected: 'The payment was declined on suspicion of fraud.',
  duplicate_transaction: 'The processor treated the payment as a duplicate.',
  invalid_merchant_configuration: 'The processor rejected the merchant’s configuration.',
  validation_error: 'The processor rejected a field of the request.',
} as const;

/** Of a charge that was refused because it had no security code. */
export const noCodeReason =
  'The merchant’s account at the processor requires the security code (CVC) for every charge, and this one had none.';

export type FailureCode = keyof typeof failureReasons;
export const failureCodes = Object.keys(failureReasons) as FailureCode[];

/** Groups decline reasons by whether a retry with the same card can succeed. */
export const failureGroups = {
  soft: [
    'insufficient_funds',
    'do_not_honor',
    'card_limit_exceeded',
    'processor_declined',
    'issuer_unavailable',
    'unknown',
  ],
  card_data: ['expired_card', 'incorrect_cvv', 'invalid_account'],
  account_status: ['blocked_card', 'closed_card', 'contact_bank', 'transaction_not_allowed'],
  fraud: ['lost_stolen_card', 'fraud_suspected'],
  configuration: ['duplicate_transaction', 'invalid_merchant_configuration', 'validation_error'],
} as const satisfies Record<string, readonly FailureCode[]>;
