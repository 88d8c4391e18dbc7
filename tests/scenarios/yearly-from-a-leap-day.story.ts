import { story } from './story.ts';

story(
  'Yearly from 29 February: on the 28th in other years, and on the 29th again in the next leap year',
  {
    from: '2028-02-29T09:00:00Z',
    plan: { amount: 9900, billing_cycle: { interval: 'month', interval_count: 12, anchor_day: 'signup_date' } },
  },
  async (merchant) => {
    await merchant.subscribe();
    await merchant.waitUntil('2032-03-01T00:00:00Z');
  },
  [
    '2028-02-29  order 1 charged 99.00 usd  -> active, next 2029-02-28',
    '2029-02-28  order 2 charged 99.00 usd  -> active, next 2030-02-28',
    '2030-02-28  order 3 charged 99.00 usd  -> active, next 2031-02-28',
    '2031-02-28  order 4 charged 99.00 usd  -> active, next 2032-02-29',
    '2032-02-29  order 5 charged 99.00 usd  -> active, next 2033-02-28',
  ],
);
