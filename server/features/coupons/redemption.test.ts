import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { cards } from '../../../tests/support/billing.ts';
import {
  assertNotUsable,
  patchCoupon,
  postCoupon,
  readCoupon,
  type SomeCoupon,
  someCoupon,
  tally,
} from '../../../tests/support/coupons.ts';
import {
  approvedOutcome,
  declinedOutcome,
  unknownOutcome,
  useFaultyService,
} from '../../../tests/support/faulty-service.ts';
import {
  assertRefused,
  capture,
  checkAllOpen,
  createProduct,
  eventsOf,
  eventTypes,
  openShop,
  order,
  readOrder,
  refund,
  retry,
  type Shop,
  voidOrder,
} from '../../../tests/support/orders.ts';
import type { Reply, TestService } from '../../../tests/support/service.ts';

/** An order uses a coupon: reserved while it is charged, then counted or given back. */

let service: TestService;
let shop: Shop;
let broke: Shop;
const faults = useFaultyService(async (started) => {
  service = started;
  shop = await openShop(service);
  broke = await openShop(service, cards.declined);
});

const buy = (code: string, by: Shop = shop, more: Record<string, unknown> = {}): Promise<Reply> =>
  order(service, by, { coupon_code: code, ...more });

async function bought(code: string, by?: Shop, status = 'succeeded'): Promise<Reply['body']> {
  const reply = await buy(code, by);
  assert.deepEqual([reply.status, reply.body.status], [201, status], reply.text);
  return reply.body;
}

async function assertTally({ id }: SomeCoupon, counted: number, reserved = 0): Promise<void> {
  assert.deepEqual(await tally(service, id), [counted, reserved]);
  assert.equal((await readCoupon(service, id)).total_redemptions, counted);
}

