import { story } from './story.ts';

story(
  'Signed up on the 15th of January, billed on the 1st of each month, always in full',
  {
    from: '2027-01-15T09:00:00Z',
    plan: { billing_cycle: { interval: 'month', interval_count: 1, anchor_day: 1 } },
  },
  async (merchant) => {
    await merchant.subscribe();
    await merchant.waitUntil('2027-04-02T00:00:00Z');
  },
  [
    '2027-01-15  order 1 charged 19.00 usd  -> active, next 2027-02-01',
    '2027-02-01  order 2 charged 19.00 usd  -> active, next 2027-03-01',
    '2027-03-01  order 3 charged 19.00 usd  -> active, next 2027-04-01',
    '2027-04-01  order 4 charged 19.00 usd  -> active, next 2027-05-01',
  ],
);

story(
  'The same by the quarter: the first quarter is the short one',
  {
    from: '2027-01-15T09:00:00Z',
    plan: { billing_cycle: { interval: 'month', interval_count: 3, anchor_day: 1 } },
  },
  async (merchant) => {
    await merchant.subscribe();
    await merchant.waitUntil('2027-07-02T00:00:00Z');
  },
  [
    '2027-01-15  order 1 charged 19.00 usd  -> active, next 2027-04-01',
    '2027-04-01  order 2 charged 19.00 usd  -> active, next 2027-07-01',
    '2027-07-01  order 3 charged 19.00 usd  -> active, next 2027-10-01',
  ],
);

story(
  'Signed up the day before the billing day: the first renewal is a month later, not the next day',
  {
    from: '2027-01-15T09:00:00Z',
    plan: { billing_cycle: { interval: 'month', interval_count: 1, anchor_day: 16 } },
  },
  async (merchant) => {
    await merchant.subscribe();
    await merchant.waitUntil('2027-02-17T00:00:00Z');
    await merchant.change({ billing_cycle: { anchor_day: 18 } });
    await merchant.waitUntil('2027-03-20T00:00:00Z');
  },
  [
    '2027-01-15  order 1 charged 19.00 usd  -> active, next 2027-02-16',
    '2027-02-16  order 2 charged 19.00 usd  -> active, next 2027-03-16',
    '2027-02-17  cadence changed  -> active, next 2027-03-18',
    '2027-03-18  order 3 charged 19.00 usd  -> active, next 2027-04-18',
  ],
);
