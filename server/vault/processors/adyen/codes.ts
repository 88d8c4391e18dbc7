import { notConfirmedReason, wantsCustomerReason } from '../authentication.ts';
import { type AuthenticationResult, type FailureCode, noCodeReason } from '../processor.ts';

/** The codes with which Adyen declines, and what they mean to us. */

export interface Decline {
  /** Adyen's own name of it. */
  readonly name: string;
  readonly failureCode: FailureCode;
  /** Adyen or the merchant's account there failed, not the card's bank. */
  readonly isProcessorFault?: boolean;
  /** For the merchant. Without it, the usual one of the code. */
  readonly reason?: string;
  readonly wantsSecurityCode?: true;
  /** The bank wants the customer to confirm the payment, who was not there. */
  readonly needsAuthentication?: true;
  /** How the authentication of the customer ended, if it is the reason. */
  readonly authentication?: Extract<AuthenticationResult['status'], 'failed' | 'unavailable'>;
}

const decline = (name: string, failureCode: FailureCode): Decline => ({ name, failureCode });
const fault = (name: string, failureCode: FailureCode): Decline => ({ name, failureCode, isProcessorFault: true });

const notConfirmed = { reason: notConfirmedReason, authentication: 'failed' } as const;
const customerWanted = { reason: wantsCustomerReason, needsAuthentication: true } as const;

/** By `refusalReasonCode`. */
export const refusals: Readonly<Record<string, Decline>> = {
  2: decline('Refused', 'do_not_honor'),
  3: decline('Referral', 'contact_bank'),
  4: fault('Acquirer Error', 'processor_declined'),
  5: decline('Blocked Card', 'blocked_card'),
  6: decline('Expired Card', 'expired_card'),
  7: decline('Invalid Amount', 'validation_error'),
  8: decline('Invalid Card Number', 'invalid_account'),
  9: decline('Issuer Unavailable', 'issuer_unavailable'),
  10: decline('Not supported', 'transaction_not_allowed'),
  11: { ...decline('3D Not Authenticated', 'transaction_not_allowed'), ...notConfirmed },
  12: decline('Not enough balance', 'insufficient_funds'),
  14: decline('Acquirer Fraud', 'fraud_suspected'),
  15: decline('Cancelled', 'processor_declined'),
  16: decline('Shopper Cancelled', 'processor_declined'),
  17: decline('Invalid Pin', 'transaction_not_allowed'),
  18: decline('Pin tries exceeded', 'blocked_card'),
  19: decline('Pin validation not possible', 'transaction_not_allowed'),
  20: decline('FRAUD', 'fraud_suspected'),
  21: fault('Not Submitted', 'processor_declined'),
  22: decline('FRAUD-CANCELLED', 'fraud_suspected'),
  23: decline('Transaction Not Permitted', 'transaction_not_allowed'),
  24: decline('CVC Declined', 'incorrect_cvv'),
  25: decline('Restricted Card', 'blocked_card'),
  26: decline('Revocation Of Auth', 'transaction_not_allowed'),
  27: decline('Declined Non Generic', 'do_not_honor'),
  28: decline('Withdrawal amount exceeded', 'card_limit_exceeded'),
  29: decline('Withdrawal count exceeded', 'card_limit_exceeded'),
  31: decline('Issuer Suspected Fraud', 'fraud_suspected'),
  32: decline('AVS Declined', 'processor_declined'),
  33: decline('Card requires online pin', 'transaction_not_allowed'),
  34: decline('No checking account available on Card', 'invalid_account'),
  35: decline('No savings account available on Card', 'invalid_account'),
  36: decline('Mobile pin required', 'transaction_not_allowed'),
  37: decline('Contactless fallback', 'transaction_not_allowed'),
  38: { ...decline('Authentication required', 'transaction_not_allowed'), ...customerWanted },
  39: { ...decline('RReq not received from DS', 'transaction_not_allowed'), authentication: 'unavailable' },
  40: decline('Current AID is in Penalty Box', 'processor_declined'),
  41: decline('CVM Required Restart Payment', 'transaction_not_allowed'),
  42: { ...decline('3DS Authentication Error', 'transaction_not_allowed'), authentication: 'unavailable' },
  43: decline('Online PIN required', 'transaction_not_allowed'),
  44: decline('Try another interface', 'transaction_not_allowed'),
  45: decline('Chip downgrade mode', 'transaction_not_allowed'),
  // The card networks would charge a fee for each further attempt.
  46: decline('Transaction blocked by Adyen to prevent excessive retry fees', 'contact_bank'),
};