describe('an order with a coupon', () => {
  it('costs less, has a snapshot of the coupon, and so have its event and its transaction', async () => {
    const coupon = await someCoupon(service, { percentage: 12.5, max_discount_amount: 600, name: 'Snap' });
    const body = await bought(coupon.code);
    assert.partialDeepStrictEqual(body, { subtotal: 4900, discount_amount: 600, total: 4300, amount: 4300 });
    assert.deepEqual(body.coupon, {
      id: coupon.id,
      code: coupon.code,
      name: 'Snap',
      kind: 'generated',
      percentage: 12.5,
      amount: null,
      currency: null,
      duration: 'once',
      duration_in_cycles: null,
      max_discount_amount: 600,
      discount_amount: 600,
    });
    assert.deepEqual([body.transactions[0].amount, body.transactions.length], [4300, 1]);
    const [, charged] = await eventsOf(service, body.id);
    assert.deepEqual(charged?.object.coupon, body.coupon);
    await patchCoupon(service, coupon.id, { name: 'Renamed', active: false });
    assert.deepEqual((await readOrder(service, body.id)).coupon, body.coupon, 'the snapshot does not change');
    await assertTally(coupon, 1);
    assert.equal((await refund(service, body.id, 4301)).status, 400, 'no more comes back than was paid');
  });

  it('of an amount has its currency in the snapshot', async () => {
    const { code } = await someCoupon(service, { kind: 'promo', name: 'Minus five', amount: 500 });
    const { coupon, total } = await bought('minus FIVE');
    assert.partialDeepStrictEqual(coupon, { code, amount: 500, currency: 'usd', percentage: null, kind: 'promo' });
    assert.equal(total, 4400);
  });

  it('that costs nothing then succeeds without the processor and without a sale, and counts', async () => {
    faults.charge = () => assert.fail('nothing is charged');
    const coupon = await someCoupon(service, { percentage: 100, max_redemptions: 1 });
    const body = await bought(coupon.code, broke);
    assert.partialDeepStrictEqual(body, { total: 0, discount_amount: 4900, transactions: [] });
    assert.deepEqual(await eventTypes(service, body.id), ['order.created', 'order.succeeded']);
    await assertTally(coupon, 1);
    assertNotUsable(await buy(coupon.code), 'max_redemptions_reached');
    assertRefused(await refund(service, body.id), 422, 'invalid_state_transition');
    await assertTally(coupon, 1);
  });

  it('is refused with 400 on coupon_code, the reason in the message, and nothing is made or charged', async () => {
    const product_ids = [await createProduct(service, 1)];
    const soon = new Date(service.clock.nowMs() + 86_400_000).toISOString();
    const archived = await someCoupon(service);
    await service.call('DELETE', `/v1/coupons/${archived.id}`);
    faults.charge = () => assert.fail('nothing is charged');
    const listed = async (): Promise<string> => (await service.call('GET', '/v1/orders?limit=1')).text;
    const before = await listed();
    const make = async (more: Record<string, unknown>): Promise<string> => (await someCoupon(service, more)).code;
    for (const [reason, code] of [
      ['code_not_found', 'nothing like it'],
      ['coupon_archived', archived.code],
      ['coupon_inactive', await make({ active: false })],
      ['coupon_not_started', await make({ starts_at: soon })],
      ['minimum_amount_not_met', await make({ minimum_amount: 4901 })],
      ['currency_mismatch', await make({ amount: 1, currency: 'eur' })],
      ['product_not_eligible', await make({ product_scope: 'none' })],
      ['product_not_eligible', await make({ product_scope: 'specific', product_ids })],
      ['not_first_time_customer', await make({ first_time_customer_only: true })],
    ] as const) {
      assertNotUsable(await buy(code), reason);
    }
    assert.equal(await listed(), before);
  });

  it('is taken with the minimum met exactly', async () => {
    const { code } = await someCoupon(service, { minimum_amount: 4900 });
    assert.equal((await bought(code)).discount_amount, 490);
  });

  it('takes off the products in scope only', async () => {
    const other = await createProduct(service, 1000);
    const scope = { product_scope: 'specific', product_ids: [other] };
    const { code } = await someCoupon(service, { amount: 1500, ...scope });
    const items = [
      { product_id: shop.productId, quantity: 1 },
      { product_id: other, quantity: 1 },
    ];
    const { body } = await buy(code, shop, { items });
    assert.partialDeepStrictEqual(body, { subtotal: 5900, discount_amount: 1000, total: 4900 });
  });

  it('is refused for a code that is null or empty', async () => {
    for (const coupon_code of [null, '']) {
      assertRefused(await order(service, shop, { coupon_code }), 400, 'validation_error', 'coupon_code');
    }
  });

  it('answers its key from the store when the coupon has reached its redemption limit by now, or archived', async () => {
    const coupon = await someCoupon(service, { max_redemptions: 1 });
    const idempotencyKey = randomUUID();
    const body = { coupon_code: coupon.code };
    const first = await order(service, shop, body, { idempotencyKey });
    assertNotUsable(await buy(coupon.code), 'max_redemptions_reached');
    await service.call('DELETE', `/v1/coupons/${coupon.id}`);
    const again = await order(service, shop, body, { idempotencyKey });
    assert.deepEqual([again.status, again.text], [201, first.text]);
    assert.equal(again.headers.get('svc-idempotent-replayed'), 'true');
    await assertTally(coupon, 1);
  });

  it('that was refused stays refused under its key, and is free under another', async () => {
    const coupon = await someCoupon(service, { active: false });
    const idempotencyKey = randomUUID();
    const body = { coupon_code: coupon.code };
    assertNotUsable(await order(service, shop, body, { idempotencyKey }), 'coupon_inactive');
    await patchCoupon(service, coupon.id, { active: true });
    assertNotUsable(await order(service, shop, body, { idempotencyKey }), 'coupon_inactive');
    await bought(coupon.code);
  });
});

describe('the limits', () => {
  it('of the coupon, of each customer and of each code hold to the last', async () => {
    const all = await someCoupon(service, { max_redemptions: 2 });
    const each = await someCoupon(service, { max_redemptions_per_customer: 2 });
    const { body } = await someCoupon(service, { max_redemptions_per_code: 2, codes: { count: 2 } });
    const [first, second] = body.codes.map(({ code }: { code: string }) => code);
    for (const code of [all.code, all.code, each.code, each.code, first, first]) await bought(code);
    assertNotUsable(await buy(all.code), 'max_redemptions_reached');
    assertNotUsable(await buy(each.code), 'max_redemptions_per_customer_reached');
    assertNotUsable(await buy(first), 'max_redemptions_per_code_reached');
    await bought(each.code, await openShop(service));
    await bought(second);
    await patchCoupon(service, all.id, { max_redemptions: 3 });
    await bought(all.code);
    await assertTally(all, 3);
  });

  it('a customer whose only order was refunded is not a first-time customer', async () => {
    const { code } = await someCoupon(service, { first_time_customer_only: true });
    const fresh = await openShop(service, cards.declinesFirst);
    await bought(code, fresh, 'failed');
    const { id } = await bought(code, fresh);
    assertNotUsable(await buy(code, fresh), 'not_first_time_customer');
    await refund(service, id);
    assertNotUsable(await buy(code, fresh), 'not_first_time_customer');
  });

  it('first-time is decided at once for one who has bought, also while another order of theirs is in doubt', async () => {
    const { code } = await someCoupon(service, { first_time_customer_only: true });
    const fresh = await openShop(service);
    faults.charge = unknownOutcome;
    assertRefused(await buy(code, fresh), 502, 'gateway_error');
    delete faults.charge;
    assert.equal((await order(service, fresh)).body.status, 'succeeded');
    assertNotUsable(await buy(code, fresh), 'not_first_time_customer');
  });
});

