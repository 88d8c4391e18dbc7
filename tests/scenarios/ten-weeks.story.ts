import { story } from './story.ts';

story(
  'Every Monday for ten weeks',
  {
    from: '2027-03-01T09:00:00Z',
    plan: {
      amount: 500,
      billing_cycle: { interval: 'day', interval_count: 7, anchor_day: 'signup_date' },
      billing_cycles: 10,
    },
  },
  async (merchant) => {
    await merchant.subscribe();
    await merchant.waitUntil('2027-06-01T00:00:00Z');
  },
  [
    '2027-03-01  order 1 of 10 charged 5.00 usd  -> active, next 2027-03-08',
    '2027-03-08  order 2 of 10 charged 5.00 usd  -> active, next 2027-03-15',
    '2027-03-15  order 3 of 10 charged 5.00 usd  -> active, next 2027-03-22',
    '2027-03-22  order 4 of 10 charged 5.00 usd  -> active, next 2027-03-29',
    '2027-03-29  order 5 of 10 charged 5.00 usd  -> active, next 2027-04-05',
    '2027-04-05  order 6 of 10 charged 5.00 usd  -> active, next 2027-04-12',
    '2027-04-12  order 7 of 10 charged 5.00 usd  -> active, next 2027-04-19',
    '2027-04-19  order 8 of 10 charged 5.00 usd  -> active, next 2027-04-26',
    '2027-04-26  order 9 of 10 charged 5.00 usd  -> active, next 2027-05-03',
    '2027-05-03  order 10 of 10 charged 5.00 usd  -> active, ends 2027-05-10',
    '2027-05-10  completed',
  ],
);
