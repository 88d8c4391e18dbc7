import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { patchCoupon, postCoupon, readCoupon, type SomeCoupon, someCoupon } from '../../../tests/support/coupons.ts';
import { assertRefused, createProduct, openShop, order, type Shop } from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { advance, somePlan } from '../../../tests/support/subscriptions.ts';

/** What of a coupon can change, and when; its archive; who may do what. */

let service: TestService;
let shop: Shop;
before(async () => {
  service = await startTestService();
  shop = await openShop(service);
});
after(() => service.stop());

const patch = (id: string, body: Record<string, unknown>): Promise<Reply> => patchCoupon(service, id, body);
const inDays = (days: number): string => new Date(service.clock.nowMs() + days * 86_400_000).toISOString();

async function redeemed(more: Record<string, unknown> = {}): Promise<SomeCoupon> {
  const coupon = await someCoupon(service, more);
  const reply = await order(service, shop, { coupon_code: coupon.code });
  assert.deepEqual([reply.status, reply.body.status], [201, 'succeeded'], reply.text);
  return coupon;
}

async function assertChanged(
  id: string,
  change: Record<string, unknown>,
  withIt: Record<string, unknown> = {},
): Promise<void> {
  const before = await readCoupon(service, id);
  const reply = await patch(id, change);
  assert.equal(reply.status, 200, reply.text);
  const { updated_at } = reply.body;
  assert.ok(updated_at >= before.updated_at);
  assert.deepEqual(reply.body, { ...before, ...change, ...withIt, updated_at });
  assert.deepEqual(await readCoupon(service, id), reply.body);
}

describe('PATCH /v1/coupons/{id} before any redemption', () => {
  it('changes each field, and leaves the others as they are', async () => {
    const { id } = await someCoupon(service);
    const productId = await createProduct(service, 100);
    const plan = await somePlan(service);
    for (const change of [
      { name: 'Renamed' },
      { description: 'Words.' },
      { percentage: 33.33 },
      { max_discount_amount: 700 },
      { duration: 'repeating', duration_in_cycles: 4 },
      { duration: 'forever', duration_in_cycles: null },
      { minimum_amount: 100 },
      { max_redemptions: 5 },
      { max_redemptions_per_customer: 2 },
      { max_redemptions_per_code: 3 },
      { first_time_customer_only: true },
      { starts_at: inDays(1) },
      { starts_at: inDays(2) },
      { expires_at: inDays(9) },
      { active: false },
      { product_scope: 'specific', product_ids: [productId] },
      { product_scope: 'none', product_ids: [] },
      { plan_scope: 'specific', plan_ids: [plan.id] },
      { code_prefix: 'NEW-' },
      { max_discount_amount: null },
    ]) {
      await assertChanged(id, change);
    }
    const { id: fixed } = await someCoupon(service, { amount: 300, currency: 'eur' });
    await assertChanged(fixed, { amount: 400, currency: 'usd' });
    await assertChanged(fixed, { amount: null, percentage: 5 }, { currency: null });
  });

  it('replaces a percentage by an amount alone, and an amount by a percentage alone', async () => {
    const { id } = await someCoupon(service, { max_discount_amount: 700 });
    await assertChanged(id, { amount: 300, currency: 'eur' }, { percentage: null, max_discount_amount: null });
    await assertChanged(id, { percentage: 20 }, { amount: null, currency: null });
    await assertChanged(id, { amount: 300, currency: 'usd' }, { percentage: null });
    const { id: bounded } = await someCoupon(service, { amount: 300, currency: 'eur' });
    await assertChanged(bounded, { percentage: 5, max_discount_amount: 100 }, { amount: null, currency: null });
    assertRefused(await patchCoupon(service, bounded, { amount: 1 }), 400, 'validation_error', 'currency');
    assertRefused(await patchCoupon(service, bounded, { percentage: null }), 400, 'validation_error', 'percentage');
  });

  it('checks the whole coupon by the rules of a new one', async () => {
    const { id } = await someCoupon(service, { duration: 'repeating', duration_in_cycles: 2 });
    const before = await readCoupon(service, id);
    for (const [change, field] of [
      [{ amount: 100 }, 'currency'],
      [{ amount: 100, percentage: 5 }, 'amount'],
      [{ percentage: null }, 'percentage'],
      [{ percentage: 10.005 }, 'percentage'],
      [{ percentage: 101 }, 'percentage'],
      [{ currency: 'eur' }, 'currency'],
      [{ duration: 'once' }, 'duration_in_cycles'],
      [{ duration_in_cycles: null }, 'duration_in_cycles'],
      [{ product_scope: 'specific' }, 'product_ids'],
      [{ starts_at: inDays(2), expires_at: inDays(1) }, 'expires_at'],
      [{ name: ' ' }, 'name'],
      [{ name: null }, 'name'],
      [{ max_redemptions: 0 }, 'max_redemptions'],
      [{ kind: 'promo' }, 'kind'],
      [{ total_redemptions: 0 }, 'total_redemptions'],
      [{ archived_at: null }, 'archived_at'],
      [{ codes: { count: 1 } }, 'codes'],
    ] as const) {
      const reply = await patch(id, change);
      assert.deepEqual([reply.status, reply.body.error?.code], [400, 'validation_error'], JSON.stringify(change));
      const fields = reply.body.error.field_errors.map((problem: { field: string }) => problem.field);
      assert.ok(fields.includes(field), reply.text);
    }
    const strangers = { product_scope: 'specific', product_ids: [randomUUID()] };
    assertRefused(await patch(id, strangers), 404, 'resource_not_found', 'product_ids');
    assert.deepEqual(await readCoupon(service, id), before);
  });

  it('renames a promo and with it its code; 409 when another coupon has that', async () => {
    const taken = await someCoupon(service, { kind: 'promo', name: 'Taken name' });
    const { id } = await someCoupon(service, { kind: 'promo', name: 'Early' });
    const before = await readCoupon(service, id);
    assertRefused(await patch(id, { name: 'taken NAME' }), 409, 'resource_already_exists', 'name');
    assert.deepEqual(await readCoupon(service, id), before);
    assert.equal((await patch(id, { name: ' late ' })).body.name, 'late');
    const { data } = (await service.call('GET', `/v1/coupons/${id}/codes`)).body;
    assert.deepEqual(
      data.map(({ code }: { code: string }) => code),
      ['LATE'],
    );
    const old = await service.call('POST', '/v1/coupons/validate', { body: { code: 'early', amount: 100 } });
    assert.equal(old.body.reason, 'code_not_found');
    assert.equal((await readCoupon(service, taken.id)).name, 'Taken name');
  });

  it('answers a repeated key from the store', async () => {
    const { id } = await someCoupon(service);
    const idempotencyKey = randomUUID();
    const first = await patchCoupon(service, id, { description: 'one' }, { idempotencyKey });
    await patch(id, { description: 'two' });
    const again = await patchCoupon(service, id, { description: 'one' }, { idempotencyKey });
    assert.equal(again.text, first.text);
    assert.equal((await readCoupon(service, id)).description, 'two');
  });
});

