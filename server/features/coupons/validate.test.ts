import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { patchCoupon, readCoupon, someCoupon, tally, validate } from '../../../tests/support/coupons.ts';
import { assertRefused, createProduct, openShop, order, type Shop } from '../../../tests/support/orders.ts';
import { type Reply, someProduct, startTestService, type TestService } from '../../../tests/support/service.ts';
import { advance, somePlan, someSubscriber, subscribe } from '../../../tests/support/subscriptions.ts';

/** The preview of a code: what it says, and that it says what a purchase would get. */

let service: TestService;
let shop: Shop;
before(async () => {
  // Nothing here is about how often one may ask, but for the one test that is.
  service = await startTestService({ settings: { SVC_RATE_LIMIT_COUPON_VALIDATION: 'off' } });
  shop = await openShop(service);
});
after(() => service.stop());

const inDays = (days: number): string => new Date(service.clock.nowMs() + days * 86_400_000).toISOString();

async function valid(body: Record<string, unknown>): Promise<Reply['body']> {
  const reply = await validate(service, body);
  assert.deepEqual([reply.status, reply.body.valid], [200, true], reply.text);
  return reply.body;
}

async function assertReason(body: Record<string, unknown>, reason: string): Promise<void> {
  const reply = await validate(service, body);
  assert.equal(reply.status, 200, reply.text);
  assert.deepEqual(reply.body, { valid: false, reason, code: body.code });
}

describe('a code that can be used', () => {
  it('is answered with the terms, the discount and what is left', async () => {
    const { id, code } = await someCoupon(service, {
      percentage: 12.5,
      max_discount_amount: 500,
      duration: 'repeating',
      duration_in_cycles: 3,
    });
    const written = ` ${code.toLowerCase()}`;
    assert.deepEqual(await valid({ code: written, amount: 4900, currency: 'eur' }), {
      valid: true,
      code: written,
      coupon_id: id,
      name: 'Tea week',
      kind: 'generated',
      percentage: 12.5,
      amount: null,
      currency: null,
      max_discount_amount: 500,
      duration: 'repeating',
      duration_in_cycles: 3,
      discount_amount: 500,
      total_after_discount: 4400,
    });
    const { discount_amount } = await valid({ code, amount: 3999 });
    assert.equal(discount_amount, 499);
  });

  it('of an amount takes no more than there is', async () => {
    const { code } = await someCoupon(service, { kind: 'promo', name: 'Five off', amount: 500 });
    assert.partialDeepStrictEqual(await valid({ code: 'five off', amount: 300, currency: 'usd' }), {
      code: 'five off',
      kind: 'promo',
      percentage: null,
      amount: 500,
      currency: 'usd',
      discount_amount: 300,
      total_after_discount: 0,
    });
    assert.partialDeepStrictEqual(await valid({ code, amount: 0 }), { discount_amount: 0, total_after_discount: 0 });
  });

  it('is checked against items, at the prices of the catalog', async () => {
    const { code } = await someCoupon(service, { percentage: 10 });
    const cheap = await createProduct(service, 105);
    const items = [
      { product_id: shop.productId, quantity: 2 },
      { product_id: cheap, quantity: 3 },
      { product_id: cheap.toUpperCase(), quantity: 1 },
    ];
    assert.partialDeepStrictEqual(await valid({ code, items }), { discount_amount: 1022, total_after_discount: 9198 });
  });

  it('is checked against a plan, with its setup fee', async () => {
    const { code } = await someCoupon(service, { percentage: 10 });
    const plan = await somePlan(service, { amount: 1900, one_time_amount: 555 });
    const body = await valid({ code, plan_id: plan.id });
    assert.partialDeepStrictEqual(body, { discount_amount: 245, total_after_discount: 2210 });
  });

  it('for specific products takes off their part of the cart; a bare amount is taken as that part', async () => {
    const product_ids = [await createProduct(service, 1000)];
    const { code } = await someCoupon(service, { percentage: 50, product_scope: 'specific', product_ids });
    const items = [
      { product_id: product_ids[0], quantity: 1 },
      { product_id: shop.productId, quantity: 1 },
    ];
    assert.partialDeepStrictEqual(await valid({ code, items }), { discount_amount: 500, total_after_discount: 5400 });
    const named = { code, amount: 800, product_ids: [...product_ids, shop.productId] };
    assert.partialDeepStrictEqual(await valid(named), { discount_amount: 400, total_after_discount: 400 });
    assert.partialDeepStrictEqual(await valid({ code, amount: 800 }), { discount_amount: 400 });
    const off = await someCoupon(service, { amount: 3000, product_scope: 'specific', product_ids });
    assert.partialDeepStrictEqual(await valid({ code: off.code, items }), { discount_amount: 1000 });
    const least = await someCoupon(service, { minimum_amount: 1001, product_scope: 'specific', product_ids });
    await assertReason({ code: least.code, items }, 'minimum_amount_not_met');
  });

  it('is not redeemed by validation, with or without an idempotency key', async () => {
    const { id, code } = await someCoupon(service, { max_redemptions: 1 });
    const idempotencyKey = randomUUID();
    for (const amount of [100, 200]) {
      const reply = await validate(
        service,
        { code, amount, customer_id: shop.customerId },
        { idempotencyKey, headers: {} },
      );
      assert.deepEqual([reply.status, reply.body.discount_amount], [200, amount / 10], 'keys are ignored');
      assert.equal(reply.headers.get('svc-idempotent-replayed'), null);
    }
    assert.deepEqual(await tally(service, id), [0, 0]);
    assert.equal((await readCoupon(service, id)).total_redemptions, 0);
  });
});