describe('a declined charge', () => {
  it('releases the redemption', async () => {
    const coupon = await someCoupon(service, {
      max_redemptions: 1,
      max_redemptions_per_customer: 1,
      max_redemptions_per_code: 1,
    });
    const failed = await bought(coupon.code, broke, 'failed');
    assert.deepEqual([failed.discount_amount, failed.coupon.discount_amount], [490, 490]);
    await assertTally(coupon, 0);
    await bought(coupon.code);
    await assertTally(coupon, 1);
  });

  it('that is retried keeps its discount, is reserved again and counts when it succeeds', async () => {
    const fickle = await openShop(service, cards.declinesFirst);
    const coupon = await someCoupon(service, { max_redemptions: 1 });
    const { id, coupon: snapshot } = await bought(coupon.code, fickle, 'failed');
    await patchCoupon(service, coupon.id, { percentage: 50, active: false });
    const reply = await retry(service, id);
    assert.deepEqual([reply.status, reply.body.status], [200, 'succeeded'], reply.text);
    assert.deepEqual([reply.body.discount_amount, reply.body.coupon], [490, snapshot]);
    await assertTally(coupon, 1);
  });

  it('that is declined again releases the redemption again', async () => {
    const coupon = await someCoupon(service, { max_redemptions: 1 });
    const { id } = await bought(coupon.code, broke, 'failed');
    for (const attempt of [2, 3]) {
      assert.equal((await retry(service, id)).body.attempt_count, attempt);
      await assertTally(coupon, 0);
    }
    await bought(coupon.code);
    const charged = await readOrder(service, id);
    assertNotUsable(await retry(service, id), 'max_redemptions_reached');
    assert.deepEqual(await readOrder(service, id), charged, 'nothing was tried');
    await patchCoupon(service, coupon.id, { max_redemptions: 2 });
    assert.equal((await retry(service, id)).body.attempt_count, 4);
  });

  it('that is retried is checked against the limits of customer and code', async () => {
    const both = await openShop(service);
    const bad = await capture(service, both.customerId, cards.declined);
    for (const limit of ['max_redemptions_per_customer', 'max_redemptions_per_code']) {
      const coupon = await someCoupon(service, { [limit]: 1 });
      const { body } = await buy(coupon.code, both, { payment_method_id: bad });
      assert.equal(body.status, 'failed');
      await bought(coupon.code, both);
      assertNotUsable(await retry(service, body.id), `${limit}_reached`);
      await assertTally(coupon, 1);
    }
  });

  it('is reserved while its retry is in doubt', async () => {
    const coupon = await someCoupon(service, { max_redemptions: 5 });
    const { id } = await bought(coupon.code, broke, 'failed');
    faults.charge = unknownOutcome;
    assertRefused(await retry(service, id), 502, 'gateway_error');
    await assertTally(coupon, 0, 1);
    faults.lookup = approvedOutcome;
    await checkAllOpen(service);
    assert.equal((await readOrder(service, id)).status, 'succeeded');
    await assertTally(coupon, 1);
  });

  it('whose promo was renamed meanwhile is retried with that promo', async () => {
    const fickle = await openShop(service, cards.declinesFirst);
    const coupon = await someCoupon(service, { kind: 'promo', name: 'Old name' });
    const { id } = await bought(coupon.code, fickle, 'failed');
    assert.equal((await patchCoupon(service, coupon.id, { name: 'New name' })).status, 200);
    const squatter = await postCoupon(service, { kind: 'promo', name: 'Old name', percentage: 1 });
    const reply = await retry(service, id);
    assert.deepEqual([reply.status, reply.body.status], [200, 'succeeded'], reply.text);
    assert.deepEqual(await tally(service, squatter.body.id), [0, 0], 'the other coupon is not touched');
    await assertTally(coupon, 1);
  });

  it('retried by 20 at once, with one key or many, leaves nothing reserved', async () => {
    const coupon = await someCoupon(service, { max_redemptions: 1 });
    const { id } = await bought(coupon.code, broke, 'failed');
    for (const key of [randomUUID(), undefined]) {
      const replies = await Promise.all(
        Array.from({ length: 20 }, () => retry(service, id, { idempotencyKey: key ?? randomUUID() })),
      );
      for (const { status, text } of replies) assert.ok(status === 200 || status === 409, text);
      await assertTally(coupon, 0);
    }
  });

  it('whose retry comes too late for its key reserves nothing', async () => {
    const coupon = await someCoupon(service);
    const { id } = await bought(coupon.code, broke, 'failed');
    const other = (await order(service, broke)).body.id;
    const idempotencyKey = randomUUID();
    // The one waits for the order; meanwhile the other takes the key.
    const late = await service.db.transaction(async (transaction) => {
      await transaction.query('SELECT 1 FROM orders WHERE id = $1 FOR UPDATE', [id]);
      const waiting = retry(service, id, { idempotencyKey });
      await new Promise((resolve) => setTimeout(resolve, 150));
      assert.equal((await retry(service, other, { idempotencyKey })).status, 200);
      return { waiting };
    });
    assertRefused(await late.waiting, 422, 'idempotency_key_conflict');
    await assertTally(coupon, 0);
    assert.equal((await retry(service, id)).status, 200, 'it can be retried later');
  });
});

