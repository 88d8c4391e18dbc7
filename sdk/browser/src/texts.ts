import type { CardTexts } from './svc.ts';

export const englishTexts: CardTexts = {
  title: 'Card details',
  number: 'Card number',
  numberPlaceholder: '1234 1234 1234 1234',
  numberRequired: 'Enter the card number.',
  numberIncomplete: 'The card number is incomplete.',
  numberInvalid: 'This card number is not valid.',
  expiry: 'Expiry',
  expiryPlaceholder: 'MM / YY',
  expiryRequired: 'Enter the expiry date.',
  expiryIncomplete: 'The expiry date is incomplete.',
  expiryInvalid: 'The month must be from 01 to 12.',
  expiryPast: 'This card has expired.',
  cvc: 'CVC',
  cvcRequired: 'Enter the CVC.',
  cvcIncomplete: 'The CVC is incomplete.',
  cvcInvalid: 'The CVC is too long for this card.',
  tooManyRequests: 'Too many attempts. Try again in {seconds} seconds.',
  notAvailable: 'Cards cannot be accepted here at the moment.',
  refused: 'This card could not be accepted. Check the details or use another card.',
  connection: 'The connection failed. Please try again.',
};
