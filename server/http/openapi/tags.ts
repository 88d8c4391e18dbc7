/** What each group of operations is about. */
export const tagDescriptions: Readonly<Record<string, string>> = {
  Customers: 'The people and companies that pay, with their contact data.',
  'Payment methods': 'Cards: tokens from a browser, capture from a server, and the cards of a customer.',
  Products: 'The catalog that orders are charged from, with images.',
  Orders: 'One-time charges. Creating an order charges it; refunds and retries follow.',
  Plans: 'What subscriptions bill: an amount, a currency and a cadence. Read-only.',
  Coupons: 'Discounts for orders and subscriptions, and the codes that customers enter.',
  Subscriptions: 'Recurring charges of a customer by a plan.',
  Transactions: 'Single operations at the processor: sales, refunds and authorizations. Read-only.',
  Sandbox: 'For sandbox keys only: move the clock, raise disputes, trigger events.',
  Events: 'What happened in the last 30 days. Webhooks deliver the same events.',
  Requests: 'The log of API requests, for debugging.',
  'Webhook endpoints': 'Where events are delivered, and how each delivery went.',
  Team: 'The members of the team and their roles.',
};
