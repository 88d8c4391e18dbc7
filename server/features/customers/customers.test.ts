import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { usualReferences } from '../../references.ts';
import { reapIdempotencyKeys } from '../../http/key-queries.ts';
import { idTimeMs } from '../../platform/ids.ts';
import {
  type CallOptions,
  type Reply,
  someCustomer,
  startTestService,
  type TestService,
} from '../../../tests/support/service.ts';
import { eventually } from '../../../tests/support/webhooks.ts';

const withOpenSubscriptions = new Set<string>();
const withOrders = new Set<string>();

let service: TestService;
before(async () => {
  service = await startTestService({
    references: {
      ...usualReferences,
      hasOpenSubscriptions: async (_db, _companyId, id) => withOpenSubscriptions.has(id),
      hasHistory: async (_db, _companyId, id) => withOrders.has(id),
    },
  });
});
after(() => service.stop());

type Fields = Record<string, unknown>;

const post = (body: unknown, options: CallOptions = {}): Promise<Reply> =>
  service.call('POST', '/v1/customers', { body, ...options });
const patch = (id: string, body: unknown): Promise<Reply> => service.call('PATCH', `/v1/customers/${id}`, { body });
const get = (id: string): Promise<Reply> => service.call('GET', `/v1/customers/${id}`);
const remove = (id: string): Promise<Reply> => service.call('DELETE', `/v1/customers/${id}`);

async function created(fields: Fields = {}): Promise<Reply['body']> {
  const reply = await post(someCustomer(fields));
  assert.equal(reply.status, 201, reply.text.slice(0, 500));
  return reply.body;
}

async function changed(id: string, body: unknown): Promise<Reply['body']> {
  const reply = await patch(id, body);
  assert.equal(reply.status, 200, reply.text.slice(0, 500));
  return reply.body;
}

async function softDeleted(fields: Fields = {}): Promise<Reply['body']> {
  const customer = await created(fields);
  withOrders.add(customer.id);
  assert.equal((await remove(customer.id)).status, 200);
  return customer;
}

function assertFieldErrors(reply: Reply, expected: Record<string, string>): void {
  assert.equal(reply.status, 400, reply.text.slice(0, 500));
  assert.equal(reply.body.error.type, 'invalid_request_error');
  assert.equal(reply.body.error.code, 'validation_error');
  const found = reply.body.error.field_errors.map(({ field, code }: Record<string, string>) => [field, code]);
  assert.deepEqual(Object.fromEntries(found), expected);
  assert.equal(reply.body.error.param, found[0][0]);
}

function assertError(reply: Reply, status: number, code: string, param: string | null): void {
  const { error } = reply.body;
  assert.deepEqual([reply.status, error?.code, error?.param], [status, code, param], reply.text.slice(0, 500));
}

const digits = (count: number): string => Array.from({ length: count }, (_, index) => (index + 1) % 10).join('');
const manyKeys = (count: number, prefix = 'key'): Fields =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, index]));
const nested = (levels: number): Fields => (levels === 1 ? {} : { inner: nested(levels - 1) });
/** `{"text":"…"}` of exactly this number of bytes. */
const ofBytes = (bytes: number, key = 'text'): Fields => ({ [key]: 'x'.repeat(bytes - `{"${key}":""}`.length) });

const kib16 = 16 * 1024;
const timestampPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

