import { story } from './story.ts';

story(
  'The card has no funds in March; after the third retry the customer gives another, which is charged at once',
  { from: '2027-02-15T09:00:00Z', card: '4000009999000341' },
  async (merchant) => {
    await merchant.subscribe();
    await merchant.waitUntil('2027-03-20T12:00:00Z');
    await merchant.newCard('4242424242424242');
    await merchant.waitUntil('2027-04-16T00:00:00Z');
  },
  [
    '2027-02-15  order 1 charged 19.00 usd  -> active, next 2027-03-15',
    '2027-03-15  order 2 declined insufficient_funds, attempt 1  -> past_due, retry 2027-03-16',
    '2027-03-16  order 2 declined insufficient_funds, attempt 2  -> as before, retry 2027-03-18',
    '2027-03-18  order 2 declined insufficient_funds, attempt 3  -> as before, retry 2027-03-20',
    '2027-03-20  order 2 declined insufficient_funds, attempt 4  -> as before, retry 2027-03-22',
    '2027-03-20  customer gives card 4242',
    '2027-03-20  order 2 charged 19.00 usd for 2027-03-15  -> active, next 2027-04-15',
    '2027-04-15  order 3 charged 19.00 usd  -> active, next 2027-05-15',
  ],
);

story(
  'The merchant does nothing: the last retry is a week after the first decline, and then the subscription fails',
  { from: '2027-02-15T09:00:00Z', card: '4000009999000341' },
  async (merchant) => {
    await merchant.subscribe();
    await merchant.waitUntil('2027-06-01T00:00:00Z');
  },
  [
    '2027-02-15  order 1 charged 19.00 usd  -> active, next 2027-03-15',
    '2027-03-15  order 2 declined insufficient_funds, attempt 1  -> past_due, retry 2027-03-16',
    '2027-03-16  order 2 declined insufficient_funds, attempt 2  -> as before, retry 2027-03-18',
    '2027-03-18  order 2 declined insufficient_funds, attempt 3  -> as before, retry 2027-03-20',
    '2027-03-20  order 2 declined insufficient_funds, attempt 4  -> as before, retry 2027-03-22',
    '2027-03-22  order 2 declined insufficient_funds, attempt 5  -> as before, no retry',
    '2027-03-22  given up  -> failed',
  ],
);
