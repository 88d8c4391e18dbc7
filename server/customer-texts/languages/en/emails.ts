/** The emails that customers get, and the page on which they stop the optional ones. */
export const emails = {
  // The first line, with and without a name.
  greeting: 'Hello {name},',
  greetingUnknown: 'Hello,',
  // After a payment, or after a renewal.
  receipt: {
    subject: 'Your receipt from {merchant}, {number}',
    headline: 'You paid {amount}',
    order: 'Thank you for your order. Here is your receipt.',
    renewal: 'Your subscription was renewed. Here is your receipt.',
  },
  refund: {
    subject: '{merchant} refunded {amount}',
    headline: 'You were refunded {amount}',
    text: 'The refund goes to your {card}. Your bank can take up to 10 days to show it.',
  },
  // A renewal was declined.
  paymentFailed: {
    subject: 'Your payment to {merchant} failed',
    headline: 'We could not charge {amount}',
    text: 'The payment for {name} with your {card} failed.',
    retry: 'We will try again on {date}. To avoid another failed payment, update your card before then.',
    noRetry: 'We will not charge this card again. Please update your card to keep your subscription.',
  },
  // The bank wants to ask the customer about a renewal.
  confirmPayment: {
    subject: 'Confirm your payment to {merchant}',
    headline: 'Your bank wants to confirm this payment',
    reason: 'Your bank wants to confirm this payment.',
    text: 'Your bank did not allow the payment for {name} with your {card}, because it wants to ask you first.',
    until: 'Please confirm it with your bank until {date}. You pay once.',
    ask: 'Please confirm it with your bank. You pay once.',
    button: 'Confirm with your bank',
  },
  // All tries to charge a renewal failed.
  finalNotice: {
    subject: 'Your subscription with {merchant} has ended',
    headline: 'Your subscription has ended',
    text: 'We tried several times to charge your {card} for {name}, and every payment failed. Your subscription has ended, and your card will not be charged again.',
    pay: 'If you want to continue, update your card and pay the open amount.',
  },
  cardExpiring: {
    subject: 'Your card at {merchant} expires next month',
    headline: 'Your card expires next month',
    text: 'Your {card} expires in {month}. Update it so that your subscription continues without interruption.',
  },
  subscriptionCanceled: {
    subject: 'Your subscription with {merchant} is canceled',
    headline: 'Your subscription is canceled',
    text: 'Your subscription to {name} is canceled. Your card will not be charged for it again.',
  },
  upcomingRenewal: {
    subject: 'Your subscription with {merchant} renews on {date}',
    headline: 'Your subscription renews on {date}',
    text: 'We will charge {amount} for {name} to your {card}.',
  },
  // Sent by a member of the merchant after a declined order.
  paymentRequest: {
    subject: 'Pay your order {number} at {merchant}',
    headline: 'Your payment of {amount} did not go through',
    text: 'Your {card} was not charged. You can still pay for this order with another card.',
    pay: 'Pay {amount}',
  },
  cardRequest: {
    subject: 'Please add another card at {merchant}',
    headline: 'Please add another card',
    text: 'We could not charge {amount} to your {card}.',
    ask: 'On your page, you can add another card.',
  },
  // The link to the customer page that a customer has asked for. The link stands between the two texts.
  pageLink: {
    subject: 'Your account at {merchant}',
    text: 'Open this link within {minutes} minutes to see your subscriptions and payments at {merchant}, or to change your card:',
    care: 'Anyone who has the link can use it, so do not forward this email. If you did not ask for it, you can ignore it.',
  },
  // Buttons.
  viewReceipt: 'View receipt (PDF)',
  updateCard: 'Update card',
  manage: 'Manage subscription',
  // Labels of the facts below the text.
  reason: 'Reason',
  card: 'Card',
  amount: 'Amount',
  nextAttempt: 'Next attempt',
  // At the end of an email.
  questions: 'Questions? Reply to this email or contact {contact}.',
  unsubscribe: 'Unsubscribe',
  // By the mode of the company.
  notes: {
    sandbox: 'This is a test email from a sandbox. No money was moved.',
    rehearsal: 'This is a test email from a rehearsal. No money was moved.',
    live: '',
  },
  // The page behind “Unsubscribe”.
  stop: {
    title: 'Optional emails',
    ask: 'Unsubscribe from optional emails of {merchant}, such as reminders? You will still get receipts and notices about failed payments.',
    confirm: 'Unsubscribe',
    done: 'You are unsubscribed from optional emails of {merchant}.',
    invalid: 'This link is invalid or has expired.',
  },
} as const;
