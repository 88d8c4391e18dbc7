/** Why a payment or a promotion code was not accepted: on the pages, on invoices of a subscription and in emails. */
export const payments = {
  // By the reason of the bank. Nothing here tells a thief what the bank suspects.
  declined: {
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
  },
  // Why the checkout page charged nothing. `total`: the price changed while the customer paid.
  notCharged: {
    total: 'The price has changed. You were not charged. Check the new total.',
    coupon_code: 'The code cannot be used any more. You were not charged.',
    bank: 'Your bank did not confirm the payment. You were not charged. Try again, or use another card.',
    other: 'This shop cannot take the payment now. You were not charged.',
  },
  // Below the field for a promotion code.
  coupon: {
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
  },
} as const;
