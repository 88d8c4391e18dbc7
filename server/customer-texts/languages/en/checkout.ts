/** The checkout page, to which a checkout session or a payment link leads. The comments say where a text is shown. */
export const checkout = {
  // Instead of the page, in a browser without JavaScript.
  noScript: 'This page needs JavaScript. Turn it on and load the page again.',
  // The title of the browser window.
  pageTitle: 'Checkout · {merchant}',
  // The badge beside the name of the merchant: nothing here costs money.
  sandbox: 'Sandbox',
  rehearsal: 'Rehearsal',
  // The arrow beside the name of the merchant, and the button of a checkout that has ended.
  back: 'Back to {merchant}',
  // The headline: what the customer does, or has done.
  pay: 'Pay {merchant}',
  subscribe: 'Subscribe to {plan}',
  paidTo: 'You paid {merchant}',
  orderAt: 'Your order at {merchant}',
  // The button that opens the order on a phone.
  details: 'Order details',
  // The sums below the products.
  subtotal: 'Subtotal',
  setupFee: 'Setup fee, charged once',
  discount: 'Discount ({code})',
  total: 'Total',
  totalToday: 'Due today',
  // Beside a product.
  each: '{amount} each',
  quantity: 'Quantity of {product}',
  quantityFixed: 'Quantity {quantity}',
  less: 'One less: {product}',
  more: 'One more: {product}',
  quantityWrong: 'Enter a quantity from {min} to {max}.',
  totalUpdated: 'The total is now {total}.',
  totalFailed: 'The total could not be updated. Check your connection and try again.',

  // The field for a promotion code.
  couponAdd: 'Add promotion code',
  coupon: 'Promotion code',
  couponApply: 'Apply',
  couponRemove: 'Remove promotion code {code}',
  couponMissing: 'Enter a promotion code.',
  couponBusy: 'The last uses of this code are held by payments in progress. Try again in a moment.',
  couponApplied: 'Promotion code {code} applied. The total is now {total}.',

  // Headings and labels of the form.
  contact: 'Contact',
  email: 'Email',
  firstName: 'First name',
  lastName: 'Last name',
  phone: 'Phone',
  company: 'Company (optional)',
  taxId: 'VAT number or tax ID (optional)',
  shipping: 'Shipping address',
  country: 'Country or region',
  recipient: 'Deliver to someone else (optional)',
  line1: 'Address',
  line2: 'Apartment, suite, etc. (optional)',
  city: 'City',
  state: 'State, province or region (optional)',
  postalCode: 'Postal code',
  // What a country calls parts of its addresses.
  stateIn: {
    US: 'State',
    CA: 'Province',
    AU: 'State or territory',
    GB: 'County (optional)',
    JP: 'Prefecture',
  },
  postalCodeIn: { US: 'ZIP code', GB: 'Postcode', IN: 'PIN code', IE: 'Eircode', AU: 'Postcode' },

  // Below a field of the form: what is wrong with it.
  emailMissing: 'Enter your email address.',
  emailWrong: 'Enter an email address such as ada@example.com.',
  firstNameMissing: 'Enter your first name.',
  lastNameMissing: 'Enter your last name.',
  phoneMissing: 'Enter your phone number.',
  phoneWrong: 'Enter the number with its country code, for example {example}.',
  taxIdWrong: 'Enter the number with its country code, for example {example}.',
  countryMissing: 'Choose a country.',
  line1Missing: 'Enter your street and house number.',
  cityMissing: 'Enter your city.',
  stateMissing: 'Enter your state or province.',
  postalCodeMissing: 'Enter your postal code.',
  // What the service does not accept, for example a web address instead of a name.
  fieldRefused: 'This entry cannot be used. Please check it.',

  // The choice of a card.
  payment: 'Payment',
  accepted: 'Accepted cards: {brands}',
  cardExpires: 'Expires {date}',
  cardExpired: 'Expired {date}',
  newCard: 'Use another card',
  // The box below a new card. It is not ticked.
  saveCard: 'Save this card for later payments to {merchant}',
  // Below the button, where no money moves.
  sandboxHint: 'Sandbox: no money moves. Try card 4242 4242 4242 4242, any future date and CVC 999.',
  rehearsalHint:
    'Rehearsal: no money moves. Use a test card of the processor, for example 4242 4242 4242 4242 at Stripe.',
  // At the end of the page.
  safety: 'Card details go directly to the payment service. {merchant} never sees the card number.',

  // The button that pays.
  payAmount: 'Pay {total}',
  subscribeAmount: 'Subscribe · {price}',
  subscribeToday: 'Subscribe · {total} today',
  placeOrder: 'Place order for {total}',
  // The same button of a shop in Europe, in the words of its law and nothing else, and what stands above it.
  orderWithDuty: 'Order with obligation to pay',
  orderTotal: 'Total: {total}',
  // Above the button: a link to the terms of the merchant.
  agreeTerms: 'By ordering, you agree to the terms of {merchant}.',
  paying: 'Paying…',
  placing: 'Placing your order…',
  // How often a subscription is charged, beside a price.
  period:
    '{interval, select, day {{count, plural, =1 {per day} other {every # days}}} week {per week} month {{count, plural, =1 {per month} other {every # months}}} other {per year}}',
  // The price of a subscription, in the button and in the texts below it. `period` is the text above.
  price: '{amount} {period}',
  // Below the button: what the customer agrees to.
  heldTerms:
    '{total} is held on your card, not charged yet. {merchant} charges it when your order is ready, and releases what it does not charge.',
  terms: 'You pay {total} today, then {price}. Renews until you cancel. Your card is saved for these payments.',
  termsLimited:
    'You pay {total} today, then {price}, for {count} payments in total. Your card is saved for these payments.',
  termsOnce: 'You pay {total} once. It does not renew.',

  // The box above the form: why it is shown again.
  fixFields: 'Please fix the highlighted fields.',
  declinedTitle: 'Your payment was declined',
  totalChangedTitle: 'The total changed',
  totalChanged: 'It was {before} and is now {total}. Nothing was charged. Check your order, then pay again.',
  notPaidTitle: 'The payment was not made',
  refused: 'The payment could not be started. Nothing was charged. Please try again.',
  tooMany:
    '{seconds, plural, one {Too many attempts. Nothing was charged. Try again in # second.} other {Too many attempts. Nothing was charged. Try again in # seconds.}}',
  cardAgain: 'The card could not be used. Nothing was charged. Enter it again, or use another card.',

  // Instead of the form: what happens to the payment. Each has a title and a text.
  loading: 'Loading',
  lostTitle: 'The connection was lost',
  lost: 'Your payment may already have gone through. Keep this page open: it is being checked, and you are never charged twice.',
  processingTitle: 'Your payment is being confirmed',
  processing: 'Your bank takes a little longer than usual. Keep this page open. You are never charged twice.',
  bankTitle: 'Your bank wants to confirm this payment',
  bank: 'Continue at your bank, and come back to this page afterwards. You have until {time}. You are never charged twice.',
  toBank: 'Continue to your bank',
  payOtherwise: 'Pay another way',
  awayTitle: 'The page could not be loaded',
  away: 'The payment service cannot be reached. The page tries again by itself. Nothing was charged.',
  retry: 'Try again',
  expiredTitle: 'This checkout has expired',
  expired: 'Nothing was charged. Go back to {merchant} to start again.',
  unknownTitle: 'This link is not valid',
  unknown: 'Check that you copied the whole link, or ask the seller for a new one.',
  unavailableTitle: 'This checkout cannot be paid',
  unavailable: 'It is no longer sold. Nothing was charged. Ask {merchant} for a new link.',
  support: 'Questions? Write to {email}.',

  // After the payment.
  paidTitle: 'Payment successful',
  subscribedTitle: 'You are subscribed',
  paid: 'Thank you for your order.',
  heldTitle: 'Order placed',
  held: '{total} is held on your card, not charged yet. {merchant} charges it when your order is ready.',
  releasedTitle: 'Your card was not charged',
  released: '{merchant} has canceled this order. The {total} that were held on your card are released.',
  paidBeforeTitle: 'This checkout is already paid',
  paidBefore: 'You were charged once. Thank you for your order.',
  // The rows of the payment, each before its value.
  order: 'Order number',
  amountPaid: 'Amount paid',
  amountHeld: 'Amount held',
  paidWith: 'Paid with',
  heldOn: 'Held on',
  // Below the rows.
  receipt: 'View receipt',
  receiptEmail: {
    sent: 'A receipt was sent to {email}.',
    mailbox: 'The receipt for {email} is in the mailbox.',
    kept: 'Sandbox: the receipt for {email} was not sent.',
  },
  openMailbox: 'Open mailbox',
  continue: 'Continue to {merchant}',
  returning: 'You return to {merchant} in a moment.',
} as const;
