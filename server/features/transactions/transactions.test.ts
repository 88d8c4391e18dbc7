import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { walkPages } from '../../../tests/support/lists.ts';
import {
  approvedCard,
  assertRefused,
  capture,
  checkAllOpen,
  openShop,
  order,
  readOrder,
  refund,
  retry,
  type Shop,
} from '../../../tests/support/orders.ts';
import { type Merchant, type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { failureReasons } from '../../vault/processors/processor.ts';

let service: TestService;
let merchant: Merchant;
let one: Shop;
let two: Shop;
/** Oldest first, as the API shows them. */
let all: Record<string, any>[];
before(async () => {
  service = await startTestService();
  merchant = await service.createMerchant();
  const options = { key: merchant.key };
  one = await openShop(service, approvedCard, options);
  two = await openShop(service, '4000000000000002', options);
  const of = (quantity: number, shop = one) => ({ items: [{ product_id: shop.productId, quantity }] });
  const paid = await order(service, one, { ...of(1), description: 'Pots', metadata: { cart: 7 } }, options);
  await refund(service, paid.body.id, 1000, options);
  await checkAllOpen(service);
  const declined = await order(service, two, of(2, two), options);
  await retry(service, declined.body.id, options);
  const disputed = await order(service, one, of(3), options);
  await service.call('POST', `/v1/sandbox/orders/${disputed.body.id}/chargeback`, options);
  const rest = await order(service, one, of(4), options);
  await refund(service, rest.body.id, undefined, options);
  const lost = await capture(service, one.customerId, '4000009999007070', options);
  assert.equal((await order(service, one, { ...of(5), payment_method_id: lost }, options)).status, 502);
  const reply = await call('limit=100&sort=created_at');
  all = reply.body.data;
  assert.deepEqual(
    all.map(({ type, status }) => `${type} ${status}`),
    [
      'sale succeeded',
      'refund succeeded',
      'sale failed',
      'sale failed',
      'sale chargeback',
      'sale succeeded',
      'refund in_progress',
      'sale in_progress',
    ],
  );
});
after(() => service.stop());

const call = (query: string): Promise<Reply> => service.call('GET', `/v1/transactions?${query}`, { key: merchant.key });
const get = (id: string, query = ''): Promise<Reply> =>
  service.call('GET', `/v1/transactions/${id}${query}`, { key: merchant.key });

async function idsOf(query: string): Promise<string[]> {
  const reply = await call(query);
  assert.equal(reply.status, 200, reply.text);
  return reply.body.data.map(({ id }: { id: string }) => id);
}

/** Newest first. */
const ids = (keep: (transaction: Record<string, any>) => boolean): string[] =>
  all
    .filter(keep)
    .map(({ id }) => id)
    .toReversed();

const at = (index: number): Record<string, any> => {
  const found = all[index];
  assert.ok(found);
  return found;
};

describe('GET /v1/transactions/{id}', () => {
  it('shows every field of a sale', async () => {
    const sale = at(0);
    const reply = await get(sale.id);
    assert.equal(reply.status, 200, reply.text);
    const { processor_response, created_at, updated_at, ...rest } = reply.body;
    assert.deepEqual(rest, {
      id: sale.id,
      type: 'sale',
      status: 'succeeded',
      amount: 4900,
      currency: 'usd',
      customer_id: one.customerId,
      order_id: sale.order_id,
      payment_method: { id: one.paymentMethodId, card_last_four: '4242', card_brand: 'visa' },
      authentication: null,
      failure_reason: null,
      failure_code: null,
      description: 'Pots',
      metadata: { cart: 7 },
      settled_at: null,
    });
    assert.ok(updated_at >= created_at);
    assert.deepEqual(Object.keys(processor_response).toSorted(), [
      'authorization_code',
      'avs_result',
      'cvv_result',
      'response_code',
      'response_text',
      'transaction_id',
    ]);
    const [inline] = (await readOrder(service, sale.order_id, { key: merchant.key })).transactions;
    assert.equal(processor_response.transaction_id, inline.processor_transaction_id);
    assert.deepEqual(reply.body, sale);
  });

  it('shows why it failed, and only then', async () => {
    const failed = (await get(at(2).id)).body;
    assert.deepEqual(
      [failed.failure_code, failed.failure_reason],
      ['processor_declined', failureReasons.processor_declined],
    );
    for (const { status, failure_code, failure_reason } of all) {
      assert.deepEqual([failure_code !== null, failure_reason !== null], [status === 'failed', status === 'failed']);
    }
  });

  it('shows a refund, also one that has not settled', async () => {
    assert.partialDeepStrictEqual((await get(at(1).id)).body, { type: 'refund', status: 'succeeded', amount: 1000 });
    const open = (await get(at(6).id)).body;
    assert.partialDeepStrictEqual(open, { type: 'refund', status: 'in_progress', amount: 19_600 });
    assert.equal(typeof open.processor_response.transaction_id, 'string');
  });

  it('shows a sale in doubt as in_progress, without a response', async () => {
    assert.partialDeepStrictEqual((await get(at(7).id)).body, { status: 'in_progress', processor_response: null });
  });

  it('adds customer and order beside their ids when asked to', async () => {
    const plain = (await get(at(0).id)).body;
    assert.deepEqual(['customer' in plain, 'order' in plain], [false, false]);
    const options = { key: merchant.key };
    const customer = (await service.call('GET', `/v1/customers/${one.customerId}`, options)).body;
    const full = await get(at(0).id, '?expand=customer,order');
    assert.deepEqual(full.body, { ...plain, customer, order: await readOrder(service, plain.order_id, options) });
    const repeated = await get(at(0).id, '?expand=customer&expand=order');
    assert.deepEqual(repeated.body, full.body);
    assertRefused(await get(at(0).id, '?expand=payment_method'), 400, 'validation_error', 'expand');
  });

  it('gives only the fields asked for, and always the id', async () => {
    const { id } = at(0);
    assert.deepEqual((await get(id, '?fields[transactions]=type,amount')).body, { id, type: 'sale', amount: 4900 });
    assertRefused(await get(id, '?fields[transactions]=cvc'), 400, 'validation_error', 'fields[transactions]');
  });

  it('is wrapped in data before 2026-02-11', async () => {
    const headers = { 'svc-version': '2025-11-04' };
    const reply = await service.call('GET', `/v1/transactions/${at(0).id}`, { key: merchant.key, headers });
    assert.deepEqual(reply.body, { data: at(0) });
  });

  it('answers 404 for an unknown id, a malformed id, the id of an order, and the id of another merchant', async () => {
    for (const id of [randomUUID(), 'nothing', at(0).order_id]) {
      assertRefused(await get(id), 404, 'resource_not_found', 'id');
    }
    assertRefused(await service.call('GET', `/v1/transactions/${at(0).id}`), 404, 'resource_not_found', 'id');
  });

  it('is read-only and needs transactions:read', async () => {
    for (const method of ['POST', 'PATCH', 'DELETE']) {
      const reply = await service.call(method, `/v1/transactions/${at(0).id}`, { key: merchant.key });
      assert.equal(reply.status, 405, method);
    }
    const key = await service.createKey(merchant.sandbox, { permissions: ['orders:read'] });
    for (const path of ['/v1/transactions', `/v1/transactions/${at(0).id}`]) {
      assertRefused(await service.call('GET', path, { key }), 403, 'insufficient_permissions');
      assertRefused(await service.call('GET', path, { key: null }), 401, 'missing_api_key');
    }
  });
});

describe('GET /v1/transactions', () => {
  it('is newest first, and the same objects as read one by one', async () => {
    const reply = await call('');
    assert.partialDeepStrictEqual(reply.body, { url: '/v1/transactions', has_more: false });
    assert.deepEqual(reply.body.data, all.toReversed());
    for (const transaction of all) assert.deepEqual((await get(transaction.id)).body, transaction);
  });

  it('filters by customer and by order', async () => {
    assert.deepEqual(
      await idsOf(`customer_id=${two.customerId}`),
      ids(({ customer_id }) => customer_id === two.customerId),
    );
    assert.deepEqual(await idsOf(`order_id=${at(0).order_id}`), [at(1).id, at(0).id]);
    assert.deepEqual(await idsOf(`order_id=${at(0).order_id}&customer_id=${two.customerId}`), []);
    assertRefused(await call('order_id=1'), 400, 'validation_error', 'order_id');
    assertRefused(await call('customer_id=1'), 400, 'validation_error', 'customer_id');
  });

  it('filters by status and type, one or several', async () => {
    for (const status of ['pending', 'in_progress', 'succeeded', 'failed', 'voided', 'chargeback']) {
      assert.deepEqual(
        await idsOf(`status=${status}`),
        ids((transaction) => transaction.status === status),
        status,
      );
    }
    for (const type of ['sale', 'refund', 'auth']) {
      assert.deepEqual(
        await idsOf(`type=${type}`),
        ids((transaction) => transaction.type === type),
        type,
      );
    }
    assert.deepEqual(
      await idsOf('status=failed,in_progress&type=sale'),
      ids(({ type, status }) => type === 'sale' && ['failed', 'in_progress'].includes(status)),
    );
    assert.deepEqual(
      await idsOf('status=succeeded,chargeback&type=sale,refund'),
      ids(({ status }) => ['succeeded', 'chargeback'].includes(status)),
    );
    assertRefused(await call('status=paid'), 400, 'validation_error', 'status');
    assertRefused(await call('type=void'), 400, 'validation_error', 'type');
  });

  it('filters by amount: gt, gte, lt and lte', async () => {
    const bounds: Record<string, (amount: number) => boolean> = {
      gt: (amount) => amount > 9800,
      gte: (amount) => amount >= 9800,
      lt: (amount) => amount < 9800,
      lte: (amount) => amount <= 9800,
    };
    for (const [name, holds] of Object.entries(bounds)) {
      assert.deepEqual(
        await idsOf(`amount[${name}]=9800`),
        ids(({ amount }) => holds(amount)),
        name,
      );
    }
    assertRefused(await call('amount[gte]=ten'), 400, 'validation_error', 'amount[gte]');
  });

  it('filters by created_at: gt, gte, lt and lte', async () => {
    const moment = at(3).created_at as string;
    const bounds: Record<string, (created: string) => boolean> = {
      gt: (created) => created > moment,
      gte: (created) => created >= moment,
      lt: (created) => created < moment,
      lte: (created) => created <= moment,
    };
    for (const [name, holds] of Object.entries(bounds)) {
      assert.deepEqual(
        await idsOf(`created_at[${name}]=${moment}`),
        ids(({ created_at }) => holds(created_at)),
        name,
      );
    }
  });

  for (const query of ['sort=amount', 'sort=-amount', 'sort=created_at', 'type=sale', 'amount[gte]=4900&sort=amount']) {
    it(`pages forwards and back without a gap, open and closed alike: ${query}`, async () => {
      const whole = await idsOf(`${query}&limit=100`);
      const { forwards, back } = await walkPages((page) => call(`${query}&limit=2${page}`));
      assert.deepEqual([forwards, back], [whole, whole]);
    });
  }

  it('sorts by amount both ways', async () => {
    const amounts = async (sort: string) =>
      (await call(`sort=${sort}`)).body.data.map(({ amount }: { amount: number }) => amount);
    const sorted = all.map(({ amount }) => amount).toSorted((left, right) => left - right);
    assert.deepEqual(await amounts('amount[asc]'), sorted);
    assert.deepEqual(await amounts('amount[desc]'), sorted.toReversed());
    assertRefused(await call('sort=status'), 400, 'validation_error', 'sort');
  });

  it('expands customers and orders and gives sparse fields', async () => {
    const reply = await call('expand=customer,order');
    for (const row of reply.body.data) {
      assert.deepEqual([row.customer.id, row.order.id], [row.customer_id, row.order_id]);
    }
    const few = await call('fields[transactions]=status&expand=order');
    for (const row of few.body.data) assert.deepEqual(Object.keys(row).toSorted(), ['id', 'order', 'status']);
    assertRefused(await call('expand=plan'), 400, 'validation_error', 'expand');
    assertRefused(await call('colour=red'), 400, 'validation_error', 'colour');
  });

  it('has nothing of another merchant', async () => {
    assert.deepEqual((await service.call('GET', '/v1/transactions')).body.data, []);
  });
});
