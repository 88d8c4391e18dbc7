import { notConfirmedReason, wantsCustomerReason } from '../authentication.ts';
import type { FailureCode } from '../processor.ts';
import type { Checks } from './objects.ts';

/** What each code of Stripe means to us. docs/processors/stripe.md shows this table. */

export interface Meaning {
  readonly failureCode: FailureCode;
  /** Stripe or its account failed, not the card's bank: another processor may approve the charge. */
  readonly isProcessorFault?: true;
  /** For the merchant, where the usual one of the failure code is not exact. */
  readonly failureReason?: string;
  /** The bank wants the customer to confirm the payment, who was not there. */
  readonly needsAuthentication?: true;
}

/** The customer can correct it, as card data. */
const address: Meaning = {
  failureCode: 'invalid_account',
  failureReason: 'The billing address or postal code is not the one of the card.',
};
/** The bank accepts the payment only if the customer confirms it, who was not there. */
export const authentication: Meaning = {
  failureCode: 'transaction_not_allowed',
  failureReason: wantsCustomerReason,
  needsAuthentication: true,
};
/** The customer was asked, and refused or was not recognized. */
export const notConfirmed: Meaning = { failureCode: 'transaction_not_allowed', failureReason: notConfirmedReason };
const bank = (failureCode: FailureCode): Meaning => ({ failureCode });
const fault = (failureCode: FailureCode): Meaning => ({ failureCode, isProcessorFault: true });

/** By `decline_code`, or else by the `code` of the error. */
export const declines: ReadonlyMap<string, Meaning> = new Map(
  Object.entries({
    authentication_required: authentication,
    authentication_not_handled: authentication,
    payment_intent_authentication_failure: notConfirmed,
    setup_intent_authentication_failure: notConfirmed,
    mobile_device_authentication_required: authentication,
    approve_with_id: bank('do_not_honor'),
    call_issuer: bank('contact_bank'),
    card_declined: bank('do_not_honor'),
    card_decline_rate_limit_exceeded: bank('card_limit_exceeded'),
    card_not_supported: bank('transaction_not_allowed'),
    card_velocity_exceeded: bank('card_limit_exceeded'),
    currency_not_supported: bank('transaction_not_allowed'),
    do_not_honor: bank('do_not_honor'),
    do_not_try_again: bank('contact_bank'),
    duplicate_transaction: bank('duplicate_transaction'),
    expired_card: bank('expired_card'),
    fraudulent: bank('fraud_suspected'),
    generic_decline: bank('do_not_honor'),
    incorrect_address: address,
    incorrect_cvc: bank('incorrect_cvv'),
    incorrect_number: bank('invalid_account'),
    incorrect_pin: bank('transaction_not_allowed'),
    incorrect_postal_code: address,
    incorrect_zip: address,
    insufficient_funds: bank('insufficient_funds'),
    invalid_account: bank('invalid_account'),
    invalid_amount: bank('card_limit_exceeded'),
    invalid_cvc: bank('incorrect_cvv'),
    invalid_expiry_month: bank('expired_card'),
    invalid_expiry_year: bank('expired_card'),
    invalid_number: bank('invalid_account'),
    invalid_pin: bank('transaction_not_allowed'),
    issuer_not_available: bank('issuer_unavailable'),
    lost_card: bank('lost_stolen_card'),
    merchant_blacklist: bank('fraud_suspected'),
    new_account_information_available: bank('invalid_account'),
    no_action_taken: bank('do_not_honor'),
    not_permitted: bank('transaction_not_allowed'),
    offline_pin_required: bank('transaction_not_allowed'),
    online_or_offline_pin_required: bank('transaction_not_allowed'),
    pickup_card: bank('lost_stolen_card'),
    pin_try_exceeded: bank('blocked_card'),
    processing_error: fault('processor_declined'),
    reenter_transaction: bank('issuer_unavailable'),
    restricted_card: bank('blocked_card'),
    revocation_of_all_authorizations: bank('transaction_not_allowed'),
    revocation_of_authorization: bank('transaction_not_allowed'),
    security_violation: bank('contact_bank'),
    service_not_allowed: bank('transaction_not_allowed'),
    stolen_card: bank('lost_stolen_card'),
    stop_payment_order: bank('transaction_not_allowed'),
    testmode_decline: bank('invalid_account'),
    transaction_not_allowed: bank('transaction_not_allowed'),
    try_again_later: bank('issuer_unavailable'),
    withdrawal_count_limit_exceeded: bank('card_limit_exceeded'),

    amount_too_large: bank('validation_error'),
    amount_too_small: bank('validation_error'),
    charge_exceeds_transaction_limit: fault('processor_declined'),
    country_code_invalid: bank('validation_error'),
    email_invalid: bank('validation_error'),
    invalid_charge_amount: bank('validation_error'),
    invalid_characters: bank('validation_error'),
    parameter_invalid_empty: bank('validation_error'),
    parameter_invalid_integer: bank('validation_error'),
    parameter_missing: bank('validation_error'),
    parameter_unknown: fault('validation_error'),
    payment_intent_invalid_parameter: bank('validation_error'),
    payment_intent_payment_attempt_expired: bank('issuer_unavailable'),
    payment_intent_payment_attempt_failed: bank('do_not_honor'),
    payment_intent_rate_limit_exceeded: fault('processor_declined'),
    payment_method_invalid_parameter: bank('validation_error'),
    payment_method_not_available: fault('processor_declined'),
    payment_method_provider_decline: bank('do_not_honor'),
    payment_method_provider_timeout: fault('issuer_unavailable'),
    postal_code_invalid: address,
    resource_missing: bank('validation_error'),

    account_invalid: fault('invalid_merchant_configuration'),
    action_blocked: fault('invalid_merchant_configuration'),
    api_key_expired: fault('invalid_merchant_configuration'),
    capability_not_active: fault('invalid_merchant_configuration'),
    livemode_mismatch: fault('invalid_merchant_configuration'),
    platform_api_key_expired: fault('invalid_merchant_configuration'),
    request_blocked: fault('invalid_merchant_configuration'),
    secret_key_required: fault('invalid_merchant_configuration'),
    testmode_charges_only: fault('invalid_merchant_configuration'),

    balance_insufficient: fault('processor_declined'),
    charge_already_refunded: bank('transaction_not_allowed'),
    charge_disputed: bank('transaction_not_allowed'),
    charge_not_refundable: bank('transaction_not_allowed'),
    refund_disputed_payment: bank('transaction_not_allowed'),
  }),
);

