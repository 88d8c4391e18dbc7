import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import {
  addCard,
  cards,
  clockOf,
  created,
  day,
  dayMs,
  everyDays,
  later,
  moveTo,
  openScene,
  operator,
  ordersOf,
  typesOf,
} from '../../../tests/support/billing.ts';
import { someCoupon, tally } from '../../../tests/support/coupons.ts';
import {
  assertInvalid,
  assertRefused,
  createProduct,
  readOrder,
  refund,
  retry,
} from '../../../tests/support/orders.ts';
import {
  amountsOf,
  change,
  changed,
  onDay,
  otherPlan,
  pass,
  post,
  preview,
  subscribed,
  type Subscribed,
} from '../../../tests/support/plan-changes.ts';
import { startTestService, type TestService } from '../../../tests/support/service.ts';
import { readSubscription } from '../../../tests/support/subscriptions.ts';
import { endRenewal, pauseSubscription, planChargeOf, resumeSubscription } from './service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const read = (at: Subscribed) => readSubscription(service, at.id, at);
const useCard = async (at: Subscribed, number: string): Promise<void> => {
  const payment_method_id = await addCard(service, at, number);
  const path = `/v1/subscriptions/${at.id}`;
  assert.equal((await service.call('PATCH', path, { key: at.key, body: { payment_method_id } })).status, 200);
};

