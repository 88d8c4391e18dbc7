import { story } from './story.ts';

story(
  'Quarterly with a setup fee: four quarters, then it is over',
  {
    from: '2027-01-15T09:00:00Z',
    plan: {
      amount: 4900,
      one_time_amount: 1000,
      billing_cycle: { interval: 'month', interval_count: 3, anchor_day: 'signup_date' },
      billing_cycles: 4,
    },
  },
  async (merchant) => {
    await merchant.subscribe();
    await merchant.waitUntil('2028-06-01T00:00:00Z');
  },
  [
    '2027-01-15  order 1 of 4 charged 59.00 usd  -> active, next 2027-04-15',
    '2027-04-15  order 2 of 4 charged 49.00 usd  -> active, next 2027-07-15',
    '2027-07-15  order 3 of 4 charged 49.00 usd  -> active, next 2027-10-15',
    '2027-10-15  order 4 of 4 charged 49.00 usd  -> active, ends 2028-01-15',
    '2028-01-15  completed',
  ],
);