describe('a charge in doubt', () => {
  for (const [card, status, counted] of [
    [cards.answerLost, 'succeeded', 1],
    [cards.neverArrives, 'failed', 0],
  ] as const) {
    it(`holds the redemption until it is known to have ${status} (card ${card.slice(-4)})`, async () => {
      const doubtful = await openShop(service, card);
      const coupon = await someCoupon(service, { max_redemptions: 1 });
      const idempotencyKey = randomUUID();
      const body = { coupon_code: coupon.code };
      const reply = await order(service, doubtful, body, { idempotencyKey });
      assertRefused(reply, 502, 'gateway_error');
      await assertTally(coupon, 0, 1);
      const preview = { code: coupon.code, amount: 100 };
      const { body: verdict } = await service.call('POST', '/v1/coupons/validate', { body: preview });
      assert.equal(verdict.reason, 'max_redemptions_reached');
      const rival = await buy(coupon.code);
      assert.ok([400, 409].includes(rival.status), rival.text);
      await assertTally(coupon, 0, 1);
      await checkAllOpen(service);
      await assertTally(coupon, counted);
      const known = await order(service, doubtful, body, { idempotencyKey });
      assert.deepEqual([known.status, known.body.status, known.body.discount_amount], [201, status, 490]);
      await assertTally(coupon, counted);
      if (counted === 0) await bought(coupon.code);
      else assertNotUsable(await buy(coupon.code), 'max_redemptions_reached');
    });
  }

  it('makes other orders wait briefly, and they get the redemption that it releases', async () => {
    const coupon = await someCoupon(service, { max_redemptions: 1 });
    const gate = Promise.withResolvers<void>();
    faults.charge = async () => {
      delete faults.charge;
      await gate.promise;
      return declinedOutcome();
    };
    const first = buy(coupon.code);
    while (faults.charge) await new Promise((resolve) => setImmediate(resolve));
    const second = buy(coupon.code);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await assertTally(coupon, 0, 1);
    gate.resolve();
    assert.deepEqual([(await first).body.status, (await second).body.status], ['failed', 'succeeded']);
    await assertTally(coupon, 1);
  });
});

describe('what comes later', () => {
  it('refund, void and chargeback do not release the redemption', async () => {
    const coupon = await someCoupon(service, { max_redemptions: 4 });
    const orders = await Promise.all(Array.from({ length: 4 }, () => bought(coupon.code)));
    const [whole, part, voided, disputed] = orders.map(({ id }) => id as string);
    assert.equal((await refund(service, whole ?? '')).body.status, 'refunded');
    assert.equal((await refund(service, part ?? '', 10)).body.status, 'partially_refunded');
    assert.equal((await voidOrder(service, voided ?? '')).status, 'voided');
    const raised = await service.call('POST', `/v1/sandbox/orders/${disputed}/chargeback`);
    assert.equal(raised.body.status, 'chargeback', raised.text);
    await checkAllOpen(service);
    await assertTally(coupon, 4);
    assertNotUsable(await buy(coupon.code), 'max_redemptions_reached');
  });
});