describe('PATCH /v1/coupons/{id} after the first redemption', () => {
  it('changes what is always editable', async () => {
    const { id } = await redeemed({ max_redemptions: 3 });
    for (const change of [
      { name: 'Other name' },
      { description: 'Other words.' },
      { active: false },
      { active: true },
      { expires_at: inDays(1) },
      { minimum_amount: 1 },
      { max_redemptions: 7 },
      { max_redemptions_per_customer: 9 },
    ]) {
      await assertChanged(id, change);
    }
  });

  const ofPercentage = {
    percentage: 11,
    max_discount_amount: 900,
    duration: 'once',
    duration_in_cycles: 3,
    first_time_customer_only: true,
    max_redemptions_per_code: 4,
    product_scope: 'none',
    plan_scope: 'none',
  };
  it('refuses each locked field with 422 field_locked, which names it', async () => {
    const { id } = await redeemed({ max_discount_amount: 800, duration: 'repeating', duration_in_cycles: 2 });
    const before = await readCoupon(service, id);
    for (const [field, value] of Object.entries(ofPercentage)) {
      const reply = await patch(id, { [field]: value });
      assertRefused(reply, 422, 'field_locked', field);
      assert.ok(reply.body.error.message.includes(field));
    }
    const amountOff = await redeemed({ amount: 100 });
    for (const [field, value] of Object.entries({ amount: 101, currency: 'eur' })) {
      assertRefused(await patch(amountOff.id, { [field]: value }), 422, 'field_locked', field);
    }
    const [first, second] = [shop.productId, await createProduct(service, 100)];
    const plan_ids = [(await somePlan(service)).id];
    const scopes = { product_scope: 'specific', product_ids: [first], plan_scope: 'specific', plan_ids };
    const scoped = await redeemed(scopes);
    assertRefused(await patch(scoped.id, { product_ids: [first, second] }), 422, 'field_locked', 'product_ids');
    const others = { plan_ids: [(await somePlan(service)).id] };
    assertRefused(await patch(scoped.id, others), 422, 'field_locked', 'plan_ids');
    assert.deepEqual(await readCoupon(service, id), before);
  });

  it('changes nothing when one of several fields is locked', async () => {
    const { id } = await redeemed();
    const before = await readCoupon(service, id);
    assertRefused(await patch(id, { description: 'no', percentage: 50 }), 422, 'field_locked', 'percentage');
    assert.deepEqual(await readCoupon(service, id), before);
  });

  it('takes the value that a locked field has as no change', async () => {
    const product_ids = [shop.productId, await createProduct(service, 100)];
    const { id } = await redeemed({ product_scope: 'specific', product_ids, percentage: 12.34 });
    const before = await readCoupon(service, id);
    const same = Object.fromEntries(
      [...Object.keys(ofPercentage), 'amount', 'product_ids', 'plan_ids']
        .filter((name) => name !== 'max_redemptions_per_code')
        .map((name) => [name, before[name]]),
    );
    assert.equal((await patch(id, { ...same, description: 'ok' })).status, 200);
  });

  it('takes the same ids in another order as no change', async () => {
    const product_ids = [shop.productId, await createProduct(service, 100)];
    const { id } = await redeemed({ product_scope: 'specific', product_ids });
    const reply = await patch(id, { product_ids: product_ids.toReversed() });
    assert.equal(reply.status, 200, reply.text);
  });

  it('locks the name of a promo', async () => {
    const { id } = await redeemed({ kind: 'promo', name: 'Fixed name' });
    assertRefused(await patch(id, { name: 'Loose name' }), 422, 'field_locked', 'name');
    assert.equal((await patch(id, { name: 'Fixed name' })).status, 200);
  });

  it('locks nothing for a charge that was declined', async () => {
    const broke = await openShop(service, '4000000000000002');
    const { id, code } = await someCoupon(service);
    assert.equal((await order(service, broke, { coupon_code: code })).body.status, 'failed');
    await assertChanged(id, { percentage: 20 });
  });

  it('refuses max_redemptions below the count, and takes the count itself', async () => {
    const { id, code } = await redeemed();
    await order(service, shop, { coupon_code: code });
    const reply = await patch(id, { max_redemptions: 1 });
    assertRefused(reply, 400, 'validation_error', 'max_redemptions');
    assert.equal((await patch(id, { max_redemptions: 2 })).body.max_redemptions, 2);
    assert.equal((await readCoupon(service, id)).total_redemptions, 2);
  });
});