describe('the reason', () => {
  it('code_not_found', async () => {
    await assertReason({ code: 'No such Code', amount: 100 }, 'code_not_found');
    await assertReason({ code: '   ', amount: 100 }, 'code_not_found');
  });

  it('coupon_inactive', async () => {
    const { code } = await someCoupon(service, { active: false });
    await assertReason({ code, amount: 100 }, 'coupon_inactive');
  });

  it('coupon_archived, and coupon_inactive after it is restored', async () => {
    const { id, code } = await someCoupon(service);
    await service.call('DELETE', `/v1/coupons/${id}`);
    await assertReason({ code, amount: 100 }, 'coupon_archived');
    await service.call('POST', `/v1/coupons/${id}/archive`, { body: { archived: false } });
    await assertReason({ code, amount: 100 }, 'coupon_inactive');
  });

  it('coupon_not_started and coupon_expired, by the clock of the company', async () => {
    const { key } = await service.createMerchant();
    const { code } = await someCoupon(service, { starts_at: inDays(1), expires_at: inDays(2) }, { key });
    const reason = async (): Promise<unknown> => (await validate(service, { code, amount: 1 }, { key })).body.reason;
    assert.equal(await reason(), 'coupon_not_started');
    await advance(service, { by: { days: 1, minutes: 1 } }, { key });
    assert.equal(await reason(), undefined);
    const { body } = await advance(service, { by: { days: 1, minutes: 1 } }, { key });
    assert.equal(await reason(), 'coupon_expired');
    assert.ok(body.happened.some(({ type }: { type: string }) => type === 'coupon.expired'));
  });

  it('minimum_amount_not_met, of a bare amount, items and a plan', async () => {
    const { code } = await someCoupon(service, { minimum_amount: 4901 });
    const plan_id = (await somePlan(service, { amount: 4000, one_time_amount: 900 })).id;
    await assertReason({ code, amount: 4900 }, 'minimum_amount_not_met');
    await assertReason({ code, items: [{ product_id: shop.productId, quantity: 1 }] }, 'minimum_amount_not_met');
    await assertReason({ code, plan_id }, 'minimum_amount_not_met');
    await valid({ code, amount: 4901 });
    await valid({ code, items: [{ product_id: shop.productId, quantity: 2 }] });
    await valid({ code, plan_id: (await somePlan(service, { amount: 4000, one_time_amount: 901 })).id });
  });

  it('currency_mismatch, of a currency that is given or is that of the products or the plan', async () => {
    const { code } = await someCoupon(service, { amount: 100, currency: 'eur' });
    await assertReason({ code, amount: 500, currency: 'usd' }, 'currency_mismatch');
    await assertReason({ code, items: [{ product_id: shop.productId, quantity: 1 }] }, 'currency_mismatch');
    await assertReason({ code, plan_id: (await somePlan(service)).id }, 'currency_mismatch');
    await valid({ code, amount: 500, currency: 'eur' });
    await valid({ code, plan_id: (await somePlan(service, { currency: 'eur' })).id });
  });

  it('max_redemptions_reached', async () => {
    const { code } = await someCoupon(service, { max_redemptions: 1 });
    await order(service, shop, { coupon_code: code });
    await assertReason({ code, amount: 100 }, 'max_redemptions_reached');
  });

  it('max_redemptions_per_customer_reached, of the customer who is named', async () => {
    const { code } = await someCoupon(service, { max_redemptions_per_customer: 1 });
    await order(service, shop, { coupon_code: code });
    const reason = 'max_redemptions_per_customer_reached';
    await assertReason({ code, amount: 100, customer_id: shop.customerId }, reason);
    await valid({ code, amount: 100 });
    await valid({ code, amount: 100, customer_id: await someSubscriber(service, 'none') });
  });

  it('max_redemptions_per_code_reached, of the code and not of the others', async () => {
    const { body } = await someCoupon(service, { max_redemptions_per_code: 1, codes: { count: 2 } });
    const [first, second] = body.codes.map(({ code }: { code: string }) => code);
    await order(service, shop, { coupon_code: first });
    await assertReason({ code: first, amount: 100 }, 'max_redemptions_per_code_reached');
    await valid({ code: second, amount: 100 });
  });

  it('not_first_time_customer, of one who has bought; a declined order is no purchase', async () => {
    const { code } = await someCoupon(service, { first_time_customer_only: true });
    const broke = await openShop(service, '4000000000000002');
    await order(service, broke);
    await valid({ code, amount: 100, customer_id: broke.customerId });
    await order(service, shop);
    await assertReason({ code, amount: 100, customer_id: shop.customerId }, 'not_first_time_customer');
    await valid({ code, amount: 100 });
  });

  it('product_not_eligible, with scope none or none of the specific products', async () => {
    const none = await someCoupon(service, { product_scope: 'none' });
    const items = [{ product_id: shop.productId, quantity: 1 }];
    await assertReason({ code: none.code, items }, 'product_not_eligible');
    await assertReason({ code: none.code, amount: 100, product_ids: [shop.productId] }, 'product_not_eligible');
    const product_ids = [await createProduct(service, 100)];
    const other = await someCoupon(service, { product_scope: 'specific', product_ids });
    await assertReason({ code: other.code, items }, 'product_not_eligible');
    await assertReason({ code: other.code, amount: 100, product_ids: [shop.productId] }, 'product_not_eligible');
    await valid({ code: none.code, plan_id: (await somePlan(service)).id });
  });

  it('plan_not_eligible, with scope none or another plan', async () => {
    const [mine, other] = [await somePlan(service), await somePlan(service)];
    const none = await someCoupon(service, { plan_scope: 'none' });
    await assertReason({ code: none.code, plan_id: mine.id }, 'plan_not_eligible');
    await valid({ code: none.code, items: [{ product_id: shop.productId, quantity: 1 }] });
    const specific = await someCoupon(service, { plan_scope: 'specific', plan_ids: [mine.id] });
    await assertReason({ code: specific.code, plan_id: other.id }, 'plan_not_eligible');
    await valid({ code: specific.code, plan_id: mine.id.toUpperCase() });
  });
});

