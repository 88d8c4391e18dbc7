import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { openShop, order, type Shop } from '../../../tests/support/orders.ts';
import { startTestService, type TestService } from '../../../tests/support/service.ts';

let service: TestService;
let shop: Shop;
before(async () => {
  service = await startTestService();
  shop = await openShop(service);
});
after(() => service.stop());

describe('POST /v1/orders', () => {
  it('charges the customer’s default card and returns 201 with the order', async () => {
    const key = randomUUID();
    const body = { customer_id: shop.customerId, items: [{ product_id: shop.productId, quantity: 2 }] };
    const reply = await service.call('POST', '/v1/orders', { body, idempotencyKey: key });
    assert.equal(reply.status, 201, reply.text);
    assert.equal(reply.body.status, 'succeeded');
    assert.equal(reply.body.total, 9800);
    const again = await service.call('POST', '/v1/orders', { body, idempotencyKey: key });
    assert.equal(again.text, reply.text);
    assert.equal(again.headers.get('svc-idempotent-replayed'), 'true');
    const read = await service.call('GET', `/v1/orders/${reply.body.id}`);
    assert.equal(read.text, reply.text);
    const refund = await service.call('POST', `/v1/orders/${reply.body.id}/refund`, { body: { amount: 100 } });
    assert.equal(refund.status, 200, refund.text);
    assert.equal(refund.body.status, 'partially_refunded');
    console.log(refund.text);
    const list = await service.call('GET', `/v1/orders?status=pending,partially_refunded&expand=customer&total[gte]=5`);
    assert.equal(list.status, 200, list.text);
    assert.equal(list.body.data.length, 1);
    const t = await service.call('GET', `/v1/transactions?type=refund&expand=order,customer`);
    assert.equal(t.status, 200, t.text);
    assert.equal(t.body.data.length, 1);
    const declined = await openShop(service, '4000000000000002');
    const failed = await order(service, declined);
    assert.equal(failed.body.status, 'failed');
    const retried = await service.call('POST', `/v1/orders/${failed.body.id}/retry`);
    assert.equal(retried.body.attempt_count, 2, retried.text);
  });
});
