import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openShop, order } from '../../../tests/support/orders.ts';
import { startTestService, type TestService } from '../../../tests/support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

it('a limit that is lowered while orders are on their way holds, and no request gets a 5xx', async () => {
  const shop = await openShop(service);
  await order(service, shop);
  const body = { kind: 'promo', name: 'FAR', percentage: 5, max_redemptions: 1_000_000 };
  const { id } = (await service.call('POST', '/v1/coupons', { body, idempotencyKey: randomUUID() })).body;
  // The orders see the old limit, and come to count themselves when the new one is there.
  const racing = await service.db.transaction(async (transaction) => {
    await transaction.query('UPDATE coupons SET max_redemptions = 3 WHERE id = $1', [id]);
    const sent = Array.from({ length: 12 }, () => order(service, shop, { coupon_code: 'FAR' }));
    await sleep(300);
    return { sent };
  });
  const replies = await Promise.all(racing.sent);
  const statuses = replies.map(({ status }) => status).toSorted((one, other) => one - other);
  assert.deepEqual(statuses, [201, 201, 201, ...Array.from({ length: 9 }, () => 400)]);
  assert.match(replies.find(({ status }) => status === 400)?.text ?? '', /max_redemptions_reached/);
  const { total_redemptions } = (await service.call('GET', `/v1/coupons/${id}`)).body;
  assert.equal(total_redemptions, 3);
});
