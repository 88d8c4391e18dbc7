import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import {
  type CallOptions,
  type Reply,
  someProduct,
  startTestService,
  type TestService,
} from '../../../tests/support/service.ts';
import { usualReferences } from '../../references.ts';
import { idTimeMs } from '../../platform/ids.ts';

const inActivePlans = new Set<string>();
const withHistory = new Set<string>();

let service: TestService;
before(async () => {
  service = await startTestService({
    references: {
      ...usualReferences,
      inActivePlans: async (_db, _companyId, id) => inActivePlans.has(id),
      inArchivedPlans: async (_db, _companyId, id) => withHistory.has(id),
    },
  });
});
after(() => service.stop());

type Fields = Record<string, unknown>;

const post = (body: unknown, options: CallOptions = {}): Promise<Reply> =>
  service.call('POST', '/v1/products', { body, idempotencyKey: randomUUID(), ...options });
const patch = (id: string, body: unknown): Promise<Reply> =>
  service.call('PATCH', `/v1/products/${id}`, { body, idempotencyKey: randomUUID() });
const get = (id: string): Promise<Reply> => service.call('GET', `/v1/products/${id}`);
const remove = (id: string, options: CallOptions = {}): Promise<Reply> =>
  service.call('DELETE', `/v1/products/${id}`, options);

async function created(fields: Fields = {}): Promise<Reply['body']> {
  const reply = await post(someProduct(fields));
  assert.equal(reply.status, 201, reply.text.slice(0, 500));
  return reply.body;
}

async function changed(id: string, body: unknown): Promise<Reply['body']> {
  const reply = await patch(id, body);
  assert.equal(reply.status, 200, reply.text.slice(0, 500));
  return reply.body;
}

async function softDeleted(fields: Fields = {}): Promise<Reply['body']> {
  const product = await created(fields);
  withHistory.add(product.id);
  assert.equal((await remove(product.id)).status, 200);
  return product;
}

function assertFieldErrors(reply: Reply, expected: Record<string, string>): void {
  assert.equal(reply.status, 400, reply.text.slice(0, 500));
  assert.equal(reply.body.error.code, 'validation_error');
  const found = reply.body.error.field_errors.map(({ field, code }: Record<string, string>) => [field, code]);
  assert.deepEqual(Object.fromEntries(found), expected);
  assert.equal(reply.body.error.param, found[0][0]);
}

/** Refused both when a product is made and when one is changed. */
async function assertRefused(fields: Fields, expected: Record<string, string>): Promise<void> {
  assertFieldErrors(await post(someProduct(fields)), expected);
  const { id } = await created();
  assertFieldErrors(await patch(id, fields), expected);
}

function assertError(reply: Reply, status: number, code: string, param: string | null): void {
  const { error } = reply.body;
  assert.deepEqual([reply.status, error?.code, error?.param], [status, code, param], reply.text.slice(0, 500));
}

const nullables = ['description', 'category', 'brand', 'material', 'weight', 'return_window', 'inventory_quantity'];

