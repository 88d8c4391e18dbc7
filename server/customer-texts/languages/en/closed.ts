/** The page behind a link that does not work any more, or that a program fetches. */
export const closed = {
  // The title of the browser window.
  pageTitle: '{title} · {merchant}',
  // The badge beside the name of the merchant.
  modes: { sandbox: 'Sandbox', rehearsal: 'Rehearsal', live: '' },
  // A payment link as messengers and search engines show it, with a button for people.
  openTitle: 'Pay {merchant}',
  open: 'Continue to see what you pay and to enter your card.',
  continue: 'Continue',
  // A payment link that cannot be paid: heading and text.
  soldOutTitle: 'Sold out',
  soldOut: 'This payment link has reached its number of payments. You were not charged.',
  endedTitle: 'This offer has ended',
  ended: 'This payment link ended on {date}. You were not charged.',
  inactiveTitle: 'This payment link is not active',
  inactive: '{merchant} has turned this link off. You were not charged.',
  unavailableTitle: '{merchant} cannot take payments right now',
  unavailable: 'You were not charged. Try again later.',
  // A link to a receipt that is too old.
  receiptTitle: 'This receipt link has expired',
  receipt: 'Ask {merchant} for a new one.',
  // A link that leads to nothing.
  unknownTitle: 'This link is not valid',
  unknown: 'Check that you copied the whole link, or ask the seller for a new one.',
  // Below the text.
  support: 'Questions? Write to {email}.',
  website: 'Go to {merchant}',
} as const;