describe('creating a customer', () => {
  test('returns 201 with every field, at the top level', async () => {
    const fields = someCustomer({
      company: 'Analytical Engines',
      tax_id: 'GB123456789',
      shipping_address: { name: 'Ada', line1: '1 Main St', city: 'London', postal_code: 'N1', country: 'GB' },
      tags: ['vip', 'early'],
      metadata: { crm_id: 'c-1', nested: { list: [1, 'two', null] } },
    });
    const { status, body } = await post(fields);
    assert.equal(status, 201);
    const { id, created_at, updated_at, shipping_address } = body;
    const given = {
      id,
      created_at,
      updated_at,
      locale: null,
      default_payment_method_id: null,
      deleted: false,
      deleted_at: null,
    };
    assert.deepEqual(body, { ...fields, ...given, shipping_address });
    assert.deepEqual((await get(id)).body, body);
  });

  test('optional fields left out read null, empty list and empty object', async () => {
    const { company, shipping_address, tags, metadata } = await created();
    assert.deepEqual([company, shipping_address, tags, metadata], [null, null, [], {}]);
  });

  test('all missing required fields are reported at once', async () => {
    const required = 'required_field';
    assertFieldErrors(await post({}), { email: required, first_name: required, last_name: required, phone: required });
  });

  test('missing, wrong and unknown fields are reported together, each by its path', async () => {
    const { email: _, ...rest } = someCustomer({
      phone: '12',
      misspelt: 1,
      shipping_address: { country: 'XX', zip: 'N1' },
      tags: ['ok', 5],
      metadata: 'text',
    });
    assertFieldErrors(await post(rest), {
      email: 'required_field',
      phone: 'invalid_format',
      misspelt: 'invalid_value',
      'shipping_address.country': 'invalid_format',
      'shipping_address.zip': 'invalid_value',
      'tags[1]': 'invalid_value',
      metadata: 'invalid_value',
    });
  });

  for (const field of ['id', 'created_at', 'deleted', 'default_payment_method_id', 'payment_methods', 'card']) {
    test(`${field} is not a field of the request and is refused`, async () => {
      assertFieldErrors(await post(someCustomer({ [field]: 'x' })), { [field]: 'invalid_value' });
    });
  }

  for (const field of ['email', 'first_name', 'last_name', 'phone', 'tags']) {
    test(`null for ${field}, which is not nullable, is invalid_value`, async () => {
      assertFieldErrors(await post(someCustomer({ [field]: null })), { [field]: 'invalid_value' });
    });
  }

  test('null for company and shipping_address is the same as leaving them out', async () => {
    const { company, shipping_address } = await created({ company: null, shipping_address: null });
    assert.deepEqual([company, shipping_address], [null, null]);
  });

  test('tax_id has the form of its country, and is stored without spaces', async () => {
    assert.equal((await created({ tax_id: 'DE 123 456 789' })).tax_id, 'DE123456789');
    assert.equal((await created({ tax_id: '12-3456789' })).tax_id, '12-3456789');
    for (const wrong of ['DE12345678', 'none', '', 'evil.example/12']) {
      assertFieldErrors(await post(someCustomer({ tax_id: wrong })), { tax_id: 'invalid_format' });
    }
  });

  for (const field of ['first_name', 'last_name', 'company']) {
    test(`${field} has at most 255 characters, an emoji counting as one`, async () => {
      const longest = '😀'.repeat(255);
      assert.equal((await created({ [field]: longest }))[field], longest);
      assertFieldErrors(await post(someCustomer({ [field]: 'x'.repeat(256) })), { [field]: 'invalid_value' });
    });

    test(`${field} must not be empty or blank`, async () => {
      for (const text of ['', ' \t']) {
        const reply = await post(someCustomer({ [field]: text }));
        assert.equal(reply.status, 400);
        assert.equal(reply.body.error.param, field);
      }
    });
  }

  test('a name whose search word grows beyond what PostgreSQL can index still gives a readable row', async () => {
    // One character that is six once decomposed for the search: 4,590 bytes, and a lexeme has at most 2,046.
    const { id } = await created({ first_name: '㌖'.repeat(255) });
    try {
      const rows = await service.db.query('SELECT search::text FROM customers WHERE id = $1', [id]);
      assert.equal(rows.length, 1);
    } finally {
      await remove(id);
    }
  });

  test('such a name can be searched for', async () => {
    const reply = await service.call('GET', `/v1/customers?q=${encodeURIComponent('㌖'.repeat(255))}`);
    assert.equal(reply.status, 200, reply.text);
  });

  test('a body that is not an object is refused', async () => {
    for (const body of [[], 'text', 5, null]) assert.equal((await post(body)).status, 400);
  });
});