/** The `failure_reason` of a refund that failed after it was accepted. */
export const refundFailures: ReadonlyMap<string, FailureCode> = new Map<string, FailureCode>([
  ['charge_for_pending_refund_disputed', 'transaction_not_allowed'],
  ['declined', 'do_not_honor'],
  ['expired_or_canceled_card', 'closed_card'],
  ['insufficient_funds', 'processor_declined'],
  ['lost_or_stolen_card', 'lost_stolen_card'],
  ['merchant_request', 'transaction_not_allowed'],
]);

export function meaningOf(...codes: readonly (string | null | undefined)[]): Meaning | undefined {
  for (const code of codes) {
    const meaning = code ? declines.get(code) : undefined;
    if (meaning) return meaning;
  }
  return undefined;
}

/** What Stripe says of a payment that failed, if that has no code that we know. */
interface Unnamed {
  readonly type?: string | undefined;
  readonly code?: string | null | undefined;
  readonly network_status?: string | null | undefined;
}

/**
 * Stripe refuses some requests without a code, for example in a currency that the account does not have, or before the account
 * may make live charges. Unless the bank is known to have declined, it was not asked.
 */
export function meaningWithoutCode({ type, code, network_status }: Unnamed): Meaning {
  if (type === undefined || network_status === 'declined_by_network') return bank('unknown');
  if (type === 'invalid_request_error' || !code) return fault('invalid_merchant_configuration');
  return type === 'api_error' ? fault('processor_declined') : bank('unknown');
}

const byRadar = (why: string): Meaning => ({
  failureCode: 'fraud_suspected',
  failureReason: `Radar, the fraud protection of Stripe, blocked the payment ${why}. The bank was not asked.`,
});

/** By the `reason` of a charge that Radar blocked. */
const blocks: ReadonlyMap<string, Meaning> = new Map([
  ['highest_risk_level', byRadar('because of its risk')],
  ['rule', byRadar('by a rule of your account')],
]);
export const blockedBy = (reason: string | null | undefined): Meaning =>
  blocks.get(reason ?? '') ?? byRadar('because of its settings');

const passLetters: Readonly<Record<string, string>> = { pass: 'M', fail: 'N', unavailable: 'U', unchecked: 'P' };

/** AVS letters as card networks use them, by the check of the street and then by that of the postal code. */
const avsLetters = {
  pass: { pass: 'Y', fail: 'A', open: 'B' },
  fail: { pass: 'Z', fail: 'N', open: 'N' },
  open: { pass: 'P', fail: 'N', open: 'U' },
} as const;

/** A check that is unavailable, unchecked or absent is open. */
const checkedAs = (check: string | null | undefined) => (check === 'pass' || check === 'fail' ? check : 'open');

export function avsOf(checks: Checks | undefined): string | null {
  const { address_line1_check: line, address_postal_code_check: postal } = checks ?? {};
  return (line ?? postal ?? null) === null ? null : avsLetters[checkedAs(line)][checkedAs(postal)];
}

export const cvvOf = (checks: Checks | undefined): string | null => passLetters[checks?.cvc_check ?? ''] ?? null;
