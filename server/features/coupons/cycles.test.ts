import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import {
  addCard,
  cards,
  clockOf,
  create,
  created,
  day,
  dayMs,
  everyDays,
  later,
  moveTo,
  openScene,
  ordersOf,
  type Scene,
} from '../../../tests/support/billing.ts';
import {
  assertNotUsable,
  patchCoupon,
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
import { assertRefused, checkAllOpen, createProduct, order, readOrder, retry } from '../../../tests/support/orders.ts';
import type { Reply, TestService } from '../../../tests/support/service.ts';
import { advance, readSubscription, somePlan, subscribe } from '../../../tests/support/subscriptions.ts';

/** A subscription uses a coupon: redeemed once, with its first charge; its cycles are discounted from the snapshot. */

let service: TestService;
const faults = useFaultyService((started) => {
  service = started;
});

const everyTen = { amount: 1900, billing_cycle: everyDays(10) };

/** What each charge came to: before, off, and paid. */
async function charges(at: Scene): Promise<number[][]> {
  return (await ordersOf(service, at)).map(({ subtotal, discount_amount, total }) => [
    subtotal,
    discount_amount,
    total,
  ]);
}

async function assertTally(coupon: SomeCoupon, at: Scene, counted: number, reserved = 0): Promise<void> {
  assert.deepEqual(await tally(service, coupon.id), [counted, reserved]);
  assert.equal((await readCoupon(service, coupon.id, at)).total_redemptions, counted);
}

const canceled = ({ key }: Scene, id: string): Promise<Reply> =>
  service.call('DELETE', `/v1/subscriptions/${id}`, { key });

describe('the duration', () => {
  for (const [duration, more, discounts] of [
    ['once', {}, [220, 0, 0, 0]],
    ['repeating', { duration_in_cycles: 1 }, [220, 0, 0, 0]],
    ['repeating', { duration_in_cycles: 3 }, [220, 190, 190, 0]],
    ['forever', {}, [220, 190, 190, 190]],
  ] as const) {
    it(`${duration} ${JSON.stringify(more)} discounts ${discounts.join()} for one redemption, as upcoming shows`, async () => {
      const at = await openScene(service, { ...everyTen, one_time_amount: 300 });
      const coupon = await someCoupon(service, { duration, ...more }, at);
      const { id } = await created(service, at, { coupon_code: coupon.code });
      const upcoming = await service.call('GET', `/v1/subscriptions/${id}/upcoming?count=3`, { key: at.key });
      assert.deepEqual(
        upcoming.body.data.map((next: Record<string, number>) => [next.amount, next.discount_amount, next.total]),
        discounts.slice(1).map((discount) => [1900, discount, 1900 - discount]),
      );
      await advance(service, { by: { days: 31 } }, at);
      assert.deepEqual(
        await charges(at),
        discounts.map((discount, index) => {
          const subtotal = index === 0 ? 2200 : 1900;
          return [subtotal, discount, subtotal - discount];
        }),
      );
      const orders = await ordersOf(service, at);
      orders.forEach(({ coupon: snapshot }, index) => {
        const discount = discounts[index] ?? 0;
        if (discount === 0) assert.equal(snapshot, null);
        else assert.partialDeepStrictEqual(snapshot, { id: coupon.id, code: coupon.code, discount_amount: discount });
      });
      await assertTally(coupon, at, 1);
    });
  }

  it('uses the snapshot: later changes of the coupon have no effect', async () => {
    const at = await openScene(service, everyTen);
    const coupon = await someCoupon(service, { duration: 'forever', max_discount_amount: 150, max_redemptions: 1 }, at);
    const body = await created(service, at, { coupon_code: coupon.code.toLowerCase() });
    const snapshot = {
      id: coupon.id,
      code: coupon.code,
      name: 'Tea week',
      kind: 'generated',
      percentage: 10,
      amount: null,
      currency: null,
      duration: 'forever',
      duration_in_cycles: null,
      max_discount_amount: 150,
      discount_amount: 150,
    };
    assert.deepEqual(body.coupon, snapshot);
    await patchCoupon(service, coupon.id, { name: 'Other', minimum_amount: 99_999 }, at);
    await service.call('DELETE', `/v1/coupons/${coupon.id}`, { key: at.key });
    await advance(service, { by: { days: 11 } }, at);
    assert.deepEqual(await charges(at), [
      [1900, 150, 1750],
      [1900, 150, 1750],
    ]);
    assert.deepEqual((await readSubscription(service, body.id, at)).coupon, snapshot);
  });

  it('of an amount takes no more than the cycle costs; what costs nothing is paid without a sale', async () => {
    const at = await openScene(service, { ...everyTen, one_time_amount: 300 }, cards.good);
    const coupon = await someCoupon(service, { amount: 2000, duration: 'repeating', duration_in_cycles: 2 }, at);
    const { id } = await created(service, at, { coupon_code: coupon.code });
    await advance(service, { by: { days: 21 } }, at);
    assert.deepEqual(await charges(at), [
      [2200, 2000, 200],
      [1900, 1900, 0],
      [1900, 0, 1900],
    ]);
    const [, free] = await ordersOf(service, at);
    assert.partialDeepStrictEqual(free, { status: 'succeeded', subscription_cycle: 2, transactions: [] });
    assert.equal((await readSubscription(service, id, at)).completed_cycles, 3);
    await assertTally(coupon, at, 1);
  });

  it('begins with a first cycle that costs nothing, also at a later start', async () => {
    faults.charge = () => assert.fail('nothing is charged');
    for (const startsLater of [false, true]) {
      const at = await openScene(service, everyTen, cards.declined);
      const coupon = await someCoupon(service, { percentage: 100 }, at);
      const start_date = day(later(await clockOf(service, at.key), 3 * dayMs));
      const { id } = await created(service, at, { coupon_code: coupon.code, ...(startsLater && { start_date }) });
      await assertTally(coupon, at, startsLater ? 0 : 1, startsLater ? 1 : 0);
      if (startsLater) await advance(service, { by: { days: 4 } }, at);
      assert.deepEqual(await charges(at), [[1900, 1900, 0]]);
      const body = await readSubscription(service, id, at);
      assert.partialDeepStrictEqual(body, { status: 'active', current_cycle: 1, completed_cycles: 1 });
      await assertTally(coupon, at, 1);
    }
  });
});

describe('a subscription', () => {
  it('is refused with 400 on coupon_code, the reason in the message', async () => {
    const at = await openScene(service, everyTen);
    const otherPlan = await somePlan(service, {}, at.company);
    await created(service, at);
    const used = await someCoupon(service, { max_redemptions: 1 }, at);
    await created(service, at, { coupon_code: used.code });
    const mine = await someCoupon(service, { max_redemptions_per_customer: 1 }, at);
    await created(service, at, { coupon_code: mine.code });
    const coded = await someCoupon(service, { max_redemptions_per_code: 1 }, at);
    await created(service, at, { coupon_code: coded.code });
    const archived = await someCoupon(service, {}, at);
    await service.call('DELETE', `/v1/coupons/${archived.id}`, { key: at.key });
    const make = async (more: Record<string, unknown>): Promise<string> => (await someCoupon(service, more, at)).code;
    const soon = later(await clockOf(service, at.key), dayMs);
    for (const [reason, code] of [
      ['code_not_found', 'nothing'],
      ['coupon_archived', archived.code],
      ['coupon_inactive', await make({ active: false })],
      ['coupon_not_started', await make({ starts_at: soon })],
      ['minimum_amount_not_met', await make({ minimum_amount: 1901 })],
      ['currency_mismatch', await make({ amount: 1, currency: 'eur' })],
      ['plan_not_eligible', await make({ plan_scope: 'none' })],
      ['plan_not_eligible', await make({ plan_scope: 'specific', plan_ids: [otherPlan.id] })],
      ['not_first_time_customer', await make({ first_time_customer_only: true })],
      ['max_redemptions_reached', used.code],
      ['max_redemptions_per_customer_reached', mine.code],
      ['max_redemptions_per_code_reached', coded.code],
    ] as const) {
      assertNotUsable(await create(service, at, { coupon_code: code }), reason);
    }
    await created(service, at, { coupon_code: await make({ product_scope: 'none', minimum_amount: 1900 }) });
  });

  it('shares the limits with orders', async () => {
    const at = await openScene(service, everyTen);
    const coupon = await someCoupon(service, { max_redemptions: 2 }, at);
    await created(service, at, { coupon_code: coupon.code });
    const productId = await createProduct(service, 100, at);
    const shop = { customerId: at.customer_id, paymentMethodId: '', productId };
    const buy = (): Promise<Reply> => order(service, shop, { coupon_code: coupon.code }, { key: at.key });
    assert.equal((await buy()).body.discount_amount, 10);
    assertNotUsable(await buy(), 'max_redemptions_reached');
    assertNotUsable(await create(service, at, { coupon_code: coupon.code }), 'max_redemptions_reached');
    await assertTally(coupon, at, 2);
  });

  it('whose first charge is declined releases the redemption; a retry reserves it again, or is 400', async () => {
    const at = await openScene(service, everyTen, cards.declinesFirst);
    const coupon = await someCoupon(service, { max_redemptions: 1, duration: 'forever' }, at);
    const { id, latest_order_id } = await created(service, at, { coupon_code: coupon.code }, 'failed');
    await assertTally(coupon, at, 0);
    const payment_method_id = await addCard(service, at, cards.good);
    const rival = await created(service, at, { coupon_code: coupon.code, payment_method_id });
    assertNotUsable(await retry(service, latest_order_id, at), 'max_redemptions_reached');
    assert.equal((await readSubscription(service, id, at)).status, 'failed');
    await patchCoupon(service, coupon.id, { max_redemptions: 2 }, at);
    const reply = await retry(service, latest_order_id, at);
    assert.deepEqual([reply.status, reply.body.status, reply.body.total], [200, 'succeeded', 1710], reply.text);
    await assertTally(coupon, at, 2);
    await canceled(at, rival.id);
    await canceled(at, id);
    await assertTally(coupon, at, 2);
    assertNotUsable(await create(service, at, { coupon_code: coupon.code }), 'max_redemptions_reached');
  });

  for (const [card, status, counted] of [
    [cards.answerLost, 'active', 1],
    [cards.neverArrives, 'failed', 0],
  ] as const) {
    it(`whose first charge is in doubt holds the redemption until it is ${status}`, async () => {
      const at = await openScene(service, everyTen, card);
      const coupon = await someCoupon(service, { max_redemptions: 1 }, at);
      const { key, plan_id, customer_id } = at;
      const body = { plan_id, customer_id, coupon_code: coupon.code };
      const idempotencyKey = randomUUID();
      assertRefused(await subscribe(service, body, { key, idempotencyKey }), 502, 'gateway_error');
      await assertTally(coupon, at, 0, 1);
      await checkAllOpen(service);
      await assertTally(coupon, at, counted);
      const known = await subscribe(service, body, { key, idempotencyKey });
      assert.deepEqual([known.status, known.body.status], [201, status], known.text);
      await assertTally(coupon, at, counted);
    });
  }

  it('answers its key from the store when the coupon has reached its redemption limit by now', async () => {
    const at = await openScene(service, everyTen);
    const { key, plan_id, customer_id } = at;
    const coupon = await someCoupon(service, { max_redemptions: 1 }, at);
    const body = { plan_id, customer_id, coupon_code: coupon.code };
    const idempotencyKey = randomUUID();
    const first = await subscribe(service, body, { key, idempotencyKey });
    assertNotUsable(await create(service, at, { coupon_code: coupon.code }), 'max_redemptions_reached');
    const again = await subscribe(service, body, { key, idempotencyKey });
    assert.deepEqual([again.status, again.text], [201, first.text]);
    await assertTally(coupon, at, 1);
  });

  it('renews, and is dunned, with its discount also when the coupon has reached its redemption limit', async () => {
    const at = await openScene(service, everyTen, cards.declinesAfterFirst);
    const coupon = await someCoupon(service, { max_redemptions: 1, duration: 'forever' }, at);
    const { id, next_billing_at } = await created(service, at, { coupon_code: coupon.code });
    await moveTo(service, at.key, later(next_billing_at, 3_600_000));
    assert.equal((await readSubscription(service, id, at)).status, 'past_due');
    await assertTally(coupon, at, 1);
    const { latest_order_id } = await readSubscription(service, id, at);
    const declined = await retry(service, latest_order_id, at);
    assert.deepEqual([declined.status, declined.body.attempt_count], [200, 2], 'a renewal needs no redemption');
    faults.charge = approvedOutcome;
    await advance(service, { by: { days: 1 } }, at);
    assert.partialDeepStrictEqual(await readOrder(service, latest_order_id, at), { status: 'succeeded', total: 1710 });
    await assertTally(coupon, at, 1);
  });
});

describe('a later start', () => {
  async function waiting(more: Record<string, unknown> = {}, card?: string): Promise<[Scene, SomeCoupon, string]> {
    const at = await openScene(service, everyTen, card);
    const coupon = await someCoupon(service, { max_redemptions: 1, ...more }, at);
    const start_date = day(later(await clockOf(service, at.key), 5 * dayMs));
    const body = await created(service, at, { coupon_code: coupon.code, start_date });
    assert.equal(body.coupon.discount_amount, 190);
    await assertTally(coupon, at, 0, 1);
    return [at, coupon, body.id];
  }

  it('reserves at creation and counts when the first charge succeeds, even if the coupon changed', async () => {
    const [at, coupon] = await waiting();
    await service.call('DELETE', `/v1/coupons/${coupon.id}`, { key: at.key });
    await advance(service, { by: { days: 6 } }, at);
    assert.deepEqual(await charges(at), [[1900, 190, 1710]]);
    await assertTally(coupon, at, 1);
  });

  it('releases its redemption when it is canceled before', async () => {
    const [at, coupon, id] = await waiting();
    assert.equal((await canceled(at, id)).status, 200);
    await assertTally(coupon, at, 0);
    const other = await created(service, at, { coupon_code: coupon.code });
    await assertTally(coupon, at, 1);
    await canceled(at, other.id);
    await assertTally(coupon, at, 1);
  });

  it('releases its redemption once when the first charge is declined', async () => {
    const [at, coupon, id] = await waiting({}, cards.declined);
    await advance(service, { by: { days: 6 } }, at);
    assert.equal((await readSubscription(service, id, at)).status, 'failed');
    await assertTally(coupon, at, 0);
    await canceled(at, id);
    await assertTally(coupon, at, 0);
  });

  it('releases its redemption if it is canceled while its first charge is in doubt and later declined', async () => {
    const [at, coupon, id] = await waiting();
    faults.charge = unknownOutcome;
    faults.lookup = unknownOutcome;
    await advance(service, { by: { days: 6 } }, at);
    await assertTally(coupon, at, 0, 1);
    assert.equal((await canceled(at, id)).status, 200);
    await assertTally(coupon, at, 0, 1);
    faults.lookup = declinedOutcome;
    await checkAllOpen(service);
    await assertTally(coupon, at, 0);
  });

  it('holds the last redemption, so that another customer is rejected at once', async () => {
    const [at, coupon] = await waiting();
    const rival = await create(service, at, { coupon_code: coupon.code });
    await assertTally(coupon, at, 0, 1);
    // No charge is under way that could give it back in a moment.
    assertNotUsable(rival, 'max_redemptions_reached');
  });
});
