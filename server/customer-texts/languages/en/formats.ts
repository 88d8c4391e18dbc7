/** How cards are named in emails and on receipts. */
export const formats = {
  // Instead of a card, for example in “Paid with Visa ending in 4242”.
  card: '{brand} ending in {last4}',
  // The brand of a card that is not known.
  unknownCard: 'Card',
} as const;
