import { limits } from '../../limits.ts';

/** The description of each group of operations. */
export const tagDescriptions: Readonly<Record<string, string>> = {
  Customers: 'The people and companies that pay you.',
  'Payment methods': 'The cards of a customer. Create card tokens in a browser or capture cards from your server.',
  Products: 'Your catalog, with prices and images.',
  Orders: 'One-time and recurring charges, refunds and retries.',
  Plans: 'Prices and billing cycles for subscriptions. Read-only.',
  Coupons: 'Discounts for orders and subscriptions, with codes for your customers.',
  Subscriptions: 'Recurring payments from your customers.',
  Checkout: 'Pages on which your customers pay: sessions for one customer, and links that can be paid many times.',
  'Customer page': 'A page on which a customer manages subscriptions, cards and payments.',
  Invoices: 'Invoices for payments and credit notes for refunds, with numbers of your own series.',
  Transactions: 'Charges, refunds and authorizations at the processor. Read-only.',
  Sandbox: 'Test tools for sandbox keys: advance the clock, create disputes, trigger events.',
  Events: `Events of the last ${limits.eventRetentionDays} days. Webhooks deliver the same events.`,
  Requests: 'The log of API requests, for debugging.',
  'Webhook endpoints': 'The URLs that receive events, with their delivery history.',
  Webhooks: 'The requests that your webhook endpoints receive, one for each type of event.',
  Team: 'Team members and their roles.',
};