describe('a change now, with the difference', () => {
  it('charges the rest of the period with the new plan less the unused time, as the preview says', async () => {
    const at = await subscribed(service);
    const plan_id = await otherPlan(service, at);
    await pass(service, at, 15);
    const wanted = { plan_id, proration: 'difference', at: onDay(at, 15) };
    const shown = (await preview(service, at, wanted)).body;
    assert.deepEqual(amountsOf(shown), { charge: 3000, credit: -1500 });
    assert.deepEqual([shown.amount_due, shown.credit_amount], [1500, 0]);
    assert.deepEqual(
      shown.renewals.map(({ cycle, date, total }: Record<string, unknown>) => [cycle, date, total]),
      [30, 60, 90].map((days, index) => [index + 2, onDay(at, days), 6000]),
    );
    const { order, subscription, ...rest } = await changed(service, at, { ...wanted, expected_amount: 1500 });
    assert.partialDeepStrictEqual(rest, { at: onDay(at, 15), amount_due: 1500, lines: shown.lines });
    assert.partialDeepStrictEqual(order, {
      status: 'succeeded',
      subtotal: 1500,
      total: 1500,
      items: [],
      subscription_id: at.id,
      subscription_cycle: null,
      subscription_change: 1,
    });
    assert.match(order.description, /^Change from Tea of the month .* to Tea of the month/);
    assert.partialDeepStrictEqual(subscription, {
      plan_id,
      plan: { id: plan_id, amount: 6000 },
      current_cycle: 1,
      completed_cycles: 1,
      current_period_start: at.start,
      next_billing_at: onDay(at, 30),
    });
    assert.notEqual(subscription.latest_order_id, order.id);
    assert.deepEqual((await typesOf(service, at.id)).slice(-3), [
      'order.created',
      'order.succeeded',
      'subscription.plan_changed',
    ]);
    await pass(service, at, 30);
    assert.partialDeepStrictEqual((await ordersOf(service, at)).at(-1), { total: 6000, subscription_cycle: 2 });
  });

  it('rounds each line once, half to even', async () => {
    const at = await subscribed(service, { amount: 1 });
    const plan_id = await otherPlan(service, at, { amount: 3 });
    await pass(service, at, 15);
    const body = (await preview(service, at, { plan_id, at: onDay(at, 15) })).body;
    // 1.5 becomes 2, and 0.5 becomes 0.
    assert.deepEqual(
      body.lines.map(({ amount }: { amount: number }) => amount),
      [2],
    );
  });

  it('changes the number of seats, at the price that the subscription has', async () => {
    const at = await subscribed(service, {}, undefined, { quantity: 2 });
    assert.equal((await ordersOf(service, at))[0]?.total, 6000);
    assert.partialDeepStrictEqual(await read(at), { quantity: 2, plan: { amount: 3000 } });
    await pass(service, at, 15);
    const body = await changed(service, at, { plan_id: at.plan_id, quantity: 5, at: onDay(at, 15) });
    assert.deepEqual(amountsOf(body), { charge: 7500, credit: -3000 });
    assert.partialDeepStrictEqual(body.subscription, { quantity: 5, plan: { amount: 3000 } });
    await pass(service, at, 30);
    assert.equal((await ordersOf(service, at)).at(-1)?.total, 15_000);
  });

  it('multiplies the products of the plan by the seats', async () => {
    const scene = await openScene(service);
    const product_id = await createProduct(service, 900, scene);
    const plan_id = await otherPlan(service, scene, { products: [{ product_id, quantity: 3 }] });
    const { id, current_period_start: start } = await created(service, { ...scene, plan_id }, { quantity: 2 });
    const at = { ...scene, plan_id, id, start };
    assert.equal((await ordersOf(service, at))[0]?.items[0].quantity, 6);
    await changed(service, at, { plan_id, quantity: 3, proration: 'none' });
    await pass(service, at, 30);
    assert.equal((await ordersOf(service, at)).at(-1)?.items[0].quantity, 9);
    assertInvalid(await change(service, at, { plan_id, quantity: 9999 }), 'quantity');
  });

  it('never credits more than was paid, after any number of changes', async () => {
    const at = await subscribed(service);
    for (const [days, quantity] of [
      [5, 2],
      [10, 7],
      [15, 9],
      [20, 10],
    ] as const) {
      await pass(service, at, days);
      await changed(service, at, { plan_id: at.plan_id, quantity, at: onDay(at, days) });
    }
    const totals = (await ordersOf(service, at)).map(({ total }) => total);
    // 30 days at $1, 25 more at $1, 20 at $5, 15 at $2 and 10 at $1 a day.
    assert.deepEqual(totals, [3000, 2500, 10_000, 3000, 1000]);
  });

  it('credits nothing of a setup fee, and charges none', async () => {
    const at = await subscribed(service, { one_time_amount: 500 });
    const plan_id = await otherPlan(service, at, { one_time_amount: 900 });
    await pass(service, at, 15);
    const body = await changed(service, at, { plan_id, at: onDay(at, 15) });
    assert.deepEqual(amountsOf(body), { charge: 3000, credit: -1500 });
    const context = await operator(service, at);
    const [first] = await ordersOf(service, at);
    assert.deepEqual((await planChargeOf(context, first as never))?.setupFee, 500, 'the receipt stays as it was');
  });

  it('is refused if its amount is not the expected one', async () => {
    const at = await subscribed(service);
    const plan_id = await otherPlan(service, at);
    await pass(service, at, 15);
    assertInvalid(await change(service, at, { plan_id, at: onDay(at, 15), expected_amount: 1499 }), 'expected_amount');
    assert.equal((await ordersOf(service, at)).length, 1);
  });

  it('takes no time that is in the future, older than ten minutes, or before the last change', async () => {
    const at = await subscribed(service);
    const plan_id = await otherPlan(service, at);
    await pass(service, at, 15);
    for (const days of [14, 16]) {
      assertInvalid(await change(service, at, { plan_id, at: onDay(at, days) }), 'at');
    }
    await changed(service, at, { plan_id, at: onDay(at, 15) });
    assertInvalid(await change(service, at, { plan_id, quantity: 2, at: later(onDay(at, 15), -1000) }), 'at');
  });

  it('adds the rest to the credit of the customer if its credit is more than its charge', async () => {
    const at = await subscribed(service, { amount: 6000 });
    const plan_id = await otherPlan(service, at, { amount: 3000 });
    await pass(service, at, 15);
    assert.equal((await preview(service, at, { plan_id, at: onDay(at, 15) })).body.credit_amount, 1500);
    const body = await changed(service, at, { plan_id, at: onDay(at, 15), expected_amount: 0 });
    assert.deepEqual([body.status, body.amount_due, body.credit_amount, body.order], ['applied', 0, 1500, null]);
    const { customer_id } = await read(at);
    const { body: credit } = await service.call('GET', `/v1/customers/${customer_id}/credit`, { key: at.key });
    assert.deepEqual(credit.balances, [{ currency: 'usd', amount: 1500 }]);
    const [{ type, amount, subscription_id }] = credit.entries;
    assert.deepEqual([type, amount, subscription_id], ['plan_change', 1500, at.id]);
    // What is left of the new plan is worth half of it, and no more is credited by another change.
    const back = await preview(service, at, { plan_id: at.plan_id, at: onDay(at, 15) });
    assert.deepEqual(amountsOf(back.body), { charge: 3000, credit: -1500 });
  });
});

