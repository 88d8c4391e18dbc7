import assert from 'node:assert/strict';
import { story } from './story.ts';

story(
  'The service was down for three months: each missed cycle is billed once, one after the other',
  { from: '2027-01-15T09:00:00Z' },
  async (merchant) => {
    await merchant.subscribe();
    await merchant.goDownUntil('2027-04-20T09:00:00Z');
    assert.deepEqual(await merchant.work(), [1, 1, 1, 0]);
    await merchant.waitUntil('2027-05-16T00:00:00Z');
  },
  [
    '2027-01-15  order 1 charged 19.00 usd  -> active, next 2027-02-15',
    '2027-04-20  order 2 charged 19.00 usd for 2027-02-15  -> active, next 2027-03-15',
    '2027-04-20  order 3 charged 19.00 usd for 2027-03-15  -> active, next 2027-04-15',
    '2027-04-20  order 4 charged 19.00 usd for 2027-04-15  -> active, next 2027-05-15',
    '2027-05-15  order 5 charged 19.00 usd  -> active, next 2027-06-15',
  ],
);

story(
  'The card declines when the service is back: no further cycle is billed before that one is paid',
  { from: '2027-01-15T09:00:00Z', card: '4000009999000341' },
  async (merchant) => {
    await merchant.subscribe();
    await merchant.goDownUntil('2027-04-20T09:00:00Z');
    assert.deepEqual(await merchant.work(), [1, 0]);
    await merchant.waitUntil('2027-04-22T00:00:00Z');
    await merchant.newCard('4242424242424242');
    await merchant.waitUntil('2027-05-16T00:00:00Z');
  },
  [
    '2027-01-15  order 1 charged 19.00 usd  -> active, next 2027-02-15',
    '2027-04-20  order 2 declined insufficient_funds, attempt 1  -> past_due, retry 2027-04-21',
    '2027-04-21  order 2 declined insufficient_funds, attempt 2  -> as before, retry 2027-04-23',
    '2027-04-22  customer gives card 4242',
    '2027-04-22  order 2 charged 19.00 usd for 2027-04-15  -> active, next 2027-05-15',
    '2027-05-15  order 3 charged 19.00 usd  -> active, next 2027-06-15',
  ],
);
