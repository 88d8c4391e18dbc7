import { story } from './story.ts';

story(
  'The card has expired: it is not retried, and the new card is charged at once',
  { from: '2027-01-15T09:00:00Z' },
  async (merchant) => {
    await merchant.subscribe();
    await merchant.waitUntil('2027-02-01T00:00:00Z');
    await merchant.newCard('4000000000000069');
    await merchant.waitUntil('2027-02-19T12:00:00Z');
    await merchant.newCard('5555555555554444');
    await merchant.waitUntil('2027-03-16T00:00:00Z');
  },
  [
    '2027-01-15  order 1 charged 19.00 usd  -> active, next 2027-02-15',
    '2027-02-01  customer gives card 0069',
    '2027-02-15  order 2 declined expired_card, attempt 1  -> past_due, no retry',
    '2027-02-19  customer gives card 4444',
    '2027-02-19  order 2 charged 19.00 usd for 2027-02-15  -> active, next 2027-03-15',
    '2027-03-15  order 3 charged 19.00 usd  -> active, next 2027-04-15',
  ],
);

story(
  'The card has expired and is not replaced within a week: it is given up',
  { from: '2027-01-15T09:00:00Z' },
  async (merchant) => {
    await merchant.subscribe();
    await merchant.newCard('4000000000000069');
    await merchant.waitUntil('2027-05-01T00:00:00Z');
  },
  [
    '2027-01-15  order 1 charged 19.00 usd  -> active, next 2027-02-15',
    '2027-01-15  customer gives card 0069',
    '2027-02-15  order 2 declined expired_card, attempt 1  -> past_due, no retry',
    '2027-02-22  given up  -> failed',
  ],
);