describe('creating a product', () => {
  test('returns 201 with every field, at the top level', async () => {
    const fields = someProduct({
      availability: 'preorder',
      category: 'kitchen',
      brand: 'Acme',
      material: 'porcelain',
      weight: '900 g',
      return_window: 30,
      inventory_quantity: 12,
      metadata: { a: [1] },
    });
    const { status, body } = await post(fields);
    assert.equal(status, 201);
    const { id, created_at, updated_at } = body;
    assert.deepEqual(body, { ...fields, id, created_at, updated_at, active: true });
    assert.deepEqual((await get(id)).body, body);
  });

  test('optional fields left out read null, availability in_stock, metadata empty', async () => {
    const body = await created();
    const optional = nullables.filter((name) => name !== 'description');
    assert.deepEqual(new Set(optional.map((name) => body[name])), new Set([null]));
    assert.equal(body.availability, 'in_stock');
    assert.deepEqual(body.metadata, {});
  });

  test('all missing required fields are reported at once', async () => {
    const names = ['name', 'description', 'pricing', 'requires_shipping', 'sku'];
    assertFieldErrors(await post({}), Object.fromEntries(names.map((name) => [name, 'required_field'])));
  });

  test('missing parts of pricing are reported by their path', async () => {
    const expected = { 'pricing.amount': 'required_field', 'pricing.currency': 'required_field' };
    assertFieldErrors(await post(someProduct({ pricing: {} })), expected);
  });

  test('wrong, missing and unknown fields are reported together', async () => {
    const { name: _, ...rest } = someProduct({
      pricing: { amount: 1.5, currency: 'USD', tax: 1 },
      requires_shipping: 'yes',
      sku: 'A b',
      availability: 'soon',
      return_window: 366,
      colour: 'red',
    });
    assertFieldErrors(await post(rest), {
      name: 'required_field',
      'pricing.amount': 'invalid_value',
      'pricing.currency': 'invalid_format',
      'pricing.tax': 'invalid_value',
      requires_shipping: 'invalid_value',
      sku: 'invalid_format',
      availability: 'invalid_value',
      return_window: 'invalid_value',
      colour: 'invalid_value',
    });
  });

  for (const field of ['id', 'images', 'created_at', 'price', 'active']) {
    test(`${field} is not a field of the request and is refused`, async () => {
      assertFieldErrors(await post(someProduct({ [field]: true })), { [field]: 'invalid_value' });
    });
  }

  test('description must be given but may be null', async () => {
    assert.equal((await created({ description: null })).description, null);
    const { description: _, ...rest } = someProduct();
    assertFieldErrors(await post(rest), { description: 'required_field' });
  });

  for (const field of ['name', 'pricing', 'requires_shipping', 'sku', 'availability']) {
    test(`null for ${field}, which is not nullable, is invalid_value`, async () => {
      await assertRefused({ [field]: null }, { [field]: 'invalid_value' });
    });
  }

  for (const field of nullables) {
    test(`${field} may be null, and null on PATCH clears it`, async () => {
      assert.equal((await created({ [field]: null }))[field], null);
      const { id } = await created({ [field]: field.includes('_') ? 5 : 'text' });
      assert.equal((await changed(id, { [field]: null }))[field], null);
      assert.equal((await get(id)).body[field], null);
    });
  }

  for (const [field, maximum] of [
    ['name', 255],
    ['sku', 255],
    ['category', 255],
    ['brand', 255],
    ['material', 255],
    ['weight', 255],
    ['description', 5000],
  ] as const) {
    test(`${field} has at most ${maximum} characters`, async () => {
      const longest = 'x'.repeat(maximum);
      assert.equal((await created({ [field]: longest }))[field], longest);
      await assertRefused({ [field]: `${longest}x` }, { [field]: 'invalid_value' });
    });
  }

  test('created_at is the millisecond in the id, and updated_at starts equal to it', async () => {
    const { id, created_at, updated_at } = await created();
    assert.equal(created_at, new Date(idTimeMs(id)).toISOString());
    assert.equal(updated_at, created_at);
  });
});

describe('HTML', () => {
  for (const field of ['name', 'description']) {
    for (const text of ['<b>bold', 'x </', '<!--', 'a<B', '<script>alert(1)</script>']) {
      test(`${JSON.stringify(text)} in ${field}: contains_html`, async () => {
        await assertRefused({ [field]: text }, { [field]: 'contains_html' });
      });
    }

    for (const text of ['a < b', '<3', 'a > b & c', 'x<', '<<', '&lt;b&gt;']) {
      test(`${JSON.stringify(text)} in ${field} is allowed and returned as it is`, async () => {
        const { id } = await created({ [field]: text });
        assert.equal((await get(id)).body[field], text);
      });
    }
  }
});

