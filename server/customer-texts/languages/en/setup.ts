/** The page on which a customer saves a card without a payment. */
export const setup = {
  // While the page loads, and its title.
  noScript: 'This page needs JavaScript. Turn it on and load the page again.',
  pageTitle: 'Save a card · {merchant}',
  sandbox: 'Sandbox',
  rehearsal: 'Rehearsal',
  loading: 'Loading',
  retry: 'Try again',
  back: 'Back to {merchant}',
  // The form with the card fields.
  openTitle: 'Save a card',
  open: 'Nothing is charged now. {merchant} can charge the card later, as you have agreed.',
  card: 'Card',
  accepted: 'Accepted cards: {brands}',
  cardExpires: 'Expires {date}',
  cardExpired: 'Expired {date}',
  newCard: 'Use another card',
  save: 'Save card',
  saving: 'Saving…',
  cardAgain: 'The card could not be saved. Check it, or use another card.',
  problem: 'Something went wrong. Nothing was saved. Try again.',
  tooMany:
    '{seconds, plural, one {Too many attempts. Try again in # second.} other {Too many attempts. Try again in # seconds.}}',
  sandboxHint: 'Sandbox: no money moves. Try card 4242 4242 4242 4242, any future date and CVC 999.',
  rehearsalHint:
    'Rehearsal: no money moves. Use a test card of the processor, for example 4242 4242 4242 4242 at Stripe.',
  safety: 'Card details go directly to the payment service. {merchant} never sees the card number.',
  // Instead of the form: the bank waits, or the card is saved.
  bankTitle: 'Your bank wants to confirm your card',
  bank: 'Continue at your bank, and come back to this page afterwards. Nothing is charged.',
  toBank: 'Continue to your bank',
  another: 'Use another card',
  savedTitle: 'Card saved',
  saved: '{merchant} can charge this card from now on, as you have agreed. Nothing was charged.',
  savedCard: 'Card',
  continue: 'Back to {merchant}',
  // Instead of the form: why no card can be saved.
  expiredTitle: 'This page is over',
  expired: 'Ask {merchant} for a new link. Nothing was saved.',
  unavailableTitle: 'No card can be saved now',
  unavailable: 'Ask {merchant} to send you a new link later.',
  unknownTitle: 'This link does not work',
  unknown: 'Check that you copied the whole link, or ask the seller for a new one.',
  lostTitle: 'The connection was lost',
  lost: 'Keep this page open: it checks what happened.',
  awayTitle: 'The page could not be loaded',
  away: 'The service cannot be reached. The page tries again by itself.',
  // At the end of the page.
  support: 'Questions? Write to {email}.',
} as const;
