import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import {
  approvedCard,
  assertRefused,
  capture,
  createProduct,
  items,
  openShop,
  order,
  readOrder,
  refund,
  type Shop,
  succeeded,
} from '../../../tests/support/orders.ts';
import { walkPages } from '../../../tests/support/lists.ts';
import { type Merchant, type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';

let service: TestService;
let shop: Shop;
before(async () => {
  service = await startTestService();
  shop = await openShop(service);
});
after(() => service.stop());

describe('GET /v1/orders/{id}', () => {
  it('answers 404 for an id that never existed or is no id', async () => {
    const { id } = await succeeded(service, shop);
    for (const path of [randomUUID(), 'nothing']) {
      assertRefused(await service.call('GET', `/v1/orders/${path}`), 404, 'resource_not_found', 'id');
    }
    assert.equal((await readOrder(service, id.toUpperCase())).id, id);
  });

  it('adds the customer beside its id when asked to, also a deleted one', async () => {
    const own = await openShop(service);
    const { id } = await succeeded(service, own);
    const plain = await readOrder(service, id);
    assert.equal('customer' in plain, false);
    const path = `/v1/orders/${id}?expand=customer`;
    const customer = (await service.call('GET', `/v1/customers/${own.customerId}`)).body;
    assert.deepEqual((await service.call('GET', path)).body, { ...plain, customer });
    await service.call('DELETE', `/v1/customers/${own.customerId}`);
    assert.equal((await service.call('GET', path)).body.customer.deleted, true);
    assertRefused(await service.call('GET', `/v1/orders/${id}?expand=product`), 400, 'validation_error', 'expand');
  });

  it('gives only the fields asked for, and always the id', async () => {
    const { id } = await succeeded(service, shop);
    const few = await service.call('GET', `/v1/orders/${id}?fields[orders]=status,total`);
    assert.deepEqual(few.body, { id, status: 'succeeded', total: 4900 });
    const both = await service.call('GET', `/v1/orders/${id}?fields[orders]=status&expand=customer`);
    assert.deepEqual(Object.keys(both.body).toSorted(), ['customer', 'id', 'status']);
    const unknown = await service.call('GET', `/v1/orders/${id}?fields[orders]=price`);
    assertRefused(unknown, 400, 'validation_error', 'fields[orders]');
  });
});

describe('GET /v1/orders', () => {
  let merchant: Merchant;
  let one: Shop;
  let two: Shop;
  /** Oldest first. */
  const made: Record<string, any>[] = [];
  const call = (query: string): Promise<Reply> => service.call('GET', `/v1/orders?${query}`, { key: merchant.key });
  async function idsOf(query: string): Promise<string[]> {
    const reply = await call(query);
    assert.equal(reply.status, 200, reply.text);
    return reply.body.data.map(({ id }: { id: string }) => id);
  }
  const ids = (keep: (made: Record<string, any>, index: number) => boolean): string[] =>
    made
      .filter(keep)
      .map(({ id }) => id)
      .toReversed();

  before(async () => {
    merchant = await service.createMerchant();
    const options = { key: merchant.key };
    one = await openShop(service, approvedCard, options);
    two = await openShop(service, '4000000000000002', options);
    const lost = await capture(service, one.customerId, '4000009999007070', options);
    for (const quantity of [1, 2, 3, 4, 5, 6, 7]) {
      const shopping = quantity % 3 === 0 ? two : one;
      const reply = await order(service, shopping, items([shopping.productId, quantity]), options);
      assert.equal(reply.status, 201, reply.text);
      made.push(reply.body);
    }
    assert.equal((await refund(service, made[0]?.id, undefined, options)).body.status, 'refunded');
    assert.equal((await refund(service, made[1]?.id, 100, options)).body.status, 'partially_refunded');
    const doubtful = { ...items([one.productId, 8]), payment_method_id: lost };
    assert.equal((await order(service, one, doubtful, options)).status, 502);
    const newest = (await call('limit=1')).body.data[0];
    assert.equal(newest.status, 'pending');
    made.push(newest);
  });

  it('is newest first, with items, card and transactions of each, and 10 to a page', async () => {
    const reply = await call('');
    assert.deepEqual(
      reply.body.data.map(({ id }: { id: string }) => id),
      ids(() => true),
    );
    assert.partialDeepStrictEqual(reply.body, { url: '/v1/orders', has_more: false });
    assert.deepEqual(reply.body.cursors, { next: null, previous: null });
    const failed = reply.body.data.find(({ id }: { id: string }) => id === made[2]?.id);
    assert.deepEqual(failed, made[2]);
  });

  it('filters by customer', async () => {
    assert.deepEqual(
      await idsOf(`customer_id=${two.customerId}`),
      ids(({ customer_id }) => customer_id === two.customerId),
    );
    assert.equal((await idsOf(`customer_id=${one.customerId.toUpperCase()}`)).length, 6);
    assert.deepEqual(await idsOf(`customer_id=${randomUUID()}`), []);
    assertRefused(await call('customer_id=me'), 400, 'validation_error', 'customer_id');
  });

  it('filters by one status or several, pending among them', async () => {
    const statuses = ['refunded', 'partially_refunded', 'failed', 'succeeded', 'succeeded', 'failed', 'succeeded'];
    const all = [...statuses, 'pending'];
    const expected = (...wanted: string[]) => ids((_, index) => wanted.includes(all[index] ?? ''));
    for (const status of new Set(all)) assert.deepEqual(await idsOf(`status=${status}`), expected(status), status);
    for (const wanted of [
      ['pending', 'failed'],
      ['succeeded', 'pending'],
      ['refunded', 'partially_refunded'],
      ['pending', 'succeeded', 'refunded'],
      ['voided', 'pending'],
    ]) {
      assert.deepEqual(await idsOf(`status=${wanted.join(',')}`), expected(...wanted), wanted.join());
    }
    assert.deepEqual(await idsOf('status=pending&status=failed'), expected('pending', 'failed'));
    assert.deepEqual(await idsOf('status=chargeback,voided,refund_failed'), []);
    const unknown = await call('status=paid');
    assertRefused(unknown, 400, 'validation_error', 'status');
    assert.match(unknown.body.error.message, /partially_refunded/);
  });

  it('filters by total: gt, gte, lt and lte', async () => {
    const bounds: Record<string, (total: number) => boolean> = {
      gt: (total) => total > 14_700,
      gte: (total) => total >= 14_700,
      lt: (total) => total < 14_700,
      lte: (total) => total <= 14_700,
    };
    for (const [name, holds] of Object.entries(bounds)) {
      assert.deepEqual(
        await idsOf(`total[${name}]=14700`),
        ids(({ total }) => holds(total)),
        name,
      );
    }
    const between = await idsOf('total[gt]=4900&total[lte]=14700');
    assert.deepEqual(
      between,
      ids(({ total }) => total > 4900 && total <= 14_700),
    );
    assertRefused(await call('total[gte]=1.5'), 400, 'validation_error', 'total[gte]');
    assertRefused(await call('total=4900'), 400, 'validation_error', 'total');
  });

  it('filters by created_at: gt, gte, lt and lte, as a moment or a date', async () => {
    const at = made[3]?.created_at as string;
    const bounds: Record<string, (created: string) => boolean> = {
      gt: (created) => created > at,
      gte: (created) => created >= at,
      lt: (created) => created < at,
      lte: (created) => created <= at,
    };
    for (const [name, holds] of Object.entries(bounds)) {
      assert.deepEqual(
        await idsOf(`created_at[${name}]=${at}`),
        ids(({ created_at }) => holds(created_at)),
        name,
      );
    }
    assert.equal((await idsOf('created_at[gte]=2020-01-01')).length, 8);
    assert.deepEqual(await idsOf('created_at[lt]=2020-01-01'), []);
    assertRefused(await call('created_at[lt]=yesterday'), 400, 'validation_error', 'created_at[lt]');
  });

  it('sorts by created_at and total, both ways', async () => {
    const byTotal = made.toSorted((left, right) => left.total - right.total).map(({ id }) => id);
    for (const sort of ['total', 'total[asc]']) assert.deepEqual(await idsOf(`sort=${sort}`), byTotal, sort);
    for (const sort of ['-total', 'total[desc]']) {
      assert.deepEqual(await idsOf(`sort=${sort}`), byTotal.toReversed(), sort);
    }
    assert.deepEqual(await idsOf('sort=created_at'), ids(() => true).toReversed());
    assertRefused(await call('sort=status'), 400, 'validation_error', 'sort');
  });

  const walks = [
    'status=succeeded,failed',
    'status=failed,refunded,partially_refunded,pending',
    'total[gte]=9800&sort=-total',
    'sort=total',
    'sort=created_at&created_at[gte]=2020-01-01',
  ];
  for (const query of walks) {
    it(`pages forwards and back without a gap: ${query}`, async () => {
      const whole = await idsOf(`${query}&limit=100`);
      assert.ok(whole.length > 3);
      const { forwards, back } = await walkPages((page) => call(`${query}&limit=2${page}`));
      assert.deepEqual([forwards, back], [whole, whole]);
    });
  }

  it('expands customers and gives sparse fields', async () => {
    const reply = await call('expand=customer&limit=3');
    for (const row of reply.body.data) assert.equal(row.customer.id, row.customer_id);
    const few = await call('fields[orders]=order_number,customer_id&limit=2');
    for (const row of few.body.data)
      assert.deepEqual(Object.keys(row).toSorted(), ['customer_id', 'id', 'order_number']);
    assertRefused(await call('expand=order'), 400, 'validation_error', 'expand');
    assertRefused(await call('colour=red'), 400, 'validation_error', 'colour');
    assertRefused(await call('limit=101'), 400, 'validation_error', 'limit');
  });
});

describe('deleting a customer or a product with orders', () => {
  it('keeps a customer with orders as deleted, with its orders, and removes one without', async () => {
    const own = await openShop(service);
    const sold = await succeeded(service, own);
    const reply = await service.call('DELETE', `/v1/customers/${own.customerId}`);
    assert.equal(reply.status, 200, reply.text);
    assert.equal((await service.call('GET', `/v1/customers/${own.customerId}`)).body.deleted, true);
    assert.deepEqual(await readOrder(service, sold.id), sold);
    assert.equal((await service.call('DELETE', `/v1/customers/${own.customerId}`)).status, 200);
    const without = await openShop(service);
    assert.equal((await service.call('DELETE', `/v1/customers/${without.customerId}`)).status, 200);
    assert.equal((await service.call('GET', `/v1/customers/${without.customerId}`)).status, 404);
  });

  it('keeps a customer whose only order was declined', async () => {
    const own = await openShop(service, '4000000000000002');
    await order(service, own);
    await service.call('DELETE', `/v1/customers/${own.customerId}`);
    assert.equal((await service.call('GET', `/v1/customers/${own.customerId}`)).body.deleted, true);
  });

  it('keeps a product with orders as archived, and removes one without', async () => {
    const [sold, unsold, refused] = [
      await createProduct(service, 100),
      await createProduct(service, 100),
      await createProduct(service, 100),
    ];
    await order(service, shop, items([sold, 1], [shop.productId, 1]));
    await order(service, shop, items([refused, 1], [randomUUID(), 1]));
    for (const id of [sold, unsold, refused]) {
      assert.equal((await service.call('DELETE', `/v1/products/${id}`)).status, 200);
    }
    assert.equal((await service.call('GET', `/v1/products/${sold}`)).body.active, false);
    assert.equal((await service.call('GET', `/v1/products/${unsold}`)).status, 404);
    assert.equal((await service.call('GET', `/v1/products/${refused}`)).status, 404);
  });

  it('never lets an order and a deletion both succeed', async () => {
    for (let round = 0; round < 5; round += 1) {
      const own = await openShop(service);
      const [ordered, , gone] = await Promise.all([
        order(service, own),
        service.call('DELETE', `/v1/customers/${own.customerId}`),
        service.call('DELETE', `/v1/products/${own.productId}`),
      ]);
      assert.equal(gone.status, 200, gone.text);
      assert.ok([201, 400, 404].includes(ordered.status), ordered.text);
      if (ordered.status !== 201) continue;
      assert.equal((await service.call('GET', `/v1/customers/${own.customerId}`)).body.deleted, true);
      assert.equal((await service.call('GET', `/v1/products/${own.productId}`)).body.active, false);
    }
  });

  it('keeps the order of a card that was deleted', async () => {
    const own = await openShop(service);
    const sold = await succeeded(service, own);
    const path = `/v1/customers/${own.customerId}/payment_methods/${own.paymentMethodId}`;
    assert.equal((await service.call('DELETE', path)).status, 200);
    assert.deepEqual(await readOrder(service, sold.id), sold);
  });
});
