import { story } from './story.ts';

story(
  'From monthly to every two weeks and back: nothing is charged at the change',
  { from: '2027-01-15T09:00:00Z' },
  async (merchant) => {
    await merchant.subscribe();
    await merchant.waitUntil('2027-02-20T00:00:00Z');
    await merchant.change({ billing_cycle: { interval: 'day', interval_count: 14 } });
    await merchant.waitUntil('2027-03-20T00:00:00Z');
    await merchant.change({ billing_cycle: { interval: 'month', interval_count: 1 } });
    await merchant.waitUntil('2027-05-16T00:00:00Z');
  },
  [
    '2027-01-15  order 1 charged 19.00 usd  -> active, next 2027-02-15',
    '2027-02-15  order 2 charged 19.00 usd  -> active, next 2027-03-15',
    '2027-02-20  cadence changed  -> active, next 2027-03-01',
    '2027-03-01  order 3 charged 19.00 usd  -> active, next 2027-03-15',
    '2027-03-15  order 4 charged 19.00 usd  -> active, next 2027-03-29',
    '2027-03-20  cadence changed  -> active, next 2027-04-15',
    '2027-04-15  order 5 charged 19.00 usd  -> active, next 2027-05-15',
    '2027-05-15  order 6 charged 19.00 usd  -> active, next 2027-06-15',
  ],
);

story(
  'To every week when three weeks of the month have passed: the next week counts, not those before it',
  { from: '2027-03-01T09:00:00Z' },
  async (merchant) => {
    await merchant.subscribe();
    await merchant.waitUntil('2027-03-24T00:00:00Z');
    await merchant.change({ billing_cycle: { interval: 'day', interval_count: 7 } });
    await merchant.waitUntil('2027-04-06T00:00:00Z');
  },
  [
    '2027-03-01  order 1 charged 19.00 usd  -> active, next 2027-04-01',
    '2027-03-24  cadence changed  -> active, next 2027-03-29',
    '2027-03-29  order 2 charged 19.00 usd  -> active, next 2027-04-05',
    '2027-04-05  order 3 charged 19.00 usd  -> active, next 2027-04-12',
  ],
);