describe('POST /v1/coupons/validate refuses with 400', () => {
  it('a customer, plan or product that does not exist or belongs to another merchant', async () => {
    const { code } = await someCoupon(service);
    const other = await service.createMerchant();
    const theirs = await openShop(service, undefined, { key: other.key });
    const plan = await somePlan(service, {}, other.sandbox);
    const gone = await someSubscriber(service, 'none');
    await service.call('DELETE', `/v1/customers/${gone}`);
    for (const id of [randomUUID(), theirs.customerId, gone]) {
      assertRefused(
        await validate(service, { code, amount: 1, customer_id: id }),
        400,
        'validation_error',
        'customer_id',
      );
    }
    for (const plan_id of [randomUUID(), plan.id]) {
      assertRefused(await validate(service, { code, plan_id }), 400, 'validation_error', 'plan_id');
    }
    for (const id of [randomUUID(), theirs.productId]) {
      const items = [
        { product_id: shop.productId, quantity: 1 },
        { product_id: id, quantity: 1 },
      ];
      assertRefused(await validate(service, { code, items }), 400, 'validation_error', 'items[1].product_id');
      const named = { code, amount: 1, product_ids: [id] };
      assertRefused(await validate(service, named), 400, 'validation_error', 'product_ids[0]');
    }
  });

  it('contradictory fields, also for a code that does not exist', async () => {
    const euros = someProduct({ pricing: { amount: 100, currency: 'eur' } });
    const made = await service.call('POST', '/v1/products', { body: euros, idempotencyKey: randomUUID() });
    const item = { product_id: shop.productId, quantity: 1 };
    for (const body of [
      {},
      { amount: 100 },
      { code: 'X' },
      { code: '', amount: 100 },
      { code: 7, amount: 100 },
      { code: 'X', amount: -1 },
      { code: 'X', amount: 1.5 },
      { code: 'X', amount: 100, currency: 'USD' },
      { code: 'X', amount: 100, customer_id: 'me' },
      { code: 'X', amount: 100, cart: [] },
      { code: 'X', items: [] },
      { code: 'X', items: [{ ...item, price: 1 }] },
      { code: 'X', items: [{ ...item, quantity: 0 }] },
      { code: 'X', items: [{ ...item, quantity: 10_000 }] },
      { code: 'X', items: [item, { product_id: made.body.id, quantity: 1 }] },
    ]) {
      const reply = await validate(service, body);
      assert.deepEqual([reply.status, reply.body.error?.code], [400, 'validation_error'], JSON.stringify(body));
    }
  });
});

