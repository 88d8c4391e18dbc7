import {
  type FailureCode,
  failureReasons,
  noCodeReason,
  noResponse,
  type Outcome,
  type ProcessorResponse,
} from '../processor.ts';

/** What NMI's `response_code` and `responsetext` mean. docs/processors/nmi.md contains the same table. */

export interface CodeMeaning {
  readonly meaning: string;
  readonly failureCode: FailureCode;
  /** The gateway or its processor failed, not the card's bank: another processor may approve the charge. */
  readonly isProcessorFault?: true;
  /** The gateway did not read the operation. */
  readonly refusesCredentials?: true;
  readonly wantsSecurityCode?: true;
  /** The answer does not prove that no money moved: only the report of the transaction does. */
  readonly isInDoubt?: true;
  /** NMI did not look at the request, so it may be sent again. */
  readonly isNotExecuted?: true;
  /** For the merchant, where the usual one of the failure code is not exact. */
  readonly failureReason?: string;
}

export const approvedCode = '100';
/** Of a rejection by the gateway itself. Only the text says why. */
const rejectedCode = '300';

export const responseCodes: Readonly<Record<string, CodeMeaning>> = {
  200: { meaning: 'Transaction was declined by processor', failureCode: 'processor_declined' },
  201: { meaning: 'Do not honor', failureCode: 'do_not_honor' },
  202: { meaning: 'Insufficient funds', failureCode: 'insufficient_funds' },
  203: { meaning: 'Over limit', failureCode: 'card_limit_exceeded' },
  204: { meaning: 'Transaction not allowed', failureCode: 'transaction_not_allowed' },
  220: { meaning: 'Incorrect payment information', failureCode: 'invalid_account' },
  221: { meaning: 'No such card issuer', failureCode: 'invalid_account' },
  222: { meaning: 'No card number on file with issuer', failureCode: 'invalid_account' },
  223: { meaning: 'Expired card', failureCode: 'expired_card' },
  224: { meaning: 'Invalid expiration date', failureCode: 'expired_card' },
  225: { meaning: 'Invalid card security code', failureCode: 'incorrect_cvv' },
  226: { meaning: 'Invalid PIN', failureCode: 'transaction_not_allowed' },
  240: { meaning: 'Call issuer for further information', failureCode: 'contact_bank' },
  250: { meaning: 'Pick up card', failureCode: 'blocked_card' },
  251: { meaning: 'Lost card', failureCode: 'lost_stolen_card' },
  252: { meaning: 'Stolen card', failureCode: 'lost_stolen_card' },
  253: { meaning: 'Fraudulent card', failureCode: 'fraud_suspected' },
  260: { meaning: 'Declined with further instructions in the text', failureCode: 'contact_bank' },
  261: { meaning: 'Stop all recurring payments', failureCode: 'transaction_not_allowed' },
  262: { meaning: 'Stop this recurring program', failureCode: 'transaction_not_allowed' },
  263: { meaning: 'Updated cardholder data is available', failureCode: 'invalid_account' },
  264: { meaning: 'Retry in a few days', failureCode: 'do_not_honor' },
  300: { meaning: 'Transaction was rejected by gateway', failureCode: 'validation_error' },
  301: {
    meaning: 'Too many requests',
    failureCode: 'issuer_unavailable',
    isProcessorFault: true,
    isNotExecuted: true,
  },
  400: { meaning: 'Error returned by processor', failureCode: 'processor_declined', isProcessorFault: true },
  410: {
    meaning: 'Invalid merchant configuration',
    failureCode: 'invalid_merchant_configuration',
    isProcessorFault: true,
  },
  411: {
    meaning: 'Merchant account is inactive',
    failureCode: 'invalid_merchant_configuration',
    isProcessorFault: true,
  },
  420: {
    meaning: 'Communication error',
    failureCode: 'issuer_unavailable',
    isProcessorFault: true,
    isInDoubt: true,
  },
  421: { meaning: 'Communication error with issuer', failureCode: 'issuer_unavailable', isInDoubt: true },
  430: { meaning: 'Duplicate transaction at processor', failureCode: 'duplicate_transaction', isInDoubt: true },
  440: { meaning: 'Processor format error', failureCode: 'validation_error', isProcessorFault: true },
  441: { meaning: 'Invalid transaction information', failureCode: 'validation_error' },
  460: {
    meaning: 'Processor feature not available',
    failureCode: 'invalid_merchant_configuration',
    isProcessorFault: true,
  },
  461: { meaning: 'Unsupported card type', failureCode: 'transaction_not_allowed', isProcessorFault: true },
};

