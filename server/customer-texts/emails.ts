export const emailTexts = {
  orderReceipt: {
    subject: (merchant: string, number: string) => `Your receipt from ${merchant}, ${number}`,
    headline: (amount: string) => `You paid ${amount}`,
    text: 'Thank you for your order. Here is your receipt.',
  },
  renewalReceipt: {
    subject: (merchant: string, number: string) => `Your receipt from ${merchant}, ${number}`,
    headline: (amount: string) => `You paid ${amount}`,
    text: 'Your subscription was renewed. Here is your receipt.',
  },
  refundReceipt: {
    subject: (merchant: string, amount: string) => `${merchant} refunded ${amount}`,
    headline: (amount: string) => `You were refunded ${amount}`,
    text: (card: string) => `The refund goes to your ${card}. Your bank can take up to 10 days to show it.`,
  },
  paymentFailed: {
    subject: (merchant: string) => `Your payment to ${merchant} failed`,
    headline: (amount: string) => `We could not charge ${amount}`,
    text: (name: string, card: string) => `The payment for ${name} with your ${card} failed.`,
    retry: (date: string) =>
      `We will try again on ${date}. To avoid another failed payment, update your card before then.`,
    noRetry: 'We will not charge this card again. Please update your card to keep your subscription.',
  },
  confirmPayment: {
    subject: (merchant: string) => `Confirm your payment to ${merchant}`,
    headline: 'Your bank wants to confirm this payment',
    text: (name: string, card: string) =>
      `Your bank did not allow the payment for ${name} with your ${card}, because it wants to ask you first.`,
    until: (date: string) => `Please confirm it with your bank until ${date}. You pay once.`,
    ask: 'Please confirm it with your bank. You pay once.',
    button: 'Confirm with your bank',
  },
  finalNotice: {
    subject: (merchant: string) => `Your subscription with ${merchant} has ended`,
    headline: 'Your subscription has ended',
    text: (name: string, card: string) =>
      `We tried several times to charge your ${card} for ${name}, and every payment failed. Your subscription has ended, and your card will not be charged again.`,
    pay: 'If you want to continue, update your card and pay the open amount.',
  },
  cardExpiring: {
    subject: (merchant: string) => `Your card at ${merchant} expires next month`,
    headline: 'Your card expires next month',
    text: (card: string, month: string) =>
      `Your ${card} expires in ${month}. Update it so that your subscription continues without interruption.`,
  },
  subscriptionCanceled: {
    subject: (merchant: string) => `Your subscription with ${merchant} is canceled`,
    headline: 'Your subscription is canceled',
    text: (name: string) => `Your subscription to ${name} is canceled. Your card will not be charged for it again.`,
  },
  upcomingRenewal: {
    subject: (merchant: string, date: string) => `Your subscription with ${merchant} renews on ${date}`,
    headline: (date: string) => `Your subscription renews on ${date}`,
    text: (name: string, amount: string, card: string) => `We will charge ${amount} for ${name} to your ${card}.`,
  },
  paymentRequest: {
    subject: (merchant: string, number: string) => `Pay your order ${number} at ${merchant}`,
    headline: (amount: string) => `Your payment of ${amount} did not go through`,
    text: (card: string) => `Your ${card} was not charged. You can still pay for this order with another card.`,
    pay: (amount: string) => `Pay ${amount}`,
  },
  cardRequest: {
    subject: (merchant: string) => `Please add another card at ${merchant}`,
    headline: 'Please add another card',
    text: (amount: string, card: string) => `We could not charge ${amount} to your ${card}.`,
    ask: 'On your page, you can add another card.',
  },
  viewReceipt: 'View receipt (PDF)',
  updateCard: 'Update card',
  manage: 'Manage subscription',
  reason: 'Reason',
  card: 'Card',
  amount: 'Amount',
  nextAttempt: 'Next attempt',
  questions: (contact: string) => `Questions? Reply to this email or contact ${contact}.`,
  unsubscribe: 'Unsubscribe',
  /** By the mode of the company. */
  notes: {
    sandbox: 'This is a test email from a sandbox. No money was moved.',
    rehearsal: 'This is a test email from a rehearsal. No money was moved.',
    live: '',
  },
};

export const unsubscribeTexts = {
  title: 'Optional emails',
  ask: (merchant: string) =>
    `Unsubscribe from optional emails of ${merchant}, such as reminders? You will still get receipts and notices about failed payments.`,
  confirm: 'Unsubscribe',
  done: (merchant: string) => `You are unsubscribed from optional emails of ${merchant}.`,
  invalid: 'This link is invalid or has expired.',
};
