/** The card fields, in the pages of the service and in those of merchants. English is also in `sdk/browser/src/texts.ts`. */
export const card = {
  // The name of the three fields together, for screen readers.
  title: 'Card details',
  // The number, and what is shown below it.
  number: 'Card number',
  numberPlaceholder: '1234 1234 1234 1234',
  numberRequired: 'Enter the card number.',
  numberIncomplete: 'The card number is incomplete.',
  numberInvalid: 'This card number is not valid.',
  // The expiry date. The placeholder stands for month and year, two digits each.
  expiry: 'Expiry',
  expiryPlaceholder: 'MM / YY',
  expiryRequired: 'Enter the expiry date.',
  expiryIncomplete: 'The expiry date is incomplete.',
  expiryInvalid: 'The month must be from 01 to 12.',
  expiryPast: 'This card has expired.',
  // The three or four digits on the card. The name is short: the field is narrow.
  cvc: 'CVC',
  cvcRequired: 'Enter the CVC.',
  cvcIncomplete: 'The CVC is incomplete.',
  cvcInvalid: 'The CVC is too long for this card.',
  // Below the fields, about no single one of them.
  tooManyRequests: 'Too many attempts. Try again in {seconds} seconds.',
  notAvailable: 'Cards cannot be accepted here at the moment.',
  refused: 'This card could not be accepted. Check the details or use another card.',
  connection: 'The connection failed. Please try again.',
} as const;