/** Authentication would need the cardholder, who is not there. */
export const authenticationWanted: Decline = {
  ...decline('Authentication required', 'transaction_not_allowed'),
  ...customerWanted,
};

/** What a merchant asks Adyen’s support. */
export const securityCodeRequest =
  'Please make the CVC optional for the shopper interactions Ecommerce and ContAuth of our merchant account: we charge stored cards, which have no CVC, and get the error 14_029.';

/** Only a payment shows it, and a test makes none. */
export const unknownCodeRule =
  'Adyen does not say in advance whether the account takes charges without the security code. Before the first payment, send its support this: ' +
  securityCodeRequest;

/** The account is not set up for charges of stored cards, which have no security code. */
export const securityCodeWanted: Decline = {
  ...fault(
    'Adyen requires the security code for every payment of this account. Ask its support to make it optional for Ecommerce and ContAuth.',
    'invalid_merchant_configuration',
  ),
  reason: noCodeReason,
  wantsSecurityCode: true,
};

/** By `errorCode` of an error response. */
export const errors: Readonly<Record<string, Decline>> = {
  '010': fault('Not allowed', 'invalid_merchant_configuration'),
  100: decline('No amount specified', 'validation_error'),
  101: decline('Invalid card number', 'invalid_account'),
  102: decline('Unable to determine variant', 'invalid_account'),
  103: decline('CVC is not the right length', 'incorrect_cvv'),
  129: decline('Expiry date invalid', 'expired_card'),
  130: decline('Reference missing', 'validation_error'),
  132: decline('Billing address problem (Street)', 'validation_error'),
  137: decline('Invalid amount specified', 'validation_error'),
  138: fault('Unsupported currency specified', 'invalid_merchant_configuration'),
  140: decline('Invalid expiry month', 'expired_card'),
  141: decline('Invalid expiry year', 'expired_card'),
  167: decline('Original pspReference required for this operation', 'validation_error'),
  170: decline('Bin details not found', 'invalid_account'),
  '14_029': securityCodeWanted,
  702: decline('Invalid or malformed request', 'validation_error'),
  901: fault('Invalid merchant account', 'invalid_merchant_configuration'),
  905: fault('Payment details are not supported', 'invalid_merchant_configuration'),
  '905_1': fault('Could not find an acquirer account', 'invalid_merchant_configuration'),
  907: fault('Currency is not supported', 'invalid_merchant_configuration'),
  916: decline('Transaction amount exceeds the allowed limit', 'card_limit_exceeded'),
};

/** Another request with the same key is being processed. */
export const inProgressCode = '704';

/** `avsResult` 0 to 26, as the letters of US card networks. A match of the name does not count. */
const avsLetters = 'UANRSUZYUBNUBNPPNNUZYANZYAN';
/** `cvcResult` 0 to 6. */
const cvcLetters = 'UMNPSUP';

/** Adyen writes the number and a text: `7 Both postal code and address match`. */
function letterOf(letters: string, result: string | undefined): string | null {
  const number = /^\d{1,2}(?=\D|$)/.exec(result ?? '')?.[0];
  return number === undefined ? null : (letters[Number(number)] ?? null);
}

export const avsLetterOf = (result: string | undefined): string | null => letterOf(avsLetters, result);
export const cvvLetterOf = (result: string | undefined): string | null => letterOf(cvcLetters, result);
