import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import {
  approvedCard,
  assertInvalid,
  assertRefused,
  capture,
  checkAllOpen,
  countOf,
  createProduct,
  eventsOf,
  eventTypes,
  items,
  openShop,
  order,
  readOrder,
  refund,
  type Shop,
  succeeded,
} from '../../../tests/support/orders.ts';
import {
  type CallOptions,
  type Reply,
  someCustomer,
  someProduct,
  startTestService,
  type TestService,
} from '../../../tests/support/service.ts';

let service: TestService;
let shop: Shop;
before(async () => {
  service = await startTestService();
  shop = await openShop(service);
});
after(() => service.stop());

async function newProduct(overrides: Record<string, unknown>, options: CallOptions = {}): Promise<string> {
  const call = { body: someProduct(overrides), idempotencyKey: randomUUID(), ...options };
  const reply = await service.call('POST', '/v1/products', call);
  assert.equal(reply.status, 201, reply.text);
  return reply.body.id;
}
const archive = (id: string): Promise<Reply> =>
  service.call('PATCH', `/v1/products/${id}`, { body: { active: false }, idempotencyKey: randomUUID() });
const orderCount = (companyId = service.company.id): Promise<number> =>
  countOf(service, 'orders', 'company_id = $1', [companyId]);
describe('POST /v1/orders', () => {
  it('charges the default card of the customer and answers 201 with the whole order', async () => {
    const reply = await order(service, shop, items([shop.productId, 2]));
    assert.equal(reply.status, 201, reply.text);
    const { id, order_number, created_at, updated_at, transactions, ...rest } = reply.body;
    assert.match(order_number, /^[A-HJKMNP-Z2-9]{8}$/);
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    assert.match(created_at, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
    assert.ok(updated_at >= created_at);
    const product = (await service.call('GET', `/v1/products/${shop.productId}`)).body;
    assert.deepEqual(rest, {
      status: 'succeeded',
      customer_id: shop.customerId,
      payment_method: { id: shop.paymentMethodId, card_last_four: '4242', card_brand: 'visa' },
      items: [
        {
          product_id: shop.productId,
          quantity: 2,
          name: 'Tea pot',
          sku: product.sku,
          unit_price: 4900,
          total: 9800,
        },
      ],
      currency: 'usd',
      subtotal: 9800,
      discount_amount: 0,
      total: 9800,
      amount: 9800,
      authentication_url: null,
      authorized_amount: null,
      capture_before: null,
      captured_amount: 9800,
      credit_applied: 0,
      credit_refunded: 0,
      refunded_amount: 0,
      coupon: null,
      subscription_id: null,
      subscription_cycle: null,
      subscription_change: null,
      attempt_count: 0,
      next_retry_at: null,
      failure_code: null,
      failure_reason: null,
      description: null,
      shipping: null,
      metadata: {},
      request_id: reply.headers.get('svc-request-id'),
      livemode: false,
    });
    const [{ id: saleId, created_at: soldAt, processor_transaction_id, ...sale }] = transactions;
    assert.equal(transactions.length, 1);
    assert.match(saleId, /^[0-9a-f-]{36}$/);
    assert.equal(typeof processor_transaction_id, 'string');
    assert.equal(soldAt, created_at);
    assert.deepEqual(sale, {
      type: 'sale',
      status: 'succeeded',
      amount: 9800,
      currency: 'usd',
      failure_code: null,
      failure_reason: null,
    });
  });

  it('writes order.created and then order.succeeded, each with the order as it was', async () => {
    const { id } = await succeeded(service, shop);
    assert.deepEqual(await eventTypes(service, id), ['order.created', 'order.succeeded']);
    const [created, done] = await eventsOf(service, id);
    assert.deepEqual([created?.object.status, created?.object.transactions[0].status], ['pending', 'in_progress']);
    assert.deepEqual(done?.object, await readOrder(service, id));
  });

  it('writes order.failed for a declined charge, which is no error', async () => {
    const reply = await order(service, await openShop(service, '4000000000009995'));
    assert.equal(reply.status, 201);
    assert.deepEqual([reply.body.status, reply.body.attempt_count], ['failed', 1]);
    assert.deepEqual(await eventTypes(service, reply.body.id), ['order.created', 'order.failed']);
    const [, failed] = await eventsOf(service, reply.body.id);
    for (const field of ['subscription_id', 'subscription_cycle', 'attempt_count', 'next_retry_at']) {
      assert.ok(field in (failed?.object ?? {}), field);
    }
  });

  it('charges the card that is named', async () => {
    const own = await openShop(service);
    const second = await capture(service, own.customerId, '5555555555554444');
    const reply = await order(service, own, { payment_method_id: second });
    assert.deepEqual(reply.body.payment_method, { id: second, card_last_four: '4444', card_brand: 'mastercard' });
    const unnamed = await order(service, own);
    assert.equal(unnamed.body.payment_method.id, own.paymentMethodId);
  });

  it('keeps description, shipping and metadata as sent', async () => {
    const sent = {
      description: 'Two pots; <b>no</b> lids',
      shipping: {
        name: 'Ada Lovelace',
        line1: '12 St James’s Square',
        line2: null,
        city: 'London',
        state: null,
        postal_code: 'SW1Y 4JH',
        country: 'GB',
        phone: '+442071234567',
      },
      metadata: { cart: 'a-1', nested: { list: [1, 2.5, null, true] }, __proto__x: 'y' },
    };
    const reply = await order(service, shop, sent);
    assert.equal(reply.status, 201, reply.text);
    assert.partialDeepStrictEqual(reply.body, sent);
    assert.partialDeepStrictEqual(await readOrder(service, reply.body.id), sent);
    const bare = await order(service, shop, { shipping: { name: 'Ada' } });
    assert.deepEqual(bare.body.shipping, {
      name: 'Ada',
      line1: null,
      line2: null,
      city: null,
      state: null,
      postal_code: null,
      country: null,
      phone: null,
    });
  });

  it('refuses fields that it does not know, a price above all', async () => {
    const priced = { items: [{ product_id: shop.productId, quantity: 1, price: 1 }] };
    assertInvalid(await order(service, shop, priced), 'items[0].price');
    assertInvalid(await order(service, shop, { amount: 5 }), 'amount');
    assertInvalid(await order(service, shop, { shipping: { street: 'x' } }), 'shipping.street');
  });

  it('names every field that is missing or wrong at once', async () => {
    const reply = await service.call('POST', '/v1/orders', { body: {}, idempotencyKey: randomUUID() });
    assertRefused(reply, 400, 'validation_error');
    const fields = reply.body.error.field_errors.map(({ field, code }: Record<string, string>) => `${field} ${code}`);
    assert.deepEqual(fields.toSorted(), ['customer_id required_field', 'items required_field']);
    assertRefused(await order(service, shop, { items: [] }), 400, 'validation_error', 'items');
    assertRefused(await order(service, shop, { customer_id: 'me' }), 400, 'validation_error', 'customer_id');
    assertRefused(await order(service, shop, { description: 'x'.repeat(5001) }), 400, 'validation_error');
    assertRefused(await order(service, shop, { shipping: { country: 'XX' } }), 400, 'validation_error');
    assertRefused(await order(service, shop, { currency: 'USD' }), 400, 'validation_error', 'currency');
    for (const quantity of [0, -1, 1.5, 10_000, '1', null]) {
      const refused = await order(service, shop, { items: [{ product_id: shop.productId, quantity }] });
      assertRefused(refused, 400, 'validation_error', 'items[0].quantity');
    }
  });

  it('merges the same product into one item, up to a quantity of 9,999', async () => {
    const other = await createProduct(service, 100);
    const merged = await order(
      service,
      shop,
      items([shop.productId, 1], [other, 3], [shop.productId.toUpperCase(), 2], [other, 9_996]),
    );
    assert.equal(merged.status, 201, merged.text);
    assert.deepEqual(
      merged.body.items.map((item: Record<string, unknown>) => [item.product_id, item.quantity, item.total]),
      [
        [shop.productId, 3, 14_700],
        [other, 9_999, 999_900],
      ],
    );
    assert.equal(merged.body.total, 1_014_600);
    const over = await order(service, shop, items([shop.productId, 1], [other, 5_000], [other, 5_000]));
    assertInvalid(over, 'items[1].quantity');
  });

  it('takes 100 items and refuses 101', async () => {
    const many = (count: number) => items(...Array.from({ length: count }, () => [shop.productId, 1] as const));
    assert.equal((await order(service, shop, many(100))).body.items[0].quantity, 100);
    assertRefused(await order(service, shop, many(101)), 400, 'validation_error', 'items');
  });

  it('takes a total of 10^12 cents, to the cent, and not one more', async () => {
    const [large, rest, cent] = await Promise.all([
      createProduct(service, 99_990_000),
      createProduct(service, 19_999_000),
      createProduct(service, 1),
    ]);
    const most = [
      [large, 9_999],
      [rest, 10],
    ] as const;
    const reply = await order(service, shop, items(...most));
    assert.deepEqual([reply.status, reply.body.total], [201, 1_000_000_000_000], reply.text);
    assert.equal((await readOrder(service, reply.body.id)).total, 1_000_000_000_000);
    assertInvalid(await order(service, shop, items(...most, [cent, 1])), 'items');
  });

  it('takes its currency from the products and refuses any other', async () => {
    const euro = await newProduct({ pricing: { amount: 100, currency: 'eur' } });
    assert.equal((await order(service, shop, items([euro, 1]))).body.currency, 'eur');
    assert.equal((await order(service, shop, { ...items([euro, 1]), currency: 'eur' })).body.currency, 'eur');
    assertInvalid(await order(service, shop, { ...items([euro, 1]), currency: 'usd' }), 'currency');
    assertInvalid(await order(service, shop, items([euro, 1], [shop.productId, 1])), 'currency');
    const both = { ...items([euro, 1], [shop.productId, 1]), currency: 'usd' };
    assertInvalid(await order(service, shop, both), 'currency');
  });

  it('is 404 for a customer that never existed, belongs to another merchant or was hard-deleted', async () => {
    const merchant = await service.createMerchant();
    const foreign = await openShop(service, approvedCard, { key: merchant.key });
    const gone = (await service.call('POST', '/v1/customers', { body: someCustomer() })).body.id;
    await service.call('DELETE', `/v1/customers/${gone}`);
    const missing = await order(service, shop, { customer_id: randomUUID() });
    assertRefused(missing, 404, 'resource_not_found', 'customer_id');
    const other = await order(service, shop, { customer_id: foreign.customerId });
    assert.deepEqual({ ...other.body.error, request_id: '' }, { ...missing.body.error, request_id: '' });
    assertRefused(await order(service, shop, { customer_id: gone }), 400, 'invalid_request', 'customer_id');
  });

  it('refuses a deleted customer: 400 invalid_request on customer_id', async () => {
    const own = await openShop(service);
    await succeeded(service, own);
    await service.call('DELETE', `/v1/customers/${own.customerId}`);
    assertRefused(await order(service, own), 400, 'invalid_request', 'customer_id');
    const named = await order(service, own, { payment_method_id: own.paymentMethodId });
    assertRefused(named, 400, 'invalid_request', 'customer_id');
  });

  it('answers 404 on payment_method_id for the card of another customer, a deleted card and one that never existed', async () => {
    const other = await openShop(service);
    const replies = [
      await order(service, shop, { payment_method_id: other.paymentMethodId }),
      await order(service, shop, { payment_method_id: randomUUID() }),
    ];
    const second = await capture(service, other.customerId);
    await service.call('DELETE', `/v1/customers/${other.customerId}/payment_methods/${second}`);
    replies.push(await order(service, other, { payment_method_id: second }));
    for (const reply of replies) assertRefused(reply, 404, 'resource_not_found', 'payment_method_id');
  });

  it('refuses a customer without a card: customer_not_configured on customer_id', async () => {
    const customer = (await service.call('POST', '/v1/customers', { body: someCustomer() })).body.id;
    const reply = await order(service, shop, { customer_id: customer });
    assertRefused(reply, 400, 'customer_not_configured', 'customer_id');
    assert.equal(reply.body.error.type, 'processing_error');
    const own = await openShop(service);
    await service.call('DELETE', `/v1/customers/${own.customerId}/payment_methods/${own.paymentMethodId}`);
    assertRefused(await order(service, own), 400, 'customer_not_configured', 'customer_id');
  });

  it('is 404 for a product that never existed, belongs to another merchant or was deleted', async () => {
    const merchant = await service.createMerchant();
    const foreign = await createProduct(service, 100, { key: merchant.key });
    const gone = await createProduct(service, 100);
    await service.call('DELETE', `/v1/products/${gone}`);
    for (const id of [randomUUID(), foreign, gone]) {
      const reply = await order(service, shop, items([shop.productId, 1], [id, 1]));
      assertRefused(reply, 404, 'resource_not_found', 'items[1].product_id');
    }
  });

  it('refuses a product that is archived, or deleted with its order history', async () => {
    const [archived, deleted] = [await createProduct(service, 100), await createProduct(service, 100)];
    assert.equal((await order(service, shop, items([deleted, 1]))).status, 201);
    await archive(archived);
    await service.call('DELETE', `/v1/products/${deleted}`);
    for (const id of [archived, deleted]) {
      assertInvalid(await order(service, shop, items([shop.productId, 1], [id, 1])), 'items[1].product_id');
    }
  });

  it('names all items that cannot be ordered at once', async () => {
    const [one, two] = [await createProduct(service, 100), await createProduct(service, 100)];
    await archive(one);
    await archive(two);
    const reply = await order(service, shop, items([one, 1], [shop.productId, 1], [two, 1]));
    assertInvalid(reply, 'items[0].product_id', 'items[2].product_id');
  });

  it('sells what is out of stock: availability and inventory describe, they do not block', async () => {
    const product = await newProduct({ availability: 'out_of_stock', inventory_quantity: 0 });
    assert.equal((await order(service, shop, items([product, 3]))).body.status, 'succeeded');
  });

  it('refuses a coupon code that does not exist, naming the reason', async () => {
    const reply = await order(service, shop, { coupon_code: 'NOPE' });
    assertInvalid(reply, 'coupon_code');
    assert.match(reply.body.error.message, /code_not_found/);
  });

  it('freezes the items: a later change of the catalog does not reach an order', async () => {
    const product = await createProduct(service, 1234);
    const before = (await order(service, shop, items([product, 2]))).body;
    const changes = { name: 'Kettle', sku: `k-${randomUUID()}`, pricing: { amount: 1, currency: 'eur' } };
    await service.call('PATCH', `/v1/products/${product}`, { body: changes, idempotencyKey: randomUUID() });
    assert.deepEqual(await readOrder(service, before.id), before);
  });

  it('refuses a live company without a processor: merchant_not_configured', async () => {
    const merchant = await service.createMerchant();
    const key = await service.createKey(merchant.live);
    const live = await openShop(service, approvedCard, { key });
    const reply = await order(service, live, {}, { key });
    assertRefused(reply, 400, 'merchant_not_configured');
    assert.equal(reply.body.error.type, 'processing_error');
    assert.equal(await orderCount(merchant.live.id), 0);
  });

  it('needs orders:write, and reading needs orders:read', async () => {
    const reader = await service.createKey(service.company, { permissions: ['orders:read'] });
    const writer = await service.createKey(service.company, { permissions: ['orders:write'] });
    const publishable = await service.createKey(service.company, { kind: 'publishable' });
    const { id } = await succeeded(service, shop, { key: writer });
    for (const key of [reader, publishable]) {
      assertRefused(await order(service, shop, {}, { key }), 403, 'insufficient_permissions');
      for (const action of ['refund', 'retry']) {
        const refused = await service.call('POST', `/v1/orders/${id}/${action}`, { key });
        assertRefused(refused, 403, 'insufficient_permissions');
      }
    }
    assert.equal((await readOrder(service, id, { key: reader })).id, id);
    assertRefused(await service.call('GET', `/v1/orders/${id}`, { key: writer }), 403, 'insufficient_permissions');
    assertRefused(await order(service, shop, {}, { key: null }), 401, 'missing_api_key');
  });
});

describe('an order that costs nothing', () => {
  it('succeeds without a processor call and without a sale, and cannot be refunded (422)', async () => {
    const free = await createProduct(service, 0);
    const key = randomUUID();
    const reply = await order(service, shop, items([free, 2]), { idempotencyKey: key });
    assert.equal(reply.status, 201, reply.text);
    assert.partialDeepStrictEqual(reply.body, { status: 'succeeded', total: 0, amount: 0, transactions: [] });
    assert.deepEqual(await eventTypes(service, reply.body.id), ['order.created', 'order.succeeded']);
    assert.deepEqual(await readOrder(service, reply.body.id), reply.body);
    const again = await order(service, shop, items([free, 2]), { idempotencyKey: key });
    assert.equal(again.text, reply.text);
    assertRefused(await refund(service, reply.body.id), 422, 'invalid_state_transition');
    assertRefused(await refund(service, reply.body.id, 1), 422, 'invalid_state_transition');
    const disputed = await service.call('POST', `/v1/sandbox/orders/${reply.body.id}/chargeback`);
    assertRefused(disputed, 422, 'invalid_state_transition');
  });

  it('is charged nothing even on a card that declines', async () => {
    const own = await openShop(service, '4000000000000002');
    const reply = await order(service, own, items([await createProduct(service, 0), 1]));
    assert.equal(reply.body.status, 'succeeded');
  });
});

describe('the idempotency key of an order', () => {
  const body = () => ({ customer_id: shop.customerId, ...items([shop.productId, 1]) });
  const post = (key: string, sent: object = body(), headers: Record<string, string> = {}): Promise<Reply> =>
    service.call('POST', '/v1/orders', { body: sent, idempotencyKey: key, headers });

  function assertReplayed(reply: Reply, first: Reply): void {
    assert.deepEqual([reply.status, reply.text], [first.status, first.text]);
    assert.equal(reply.headers.get('svc-idempotent-replayed'), 'true');
  }

  it('answers a repeated key byte for byte, even if product, order, card and customer have changed', async () => {
    const own = await openShop(service);
    const sent = {
      customer_id: own.customerId,
      ...items([own.productId, 1]),
      metadata: { z: 1, a: 1.5e-7, 2: 'two', long: 'é\u2028' },
    };
    const key = randomUUID();
    const first = await post(key, sent);
    assert.equal(first.status, 201, first.text);
    assert.equal(first.headers.get('svc-idempotent-replayed'), null);
    assertReplayed(await post(key, sent), first);
    await archive(own.productId);
    assertReplayed(await post(key, sent), first);
    await refund(service, first.body.id, 100);
    assertReplayed(await post(key, sent), first);
    await checkAllOpen(service);
    await service.call('POST', `/v1/sandbox/orders/${first.body.id}/chargeback`);
    assertReplayed(await post(key, sent), first);
    await service.call('DELETE', `/v1/customers/${own.customerId}/payment_methods/${own.paymentMethodId}`);
    await service.call('DELETE', `/v1/customers/${own.customerId}`);
    await service.call('DELETE', `/v1/products/${own.productId}`);
    assertReplayed(await post(key, sent), first);
  });

  it('refuses another request with 422, naming what differs and the first request', async () => {
    const key = randomUUID();
    const first = await post(key);
    const other = await post(key, { ...body(), ...items([shop.productId, 2]), description: 'more' });
    assertRefused(other, 422, 'idempotency_key_conflict');
    assert.equal(other.body.error.type, 'idempotency_error');
    assert.match(other.body.error.message, /description, items/);
    assert.ok(other.body.error.message.includes(first.headers.get('svc-request-id') ?? 'no request id'));
    const path = `/v1/orders/${first.body.id}/refund`;
    const elsewhere = await service.call('POST', path, { body: {}, idempotencyKey: key });
    assertRefused(elsewhere, 422, 'idempotency_key_conflict');
    assertRefused(
      await service.call('POST', '/v1/customers', { body: someCustomer(), idempotencyKey: key }),
      422,
      'idempotency_key_conflict',
    );
    assert.equal((await readOrder(service, first.body.id)).refunded_amount, 0);
  });

  it('keeps what the rules of the business refused, also when they would allow it by now', async () => {
    const own = await openShop(service);
    const sent = { customer_id: own.customerId, ...items([own.productId, 1]) };
    await archive(own.productId);
    const key = randomUUID();
    const refused = await post(key, sent);
    assertInvalid(refused, 'items[0].product_id');
    await service.call('PATCH', `/v1/products/${own.productId}`, {
      body: { active: true },
      idempotencyKey: randomUUID(),
    });
    assertReplayed(await post(key, sent), refused);
    assert.equal((await post(randomUUID(), sent)).status, 201);
    for (const fields of [{ payment_method_id: randomUUID() }, { customer_id: randomUUID() }]) {
      const again = randomUUID();
      const missing = await post(again, { ...sent, ...fields });
      assert.equal(missing.status, 404);
      assertReplayed(await post(again, { ...sent, ...fields }), missing);
    }
  });

  it('answers in the version of the first request: 2025-11-04 wraps the order in data', async () => {
    const old = { 'svc-version': '2025-11-04' };
    const key = randomUUID();
    const first = await post(key, body(), old);
    assert.equal(first.status, 201, first.text);
    assert.deepEqual(Object.keys(first.body), ['data']);
    assert.equal(first.body.data.status, 'succeeded');
    assert.equal(first.headers.get('svc-version'), '2025-11-04');
    const replayed = await post(key, body(), old);
    assertReplayed(replayed, first);
    assert.equal(replayed.headers.get('svc-version'), '2025-11-04');
    const read = await service.call('GET', `/v1/orders/${first.body.data.id}`, { headers: old });
    assert.deepEqual(read.body, first.body);
    const list = await service.call('GET', `/v1/orders?limit=1`, { headers: old });
    assert.equal(list.body.data[0].id, first.body.data.id);
  });

  it('of 50 at once makes one order and one charge, over two services', async () => {
    const second = await startTestService({ database: service.database, vault: service.vault });
    try {
      const own = await openShop(service);
      const call = {
        key: service.key,
        body: { customer_id: own.customerId, ...items([own.productId, 1]) },
        idempotencyKey: randomUUID(),
      };
      const replies = await Promise.all(
        Array.from({ length: 50 }, (_, index) => (index % 2 ? service : second).call('POST', '/v1/orders', call)),
      );
      const made = replies.filter(({ status }) => status === 201);
      assert.ok(made.length > 0);
      assert.equal(new Set(made.map(({ text }) => text)).size, 1);
      for (const reply of replies) if (reply.status !== 201) assertRefused(reply, 409, 'request_in_progress');
      for (const reply of replies) if (reply.status === 409) assert.ok(reply.headers.get('retry-after'));
      assert.equal(made.filter(({ headers }) => !headers.has('svc-idempotent-replayed')).length, 1);
      assert.equal(await countOf(service, 'orders', 'customer_id = $1', [own.customerId]), 1);
      assert.equal(await countOf(service, 'all_transactions', 'customer_id = $1', [own.customerId]), 1);
      assert.deepEqual(await eventTypes(service, made[0]?.body.id), ['order.created', 'order.succeeded']);
    } finally {
      await second.stop();
    }
  });

  it('of 50 at once that are refused gives all of them the one refusal', async () => {
    const sent = { ...body(), ...items([randomUUID(), 1]) };
    const key = randomUUID();
    const replies = await Promise.all(Array.from({ length: 50 }, () => post(key, sent)));
    for (const reply of replies) assertRefused(reply, 404, 'resource_not_found', 'items[0].product_id');
    assert.equal(new Set(replies.map(({ text }) => text)).size, 1);
  });

  it('is free again after 24 hours, by the clock of the company', async () => {
    const later = await startTestService({ database: service.database, vault: service.vault });
    try {
      const call = { key: service.key, body: body(), idempotencyKey: randomUUID() };
      const first = await later.call('POST', '/v1/orders', call);
      later.clock.advance(24 * 3_600_000 - 10_000);
      assertReplayed(await later.call('POST', '/v1/orders', call), first);
      later.clock.advance(10_000);
      const next = await later.call('POST', '/v1/orders', call);
      assert.equal(next.status, 201, next.text);
      assert.notEqual(next.body.id, first.body.id);
    } finally {
      await later.stop();
    }
  });

  it('that expired makes one order when 20 requests take it up again at once', async () => {
    const later = await startTestService({ database: service.database, vault: service.vault });
    const other = await startTestService({ database: service.database, vault: service.vault });
    for (const one of [later, other]) one.clock.advance(25 * 3_600_000);
    try {
      const own = await openShop(service);
      for (let round = 1; round <= 4; round += 1) {
        const sent = { customer_id: own.customerId, ...items([own.productId, 1]) };
        const call = { key: service.key, body: sent, idempotencyKey: randomUUID() };
        await service.call('POST', '/v1/orders', call);
        const replies = await Promise.all(
          Array.from({ length: 20 }, (_, index) => (index % 2 ? later : other).call('POST', '/v1/orders', call)),
        );
        const ids = new Set(replies.filter(({ status }) => status === 201).map((reply) => reply.body.id));
        assert.equal(ids.size, 1, 'one key, one new order');
        assert.equal(await countOf(service, 'orders', 'customer_id = $1', [own.customerId]), 2 * round);
      }
    } finally {
      await later.stop();
      await other.stop();
    }
  });

  it('that expired is free for any other call too', async () => {
    const later = await startTestService({ database: service.database, vault: service.vault });
    try {
      const [one, two] = [randomUUID(), randomUUID()];
      const first = await post(one);
      await post(two);
      later.clock.advance(25 * 3_600_000);
      const path = `/v1/orders/${first.body.id}/refund`;
      const refunded = await later.call('POST', path, { key: service.key, body: {}, idempotencyKey: one });
      assert.equal(refunded.status, 200, refunded.text);
      const call = { key: service.key, body: someCustomer(), idempotencyKey: two };
      const made = await later.call('POST', '/v1/customers', call);
      assert.equal(made.status, 201, made.text);
    } finally {
      await later.stop();
    }
  });
});

describe('100 orders at once', () => {
  it('each get their own correct response, with any response to the others', async () => {
    const declining = await openShop(service, '4000000000000002');
    const cardless = (await service.call('POST', '/v1/customers', { body: someCustomer() })).body.id;
    const shared = randomUUID();
    const fresh = await Promise.all(Array.from({ length: 20 }, () => createProduct(service, 700)));
    const kinds: ((index: number) => [Promise<Reply>, (reply: Reply) => void])[] = [
      () => [order(service, shop), (reply) => assert.equal(reply.body.status, 'succeeded', reply.text)],
      () => [
        order(service, shop, items([shop.productId, 1], [randomUUID(), 1])),
        (reply) => assertRefused(reply, 404, 'resource_not_found', 'items[1].product_id'),
      ],
      () => [
        order(service, declining),
        (reply) => assert.deepEqual([reply.status, reply.body.failure_code], [201, 'processor_declined']),
      ],
      () => [
        order(service, shop, { description: 'shared' }, { idempotencyKey: shared }),
        (reply) =>
          reply.status === 409
            ? assertRefused(reply, 409, 'request_in_progress')
            : assert.deepEqual([reply.status, reply.body.description], [201, 'shared'], reply.text),
      ],
      (index) => [
        order(
          service,
          { ...shop, customerId: index % 2 ? cardless : shop.customerId },
          items([fresh[index % 20] ?? '', 1], [fresh[(index * 7) % 20] ?? '', 1]),
        ),
        (reply) =>
          index % 2
            ? assertRefused(reply, 400, 'customer_not_configured')
            : assert.deepEqual([reply.status, reply.body.total], [201, 1400], reply.text),
      ],
    ];
    const before = await orderCount();
    const begun = Array.from({ length: 100 }, (_, index) => kinds[index % 5]?.(index));
    const ids = new Set<string>();
    for (const one of begun) {
      assert.ok(one);
      const [reply, check] = [await one[0], one[1]];
      check(reply);
      if (reply.status === 201) ids.add(reply.body.id);
    }
    assert.equal(ids.size, 20 + 20 + 1 + 10);
    assert.equal((await orderCount()) - before, ids.size);
    const rows = await service.db.query<{ order_number: string }>('SELECT order_number FROM orders');
    assert.equal(new Set(rows.map(({ order_number }) => order_number)).size, rows.length);
    assert.equal(await countOf(service, 'open_transactions', 'slot <> id', []), 0);
  });
});

describe('the database', () => {
  const refusedBy = async (constraint: string, statement: string, id: string): Promise<void> => {
    await assert.rejects(service.db.query(statement, [id]), { constraint });
  };
  const copySale = (id: string, status: string) => `
    INSERT INTO transactions SELECT company_id, ${id}, order_id, customer_id, payment_method_id, type, ${status}, amount,
      currency, card_brand, card_last4, processor_response, NULL, NULL, updated_at
    FROM transactions WHERE order_id = $1 AND type = 'sale'`;
  const openSale = `
    INSERT INTO open_transactions (company_id, order_id, slot, id, customer_id, payment_method_id, type, amount,
      currency, card_brand, card_last4, updated_at, locked_until, next_check_at)
    SELECT company_id, id, '00000000-0000-0000-0000-000000000000', uuidv7(), customer_id, payment_method_id,
      'sale', total, currency, card_brand, card_last4, now(), now(), now() + interval '1 hour'
    FROM orders WHERE id = $1`;

  it('refuses a second successful sale of an order, also when the first was voided or disputed', async () => {
    const { id } = await succeeded(service, shop);
    const second = copySale('uuidv7()', `'succeeded'`);
    await refusedBy('transactions_one_successful_sale', second, id);
    for (const status of ['voided', 'chargeback']) {
      await service.db.query(`UPDATE transactions SET status = $2 WHERE order_id = $1`, [id, status]);
      await refusedBy('transactions_one_successful_sale', second, id);
    }
  });

  it('refuses a second open sale of an order', async () => {
    const { id } = await succeeded(service, shop);
    await service.db.query(openSale, [id]);
    await refusedBy('open_transactions_pkey', openSale, id);
    // An undecided sale cannot get out of the way either.
    const aside = 'UPDATE open_transactions SET slot = id WHERE order_id = $1';
    await assert.rejects(service.db.query(aside, [id]), { code: '23514' });
    await service.db.query('DELETE FROM open_transactions WHERE order_id = $1', [id]);
  });

  it('rejects refunds above the amount paid', async () => {
    const { id } = await succeeded(service, shop);
    const statement = 'UPDATE orders SET refunded_amount = total + 1 WHERE id = $1';
    await refusedBy('orders_refunded_at_most_total', statement, id);
    await assert.rejects(service.db.query('UPDATE orders SET refunded_amount = -1 WHERE id = $1', [id]), {
      code: '23514',
    });
  });

  it('refuses an order that is paid without a sale, or has a sale and is unpaid', async () => {
    const { id } = await succeeded(service, shop);
    await refusedBy('orders_sale', 'UPDATE orders SET sale_id = NULL WHERE id = $1', id);
    await refusedBy('orders_sale', `UPDATE orders SET status = 'pending' WHERE id = $1`, id);
  });

  it('refuses two orders with one number', async () => {
    const [one, two] = [await succeeded(service, shop), await succeeded(service, shop)];
    const statement = `UPDATE orders SET order_number = '${one.order_number}' WHERE id = $1`;
    await refusedBy('orders_number', statement, two.id);
  });
});