describe('pricing', () => {
  for (const amount of [0, 1, 99_999_999]) {
    test(`an amount of ${amount} is allowed`, async () => {
      assert.equal((await created({ pricing: { amount, currency: 'usd' } })).pricing.amount, amount);
    });
  }

  for (const amount of [-1, 100_000_000, 0.5, '100', true]) {
    test(`an amount of ${JSON.stringify(amount)} is invalid_value`, async () => {
      await assertRefused({ pricing: { amount, currency: 'usd' } }, { 'pricing.amount': 'invalid_value' });
    });
  }

  test('null as amount or currency is invalid_value', async () => {
    const expected = { 'pricing.amount': 'invalid_value', 'pricing.currency': 'invalid_value' };
    await assertRefused({ pricing: { amount: null, currency: null } }, expected);
  });

  for (const currency of ['usd', 'eur', 'jpy']) {
    test(`${currency} is a currency`, async () => {
      assert.deepEqual((await created({ pricing: { amount: 1, currency } })).pricing, { amount: 1, currency });
    });
  }

  for (const currency of ['USD', 'xyz', 'us', '', 'usd ']) {
    test(`${JSON.stringify(currency)} is no lowercase ISO 4217 code: invalid_format`, async () => {
      await assertRefused({ pricing: { amount: 1, currency } }, { 'pricing.currency': 'invalid_format' });
    });
  }

  test('PATCH may name only the amount or only the currency', async () => {
    const { id } = await created({ pricing: { amount: 100, currency: 'usd' } });
    assert.deepEqual((await changed(id, { pricing: { amount: 0 } })).pricing, { amount: 0, currency: 'usd' });
    assert.deepEqual((await changed(id, { pricing: { currency: 'eur' } })).pricing, { amount: 0, currency: 'eur' });
    assert.deepEqual((await changed(id, { pricing: {} })).pricing, { amount: 0, currency: 'eur' });
  });
});

describe('sku', () => {
  test('has lowercase letters, digits, hyphens and underscores', async () => {
    assert.equal((await created({ sku: '-_az09' })).sku, '-_az09');
  });

  for (const sku of ['Tea', 'tea pot', 'tea.pot', 'thé', 'tea\n', 'tea/pot']) {
    test(`${JSON.stringify(sku)} is invalid_format`, async () => {
      await assertRefused({ sku }, { sku: 'invalid_format' });
    });
  }

  test('must not be empty', async () => {
    await assertRefused({ sku: '' }, { sku: 'invalid_value' });
  });

  test('is unique per merchant: 409 sku_already_exists on create', async () => {
    const { sku } = await created();
    assertError(await post(someProduct({ sku })), 409, 'sku_already_exists', 'sku');
  });

  test('of another product on PATCH: 409 sku_already_exists, and nothing changes', async () => {
    const [first, second] = [await created(), await created()];
    const reply = await patch(second.id, { sku: first.sku, name: 'Other' });
    assertError(reply, 409, 'sku_already_exists', 'sku');
    assert.deepEqual((await get(second.id)).body, second);
  });

  test('can be sent again by its own product', async () => {
    const { id, sku } = await created();
    assert.equal((await changed(id, { sku, name: 'Other' })).sku, sku);
  });

  test('of one merchant is free for another', async () => {
    const { sku } = await created();
    const { key } = await service.createMerchant();
    assert.equal((await post(someProduct({ sku }), { key })).status, 201);
  });

  test('of an archived product stays taken', async () => {
    const { id, sku } = await created();
    await changed(id, { active: false });
    assertError(await post(someProduct({ sku })), 409, 'sku_already_exists', 'sku');
  });

  test('is freed by a soft delete, more than once', async () => {
    const { sku } = await softDeleted();
    await softDeleted({ sku });
    assert.equal((await created({ sku })).sku, sku);
  });

  test('is freed by a hard delete', async () => {
    const { id, sku } = await created();
    await remove(id);
    assert.equal((await created({ sku })).sku, sku);
  });

  test('of eight products created at once with one sku, exactly one is made', async () => {
    const sku = randomUUID();
    const replies = await Promise.all(Array.from({ length: 8 }, () => post(someProduct({ sku }))));
    assert.equal(replies.filter((reply) => reply.status === 201).length, 1);
    assert.equal(replies.filter((reply) => reply.status === 409).length, 7);
  });
});

