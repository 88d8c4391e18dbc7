import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { patchCoupon, postCoupon, readCoupon, someCoupon } from '../../../tests/support/coupons.ts';
import { assertInvalid, assertRefused, createProduct } from '../../../tests/support/orders.ts';
import { type CallOptions, type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { somePlan } from '../../../tests/support/subscriptions.ts';

/** Coupons as a merchant makes, lists, reads and archives them. */

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const post = (body: Record<string, unknown>, options: CallOptions = {}): Promise<Reply> =>
  postCoupon(service, body, options);
const tenOff = { name: 'Ten off', percentage: 10 };
const fiveOff = { name: 'Five off', amount: 500, currency: 'usd' };
const inDays = (days: number): string => new Date(service.clock.nowMs() + days * 86_400_000).toISOString();

/** One problem, of any of the codes of a field. */
function assertField(reply: Reply, field: string, code = 'invalid_value'): void {
  assertRefused(reply, 400, 'validation_error', field);
  const problems = reply.body.error.field_errors.map((problem: Record<string, string>) => [
    problem.field,
    problem.code,
  ]);
  assert.deepEqual(problems, [[field, code]], reply.text);
}

describe('POST /v1/coupons', () => {
  it('needs only a name and a discount; everything else has its default', async () => {
    const reply = await post(tenOff);
    assert.equal(reply.status, 201, reply.text);
    const { id, created_at, updated_at, ...rest } = reply.body;
    assert.match(id, /^[0-9a-f-]{36}$/);
    assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.equal(updated_at, created_at);
    assert.deepEqual(rest, {
      kind: 'generated',
      name: 'Ten off',
      description: null,
      percentage: 10,
      amount: null,
      max_discount_amount: null,
      currency: null,
      duration: 'once',
      duration_in_cycles: null,
      minimum_amount: 0,
      max_redemptions: null,
      max_redemptions_per_customer: null,
      max_redemptions_per_code: null,
      first_time_customer_only: false,
      starts_at: null,
      expires_at: null,
      active: true,
      archived_at: null,
      product_scope: 'all',
      plan_scope: 'all',
      product_ids: [],
      plan_ids: [],
      code_prefix: null,
      total_redemptions: 0,
      codes: [],
    });
  });

  it('keeps every field that is given, and reads the same afterwards', async () => {
    const fields = {
      kind: 'generated',
      name: 'Everything',
      description: 'All of it.',
      percentage: 12.34,
      max_discount_amount: 2000,
      duration: 'repeating',
      duration_in_cycles: 3,
      minimum_amount: 100,
      max_redemptions: 50,
      max_redemptions_per_customer: 2,
      max_redemptions_per_code: 1,
      first_time_customer_only: true,
      starts_at: inDays(1),
      expires_at: inDays(2),
      active: false,
      product_scope: 'specific',
      plan_scope: 'specific',
      product_ids: [await createProduct(service, 100), await createProduct(service, 200)],
      plan_ids: [(await somePlan(service)).id],
      code_prefix: 'EV-',
    };
    const reply = await post({ ...fields, codes: { count: 3 } });
    assert.equal(reply.status, 201, reply.text);
    const { codes, ...coupon } = reply.body;
    assert.partialDeepStrictEqual(coupon, fields);
    assert.deepEqual(await readCoupon(service, coupon.id), coupon);
    assert.equal(codes.length, 3);
    for (const code of codes) {
      assert.match(code.code, /^EV-.{10}$/, 'the prefix of the coupon is that of its codes');
      assert.partialDeepStrictEqual(code, { coupon_id: coupon.id, active: false, redemptions: 0, max_redemptions: 1 });
    }
  });

  it('takes cents off with amount, which keeps its currency', async () => {
    const reply = await post({ ...fiveOff, currency: 'eur' });
    assert.partialDeepStrictEqual(reply.body, { percentage: null, amount: 500, currency: 'eur' });
  });

  it('requires exactly one of percentage and amount', async () => {
    assertField(await post({ name: 'None' }), 'percentage', 'required_field');
    assertField(await post({ ...fiveOff, percentage: 10 }), 'amount');
    const none = await post({ name: 'None', amount: null });
    assertField(none, 'percentage', 'required_field');
    assert.equal((await post({ ...tenOff, amount: null })).status, 201);
  });

  it('refuses max_discount_amount with amount', async () => {
    assertField(await post({ ...fiveOff, max_discount_amount: 100 }), 'max_discount_amount');
  });

  it('requires a currency with amount; a percentage takes none but usd, and then reads null', async () => {
    assertField(await post({ name: 'Five', amount: 500 }), 'currency', 'required_field');
    assertField(await post({ ...tenOff, currency: 'eur' }), 'currency');
    const dollars = await post({ ...tenOff, currency: 'usd' });
    assert.deepEqual([dollars.status, dollars.body.currency], [201, null], dollars.text);
    for (const currency of ['USD', 'xyz', 'us', '']) {
      assertRefused(await post({ ...fiveOff, currency }), 400, 'validation_error', 'currency');
    }
  });

  it('requires duration_in_cycles when the duration is repeating, and rejects it otherwise', async () => {
    assertField(await post({ ...tenOff, duration: 'repeating' }), 'duration_in_cycles', 'required_field');
    for (const duration of ['once', 'forever']) {
      assertField(await post({ ...tenOff, duration, duration_in_cycles: 2 }), 'duration_in_cycles');
      assert.equal((await post({ ...tenOff, duration })).body.duration, duration);
    }
    assertInvalid(await post({ ...tenOff, duration: 'sometimes' }), 'duration');
  });

  it('requires ids with the scope specific, and rejects them otherwise', async () => {
    for (const what of ['product', 'plan'] as const) {
      const ids = [what === 'plan' ? (await somePlan(service)).id : await createProduct(service, 100)];
      assertField(await post({ ...tenOff, [`${what}_scope`]: 'specific' }), `${what}_ids`);
      assertField(await post({ ...tenOff, [`${what}_scope`]: 'specific', [`${what}_ids`]: [] }), `${what}_ids`);
      for (const scope of ['none', 'all']) {
        assertField(await post({ ...tenOff, [`${what}_scope`]: scope, [`${what}_ids`]: ids }), `${what}_ids`);
        assert.equal((await post({ ...tenOff, [`${what}_scope`]: scope })).body[`${what}_scope`], scope);
      }
      const twice = await post({ ...tenOff, [`${what}_scope`]: 'specific', [`${what}_ids`]: [...ids, ...ids] });
      assertRefused(twice, 400, 'validation_error', `${what}_ids`);
    }
  });

  it('is 404 for a product or plan that does not exist or belongs to another merchant', async () => {
    const other = await service.createMerchant();
    const theirs = {
      product: await createProduct(service, 100, { key: other.key }),
      plan: (await somePlan(service, {}, other.sandbox)).id,
    };
    for (const what of ['product', 'plan'] as const) {
      for (const id of [randomUUID(), theirs[what]]) {
        const reply = await post({ ...tenOff, [`${what}_scope`]: 'specific', [`${what}_ids`]: [id] });
        assertRefused(reply, 404, 'resource_not_found', `${what}_ids`);
      }
    }
  });

  it('requires expires_at after starts_at', async () => {
    const [starts_at, expires_at] = [inDays(3), inDays(2)];
    assertField(await post({ ...tenOff, starts_at, expires_at }), 'expires_at');
    assertField(await post({ ...tenOff, starts_at, expires_at: starts_at }), 'expires_at');
    assertRefused(await post({ ...tenOff, starts_at: 'tomorrow' }), 400, 'validation_error', 'starts_at');
    const reply = await post({ ...tenOff, expires_at: '2099-01-01T02:00:00+02:00' });
    assert.equal(reply.body.expires_at, '2099-01-01T00:00:00.000Z');
  });

  const bounds: readonly (readonly [string, unknown[], unknown[]])[] = [
    ['percentage', [1, 100, 99.99, 1.01, 33.33, 57.29], [0, 0.99, 100.01, -1, '10', true]],
    ['amount', [1, 99_999_999], [0, -1, 1.5, 100_000_000, '500']],
    ['max_discount_amount', [1, null], [0, -1, 1.5]],
    ['duration_in_cycles', [1, 10_000], [0, -1, 1.5]],
    ['minimum_amount', [0, 1], [-1, 1.5, null]],
    ['max_redemptions', [1], [0, -1, 1.5, 2_147_483_648, null]],
    ['max_redemptions_per_customer', [1], [0, -1, 2_147_483_648, null]],
    ['max_redemptions_per_code', [1], [0, -1, 2_147_483_648, null]],
    ['first_time_customer_only', [true, false], [null, 'yes', 1]],
    ['active', [true, false], [null, 'yes']],
    ['kind', ['generated'], ['other', null]],
    ['name', ['x', 'x'.repeat(255)], ['', '   ', 'x'.repeat(256), null]],
    ['description', ['', 'x'.repeat(5000), null], ['x'.repeat(5001)]],
    ['code_prefix', ['X', 'X'.repeat(20)], ['X'.repeat(21), null]],
    ['product_scope', ['none', 'all'], ['some', null]],
    ['plan_scope', ['none', 'all'], ['some', null]],
    ['codes', [{ count: 1 }], [{}, { count: 0 }, { count: 1001 }, null, [], { count: 1, size: 3 }]],
  ];
  for (const [field, good, bad] of bounds) {
    it(`takes ${field} within its bounds and nothing else`, async () => {
      const base =
        field === 'amount'
          ? fiveOff
          : { ...tenOff, ...(field === 'duration_in_cycles' && { duration: 'repeating', duration_in_cycles: 1 }) };
      for (const value of good) {
        const reply = await post({ ...base, [field]: value });
        assert.equal(reply.status, 201, `${JSON.stringify(value)} ${reply.text}`);
        if (field !== 'codes') assert.deepEqual(reply.body[field], value);
      }
      for (const value of bad) {
        const reply = await post({ ...base, [field]: value });
        assert.deepEqual([reply.status, reply.body.error?.code], [400, 'validation_error'], JSON.stringify(value));
        assert.ok(reply.body.error.param.startsWith(field), reply.text);
      }
    });
  }

  it('takes a percentage of two decimals and no more', async () => {
    for (const percentage of [10.005, 12.345, 99.999, 33.333333, 12.500001, 12.50000000001]) {
      assertField(await post({ ...tenOff, percentage }), 'percentage');
    }
  });

  it('refuses fields that it does not know, or that are not for the merchant to say', async () => {
    for (const field of ['discount', 'id', 'total_redemptions', 'archived_at', 'created_at', 'code']) {
      assertInvalid(await post({ ...tenOff, [field]: 1 }), field);
    }
  });

  it('reports every problem at once', async () => {
    const reply = await post({ name: 'Bad', percentage: 10, currency: 'eur', duration: 'repeating' });
    const fields = reply.body.error.field_errors.map(({ field }: { field: string }) => field);
    assert.deepEqual(fields.toSorted(), ['currency', 'duration_in_cycles']);
  });

  it('needs an idempotency key', async () => {
    const reply = await service.call('POST', '/v1/coupons', { body: tenOff });
    assertRefused(reply, 400, 'missing_idempotency_key');
    const bad = await post(tenOff, { idempotencyKey: 'no spaces' });
    assertRefused(bad, 400, 'invalid_idempotency_key');
  });

  it('answers a repeated key with the same coupon and the same codes, byte for byte', async () => {
    const idempotencyKey = randomUUID();
    const body = { ...tenOff, codes: { count: 2 } };
    const first = await post(body, { idempotencyKey });
    const again = await post(body, { idempotencyKey });
    assert.deepEqual([again.status, again.text], [201, first.text]);
    assert.equal(again.headers.get('svc-idempotent-replayed'), 'true');
    assertRefused(await post({ ...body, percentage: 11 }, { idempotencyKey }), 422, 'idempotency_key_conflict');
  });

  it('of 20 at once with one key makes one coupon', async () => {
    const { key } = await service.createMerchant();
    const idempotencyKey = randomUUID();
    const replies = await Promise.all(Array.from({ length: 20 }, () => post(tenOff, { idempotencyKey, key })));
    const made = replies.filter(({ status }) => status === 201);
    assert.ok(made.length > 0);
    assert.equal(new Set(made.map(({ body }) => body.id)).size, 1);
    for (const reply of replies) if (reply.status !== 201) assertRefused(reply, 409, 'request_in_progress');
    assert.equal((await service.call('GET', '/v1/coupons', { key })).body.data.length, 1);
  });
});

describe('a promo coupon', () => {
  const promo = (name: string, options: CallOptions = {}): Promise<Reply> =>
    post({ kind: 'promo', name, percentage: 10 }, options);

  it('has one code: its name, trimmed and in upper case', async () => {
    const reply = await promo('  summer Sale-26 ');
    assert.equal(reply.status, 201, reply.text);
    const [code, ...more] = reply.body.codes;
    assert.deepEqual([code.code, more], ['SUMMER SALE-26', []]);
    assert.equal(code.coupon_id, reply.body.id);
    const listed = await service.call('GET', `/v1/coupons/${reply.body.id}/codes`);
    assert.deepEqual(listed.body.data, [code]);
  });

  it('with a codes block is 422', async () => {
    const reply = await post({ kind: 'promo', name: 'Blocky', percentage: 10, codes: { count: 1 } });
    assertRefused(reply, 422, 'invalid_request');
  });

  it('whose code is taken is 409, in any case and with any spaces; another merchant may have it', async () => {
    await promo('Taken');
    for (const name of ['Taken', 'TAKEN', ' taken ']) {
      assertRefused(await promo(name), 409, 'resource_already_exists', 'name');
    }
    const generated = await someCoupon(service);
    assertRefused(await promo(generated.code.toLowerCase()), 409, 'resource_already_exists', 'name');
    const { key } = await service.createMerchant();
    assert.equal((await promo('taken', { key })).status, 201);
  });

  it('keeps its code when it is archived', async () => {
    const { body } = await promo('Kept');
    await service.call('DELETE', `/v1/coupons/${body.id}`);
    assertRefused(await promo('kept'), 409, 'resource_already_exists', 'name');
  });

  it('of 20 at once with one name is made once', async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => promo('Contended')));
    assert.equal(replies.filter(({ status }) => status === 201).length, 1);
    for (const reply of replies) if (reply.status !== 201) assertRefused(reply, 409, 'resource_already_exists');
  });
});