describe('e-mail', () => {
  for (const email of ['ada', 'ada@', '@example.com', 'a b@example.com', 'ada@example..com', ' ada@example.com']) {
    test(`${JSON.stringify(email)} is not an email address: invalid_format`, async () => {
      assertFieldErrors(await post(someCustomer({ email })), { email: 'invalid_format' });
    });
  }

  test('control characters are refused, also inside quotes: they would end up in the head of a mail', async () => {
    const reply = await post(someCustomer({ email: '"ada\r\nBcc: eve@example.com"@example.com' }));
    assertFieldErrors(reply, { email: 'invalid_format' });
  });

  test('is returned as it was written', async () => {
    const email = `Ada.${randomUUID()}@Example.COM`;
    assert.equal((await created({ email })).email, email);
  });

  test('has at most 254 characters', async () => {
    const email = (length: number): string => `${'a'.repeat(60)}@${`${'b'.repeat(60)}.`.repeat(3)}`.padEnd(length, 'c');
    assert.equal((await post(someCustomer({ email: email(254) }))).status, 201);
    assertFieldErrors(await post(someCustomer({ email: email(255) })), { email: 'invalid_value' });
  });

  test('is unique per merchant, upper and lower case being the same: 409 email_already_exists', async () => {
    const { email } = await created();
    assertError(await post(someCustomer({ email: email.toUpperCase() })), 409, 'email_already_exists', 'email');
  });

  test('of another customer on PATCH: 409 email_already_exists, and nothing changes', async () => {
    const [first, second] = [await created(), await created()];
    const reply = await patch(second.id, { email: first.email.toUpperCase(), first_name: 'Eve' });
    assertError(reply, 409, 'email_already_exists', 'email');
    assert.deepEqual((await get(second.id)).body, second);
  });

  test('can be rewritten by its own customer in another case', async () => {
    const { id, email } = await created();
    assert.equal((await changed(id, { email: email.toUpperCase() })).email, email.toUpperCase());
  });

  test('given up by PATCH is free for another customer', async () => {
    const { id, email } = await created();
    await changed(id, { email: `${randomUUID()}@example.com` });
    assert.equal((await post(someCustomer({ email }))).status, 201);
  });

  test('and phone number of one merchant can be used by another', async () => {
    const fields = someCustomer();
    assert.equal((await post(fields)).status, 201);
    const other = await service.createMerchant();
    assert.equal((await post(fields, { key: other.key })).status, 201);
    const live = await service.createKey(other.live);
    assert.equal((await post(fields, { key: live })).status, 201);
  });

  test('of eight customers created at once with one address, exactly one is made', async () => {
    const email = `${randomUUID()}@example.com`;
    const replies = await Promise.all(Array.from({ length: 8 }, () => post(someCustomer({ email }))));
    assert.deepEqual(
      replies.map((reply) => reply.status).toSorted((left, right) => left - right),
      [201, ...Array(7).fill(409)],
    );
  });
});