const keyProblem = /authentication failed|api key|security key|user is invalid|username/i;
export const isKeyProblem = (text: string): boolean => keyProblem.test(text);

/** What a merchant asks NMI’s support, or the provider who opened the account. */
export const securityCodeRequest =
  'The account requires the security code (CVV). Stored cards are charged without it: please turn off “Require CVV” and the CVV rejection rules for our API transactions.';

const codeWanted: CodeMeaning = {
  meaning: 'The account requires the security code for every charge',
  failureCode: 'invalid_merchant_configuration',
  isProcessorFault: true,
  wantsSecurityCode: true,
};
const codeRejected: CodeMeaning = { meaning: 'The CVC is wrong', failureCode: 'incorrect_cvv' };

/** Texts of code 300, the first that fits. NMI has no codes for them. */
const rejections: readonly (readonly [text: RegExp, meaning: CodeMeaning])[] = [
  [
    /duplicate transaction/i,
    { meaning: 'Duplicate transaction', failureCode: 'duplicate_transaction', isInDoubt: true },
  ],
  [
    keyProblem,
    {
      meaning: 'The security key is wrong or was deleted',
      failureCode: 'invalid_merchant_configuration',
      isProcessorFault: true,
      refusesCredentials: true,
    },
  ],
  [
    /processor.?id|currency|payment type|not accepted|not (set up|enabled|allowed|permitted)|activity limit|inactive/i,
    {
      meaning: 'The account does not allow it',
      failureCode: 'invalid_merchant_configuration',
      isProcessorFault: true,
    },
  ],
  [
    /\bavs\b/i,
    {
      meaning: 'A rule for addresses rejected it',
      failureCode: 'invalid_account',
      failureReason: 'The billing address or postal code is not the one of the card.',
    },
  ],
  [
    /(cvv|security code|card code).*(requir|missing|blank)|(requir|missing).*(cvv|security code|card code)/i,
    codeWanted,
  ],
  [/cvv|card (security )?code/i, codeRejected],
  [/expir/i, { meaning: 'The card has expired', failureCode: 'expired_card' }],
  [/card number/i, { meaning: 'The card number is invalid', failureCode: 'invalid_account' }],
  [
    /pending settlement|transaction balance|transaction id|not found/i,
    { meaning: 'The charge does not allow this refund or void', failureCode: 'transaction_not_allowed' },
  ],
];

const unknownCode: CodeMeaning = { meaning: 'Unknown code', failureCode: 'unknown' };

/** A rule of the account that rejects a security code rejects every charge without one. */
export function meaningOf(code: string, text: string, hasCode = true): CodeMeaning {
  const rejection = code === rejectedCode ? rejections.find(([pattern]) => pattern.test(text)) : undefined;
  const found = rejection?.[1] ?? responseCodes[code] ?? unknownCode;
  return found === codeRejected && !hasCode ? codeWanted : found;
}

export type Declined = Extract<Outcome, { outcome: 'declined' }>;

export function declined(
  {
    meaning,
    failureCode,
    failureReason,
    isProcessorFault,
    refusesCredentials,
    wantsSecurityCode,
  }: Omit<CodeMeaning, 'meaning' | 'isInDoubt' | 'isNotExecuted'> & Partial<Pick<CodeMeaning, 'meaning'>>,
  response: Partial<ProcessorResponse>,
): Declined {
  const isAccount =
    failureCode === 'invalid_merchant_configuration' &&
    !wantsSecurityCode &&
    !refusesCredentials &&
    meaning !== undefined;
  return {
    outcome: 'declined',
    response: { ...noResponse, ...response },
    failureCode,
    failureReason: wantsSecurityCode ? noCodeReason : (failureReason ?? failureReasons[failureCode]),
    ...(isProcessorFault && { isProcessorFault }),
    ...(wantsSecurityCode && { wantsSecurityCode }),
    ...(refusesCredentials && { refusesCredentials }),
    ...(isAccount && { rejection: `NMI refuses requests of the account: ${meaning}.` }),
  };
}

/**
 * The text of an answer for people. NMI's texts do not quote card numbers or keys; if one ever does, it is removed.
 */
export function shownText(text: string): string | null {
  const shown = text
    .replace(/\d(?:[ -]?\d){11,}/g, '***')
    .replace(/\w{28,}/g, '***')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 200);
  return shown === '' ? null : shown;
}