describe('starts_at', () => {
  it('can be moved before that moment, by the clock of the company, and not after', async () => {
    const { key } = await service.createMerchant();
    const { id } = await someCoupon(service, { starts_at: inDays(2) }, { key });
    const moved = inDays(1);
    assert.equal((await patchCoupon(service, id, { starts_at: moved }, { key })).body.starts_at, moved);
    await advance(service, { by: { days: 1, minutes: 1 } }, { key });
    for (const starts_at of [inDays(5), inDays(1.5)]) {
      assertRefused(await patchCoupon(service, id, { starts_at }, { key }), 422, 'field_locked', 'starts_at');
    }
    const same = await patchCoupon(service, id, { starts_at: moved, description: 'ok' }, { key });
    assert.equal(same.status, 200, same.text);
  });
});

describe('a moment that cannot be kept', () => {
  for (const moment of ['2030-06-30T23:59:60Z', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59-14:00']) {
    it(`is 400 or is stored, and never a 5xx: ${moment}`, async () => {
      const { id } = await someCoupon(service);
      for (const field of ['starts_at', 'expires_at']) {
        const made = await postCoupon(service, { name: 'x', percentage: 1, [field]: moment });
        assert.ok([201, 400].includes(made.status), made.text);
        const changed = await patch(id, { [field]: moment });
        assert.ok([200, 400].includes(changed.status), changed.text);
      }
    });
  }
});

describe('the archive', () => {
  const archive = (id: string, archived: boolean): Promise<Reply> =>
    service.call('POST', `/v1/coupons/${id}/archive`, { body: { archived } });

  for (const [how, act] of [
    ['DELETE', (id: string) => service.call('DELETE', `/v1/coupons/${id}`)],
    ['archived: true', (id: string) => archive(id, true)],
  ] as const) {
    it(`by ${how}: archived_at is set and active false; again it changes nothing; the history stays`, async () => {
      const { id, code } = await redeemed();
      const before = await readCoupon(service, id);
      const reply = await act(id);
      assert.equal(reply.status, 200, reply.text);
      assert.ok(reply.body.archived_at);
      const { archived_at, updated_at } = reply.body;
      assert.deepEqual(reply.body, { ...before, archived_at, updated_at, active: false });
      for (const again of [await archive(id, true), await service.call('DELETE', `/v1/coupons/${id}`)]) {
        assert.deepEqual([again.status, again.body], [200, reply.body]);
      }
      assert.deepEqual(await readCoupon(service, id), reply.body);
      const [listed] = (await service.call('GET', `/v1/coupons/${id}/codes`)).body.data;
      assert.deepEqual([listed.code, listed.redemptions, listed.active], [code, 1, false]);
    });
  }

  it('is left with archived: false; active stays false until a PATCH says otherwise', async () => {
    const { id } = await someCoupon(service);
    const untouched = await readCoupon(service, id);
    assert.deepEqual((await archive(id, false)).body, untouched, 'not archived: nothing changes');
    await archive(id, true);
    const reply = await archive(id, false);
    assert.deepEqual([reply.status, reply.body.archived_at, reply.body.active], [200, null, false]);
    assert.deepEqual((await archive(id, false)).body, reply.body);
    assert.equal((await patch(id, { active: true })).body.active, true);
  });

  it('keeps what is in it from being active, and lets the rest be changed', async () => {
    const { id } = await someCoupon(service);
    await archive(id, true);
    const reply = await patch(id, { active: true });
    assert.equal(reply.status, 400, reply.text);
    const words = await patch(id, { description: 'old' });
    assert.deepEqual([words.status, words.body.description, words.body.active], [200, 'old', false], words.text);
    assert.ok(words.body.archived_at);
  });

  it('requires the field that decides', async () => {
    const { id } = await someCoupon(service);
    for (const body of [{}, { archived: null }, { archived: 'true' }, { archived: true, active: true }]) {
      const reply = await service.call('POST', `/v1/coupons/${id}/archive`, { body });
      assert.deepEqual([reply.status, reply.body.error.code], [400, 'validation_error']);
    }
    assertRefused(await archive(randomUUID(), true), 404, 'resource_not_found', 'id');
  });
});

describe('permissions', () => {
  it('coupons:read reads and validates, coupons:write writes; a key without them gets 403', async () => {
    const { id, code } = await someCoupon(service);
    const keys = {
      read: await service.createKey(service.company, { permissions: ['coupons:read'] }),
      write: await service.createKey(service.company, { permissions: ['coupons:write'] }),
      none: await service.createKey(service.company, { permissions: ['orders:read', 'orders:write'] }),
      public: await service.createKey(service.company, { kind: 'publishable' }),
    };
    const calls: readonly [keyof typeof keys, (key: string) => Promise<Reply>][] = [
      ['read', (key) => service.call('GET', '/v1/coupons', { key })],
      ['read', (key) => service.call('GET', `/v1/coupons/${id}`, { key })],
      ['read', (key) => service.call('GET', `/v1/coupons/${id}/codes`, { key })],
      ['read', (key) => service.call('POST', '/v1/coupons/validate', { key, body: { code, amount: 1 } })],
      ['write', (key) => postCoupon(service, { name: 'x', percentage: 1 }, { key })],
      ['write', (key) => patchCoupon(service, id, { description: 'x' }, { key })],
      ['write', (key) => service.call('POST', `/v1/coupons/${id}/codes`, { key, body: { count: 1 } })],
      ['write', (key) => service.call('POST', `/v1/coupons/${id}/archive`, { key, body: { archived: false } })],
      ['write', (key) => service.call('DELETE', `/v1/coupons/${id}`, { key })],
    ];
    for (const [needed, call] of calls) {
      for (const [name, key] of Object.entries(keys)) {
        const reply = await call(key);
        if (name === needed) assert.ok(reply.status < 300, reply.text);
        else assertRefused(reply, 403, 'insufficient_permissions');
      }
    }
  });
});