describe('validating often', () => {
  it('is 429 too_many_requests with Retry-After, and does not limit other calls', async () => {
    const limited = await startTestService({ settings: { SVC_RATE_LIMIT_COUPON_VALIDATION: '3/60' } });
    try {
      const { code } = await someCoupon(limited);
      const replies: Reply[] = [];
      for (let round = 0; round < 5; round += 1) replies.push(await validate(limited, { code, amount: 100 }));
      assert.deepEqual(
        replies.map(({ status }) => status),
        [200, 200, 200, 429, 429],
      );
      const refused = replies[4];
      assert.ok(refused);
      assertRefused(refused, 429, 'too_many_requests');
      assert.equal(refused.body.error.type, 'rate_limit_error');
      assert.ok(Number(refused.headers.get('retry-after')) > 0);
      assert.equal(refused.headers.get('ratelimit-remaining'), '0');
      assert.equal((await limited.call('GET', '/v1/coupons')).status, 200);
      const { key } = await limited.createMerchant();
      assert.equal((await validate(limited, { code, amount: 1 }, { key })).status, 200);
    } finally {
      await limited.stop();
    }
  });
});

describe('for any cart', () => {
  const cents = fc.integer({ min: 1, max: 99_999_999 });
  const terms = fc.oneof(
    fc.record({ amount: cents }),
    fc.record({
      percentage: fc.integer({ min: 100, max: 10_000 }).map((hundredths) => hundredths / 100),
      max_discount_amount: fc.option(fc.integer({ min: 1, max: 20_000 })),
    }),
  );

  /** As the contract has it, apart from how the service does it. */
  function expected(coupon: Reply['body'], cartTotal: number): number {
    if (coupon.amount !== null) return Math.min(coupon.amount, cartTotal);
    const hundredths = BigInt(Number(coupon.percentage).toFixed(2).replace('.', ''));
    const floor = Number((BigInt(cartTotal) * hundredths) / 10_000n);
    return coupon.max_discount_amount === null ? floor : Math.min(floor, coupon.max_discount_amount);
  }

  it('the discount is exact, never negative, never above the cart or the cap', async () => {
    const coupons = await Promise.all(fc.sample(terms, 12).map((more) => someCoupon(service, more)));
    const amounts = fc.oneof(fc.integer({ min: 0, max: 10_000 }), fc.integer({ min: 0, max: 10 ** 12 }));
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...coupons), amounts, async ({ code, body }, amount) => {
        const { discount_amount, total_after_discount } = await valid({ code, amount });
        assert.equal(discount_amount, expected(body, amount));
        assert.ok(Number.isSafeInteger(discount_amount) && discount_amount >= 0 && discount_amount <= amount);
        assert.ok(discount_amount <= (body.max_discount_amount ?? amount));
        assert.equal(total_after_discount, amount - discount_amount);
      }),
      { numRuns: 150 },
    );
  });

  it('an order and a subscription get the previewed discount', async () => {
    const prices = [1, 99, 4_999, 1_000_003, 99_999_999];
    const products = await Promise.all(prices.map((price) => createProduct(service, price)));
    const items = fc.uniqueArray(
      fc.record({ index: fc.integer({ min: 0, max: prices.length - 1 }), quantity: fc.integer({ min: 1, max: 99 }) }),
      { minLength: 1, selector: ({ index }) => index },
    );
    const scoped = fc.option(fc.subarray([0, 1, 2, 3, 4], { minLength: 1 }));
    await fc.assert(
      fc.asyncProperty(terms, items, scoped, async (more, cart, scope) => {
        const scopes = scope && { product_scope: 'specific', product_ids: scope.map((index) => products[index]) };
        const { id, code, body } = await someCoupon(service, { ...more, ...scopes });
        const lines = cart.map(({ index, quantity }) => ({ product_id: products[index], quantity }));
        const preview = (await validate(service, { code, items: lines })).body;
        const reply = await order(service, shop, { items: lines, coupon_code: code });
        const part = cart.filter(({ index }) => !scope || scope.includes(index));
        if (part.length === 0) {
          assert.deepEqual([preview.reason, reply.status], ['product_not_eligible', 400]);
          return;
        }
        const totalOf = (some: typeof cart): number =>
          some.reduce((sum, { index, quantity }) => sum + (prices[index] ?? 0) * quantity, 0);
        assert.deepEqual([reply.status, reply.body.status], [201, 'succeeded'], reply.text);
        assert.equal(preview.discount_amount, expected(body, totalOf(part)));
        assert.equal(reply.body.discount_amount, preview.discount_amount);
        assert.equal(reply.body.total, preview.total_after_discount);
        assert.equal(reply.body.subtotal, totalOf(cart));
        assert.equal((await readCoupon(service, id)).total_redemptions, 1);
      }),
      { numRuns: 30 },
    );
    const customer_id = await someSubscriber(service);
    const fees = fc.record({
      amount: fc.integer({ min: 0, max: 99_999_999 }),
      one_time_amount: fc.integer({ min: 0, max: 9_999 }),
    });
    await fc.assert(
      fc.asyncProperty(terms, fees, async (more, plan) => {
        const { code } = await someCoupon(service, more);
        const { id: plan_id } = await somePlan(service, plan);
        const preview = await valid({ code, plan_id, customer_id });
        const reply = await subscribe(service, { customer_id, plan_id, coupon_code: code });
        assert.equal(reply.body.coupon?.discount_amount, preview.discount_amount, reply.text);
        const charged = (await service.call('GET', `/v1/orders/${reply.body.latest_order_id}`)).body;
        assert.equal(charged.total, preview.total_after_discount);
      }),
      { numRuns: 15 },
    );
  });

  it('a later change of the coupon does not change the order', async () => {
    const { id, code } = await someCoupon(service, { minimum_amount: 100 });
    const { body } = await order(service, shop, { coupon_code: code });
    await patchCoupon(service, id, { name: 'Other', minimum_amount: 0 });
    assert.deepEqual((await service.call('GET', `/v1/orders/${body.id}`)).body, body);
  });
});
