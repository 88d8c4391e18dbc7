/** The pages on which a customer cancels a subscription or withdraws from a contract without signing in. */
export const declarations = {
  // While the page loads, and the badge beside the name of the merchant.
  noScript: 'This page needs JavaScript. Turn it on and load the page again.',
  loading: 'Loading',
  sandbox: 'Sandbox',
  rehearsal: 'Rehearsal',
  back: 'Back to {merchant}',
  // The labels of the form, and the line below one of them.
  name: 'Your name',
  email: 'Email',
  contract: 'Order number or subscription',
  contractHint: 'The order number is on your receipt.',
  message: 'Message (optional)',
  // Below a field of the form: what is wrong with it.
  nameMissing: 'Enter your name.',
  emailMissing: 'Enter your email address.',
  emailWrong: 'Enter an email address such as ada@example.com.',
  contractMissing: 'Enter an order number, or what you subscribed to.',
  fieldRefused: 'This entry cannot be used. Please check it.',
  // On the button while it is sent, and above the form: why it was not.
  sending: 'Sending…',
  problem: 'Something went wrong. Nothing was sent. Try again.',
  tooMany:
    '{seconds, plural, one {Too many attempts. Try again in # second.} other {Too many attempts. Try again in # seconds.}}',
  // Instead of the form: why there is none.
  awayTitle: 'The page could not be loaded',
  away: 'The service cannot be reached. The page tries again by itself.',
  retry: 'Try again',
  unknownTitle: 'This link does not work',
  unknown: 'Check that you copied the whole link, or ask the seller for a new one.',
  // At the end of the page.
  support: 'Questions? Write to {email}.',
  // The page on which a customer cancels a subscription, and the email that confirms it.
  cancel: {
    pageTitle: 'Cancel a subscription · {merchant}',
    headline: 'Cancel a subscription',
    lead: 'You do not need to sign in. {merchant} gets your cancellation, and you get a confirmation by email.',
    confirm: 'Cancel now',
    doneTitle: 'Your cancellation was received',
    done: '{merchant} received it on {time}. The confirmation goes to {email}.',
    // The email: its subject, the line above what was declared, and what happens next.
    subject: 'Your cancellation at {merchant}',
    received: '{merchant} received this cancellation on {time}:',
    ends: 'Your subscription to {name} does not renew. It ends on {date}.',
    follows: '{merchant} will confirm when the contract ends.',
  },
  // The page on which a customer withdraws from a contract, and the email that confirms it.
  withdraw: {
    pageTitle: 'Withdraw from a contract · {merchant}',
    headline: 'Withdraw from a contract',
    lead: 'With this form you withdraw from an order at {merchant}. You do not need to sign in, and you get a confirmation by email.',
    confirm: 'Confirm withdrawal',
    doneTitle: 'Your withdrawal was received',
    done: '{merchant} received it on {time}. The confirmation goes to {email}.',
    // The email: its subject, the line above what was declared, and what happens next.
    subject: 'Your withdrawal at {merchant}',
    received: '{merchant} received this withdrawal on {time}:',
    follows: '{merchant} will answer you about the refund.',
  },
} as const;
