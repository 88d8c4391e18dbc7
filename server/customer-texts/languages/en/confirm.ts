/** The page on which a customer confirms one payment with the bank. */
export const confirm = {
  // Instead of the page, in a browser without JavaScript.
  noScript: 'This page needs JavaScript. Turn it on and load the page again.',
  // The title of the browser window.
  pageTitle: 'Confirm payment · {merchant}',
  // The badge beside the name of the merchant: nothing here costs money.
  sandbox: 'Sandbox',
  rehearsal: 'Rehearsal',
  // While the page loads, and the button after it could not be loaded.
  loading: 'Loading',
  retry: 'Try again',

  // The payment to confirm: heading, text, button, and the rows before their values.
  openTitle: 'Your bank wants to confirm this payment',
  open: 'Your bank asks you whether you made this payment to {merchant}. Nothing was charged yet. You pay once.',
  confirm: 'Confirm with your bank',
  confirming: 'Opening your bank…',
  amount: 'Amount',
  card: 'Card',
  order: 'Order number',
  // At the end of the page.
  safety: 'You confirm it on the page or in the app of your bank. {merchant} does not see what you enter there.',

  // What happens to the payment. Each has a title and a text.
  declinedTitle: 'The payment was not made',
  processingTitle: 'Your payment is being confirmed',
  processing: 'Keep this page open. You are never charged twice.',
  backAtBankTitle: 'Your bank waits for you',
  backAtBank: 'Go to your bank to confirm this payment. You are never charged twice.',
  continueAtBank: 'Continue at your bank',
  payOtherwise: 'Pay another way',
  abandoned: 'The payment at your bank has ended. You were not charged.',
  confirmedTitle: 'Payment confirmed',
  confirmed: 'You paid {amount} to {merchant}. Thank you.',
  paidBefore: 'You paid {merchant} once. Thank you.',
  heldTitle: 'Payment confirmed',
  held: '{amount} is held on your card, not charged yet. {merchant} charges it when your order is ready.',
  endedTitle: 'There is nothing to confirm any more',
  ended: 'This payment can no longer be confirmed here. Ask {merchant} what to do.',
  unknownTitle: 'This link is not valid',
  unknown: 'Check that you copied the whole link, or ask the seller for a new one.',
  awayTitle: 'The page could not be loaded',
  away: 'The payment service cannot be reached. The page tries again by itself.',
  lostTitle: 'The connection was lost',
  lost: 'Keep this page open: it is being checked, and you are never charged twice.',
  // Below the text.
  support: 'Questions? Write to {email}.',
  receipt: 'View receipt',
} as const;