describe('what was returned is not credited', () => {
  const due = async (at: Subscribed): Promise<Record<string, number>> => {
    const plan_id = await otherPlan(service, at);
    await pass(service, at, 15);
    return amountsOf((await preview(service, at, { plan_id, at: onDay(at, 15) })).body);
  };

  it('of a refund', async () => {
    const at = await subscribed(service);
    const [first] = await ordersOf(service, at);
    await refund(service, first?.id, 1000, at);
    assert.deepEqual(await due(at), { charge: 3000, credit: -1000 });
  });

  it('of a refund after an earlier change', async () => {
    const at = await subscribed(service);
    const plan_id = await otherPlan(service, at);
    await pass(service, at, 15);
    await changed(service, at, { plan_id, at: onDay(at, 15) });
    const [first] = await ordersOf(service, at);
    await refund(service, first?.id, 1000, at);
    await pass(service, at, 20);
    // 3000 pay for the last 15 days, of which 10 are left.
    const body = (await preview(service, at, { plan_id, quantity: 2, at: onDay(at, 20) })).body;
    assert.deepEqual(amountsOf(body), { charge: 4000, credit: -1333 });
  });

  it('of a dispute', async () => {
    const at = await subscribed(service);
    const [first] = await ordersOf(service, at);
    await service.call('POST', `/v1/sandbox/orders/${first?.id}/chargeback`, { key: at.key });
    assert.deepEqual(await due(at), { charge: 3000 });
  });

  it('of a period that began during a pause', async () => {
    const at = await subscribed(service);
    await pauseSubscription(await operator(service, at), at.id);
    await pass(service, at, 45);
    await resumeSubscription(await operator(service, at), at.id);
    const body = (await preview(service, at, { plan_id: at.plan_id, quantity: 2, at: onDay(at, 45) })).body;
    assert.deepEqual(amountsOf(body), { charge: 3000 });
  });
});

describe('a restart', () => {
  it('begins the next cycle now, and credits the unused time', async () => {
    const at = await subscribed(service);
    const plan_id = await otherPlan(service, at, {
      billing_cycle: { interval: 'month', interval_count: 1, anchor_day: 'signup_date' },
    });
    await pass(service, at, 15);
    assertInvalid(await change(service, at, { plan_id, at: onDay(at, 15) }), 'proration');
    const body = await changed(service, at, { plan_id, proration: 'restart', at: onDay(at, 15) });
    assert.deepEqual(amountsOf(body), { charge: 6000, credit: -1500 });
    assert.partialDeepStrictEqual(body.subscription, {
      current_cycle: 2,
      completed_cycles: 2,
      current_period_start: onDay(at, 15),
      billing_cycle: { interval: 'month', interval_count: 1 },
    });
    const { next_billing_at } = body.subscription;
    assert.ok(Date.parse(next_billing_at) - Date.parse(onDay(at, 15)) >= 28 * dayMs);
    await moveTo(service, at.key, later(next_billing_at, 1000));
    assert.partialDeepStrictEqual((await ordersOf(service, at)).at(-1), { total: 6000, subscription_cycle: 3 });
    assert.equal((await read(at)).completed_cycles, 3);
  });

  it('is refused if no further cycle may begin', async () => {
    const at = await subscribed(service, {}, undefined, { billing_cycles: 1 });
    const plan_id = await otherPlan(service, at);
    assertInvalid(await change(service, at, { plan_id, proration: 'restart' }), 'proration');
    const ended = await subscribed(service);
    await endRenewal(await operator(service, ended), ended.id);
    const other = await otherPlan(service, ended);
    assertInvalid(await change(service, ended, { plan_id: other, proration: 'restart' }), 'proration');
  });
});

