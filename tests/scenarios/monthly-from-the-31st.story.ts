import { story } from './story.ts';

story(
  'Monthly from 31 January for a year: short months are billed on their last day, long ones on the 31st',
  { from: '2027-01-31T09:00:00Z', plan: { billing_cycles: 12 } },
  async (merchant) => {
    await merchant.subscribe();
    await merchant.waitUntil('2028-02-01T00:00:00Z');
  },
  [
    '2027-01-31  order 1 of 12 charged 19.00 usd  -> active, next 2027-02-28',
    '2027-02-28  order 2 of 12 charged 19.00 usd  -> active, next 2027-03-31',
    '2027-03-31  order 3 of 12 charged 19.00 usd  -> active, next 2027-04-30',
    '2027-04-30  order 4 of 12 charged 19.00 usd  -> active, next 2027-05-31',
    '2027-05-31  order 5 of 12 charged 19.00 usd  -> active, next 2027-06-30',
    '2027-06-30  order 6 of 12 charged 19.00 usd  -> active, next 2027-07-31',
    '2027-07-31  order 7 of 12 charged 19.00 usd  -> active, next 2027-08-31',
    '2027-08-31  order 8 of 12 charged 19.00 usd  -> active, next 2027-09-30',
    '2027-09-30  order 9 of 12 charged 19.00 usd  -> active, next 2027-10-31',
    '2027-10-31  order 10 of 12 charged 19.00 usd  -> active, next 2027-11-30',
    '2027-11-30  order 11 of 12 charged 19.00 usd  -> active, next 2027-12-31',
    '2027-12-31  order 12 of 12 charged 19.00 usd  -> active, ends 2028-01-31',
    '2028-01-31  completed',
  ],
);

story(
  'Monthly from 31 January of a leap year: February has its 29th',
  { from: '2028-01-31T09:00:00Z' },
  async (merchant) => {
    await merchant.subscribe();
    await merchant.waitUntil('2028-05-01T00:00:00Z');
  },
  [
    '2028-01-31  order 1 charged 19.00 usd  -> active, next 2028-02-29',
    '2028-02-29  order 2 charged 19.00 usd  -> active, next 2028-03-31',
    '2028-03-31  order 3 charged 19.00 usd  -> active, next 2028-04-30',
    '2028-04-30  order 4 charged 19.00 usd  -> active, next 2028-05-31',
  ],
);