describe('GET /v1/coupons', () => {
  let key: string;
  const ids: Record<string, string> = {};
  before(async () => {
    ({ key } = await service.createMerchant());
    const make = async (name: string, more: Record<string, unknown> = {}): Promise<void> => {
      ids[name] = (await someCoupon(service, { name, ...more }, { key })).id;
    };
    await make('b-generated');
    await make('a-promo', { kind: 'promo' });
    await make('d-inactive', { active: false });
    await make('c-archived');
    await make('e-promo-archived', { kind: 'promo' });
    for (const name of ['c-archived', 'e-promo-archived']) {
      await service.call('DELETE', `/v1/coupons/${ids[name]}`, { key });
    }
    await patchCoupon(service, ids['b-generated'] ?? '', { description: 'newer' }, { key });
  });
  const names = async (query: string): Promise<string[]> => {
    const reply = await service.call('GET', `/v1/coupons${query}`, { key });
    assert.equal(reply.status, 200, reply.text);
    return reply.body.data.map(({ name }: { name: string }) => name);
  };

  it('is newest first and hides archived coupons', async () => {
    assert.deepEqual(await names(''), ['d-inactive', 'a-promo', 'b-generated']);
    assert.deepEqual(await names('?archived=false'), ['d-inactive', 'a-promo', 'b-generated']);
  });

  it('shows archived coupons alone, or all', async () => {
    assert.deepEqual(await names('?archived=true'), ['e-promo-archived', 'c-archived']);
    assert.equal((await names('?archived=all')).length, 5);
  });

  it('filters by active and kind, also together', async () => {
    assert.deepEqual(await names('?active=true'), ['a-promo', 'b-generated']);
    assert.deepEqual(await names('?active=false'), ['d-inactive']);
    assert.deepEqual(await names('?kind=promo'), ['a-promo']);
    assert.deepEqual(await names('?kind=generated&active=true'), ['b-generated']);
    assert.deepEqual(await names('?kind=promo&archived=all&active=false'), ['e-promo-archived']);
  });

  it('sorts by creation, change and name, and walks without a gap', async () => {
    assert.deepEqual(await names('?sort=created_at'), ['b-generated', 'a-promo', 'd-inactive']);
    assert.deepEqual(await names('?sort=name'), ['a-promo', 'b-generated', 'd-inactive']);
    assert.equal((await names('?sort=-updated_at'))[0], 'b-generated');
    const walked: string[] = [];
    let cursor = '';
    do {
      const path = `/v1/coupons?archived=all&sort=-name&limit=2${cursor}`;
      const { body } = await service.call('GET', path, { key });
      assert.equal(body.url, '/v1/coupons');
      walked.push(...body.data.map(({ name }: { name: string }) => name[0]));
      cursor = body.has_more ? `&starting_after=${body.cursors.next}` : '';
    } while (cursor);
    assert.deepEqual(walked, ['e', 'd', 'c', 'b', 'a']);
  });

  it('gives only the fields that are asked for, and the id', async () => {
    const { body } = await service.call('GET', '/v1/coupons?fields[coupons]=name,percentage&kind=promo', { key });
    assert.deepEqual(body.data, [{ id: ids['a-promo'], name: 'a-promo', percentage: 10 }]);
    const one = await service.call('GET', `/v1/coupons/${ids['a-promo']}?fields[coupons]=kind`, { key });
    assert.deepEqual(one.body, { id: ids['a-promo'], kind: 'promo' });
  });

  it('refuses values and parameters that it does not know', async () => {
    for (const [name, value] of [
      ['archived', 'maybe'],
      ['kind', 'other'],
      ['active', 'yes'],
      ['sort', 'percentage'],
      ['fields[coupons]', 'secret'],
      ['page', '2'],
      ['limit', '101'],
    ] as const) {
      assertRefused(await service.call('GET', `/v1/coupons?${name}=${value}`), 400, 'validation_error', name);
    }
  });
});

describe('GET /v1/coupons/{id}', () => {
  it('is 404 for one that does not exist or belongs to another merchant', async () => {
    const { id } = await someCoupon(service);
    const { key } = await service.createMerchant();
    assertRefused(await service.call('GET', `/v1/coupons/${id}`, { key }), 404, 'resource_not_found', 'id');
    assertRefused(await service.call('GET', `/v1/coupons/${randomUUID()}`), 404, 'resource_not_found', 'id');
    assertRefused(await patchCoupon(service, id, { active: false }, { key }), 404, 'resource_not_found', 'id');
    assertRefused(await service.call('DELETE', `/v1/coupons/${id}`, { key }), 404, 'resource_not_found', 'id');
    assertRefused(await service.call('GET', `/v1/coupons/${id}/codes`, { key }), 404, 'resource_not_found', 'id');
  });
});
