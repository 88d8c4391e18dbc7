import { story } from './story.ts';

story(
  'Paused over two renewals: nothing is charged for them, and it goes on at the next regular date',
  { from: '2027-01-15T09:00:00Z' },
  async (merchant) => {
    await merchant.subscribe();
    await merchant.waitUntil('2027-02-20T00:00:00Z');
    await merchant.pause();
    await merchant.waitUntil('2027-04-20T00:00:00Z');
    await merchant.resume();
    await merchant.waitUntil('2027-06-16T00:00:00Z');
  },
  [
    '2027-01-15  order 1 charged 19.00 usd  -> active, next 2027-02-15',
    '2027-02-15  order 2 charged 19.00 usd  -> active, next 2027-03-15',
    '2027-02-20  paused',
    '2027-04-20  resumed  -> active, next 2027-05-15',
    '2027-05-15  order 3 charged 19.00 usd  -> active, next 2027-06-15',
    '2027-06-15  order 4 charged 19.00 usd  -> active, next 2027-07-15',
  ],
);

story(
  'Paused for some days between two renewals: nothing moves',
  { from: '2027-01-31T09:00:00Z' },
  async (merchant) => {
    await merchant.subscribe();
    await merchant.waitUntil('2027-02-10T00:00:00Z');
    await merchant.pause();
    await merchant.waitUntil('2027-02-20T00:00:00Z');
    await merchant.resume();
    await merchant.waitUntil('2027-04-01T00:00:00Z');
  },
  [
    '2027-01-31  order 1 charged 19.00 usd  -> active, next 2027-02-28',
    '2027-02-10  paused',
    '2027-02-20  resumed  -> active, next 2027-02-28',
    '2027-02-28  order 2 charged 19.00 usd  -> active, next 2027-03-31',
    '2027-03-31  order 3 charged 19.00 usd  -> active, next 2027-04-30',
  ],
);