describe('phone', () => {
  for (const phone of [
    '15551234567',
    '+',
    '+0123456789',
    '+123456',
    `+${digits(16)}`,
    '+1555CALLNOW',
    '+1\n5551234567',
  ]) {
    test(`${JSON.stringify(phone)} is not in international format: invalid_format`, async () => {
      assertFieldErrors(await post(someCustomer({ phone })), { phone: 'invalid_format' });
    });
  }

  test('has at most 32 characters', async () => {
    const phone = (length: number): string => '+1555777'.padEnd(length - 4, ' ') + '8888';
    assert.equal((await post(someCustomer({ phone: phone(32) }))).status, 201);
    assertFieldErrors(await post(someCustomer({ phone: phone(33) })), { phone: 'invalid_value' });
  });

  test('is unique per merchant, in any format: 409 phone_already_exists', async () => {
    await created({ phone: '+44 (20) 7946-0958' });
    assertError(await post(someCustomer({ phone: '+442079460958' })), 409, 'phone_already_exists', 'phone');
  });

  test('is returned in E.164, however it was written, from every call', async () => {
    const { id, phone } = await created({ phone: '+44 (20) 7946.0959' });
    assert.equal(phone, '+442079460959');
    assert.equal((await get(id)).body.phone, '+442079460959');
    assert.equal((await patch(id, { phone: '+44 20 7946 0960' })).body.phone, '+442079460960');
    assert.equal((await patch(id, { first_name: 'Grace' })).body.phone, '+442079460960');
    const [row] = await service.db.query('SELECT phone, phone_key FROM customers WHERE id = $1', [id]);
    assert.deepEqual(row, { phone: '+442079460960', phone_key: '442079460960' });
  });

  test('of another customer on PATCH: 409 phone_already_exists, and nothing changes', async () => {
    const [first, second] = [await created(), await created()];
    assertError(await patch(second.id, { phone: first.phone }), 409, 'phone_already_exists', 'phone');
    assert.deepEqual((await get(second.id)).body, second);
  });
});

describe('uniqueness is among customers that are not deleted', () => {
  test('e-mail and phone of a soft-deleted customer can be used again, more than once', async () => {
    const fields = someCustomer();
    await softDeleted(fields);
    await softDeleted(fields);
    assert.equal((await post(fields)).status, 201);
    assertError(await post(fields), 409, 'email_already_exists', 'email');
  });

  test('e-mail and phone of a hard-deleted customer can be used again', async () => {
    const fields = someCustomer();
    await remove((await created(fields)).id);
    assert.equal((await post(fields)).status, 201);
  });
});

