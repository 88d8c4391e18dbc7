import assert from 'node:assert/strict';
import { story } from './story.ts';

story(
  'Signed up in January, starts in February: the first charge is made as that day begins',
  { from: '2027-01-20T09:00:00Z' },
  async (merchant) => {
    await merchant.subscribe({ start_date: '2027-02-01' });
    await merchant.waitUntil('2027-02-01T06:00:00Z');
    const { start_date, current_period_start, next_billing_at, latest_order_id } = await merchant.subscription();
    assert.deepEqual(
      [start_date, current_period_start, next_billing_at],
      ['2027-02-01', '2027-02-01T00:00:00.000Z', '2027-03-01T00:00:00.000Z'],
    );
    const { body: order } = await merchant.call('GET', `/v1/orders/${latest_order_id}`);
    assert.equal(order.created_at, '2027-02-01T00:00:00.000Z');
    await merchant.waitUntil('2027-04-02T00:00:00Z');
  },
  [
    '2027-01-20  signed up  -> active, next 2027-02-01',
    '2027-02-01  order 1 charged 19.00 usd',
    '2027-03-01  order 2 charged 19.00 usd  -> active, next 2027-04-01',
    '2027-04-01  order 3 charged 19.00 usd  -> active, next 2027-05-01',
  ],
);

story(
  'Starts next month with a card that declines then: it fails and is not retried',
  { from: '2027-01-20T09:00:00Z', card: '4000000000009995' },
  async (merchant) => {
    await merchant.subscribe({ start_date: '2027-02-01' });
    await merchant.waitUntil('2027-05-01T00:00:00Z');
  },
  [
    '2027-01-20  signed up  -> active, next 2027-02-01',
    '2027-02-01  order 1 declined insufficient_funds, attempt 1  -> failed, no retry',
  ],
);