describe('availability, return window and inventory', () => {
  for (const availability of ['in_stock', 'out_of_stock', 'preorder']) {
    test(`availability may be ${availability}`, async () => {
      assert.equal((await created({ availability })).availability, availability);
    });
  }

  test('any other availability is invalid_value', async () => {
    await assertRefused({ availability: 'sold_out' }, { availability: 'invalid_value' });
  });

  test('return_window is 0 to 365 whole days', async () => {
    for (const days of [0, 365]) assert.equal((await created({ return_window: days })).return_window, days);
    for (const days of [-1, 366, 1.5, '30'])
      await assertRefused({ return_window: days }, { return_window: 'invalid_value' });
  });

  test('inventory_quantity is a whole number that is not negative', async () => {
    const most = 2_147_483_647;
    for (const count of [0, most]) {
      assert.equal((await created({ inventory_quantity: count })).inventory_quantity, count);
    }
    for (const count of [-1, 0.5, most + 1]) {
      await assertRefused({ inventory_quantity: count }, { inventory_quantity: 'invalid_value' });
    }
  });
});

describe('updating a product', () => {
  test('omitted fields stay unchanged', async () => {
    const original = await created({ brand: 'Acme', return_window: 30, metadata: { a: 1 }, availability: 'preorder' });
    const { updated_at, ...rest } = await changed(original.id, { name: 'Kettle' });
    assert.deepEqual({ ...rest, updated_at }, { ...original, name: 'Kettle', updated_at });
  });

  test('every create field can change', async () => {
    const { id } = await created();
    const fields = {
      ...someProduct(),
      name: 'Kettle',
      description: null,
      pricing: { amount: 1, currency: 'eur' },
      requires_shipping: false,
      availability: 'out_of_stock',
      category: 'c',
      brand: 'b',
      material: 'm',
      weight: 'w',
      return_window: 0,
      inventory_quantity: 0,
    };
    const reply = await changed(id, fields);
    assert.deepEqual(Object.fromEntries(Object.keys(fields).map((name) => [name, reply[name]])), fields);
    assert.deepEqual((await get(id)).body, reply);
  });

  test('metadata is merged key by key, null removes a key, null for all clears it', async () => {
    const { id } = await created({ metadata: { kept: 1, removed: 2 } });
    assert.deepEqual((await changed(id, { metadata: { removed: null, added: 3 } })).metadata, { kept: 1, added: 3 });
    assert.deepEqual((await changed(id, { metadata: null })).metadata, {});
  });

  test('metadata that the merge makes too large is refused', async () => {
    const keys = Array.from({ length: 50 }, (_, index) => [`key${index}`, index]);
    const { id } = await created({ metadata: Object.fromEntries(keys) });
    assertFieldErrors(await patch(id, { metadata: { one_more: 1 } }), { metadata: 'invalid_value' });
  });

  test('an unknown field is refused', async () => {
    const { id } = await created();
    assertFieldErrors(await patch(id, { prise: 1 }), { prise: 'invalid_value' });
  });

  test('updated_at is the moment of the change', async () => {
    const { id, created_at } = await created();
    service.clock.advance(60_000);
    try {
      const { updated_at } = await changed(id, { name: 'Kettle' });
      assert.ok(Date.parse(updated_at) - Date.parse(created_at) >= 60_000);
    } finally {
      service.clock.advance(-60_000);
    }
  });

  test("an id that does not exist, is malformed or is another merchant's: the same 404", async () => {
    const { key } = await service.createMerchant();
    const foreign = (await post(someProduct(), { key })).body.id;
    const bodies = new Set<string>();
    for (const id of [randomUUID(), 'nonsense', foreign]) {
      for (const reply of [await patch(id, { name: 'x' }), await get(id), await remove(id)]) {
        assertError(reply, 404, 'resource_not_found', 'id');
        bodies.add(reply.text.replace(reply.body.error.request_id, ''));
      }
    }
    assert.equal(bodies.size, 1);
  });
});

