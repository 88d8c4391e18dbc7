import assert from 'node:assert/strict';
import { story } from './story.ts';

story(
  'The first order is declined, and retried by hand two days later: the schedule starts then',
  { from: '2027-01-15T09:00:00Z', card: '4000009999003220' },
  async (merchant) => {
    await merchant.subscribe();
    await merchant.waitUntil('2027-01-17T12:00:00Z');
    const { status, body } = await merchant.retryLatestOrder();
    assert.deepEqual([status, body.status, body.subscription_cycle], [200, 'succeeded', 1]);
    await merchant.waitUntil('2027-03-18T00:00:00Z');
  },
  [
    '2027-01-15  order 1 declined do_not_honor, attempt 1  -> failed, no retry',
    '2027-01-17  the latest order is retried by hand',
    '2027-01-17  order 1 charged 19.00 usd  -> active, next 2027-02-17',
    '2027-02-17  order 2 charged 19.00 usd  -> active, next 2027-03-17',
    '2027-03-17  order 3 charged 19.00 usd  -> active, next 2027-04-17',
  ],
);