describe('metadata', () => {
  const cases: readonly [string, Fields, Fields][] = [
    ['50 keys', manyKeys(50), manyKeys(51)],
    ['keys of 40 characters', { ['k'.repeat(40)]: 1 }, { ['k'.repeat(41)]: 1 }],
    ['5 levels', nested(5), nested(6)],
    ['16 KiB in all', ofBytes(kib16), ofBytes(kib16 + 1)],
  ];
  for (const [what, allowed, refused] of cases) {
    test(`has at most ${what}, on create and on PATCH`, async () => {
      const { id, metadata } = await created({ metadata: allowed });
      assert.deepEqual(metadata, allowed);
      assertFieldErrors(await post(someCustomer({ metadata: refused })), { metadata: 'invalid_value' });
      assertFieldErrors(await patch(id, { metadata: refused }), { metadata: 'invalid_value' });
    });
  }

  test('a key of 40 emoji has 40 characters', async () => {
    const metadata = { ['😀'.repeat(40)]: 1 };
    assert.deepEqual((await created({ metadata })).metadata, metadata);
  });

  test('holds any JSON values', async () => {
    const metadata = { text: 'é😀"\\', number: -0.1, big: 9007199254740991, yes: true, none: null, list: [[1], {}] };
    const { id } = await created({ metadata });
    assert.deepEqual((await get(id)).body.metadata, metadata);
  });

  test('PATCH merges key by key and leaves the others', async () => {
    const { id } = await created({ metadata: { kept: 1, replaced: { deep: 1 } } });
    const { metadata } = await changed(id, { metadata: { replaced: { other: 2 }, added: 3 } });
    assert.deepEqual(metadata, { kept: 1, replaced: { other: 2 }, added: 3 });
  });

  test('a key set to null on PATCH is removed', async () => {
    const { id } = await created({ metadata: { kept: 1, removed: 2 } });
    await changed(id, { metadata: { removed: null, never_there: null } });
    assert.deepEqual((await get(id)).body.metadata, { kept: 1 });
  });

  test('a null that was stored at creation stays when PATCH changes other keys', async () => {
    const { id } = await created({ metadata: { none: null } });
    assert.deepEqual((await changed(id, { metadata: { added: 1 } })).metadata, { none: null, added: 1 });
  });

  test('null on PATCH clears it', async () => {
    const { id } = await created({ metadata: { a: 1 } });
    assert.deepEqual((await changed(id, { metadata: null })).metadata, {});
  });

  test('an empty object on PATCH changes nothing', async () => {
    const { id } = await created({ metadata: { a: 1 } });
    assert.deepEqual((await changed(id, { metadata: {} })).metadata, { a: 1 });
  });

  test('that only the merge makes too large is refused and stays as it was: 50 keys', async () => {
    const { id } = await created({ metadata: manyKeys(50) });
    assertFieldErrors(await patch(id, { metadata: { one_more: 1 } }), { metadata: 'invalid_value' });
    assert.deepEqual((await get(id)).body.metadata, manyKeys(50));
  });

  test('that only the merge makes too large is refused: 16 KiB', async () => {
    const { id } = await created({ metadata: ofBytes(kib16 / 2) });
    assertFieldErrors(await patch(id, { metadata: ofBytes(kib16 / 2 + 2, 'more') }), { metadata: 'invalid_value' });
  });

  test('50 keys can be swapped for 50 others in one PATCH: the limit is on what is stored', async () => {
    const { id } = await created({ metadata: manyKeys(50, 'old') });
    const removals = Object.fromEntries(Object.keys(manyKeys(50, 'old')).map((key) => [key, null]));
    const { metadata } = await changed(id, { metadata: { ...removals, ...manyKeys(50, 'new') } });
    assert.deepEqual(metadata, manyKeys(50, 'new'));
  });

  test('20 PATCHes at once with different keys lose nothing', async () => {
    const { id } = await created();
    const keys = Object.entries(manyKeys(20));
    const replies = await Promise.all(keys.map(([key, value]) => patch(id, { metadata: { [key]: value } })));
    assert.deepEqual(new Set(replies.map((reply) => reply.status)), new Set([200]));
    assert.deepEqual((await get(id)).body.metadata, manyKeys(20));
  });
});

describe('shipping address', () => {
  const whole = {
    name: 'Ada',
    line1: '1 Main St',
    line2: 'Flat 2',
    city: 'London',
    state: 'Greater London',
    postal_code: 'N1 9GU',
    country: 'GB',
    phone: '+44 20 7946 0000',
  };

  test('has an id beside what was sent', async () => {
    const { id, ...rest } = (await created({ shipping_address: whole })).shipping_address;
    assert.match(id, /^[0-9a-f-]{36}$/);
    assert.deepEqual(rest, whole);
  });

  test('parts that were left out read null', async () => {
    const { id: _, ...rest } = (await created({ shipping_address: { city: 'London', line2: null } })).shipping_address;
    const nothing = Object.fromEntries(Object.keys(whole).map((name) => [name, null]));
    assert.deepEqual(rest, { ...nothing, city: 'London' });
  });

  test('is replaced as a whole by PATCH, under the same id', async () => {
    const original = await created({ shipping_address: whole });
    const { shipping_address } = await changed(original.id, { shipping_address: { city: 'Paris', country: 'FR' } });
    assert.equal(shipping_address.id, original.shipping_address.id);
    assert.deepEqual([shipping_address.city, shipping_address.country, shipping_address.line1], ['Paris', 'FR', null]);
  });

  test('null on PATCH removes it', async () => {
    const { id } = await created({ shipping_address: whole });
    assert.equal((await changed(id, { shipping_address: null })).shipping_address, null);
    assert.equal((await get(id)).body.shipping_address, null);
  });

  for (const country of ['XX', 'gb', 'GBR', 'UK', '']) {
    test(`${JSON.stringify(country)} is no ISO 3166-1 alpha-2 country: invalid_format`, async () => {
      const reply = await post(someCustomer({ shipping_address: { country } }));
      assertFieldErrors(reply, { 'shipping_address.country': 'invalid_format' });
    });
  }

  test('its id cannot be chosen, unknown parts and wrong types are refused, each by its path', async () => {
    const shipping_address = { id: randomUUID(), line1: 5, phone: 'none', city: 'x'.repeat(256) };
    assertFieldErrors(await post(someCustomer({ shipping_address })), {
      'shipping_address.id': 'invalid_value',
      'shipping_address.line1': 'invalid_value',
      'shipping_address.phone': 'invalid_format',
      'shipping_address.city': 'invalid_value',
    });
  });

  test('must be an object', async () => {
    assertFieldErrors(await post(someCustomer({ shipping_address: '1 Main St' })), {
      shipping_address: 'invalid_value',
    });
  });
});