describe('a change at the renewal', () => {
  it('begins with the next cycle, which is charged in full', async () => {
    const at = await subscribed(service);
    const plan_id = await otherPlan(service, at, { billing_cycle: everyDays(7), amount: 700 });
    const { subscription, order } = await changed(service, at, { plan_id, when: 'renewal' }, 'scheduled');
    assert.equal(order, null);
    assert.partialDeepStrictEqual(subscription, {
      plan_id: at.plan_id,
      scheduled_change: { plan_id, quantity: 1, billing_cycle: { interval: 'day', interval_count: 7 } },
    });
    assert.equal((await typesOf(service, at.id)).at(-1), 'subscription.change_scheduled');
    const upcoming = await service.call('GET', `/v1/subscriptions/${at.id}/upcoming?count=3`, at);
    assert.deepEqual(
      upcoming.body.data.map(({ date, total }: Record<string, unknown>) => [date, total]),
      [30, 37, 44].map((days) => [onDay(at, days), 700]),
    );
    await pass(service, at, 30);
    assert.partialDeepStrictEqual(await read(at), {
      plan_id,
      scheduled_change: null,
      current_cycle: 2,
      next_billing_at: onDay(at, 37),
    });
    assert.deepEqual((await typesOf(service, at.id)).slice(-4), [
      'order.created',
      'subscription.plan_changed',
      'order.succeeded',
      'subscription.charged',
    ]);
    const context = await operator(service, at);
    const orders = await ordersOf(service, at);
    const names = await Promise.all(orders.map(async (one) => (await planChargeOf(context, one as never))?.name));
    assert.notEqual(names[0], names[1], 'the first receipt keeps the plan it was for');
  });

  it('is taken back by undo, and replaced by another change', async () => {
    const at = await subscribed(service);
    const plan_id = await otherPlan(service, at);
    assertRefused(await post(service, at, 'change_plan/undo'), 400, 'invalid_state_transition');
    await changed(service, at, { plan_id, when: 'renewal' }, 'scheduled');
    const reply = await post(service, at, 'change_plan/undo');
    assert.deepEqual([reply.status, reply.body.scheduled_change], [200, null]);
    await changed(service, at, { plan_id, when: 'renewal' }, 'scheduled');
    await changed(service, at, { plan_id: at.plan_id, quantity: 3, proration: 'none' });
    assert.partialDeepStrictEqual(await read(at), { scheduled_change: null, quantity: 3, plan_id: at.plan_id });
    await pass(service, at, 30);
    assert.equal((await ordersOf(service, at)).at(-1)?.total, 9000);
  });

  it('is refused without a renewal', async () => {
    const at = await subscribed(service, {}, undefined, { billing_cycles: 1 });
    const plan_id = await otherPlan(service, at);
    assertRefused(await change(service, at, { plan_id, when: 'renewal' }), 400, 'subscription_not_modifiable');
    assertInvalid(await change(service, at, { plan_id, when: 'renewal', proration: 'restart' }), 'proration');
  });
});

describe('a declined change', () => {
  const declined = async (): Promise<Subscribed & { plan_id2: string; order: string }> => {
    const at = await subscribed(service);
    const plan_id2 = await otherPlan(service, at);
    await useCard(at, cards.declinesFirst);
    await pass(service, at, 15);
    const body = await changed(service, at, { plan_id: plan_id2, at: onDay(at, 15) }, 'declined');
    assert.partialDeepStrictEqual(body, { order: { status: 'failed', total: 1500, next_retry_at: null } });
    assert.partialDeepStrictEqual(body.subscription, {
      plan_id: at.plan_id,
      status: 'active',
      attempt_count: 0,
      next_billing_at: onDay(at, 30),
    });
    return { ...at, plan_id2, order: body.order.id };
  };

  it('leaves the plan, and is completed by a retry of its order', async () => {
    const at = await declined();
    const reply = await retry(service, at.order, at);
    assert.deepEqual([reply.status, reply.body.status], [200, 'succeeded'], reply.text);
    assert.partialDeepStrictEqual(await read(at), { plan_id: at.plan_id2, completed_cycles: 1 });
    const [row] = await service.db.query<{ subject: string[] }>(
      `SELECT count(*)::integer AS count FROM transactions WHERE order_id = $1`,
      [at.order],
    );
    assert.ok(row);
    await pass(service, at, 30);
    assert.deepEqual(
      (await ordersOf(service, at)).map(({ total, subscription_cycle }) => [total, subscription_cycle]),
      [
        [3000, 1],
        [1500, null],
        [6000, 2],
      ],
    );
  });

  const superseded = (what: string, by: (at: Awaited<ReturnType<typeof declined>>) => Promise<unknown>): void => {
    it(`cannot be retried after ${what}`, async () => {
      const at = await declined();
      await by(at);
      assertRefused(await retry(service, at.order, at), 400, 'invalid_state_transition');
      assert.equal((await readOrder(service, at.order, at)).status, 'failed');
    });
  };
  superseded('a renewal', (at) => pass(service, at, 30));
  superseded('another change', (at) => changed(service, at, { plan_id: at.plan_id2, proration: 'none' }));
  superseded('a scheduled change', (at) =>
    changed(service, at, { plan_id: at.plan_id2, when: 'renewal' }, 'scheduled'),
  );
  superseded('a cancellation', (at) => service.call('DELETE', `/v1/subscriptions/${at.id}`, { key: at.key }));
  superseded('a pause', async (at) => pauseSubscription(await operator(service, at), at.id));
  superseded('the end of the renewal', async (at) => endRenewal(await operator(service, at), at.id));
  superseded('another billing cycle', (at) =>
    service.call('PATCH', `/v1/subscriptions/${at.id}`, {
      key: at.key,
      body: { billing_cycle: { interval_count: 60 } },
    }),
  );
  superseded('a refund of what it credits', async (at) =>
    refund(service, (await ordersOf(service, at))[0]?.id, 100, at),
  );
});