describe('archiving', () => {
  test('active: false archives and active: true brings back', async () => {
    const { id } = await created();
    assert.equal((await changed(id, { active: false })).active, false);
    assert.equal((await get(id)).body.active, false);
    assert.equal((await changed(id, { active: true })).active, true);
  });

  test('the list shows both, or only those that active asks for', async () => {
    const { key } = await service.createMerchant();
    const call = (method: string, path: string, body?: unknown): Promise<Reply> =>
      service.call(method, path, { key, body, idempotencyKey: randomUUID() });
    const current = (await call('POST', '/v1/products', someProduct())).body.id;
    const archived = (await call('POST', '/v1/products', someProduct())).body.id;
    await call('PATCH', `/v1/products/${archived}`, { active: false });
    const listed = async (query: string): Promise<string[]> =>
      (await service.call('GET', `/v1/products${query}`, { key })).body.data.map(({ id }: { id: string }) => id);
    assert.deepEqual(await listed(''), [archived, current]);
    assert.deepEqual(await listed('?active=true'), [current]);
    assert.deepEqual(await listed('?active=false'), [archived]);
    assertFieldErrors(await service.call('GET', '/v1/products?active=yes'), { active: 'invalid_value' });
  });
});

describe('product deletion table', () => {
  test('in active plans: blocked, 400 product_in_active_plans', async () => {
    const { id } = await created();
    inActivePlans.add(id);
    withHistory.add(id);
    assertError(await remove(id), 400, 'product_in_active_plans', null);
    assert.equal((await get(id)).body.active, true);
  });

  test('has order history or archived plans: soft delete, which reads active: false', async () => {
    const { id } = await created();
    withHistory.add(id);
    const { status, body } = await remove(id);
    assert.deepEqual([status, body.id, body.deleted, typeof body.message], [200, id, true, 'string']);
    const reply = await get(id);
    assert.deepEqual([reply.status, reply.body.active], [200, false]);
  });

  test('no orders or plans: hard delete, 404 afterwards', async () => {
    const { id } = await created();
    const { status, body } = await remove(id);
    assert.deepEqual([status, body.id, body.deleted, typeof body.message], [200, id, true, 'string']);
    assertError(await get(id), 404, 'resource_not_found', 'id');
    assertError(await remove(id), 404, 'resource_not_found', 'id');
    assertError(await patch(id, { name: 'x' }), 404, 'resource_not_found', 'id');
  });

  test('a soft-deleted product is not listed', async () => {
    const { id } = await softDeleted();
    for (const query of ['', '&active=false']) {
      const { body } = await service.call('GET', `/v1/products?limit=100${query}`);
      assert.ok(body.data.every((product: { id: string }) => product.id !== id));
    }
  });

  test('a soft-deleted product cannot be changed or brought back', async () => {
    const { id } = await softDeleted();
    assertError(await patch(id, { active: true }), 400, 'invalid_request', 'id');
    assert.equal((await get(id)).body.active, false);
  });
});

describe('idempotency key', () => {
  test('is required on POST', async () => {
    const reply = await service.call('POST', '/v1/products', { body: someProduct() });
    assertError(reply, 400, 'missing_idempotency_key', 'X-SVC-Idempotency-Key');
  });

  test('is required on PATCH', async () => {
    const { id } = await created();
    const reply = await service.call('PATCH', `/v1/products/${id}`, { body: { name: 'x' } });
    assertError(reply, 400, 'missing_idempotency_key', 'X-SVC-Idempotency-Key');
    assert.equal((await get(id)).body.name, 'Tea pot');
  });

  test('is optional on DELETE: a repeat without it is 404, with it the first answer', async () => {
    const [bare, keyed] = [await created(), await created()];
    assert.equal((await remove(bare.id)).status, 200);
    assert.equal((await remove(bare.id)).status, 404);
    const idempotencyKey = randomUUID();
    const first = await remove(keyed.id, { idempotencyKey });
    const second = await remove(keyed.id, { idempotencyKey });
    assert.deepEqual([second.status, second.text], [200, first.text]);
  });

  test('repeated on POST gives the product that was made, and no second one', async () => {
    const [body, idempotencyKey] = [someProduct(), randomUUID()];
    const first = await post(body, { idempotencyKey });
    const second = await post(body, { idempotencyKey });
    assert.deepEqual([second.status, second.text], [201, first.text]);
    assert.equal(second.headers.get('svc-idempotent-replayed'), 'true');
  });
});