describe('tags', () => {
  test('are at most 20', async () => {
    const tags = (count: number): string[] => Array.from({ length: count }, (_, index) => `tag ${index}`);
    assert.deepEqual((await created({ tags: tags(20) })).tags, tags(20));
    assertFieldErrors(await post(someCustomer({ tags: tags(21) })), { tags: 'invalid_value' });
  });

  test('must be non-empty strings, without repeats', async () => {
    assertFieldErrors(await post(someCustomer({ tags: ['', 5, null] })), {
      'tags[0]': 'invalid_value',
      'tags[1]': 'invalid_value',
      'tags[2]': 'invalid_value',
    });
    assertFieldErrors(await post(someCustomer({ tags: ['vip', 'vip'] })), { tags: 'invalid_value' });
  });

  test('are replaced as a whole by PATCH', async () => {
    const { id } = await created({ tags: ['a', 'b'] });
    assert.deepEqual((await changed(id, { tags: ['c'] })).tags, ['c']);
    assert.deepEqual((await changed(id, { tags: [] })).tags, []);
  });
});

describe('updating a customer', () => {
  test('omitted fields stay unchanged', async () => {
    const original = await created({
      company: 'Engines',
      tags: ['vip'],
      metadata: { a: 1 },
      shipping_address: { city: 'X' },
    });
    const { updated_at, ...rest } = await changed(original.id, { first_name: 'Augusta' });
    assert.deepEqual({ ...rest, updated_at }, { ...original, first_name: 'Augusta', updated_at });
  });

  test('every create field can change', async () => {
    const { id } = await created();
    const fields = {
      ...someCustomer(),
      first_name: 'Grace',
      last_name: 'Hopper',
      company: 'Navy',
      tax_id: 'FI12345678',
      tags: ['t'],
    };
    const reply = await changed(id, fields);
    assert.deepEqual(Object.fromEntries(Object.keys(fields).map((name) => [name, reply[name]])), fields);
    assert.deepEqual((await get(id)).body, reply);
  });

  test('null clears company and tax_id', async () => {
    const { id } = await created({ company: 'Engines', tax_id: 'GB 123 4567 89' });
    assert.equal((await changed(id, { company: null })).tax_id, 'GB123456789');
    const cleared = await changed(id, { tax_id: null });
    assert.deepEqual([cleared.company, cleared.tax_id], [null, null]);
  });

  for (const field of ['email', 'first_name', 'last_name', 'phone', 'tags']) {
    test(`null for ${field} is invalid_value`, async () => {
      const { id } = await created();
      assertFieldErrors(await patch(id, { [field]: null }), { [field]: 'invalid_value' });
    });
  }

  test('an unknown field is refused', async () => {
    const { id } = await created();
    assertFieldErrors(await patch(id, { fist_name: 'Ada' }), { fist_name: 'invalid_value' });
  });

  test('a form instead of JSON is 400 invalid_request and not taken for an empty change', async () => {
    const { id } = await created();
    const raw = '--X\r\nContent-Disposition: form-data; name="first_name"\r\n\r\nGrace\r\n--X--\r\n';
    const headers = { 'content-type': 'multipart/form-data; boundary=X' };
    assertError(await service.call('PATCH', `/v1/customers/${id}`, { raw, headers }), 400, 'invalid_request', null);
  });

  test("an id that does not exist, is malformed or is another merchant's: the same 404", async () => {
    const { key } = await service.createMerchant();
    const foreign = (await post(someCustomer(), { key })).body.id;
    const bodies = new Set<string>();
    for (const id of [randomUUID(), 'nonsense', foreign]) {
      for (const reply of [await patch(id, { first_name: 'Eve' }), await get(id), await remove(id)]) {
        assertError(reply, 404, 'resource_not_found', 'id');
        bodies.add(reply.text.replace(reply.body.error.request_id, ''));
      }
    }
    assert.equal(bodies.size, 1);
  });
});