describe('a coupon', () => {
  const withCoupon = async (more: Record<string, unknown>): Promise<{ at: Subscribed; coupon: string }> => {
    const scene = await openScene(service, { amount: 3000, billing_cycle: everyDays(30) });
    const { id: coupon, code } = await someCoupon(service, more, { key: scene.key });
    const { id, current_period_start: start } = await created(service, scene, { coupon_code: code });
    return { at: { ...scene, id, start }, coupon };
  };

  it('continues on the new plan, and is not redeemed again', async () => {
    const { at, coupon } = await withCoupon({ percentage: 50, duration: 'forever' });
    const plan_id = await otherPlan(service, at);
    await useCard(at, cards.declinesFirst);
    await pass(service, at, 15);
    const { lines, order } = await changed(service, at, { plan_id, at: onDay(at, 15) }, 'declined');
    assert.deepEqual(amountsOf({ lines }), { charge: 3000, discount: -1500, credit: -750 });
    assert.partialDeepStrictEqual(order, { subtotal: 2250, discount_amount: 1500, total: 750 });
    assert.deepEqual(await tally(service, coupon), [1, 0]);
    assert.equal((await retry(service, order.id, at)).body.status, 'succeeded');
    assert.deepEqual(await tally(service, coupon), [1, 0]);
  });

  it('ends if it is not for the new plan, and the preview says so', async () => {
    const { at } = await withCoupon({ percentage: 50, duration: 'forever', plan_scope: 'all' });
    const plan_id = await otherPlan(service, at);
    await service.db.query(
      `UPDATE coupons SET plan_scope = 'specific', plan_ids = ARRAY[$2::uuid] WHERE company_id = $1`,
      [at.company.id, at.plan_id],
    );
    await pass(service, at, 15);
    const shown = (await preview(service, at, { plan_id, at: onDay(at, 15) })).body;
    assert.equal(shown.coupon.continues, false);
    assert.deepEqual(amountsOf(shown), { charge: 3000, credit: -750 });
    assert.equal((await changed(service, at, { plan_id, at: onDay(at, 15) })).subscription.coupon, null);
    await pass(service, at, 30);
    assert.equal((await ordersOf(service, at)).at(-1)?.total, 6000);
  });

  it('of a subscription that has not begun is given back', async () => {
    const scene = await openScene(service, { amount: 3000, one_time_amount: 100 });
    const { id: coupon, code } = await someCoupon(service, { percentage: 50, plan_scope: 'all' }, { key: scene.key });
    const start_date = day(later(await clockOf(service, scene.key), 5 * dayMs));
    const { id } = await created(service, scene, { coupon_code: code, start_date });
    const at = { ...scene, id, start: `${start_date}T00:00:00.000Z` };
    assert.deepEqual(await tally(service, coupon), [0, 1]);
    await service.db.query(`UPDATE coupons SET plan_scope = 'none' WHERE company_id = $1`, [at.company.id]);
    const plan_id = await otherPlan(service, at, { amount: 4000, one_time_amount: 700 });
    await changed(service, at, { plan_id });
    assert.deepEqual(await tally(service, coupon), [0, 0]);
    await pass(service, at, 0);
    assert.partialDeepStrictEqual((await ordersOf(service, at)).at(-1), { total: 4700, subscription_cycle: 1 });
  });
});

