import assert from 'node:assert/strict';
import { story } from './story.ts';

story(
  'Canceled between two retries: it is not charged again, not by hand either',
  { from: '2027-02-15T09:00:00Z', card: '4000009999000341' },
  async (merchant) => {
    await merchant.subscribe();
    await merchant.waitUntil('2027-03-17T12:00:00Z');
    await merchant.cancel();
    await merchant.waitUntil('2027-06-01T00:00:00Z');
    const { status, body } = await merchant.retryLatestOrder();
    assert.deepEqual([status, body.error.code], [400, 'invalid_state_transition']);
    const { next_retry_at, next_billing_at, latest_order_id } = await merchant.subscription();
    const { body: order } = await merchant.call('GET', `/v1/orders/${latest_order_id}`);
    assert.deepEqual([next_retry_at, next_billing_at, order.next_retry_at], [null, null, null]);
  },
  [
    '2027-02-15  order 1 charged 19.00 usd  -> active, next 2027-03-15',
    '2027-03-15  order 2 declined insufficient_funds, attempt 1  -> past_due, retry 2027-03-16',
    '2027-03-16  order 2 declined insufficient_funds, attempt 2  -> as before, retry 2027-03-18',
    '2027-03-17  canceled',
    '2027-06-01  the latest order is retried by hand',
  ],
);