describe('timestamps', () => {
  test('created_at is the millisecond in the id, which is a UUID v7', async () => {
    const earliest = Date.now();
    const { id, created_at } = await created();
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(created_at, new Date(idTimeMs(id)).toISOString());
    assert.ok(idTimeMs(id) >= earliest && idTimeMs(id) <= Date.now());
  });

  test('are UTC with milliseconds', async () => {
    const { id, created_at, updated_at } = await softDeleted();
    const { deleted_at } = (await get(id)).body;
    for (const time of [created_at, updated_at, deleted_at]) assert.match(time, timestampPattern);
  });

  test('updated_at is created_at at first and the moment of the change after PATCH', async () => {
    const { id, created_at, updated_at } = await created();
    assert.equal(updated_at, created_at);
    service.clock.advance(60_000);
    try {
      const later = await changed(id, { first_name: 'Grace' });
      const elapsed = Date.parse(later.updated_at) - Date.parse(created_at);
      assert.ok(elapsed >= 60_000 && elapsed < 90_000, `${elapsed}`);
      assert.equal(later.created_at, created_at);
    } finally {
      service.clock.advance(-60_000);
    }
  });
});

describe('customer deletion table', () => {
  test('has active or paused subscriptions: blocked, 400 customer_has_active_subscriptions', async () => {
    const { id } = await created();
    withOpenSubscriptions.add(id);
    withOrders.add(id);
    assertError(await remove(id), 400, 'customer_has_active_subscriptions', null);
    assert.equal((await get(id)).body.deleted, false);
  });

  test('has order history: soft delete', async () => {
    const { id } = await created();
    withOrders.add(id);
    const { status, body } = await remove(id);
    assert.equal(status, 200);
    assert.deepEqual([body.id, body.deleted, typeof body.message], [id, true, 'string']);
    assert.notEqual(body.message, '');
    assert.equal((await get(id)).status, 200);
  });

  test('no order history: hard delete', async () => {
    const { id } = await created();
    const { status, body } = await remove(id);
    assert.equal(status, 200);
    assert.deepEqual([body.id, body.deleted, typeof body.message], [id, true, 'string']);
    assertError(await get(id), 404, 'resource_not_found', 'id');
  });

  test('already deleted: success, after a soft delete, which stays as it was', async () => {
    const { id } = await softDeleted();
    const original = (await get(id)).body;
    const { status, body } = await remove(id);
    assert.deepEqual([status, body.id, body.deleted, typeof body.message], [200, id, true, 'string']);
    assert.deepEqual((await get(id)).body, original);
  });

  test('already deleted: success, after a hard delete', async () => {
    const { id } = await created();
    await remove(id);
    const { status, body } = await remove(id);
    assert.deepEqual([status, body.id, body.deleted, typeof body.message], [200, id, true, 'string']);
  });

  test('already deleted: success for the merchant who had it only', async () => {
    const { id } = await created();
    await remove(id);
    const { key } = await service.createMerchant();
    const reply = await service.call('DELETE', `/v1/customers/${id}`, { key });
    assertError(reply, 404, 'resource_not_found', 'id');
  });

  test('two deletions at once both succeed', async () => {
    const { id } = await created();
    const replies = await Promise.all([remove(id), remove(id)]);
    assert.deepEqual(
      replies.map((reply) => reply.status),
      [200, 200],
    );
  });
});

