/** The page on which a customer manages subscriptions, cards and payments. */
export const customer = {
  // Instead of the page, in a browser without JavaScript.
  noScript: 'This page needs JavaScript. Turn it on and load the page again.',
  // The title of the browser window.
  pageTitle: 'Your account · {merchant}',
  // The badge beside the name of the merchant: nothing here costs money.
  sandbox: 'Sandbox',
  rehearsal: 'Rehearsal',
  loading: 'Loading',
  // The arrow beside the name of the merchant, the headline, and who the link is for.
  back: 'Back to {merchant}',
  headline: 'Your account at {merchant}',
  signedIn: '{name} · {email}',

  // The list of subscriptions.
  subscriptions: 'Subscriptions',
  noSubscriptions: 'You have no subscriptions.',
  // How often a subscription is charged, and its price: `period` is the text before it.
  period:
    '{interval, select, day {{count, plural, =1 {per day} other {every # days}}} week {per week} month {{count, plural, =1 {per month} other {every # months}}} other {per year}}',
  price: '{amount} {period}',
  // The badge of a subscription.
  status: {
    active: 'Active',
    paused: 'Paused',
    past_due: 'Payment due',
    failed: 'Payment failed',
    canceled: 'Canceled',
    completed: 'Ended',
  },
  ending: 'Ends soon',
  // The lines of a subscription.
  nextPayment: 'Next payment: {amount} on {date}',
  endsAt: 'Ends on {date}. It does not renew.',
  paidWith: 'Paid with {card}',
  // A payment that was declined, and what the customer can do.
  overdue: 'The payment of {amount} was declined. Change the card or pay now to continue.',
  overdueAtBank: 'Your bank wants to confirm the payment of {amount}. Come back to this page afterwards.',
  toBank: 'Continue to your bank',
  overdueConfirm: 'Your bank wants to confirm this payment of {amount}. You pay once.',
  confirm: 'Confirm with your bank',
  confirmOf: 'Confirm order {number} with your bank',
  overdueInProgress: 'The payment of {amount} is being made. This page updates by itself.',
  payOtherwise: 'Pay another way',
  payNow: 'Pay {amount} now',
  paying: 'Paying…',
  abandoned: 'The payment at your bank has ended. You were not charged.',
  paid: 'Payment of {amount} received. Thank you.',
  payDeclined: 'The payment was declined again. Use another card, or ask your bank.',
  noCardToCharge: 'There is no card to charge. Change the card first.',
  // Another plan or number of seats: on the subscription, in the dialog with its preview, and what happened afterwards.
  seatsOf: '{count, plural, one {# seat} other {# seats}}',
  planButton: 'Change plan',
  planUndo: 'Keep the current plan',
  planTitle: 'Change {name}',
  planLegend: 'Plan',
  planSeats: 'Seats',
  // Behind the price of each plan: the present one, and when another one begins.
  planCurrent: 'your plan now',
  planWhen: { now: 'from now on', renewal: 'from the next payment on' },
  planCreditUsed: 'Your credit',
  planCredited: 'Added to your credit',
  planUnused: 'Unused time of {name}',
  planDiscount: 'Discount',
  planDue: 'You pay now',
  planNext: 'Next payment, {date}',
  planNotes: {
    now: 'The plan changes after the payment.',
    renewal: 'Your plan stays as it is until the next payment. You can change your mind until then.',
  },
  // The button; without a charge it is the one that opens the dialog.
  planPay: 'Change plan and pay {amount}',
  planDone: 'Your plan is changed.',
  planScheduledDone: 'Your plan changes with the next payment.',
  planDeclined: 'The payment was declined, so your plan stays as it is. Change the card and try again.',
  planEnded: 'The subscription ended before the payment was made. Write to the seller to get the money back.',
  planChanging: 'Your change is being paid. This page updates by itself.',
  // A line of the subscription. `plan` is a name, or the text after it with its seats.
  planScheduled: 'Changes to {plan} on {date}.',
  planOfSeats: '{name} ({seats})',
  planUndone: '{name} stays as it is.',
  // The buttons of a subscription; the question before each is done, and what the page shows afterwards.
  endRenewal: 'Cancel at period end',
  keepRenewal: 'Keep subscription',
  cancel: 'Cancel now',
  endTitle: 'Cancel {name} at the end of the period?',
  endText: 'You keep it until {date}. After that you are not charged again. You can change your mind until then.',
  endDone: '{name} ends on {date}.',
  keepDone: '{name} renews again.',
  cancelTitle: 'Cancel {name} now?',
  cancelText: 'It ends immediately. This cannot be undone, and payments already made are not refunded automatically.',
  cancelDone: '{name} is canceled.',
  keep: 'Keep it',
  // A pause until a day: the button, the dialog, what the page shows meanwhile, and the earlier end of it.
  pause: 'Pause',
  pauseTitle: 'Pause {name}',
  pauseUntil: 'Continue on',
  pauseText: 'You have paid until {date}. On the day that you choose, a new period begins and you pay {amount}.',
  pauseDone: '{name} is paused until {date}.',
  pausedUntil: 'Paused. Continues on {date} with a payment of {amount}.',
  continueNow: 'Continue now',
  continueTitle: 'Continue {name} now?',
  continueText: 'A new period begins today and you pay {amount}.',
  continuePaid: 'You have paid until {date}. After that you pay {amount}, as before.',
  continuePay: 'Continue and pay {amount}',
  continueDone: '{name} continues.',
  // A new subscription like one that has ended, with the button in the words of the law where one names them.
  again: 'Subscribe again',
  againTitle: 'Subscribe to {name} again?',
  againText: 'You pay {amount} now with {card}. The subscription costs {price} until you cancel it.',
  againPay: 'Subscribe and pay {amount}',
  orderWithDuty: 'Order with obligation to pay',
  againDone: 'You are subscribed to {name} again.',
  againDeclined: 'The payment was declined. Change the card and try again.',

  // The card on file.
  card: 'Payment method',
  noCard: 'There is no card on file.',
  cardExpires: 'Expires {date}',
  cardExpired: 'Expired {date}',
  changeCard: 'Change card',
  addCard: 'Add card',
  newCard: 'Use another card',
  saveCard: 'Save card',
  saving: 'Saving…',
  close: 'Not now',
  cardSaved: 'Your payments use {card} from now on.',
  cardAtBank: 'Your bank wants to confirm your new card. It is saved after that.',
  credit: 'Your credit: {amounts}. It is used for your next payments of subscriptions before the card is charged.',
  cardNote: 'The card is used for all your subscriptions. Any overdue payment is charged right away.',
  cardAgain: 'The card could not be saved. Check it, or use another card.',
  sandboxHint: 'Sandbox: no money moves. Try card 4242 4242 4242 4242, any future date and CVC 999.',
  rehearsalHint:
    'Rehearsal: no money moves. Use a test card of the processor, for example 4242 4242 4242 4242 at Stripe.',

  // The list of payments.
  payments: 'Payments',
  noPayments: 'There are no payments yet.',
  order: 'Order {number}',
  receipt: 'Receipt',
  receiptOf: 'Receipt for order {number}',
  // Links to the PDF of an invoice of the order, and of what was taken off it.
  invoice: 'Invoice {number}',
  creditNote: 'Credit note {number}',
  // The badge of a payment.
  orderStatus: {
    pending: 'In progress',
    succeeded: 'Paid',
    failed: 'Declined',
    voided: 'Voided',
    partially_refunded: 'Partly refunded',
    refunded: 'Refunded',
    refund_failed: 'Paid',
    chargeback: 'Disputed',
    chargeback_accepted: 'Disputed',
    chargeback_dismissed: 'Paid',
  },
  more: 'Show more',

  // The page without a link: it sends one by email.
  emailTitle: 'Manage your payments',
  emailText:
    'Enter the email address that you use at {merchant}. You get a link to your subscriptions, payments and cards.',
  email: 'Email',
  emailMissing: 'Enter your email address.',
  emailWrong: 'Enter an email address such as ada@example.com.',
  sendLink: 'Email me a link',
  sending: 'Sending…',
  sentTitle: 'Check your email',
  sent: 'If {email} belongs to a customer of {merchant}, a link is on its way. It works for {minutes} minutes.',

  // Instead of the page: why it shows nothing.
  endedTitle: 'This link does not work any more',
  ended: 'A link works for a short time only. Get a new one by email.',
  unknownTitle: 'This link does not work',
  unknown: 'Check that you copied the whole link, or ask the seller for a new one.',
  newLink: 'Get a new link',
  awayTitle: 'The page could not be loaded',
  away: 'The service cannot be reached. The page tries again by itself.',
  retry: 'Try again',
  // Below what the customer tried to do.
  problem: 'Something went wrong. Nothing was changed. Try again.',
  lost: 'The connection was lost. The page checks what happened.',
  tooMany:
    '{seconds, plural, one {Too many attempts. Try again in # second.} other {Too many attempts. Try again in # seconds.}}',
  // At the end of the page.
  support: 'Questions? Write to {email}.',
  safety: 'Card details go directly to the payment service. {merchant} never sees the card number.',
} as const;