describe('in other statuses', () => {
  it('a paused subscription changes without a charge', async () => {
    const at = await subscribed(service);
    const plan_id = await otherPlan(service, at);
    await pauseSubscription(await operator(service, at), at.id);
    const body = await changed(service, at, { plan_id });
    assert.deepEqual([body.amount_due, body.order, body.subscription.plan_id], [0, null, plan_id]);
    await resumeSubscription(await operator(service, at), at.id);
    await pass(service, at, 30);
    assert.deepEqual(
      (await ordersOf(service, at)).map(({ total }) => total),
      [3000, 6000],
    );
  });

  it('a past-due subscription must be paid first, and an ended one cannot change', async () => {
    const at = await subscribed(service, {}, cards.declinesAfterFirst);
    const plan_id = await otherPlan(service, at);
    await pass(service, at, 30);
    assertRefused(await change(service, at, { plan_id }), 400, 'subscription_not_modifiable');
    await service.call('DELETE', `/v1/subscriptions/${at.id}`, { key: at.key });
    assertRefused(await change(service, at, { plan_id }), 400, 'subscription_not_modifiable');
    assertRefused(await preview(service, at, { plan_id, when: 'renewal' }), 400, 'subscription_not_modifiable');
  });

  it('another currency, an archived plan and the same plan are refused', async () => {
    const at = await subscribed(service);
    assertInvalid(await change(service, at, { plan_id: await otherPlan(service, at, { currency: 'eur' }) }), 'plan_id');
    assertInvalid(await change(service, at, { plan_id: at.plan_id }), 'plan_id');
    assertRefused(await change(service, at, { plan_id: randomUUID() }), 404, 'resource_not_found', 'plan_id');
  });
});

describe('products on the next renewal', () => {
  const add = (at: Subscribed, product_id: string, quantity?: number) =>
    post(service, at, 'renewal_items', { product_id, ...(quantity && { quantity }) });

  it('are charged once, without the discount of a coupon, and can be removed until then', async () => {
    const scene = await openScene(service, { amount: 3000, billing_cycle: everyDays(30) });
    const { code } = await someCoupon(service, { percentage: 50, duration: 'forever' }, { key: scene.key });
    const { id, current_period_start: start } = await created(service, scene, { coupon_code: code });
    const at = { ...scene, id, start };
    const product = await createProduct(service, 700, at);
    const added = await add(at, product, 2);
    assert.equal(added.status, 201, added.text);
    const kept = await add(at, product);
    const [first] = kept.body.renewal_items;
    const path = `/v1/subscriptions/${id}/renewal_items/`;
    assert.equal((await service.call('DELETE', path + first.id, { key: at.key })).body.renewal_items.length, 1);
    assertRefused(await service.call('DELETE', path + first.id, { key: at.key }), 404, 'resource_not_found');
    await pass(service, at, 30);
    assert.partialDeepStrictEqual((await ordersOf(service, at)).at(-1), {
      subtotal: 3700,
      discount_amount: 1500,
      total: 2200,
      items: [{ product_id: product, quantity: 1, total: 700 }],
    });
    await pass(service, at, 60);
    assert.equal((await ordersOf(service, at)).at(-1)?.total, 1500);
    const context = await operator(service, at);
    const orders = await ordersOf(service, at);
    assert.equal((await planChargeOf(context, orders[1] as never))?.price, 3000);
  });

  it('do not count as paid for the plan', async () => {
    const at = await subscribed(service);
    await add(at, await createProduct(service, 5000, at));
    await pass(service, at, 30);
    assert.equal((await ordersOf(service, at)).at(-1)?.total, 8000);
    const plan_id = await otherPlan(service, at);
    await pass(service, at, 45);
    const body = (await preview(service, at, { plan_id, at: onDay(at, 45) })).body;
    assert.deepEqual(amountsOf(body), { charge: 3000, credit: -1500 });
  });

  it('are refused in another currency, and for a subscription that does not renew', async () => {
    const at = await subscribed(service, {}, undefined, { billing_cycles: 1 });
    const product = await createProduct(service, 100, at);
    assertRefused(await add(at, product), 400, 'subscription_not_modifiable');
    assertRefused(await add(at, randomUUID()), 400, 'subscription_not_modifiable');
  });
});
