import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { type Person, signUp } from '../../../tests/support/dashboard.ts';
import { checkAllOpen } from '../../../tests/support/orders.ts';
import { someCustomer, someProduct, startTestService, type TestService } from '../../../tests/support/service.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import { executeBulkRefunds } from '../bulk-refunds/jobs.ts';

let service: TestService;
let owner: Person;
let customer_id: string;
let product_id: string;

const post = async (path: string, body: unknown): Promise<any> => {
  const reply = await owner.in('POST', path, body, { idempotencyKey: randomUUID() });
  assert.ok(reply.status < 300, reply.text);
  return reply.body;
};
const paid = async (number = '4242424242424242'): Promise<string> => {
  const card = { number, exp_month: '12', exp_year: '2032', cvc: '999' };
  const { id: payment_method_id } = await post('/capture', { customer_id, card });
  const items = [{ product_id, quantity: 1 }];
  return (await post('/v1/orders', { customer_id, payment_method_id, items })).id;
};
const refundsIn = async (id: string): Promise<Record<string, any>[]> => {
  const { body } = await owner.in('GET', `/dashboard/timeline?object_id=${id}`);
  return body.data.filter(({ type }: { type: string }) => type.includes('refund'));
};

before(async () => {
  service = await startTestService();
  owner = await signUp(service);
  customer_id = (await post('/v1/customers', someCustomer())).id;
  product_id = (await post('/v1/products', someProduct({ pricing: { amount: 1000, currency: 'usd' } }))).id;
});
after(() => service.stop());

describe('the timeline of an order', () => {
  it('has the amount of each refund, also if several settle after all were accepted', async () => {
    const id = await paid();
    for (const amount of [100, 200, 300]) await post(`/v1/orders/${id}/refund`, { amount });
    await checkAllOpen(service);
    const amounts = (await refundsIn(id)).map(({ amount }) => amount);
    assert.deepEqual(
      amounts.toSorted((one, other) => one - other),
      [100, 200, 300],
    );
  });

  it('has the amount of a refund that the processor rejects later', async () => {
    const id = await paid('4000009999005126');
    await post(`/v1/orders/${id}/refund`, { amount: 250 });
    await checkAllOpen(service);
    assert.deepEqual(
      (await refundsIn(id)).map(({ type, amount }) => `${type} ${amount}`),
      ['order.refund_failed 250'],
    );
  });

  it('names the member who confirmed a bulk refund', async () => {
    const order_id = await paid();
    const orders = [{ order_id, amount: 1000 }];
    await post('/dashboard/bulk_refunds', { orders, totals: [{ currency: 'usd', amount: 1000 }] });
    const { db, clock, orders: orderService } = service;
    const shard = { name: service.company.shard, db, clock, orders: orderService, log: silentLog };
    await executeBulkRefunds(shard, 100);
    await checkAllOpen(service);
    const [refund] = await refundsIn(order_id);
    assert.deepEqual(
      [refund?.type, refund?.amount, refund?.actor],
      ['order.refunded', 1000, { kind: 'member', name: 'Ada Lovelace' }],
    );
  });
});