describe('a deleted customer', () => {
  test('that was soft-deleted reads deleted: true and deleted_at', async () => {
    const customer = await softDeleted();
    const { body } = await get(customer.id);
    assert.equal(body.deleted, true);
    assert.match(body.deleted_at, timestampPattern);
    assert.equal(body.email, customer.email);
  });

  test('cannot be changed: 400 invalid_request with param customer_id', async () => {
    const { id } = await softDeleted();
    assertError(await patch(id, { first_name: 'Grace' }), 400, 'invalid_request', 'customer_id');
    assert.equal((await get(id)).body.first_name, 'Ada');
  });

  /** Every row of every table, as text. */
  async function wholeDatabase(): Promise<string> {
    const tables = await service.db.query<{ name: string }>(
      `SELECT format('%I', tablename) AS name FROM pg_tables WHERE schemaname = 'public'`,
    );
    const dumps = tables.map(({ name }) => service.db.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`));
    return (await Promise.all(dumps)).flatMap((rows) => rows.map(({ row }) => row)).join('\n');
  }

  function person(): { fields: Fields; traces: string[] } {
    const unique = `q${randomUUID().slice(0, 8)}`;
    const number = String(Math.floor(Math.random() * 1e9)).padStart(9, '0');
    const fields = {
      email: `${unique}@example.com`,
      first_name: `${unique}first`,
      last_name: `${unique}last`,
      phone: `+49 ${number}`,
      company: `${unique}company`,
      shipping_address: { line1: `${unique}street` },
      metadata: { note: `${unique}note` },
    };
    return { fields, traces: [unique, number] };
  }

  async function assertTraces(traces: readonly string[], present: boolean): Promise<void> {
    const database = (await wholeDatabase()).toLowerCase();
    for (const trace of traces) assert.equal(database.includes(trace), present, trace);
  }

  /** As they do by themselves after 30 days. */
  /** What is kept for its time goes: events, and the requests that are logged a moment after they were answered. */
  async function kept(customerId: string): Promise<void> {
    await eventually('the deletion is logged', async () => {
      const rows = await service.db.query(`SELECT 1 FROM requests WHERE method = 'DELETE' AND path LIKE '%' || $1`, [
        customerId,
      ]);
      return rows.length === 1;
    });
    await service.db.query('DELETE FROM events');
    await service.db.query('DELETE FROM requests');
  }

  test('that was hard-deleted is left only in events and requests, until their retention ends', async () => {
    const { fields, traces } = person();
    const { id } = await created(fields);
    await changed(id, { last_name: `${traces[0]}other` });
    await assertTraces(traces, true);
    await remove(id);
    await kept(id);
    await assertTraces(traces, false);
  });

  test('that was hard-deleted is also gone from the responses of idempotency keys when those expire', async () => {
    const { fields, traces } = person();
    const { body } = await post(fields, { idempotencyKey: randomUUID() });
    await remove(body.id);
    await service.db.query(`UPDATE idempotency_keys SET expires_at = expires_at - interval '24 hours'`);
    await reapIdempotencyKeys(service.db, 500);
    await kept(body.id);
    await assertTraces(traces, false);
  });

  test('was never in the log', async () => {
    const { fields, traces } = person();
    const { id } = await created(fields);
    await post(fields);
    await post({ ...fields, email: 5 });
    await remove(id);
    const log = service.logLines.join('\n').toLowerCase();
    for (const trace of traces) assert.ok(!log.includes(trace), trace);
  });
});
