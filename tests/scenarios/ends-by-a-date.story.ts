import { story } from './story.ts';

story(
  'Ends on the day of a renewal: that one is not billed any more',
  { from: '2027-01-15T09:00:00Z' },
  async (merchant) => {
    await merchant.subscribe({ end_date: '2027-04-15' });
    await merchant.waitUntil('2027-07-01T00:00:00Z');
  },
  [
    '2027-01-15  order 1 charged 19.00 usd  -> active, next 2027-02-15',
    '2027-02-15  order 2 charged 19.00 usd  -> active, next 2027-03-15',
    '2027-03-15  order 3 charged 19.00 usd  -> active, ends 2027-04-15',
    '2027-04-15  completed',
  ],
);

story(
  'Ends the day after a renewal: that one is billed, and its period is still served',
  { from: '2027-01-15T09:00:00Z' },
  async (merchant) => {
    await merchant.subscribe({ end_date: '2027-04-16', billing_cycles: 9 });
    await merchant.waitUntil('2027-07-01T00:00:00Z');
  },
  [
    '2027-01-15  order 1 of 9 charged 19.00 usd  -> active, next 2027-02-15',
    '2027-02-15  order 2 of 9 charged 19.00 usd  -> active, next 2027-03-15',
    '2027-03-15  order 3 of 9 charged 19.00 usd  -> active, next 2027-04-15',
    '2027-04-15  order 4 of 9 charged 19.00 usd  -> active, ends 2027-05-15',
    '2027-05-15  completed',
  ],
);
