import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import {
  cards,
  create,
  created,
  day,
  openScene,
  ordersOf,
  type Scene,
  typesOf,
} from '../../../tests/support/billing.ts';
import {
  assertInvalid,
  assertRefused,
  capture,
  contextOf,
  createProduct,
  eventTypes,
  readOrder,
} from '../../../tests/support/orders.ts';
import { planOf } from '../../../tests/support/plans.ts';
import { someCustomer, startTestService, type TestService } from '../../../tests/support/service.ts';
import {
  advance,
  allEventsOf,
  readSubscription,
  somePlan,
  someSubscriber,
  subscribe,
} from '../../../tests/support/subscriptions.ts';
import type { PlanCreate } from '../plans/schemas.ts';
import { changePlan } from '../plans/service.ts';
import { lockDue } from './queries.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const { declined } = cards;
const scene = (plan: Partial<PlanCreate> = {}, number?: string): Promise<Scene> => openScene(service, plan, number);

describe('POST /v1/subscriptions', () => {
  it('charges the first cycle at once, with the setup fee, and answers 201 active', async () => {
    const at = await scene({ amount: 1900, one_time_amount: 500 });
    const body = await created(service, at, { description: 'Green', metadata: { a: 1 } });
    const customer = (await service.call('GET', `/v1/customers/${at.customer_id}`, { key: at.key })).body;
    assert.partialDeepStrictEqual(body, {
      customer_id: at.customer_id,
      plan_id: at.plan_id,
      billing_cycle: { interval: 'month', interval_count: 1, anchor_day: 'signup_date' },
      billing_cycles: 0,
      completed_cycles: 1,
      current_cycle: 1,
      coupon: null,
      description: 'Green',
      shipping: null,
      shipping_address_id: null,
      end_date: null,
      last_failure_message: null,
      attempt_count: 0,
      next_retry_at: null,
      canceled_at: null,
      completed_at: null,
      livemode: false,
      metadata: { a: 1 },
    });
    assert.deepEqual(Object.keys(body.plan).toSorted(), ['amount', 'currency', 'id', 'name']);
    assert.partialDeepStrictEqual(body.plan, { id: at.plan_id, amount: 1900, currency: 'usd' });
    assert.deepEqual(body.payment_method, {
      id: customer.default_payment_method_id,
      card_last_four: '4242',
      card_brand: 'visa',
    });
    assert.equal(body.start_date, day(body.created_at));
    assert.equal(body.current_period_start, body.created_at);
    assert.equal(body.next_billing_at, body.current_period_end);
    const orders = await ordersOf(service, at);
    assert.equal(orders.length, 1);
    assert.partialDeepStrictEqual(orders[0], {
      id: body.latest_order_id,
      status: 'succeeded',
      subtotal: 2400,
      discount_amount: 0,
      total: 2400,
      amount: 2400,
      currency: 'usd',
      subscription_id: body.id,
      subscription_cycle: 1,
      next_retry_at: null,
      attempt_count: 0,
    });
    assert.deepEqual(await readSubscription(service, body.id, at), body);
  });

  it('gives the order the products of the plan, with null prices', async () => {
    const { key, sandbox } = await service.createMerchant();
    const product_id = await createProduct(service, 4900, { key });
    const { id: plan_id } = await somePlan(service, { products: [{ product_id, quantity: 2 }] }, sandbox);
    const at = { key, company: sandbox, plan_id, customer_id: await someSubscriber(service, undefined, { key }) };
    const { latest_order_id } = await created(service, at);
    const { items, subtotal } = await readOrder(service, latest_order_id, { key });
    assert.equal(items.length, 1);
    assert.partialDeepStrictEqual(items[0], { product_id, quantity: 2, unit_price: null, total: null });
    assert.equal(subtotal, 1900);
  });

  it('sends order.created, order.succeeded and subscription.created with the same active subscription', async () => {
    const body = await created(service, await scene());
    const events = await allEventsOf(service, body.id);
    assert.deepEqual(await typesOf(service, body.id), ['order.created', 'order.succeeded', 'subscription.created']);
    assert.deepEqual(events[2]?.object, body);
    assert.deepEqual(await eventTypes(service, body.id), ['subscription.created']);
  });

  it('answers 201 with a failed subscription and no retry if the first charge is declined', async () => {
    const at = await scene({ one_time_amount: 100 }, declined);
    const body = await created(service, at, {}, 'failed');
    assert.partialDeepStrictEqual(body, {
      attempt_count: 1,
      completed_cycles: 0,
      current_cycle: 0,
      next_retry_at: null,
      next_billing_at: null,
      current_period_end: null,
    });
    assert.ok(body.last_failure_message);
    const events = await allEventsOf(service, body.id);
    assert.deepEqual(
      events.map(({ type, object }) => `${type} ${object.status}`),
      ['order.created pending', 'order.failed failed', 'subscription.created failed'],
    );
    assert.partialDeepStrictEqual(events[1]?.object, {
      subscription_id: body.id,
      subscription_cycle: null,
      next_retry_at: null,
      attempt_count: 1,
      failure_code: 'processor_declined',
      total: 2000,
    });
    await advance(service, { by: { days: 40 } }, at);
    assert.equal((await ordersOf(service, at)).length, 1);
    assert.equal((await readOrder(service, body.latest_order_id, at)).transactions.length, 1, 'it is not tried again');
  });

  it('freezes name, amount, setup fee and currency of the plan', async () => {
    const at = await scene({ amount: 700, one_time_amount: 50 });
    const body = await created(service, at);
    await service.db.query(`UPDATE plans SET amount = 999, one_time_amount = 9, name = 'New' WHERE id = $1`, [
      at.plan_id,
    ]);
    await advance(service, { by: { months: 1, hours: 1 } }, at);
    assert.deepEqual(
      (await ordersOf(service, at)).map(({ total, subscription_cycle }) => [subscription_cycle, total]),
      [
        [1, 750],
        [2, 700],
      ],
    );
    assert.deepEqual((await readSubscription(service, body.id, at)).plan, body.plan);
  });

  it('continues after its plan was archived; the plan rejects new ones', async () => {
    const { key, sandbox } = await service.createMerchant();
    const { id: plan_id } = await somePlan(service, {}, sandbox);
    const at = { key, company: sandbox, plan_id, customer_id: await someSubscriber(service, undefined, { key }) };
    await created(service, at);
    await changePlan(contextOf(service, sandbox), plan_id, { active: false });
    assertInvalid(await create(service, at), 'plan_id');
    await advance(service, { by: { months: 1, hours: 1 } }, at);
    assert.equal((await ordersOf(service, at)).length, 2);
  });

  it('refuses an unknown plan, customer and card, and the card of another customer', async () => {
    const at = await scene();
    for (const field of ['plan_id', 'customer_id']) {
      assertRefused(await create(service, at, { [field]: randomUUID() }), 404, 'resource_not_found', field);
    }
    const neighbour = await someSubscriber(service, undefined, { key: at.key });
    const cards = await service.call('GET', `/v1/customers/${neighbour}/payment_methods`, { key: at.key });
    for (const payment_method_id of [randomUUID(), cards.body.data[0].id]) {
      assertRefused(await create(service, at, { payment_method_id }), 404, 'resource_not_found', 'payment_method_id');
    }
    assert.deepEqual(await ordersOf(service, at), []);
  });

  it('refuses a customer without a card: customer_not_configured, and a deleted one: invalid_request', async () => {
    const at = await scene({}, 'none');
    assertRefused(await create(service, at), 400, 'customer_not_configured', 'customer_id');
    const gone = await scene();
    await service.call('DELETE', `/v1/customers/${gone.customer_id}`, { key: gone.key });
    assertRefused(await create(service, gone), 400, 'invalid_request', 'customer_id');
  });

  it('charges the card that is named, or else the default', async () => {
    const at = await scene();
    const other = await capture(service, at.customer_id, '5555555555554444', { key: at.key });
    assert.equal((await created(service, at)).payment_method.card_last_four, '4242');
    const body = await created(service, at, { payment_method_id: other });
    assert.equal(body.payment_method.id, other);
    assert.equal((await readOrder(service, body.latest_order_id, at)).payment_method.id, other);
  });

  it('reports unknown, missing and invalid fields at once', async () => {
    const at = await scene();
    assertInvalid(await create(service, at, { trial_days: 7 }), 'trial_days');
    assertInvalid(
      await create(service, at, { billing_cycle: { interval: 'day', weekday: 1 } }),
      'billing_cycle.weekday',
    );
    assertInvalid(await create(service, at, { coupon_code: 'NOSUCHCODE' }), 'coupon_code');
    const reply = await subscribe(service, {}, at);
    const named = reply.body.error.field_errors.map(({ field, code }: Record<string, string>) => `${field} ${code}`);
    assert.deepEqual(named.toSorted(), ['customer_id required_field', 'plan_id required_field']);
    for (const bad of [{ start_date: '2030-02-30' }, { end_date: 'soon' }, { customer_id: 'x' }]) {
      assertRefused(await create(service, at, bad), 400, 'validation_error', Object.keys(bad)[0]);
    }
    for (const billing_cycles of [-1, 1.5, '3']) {
      assertRefused(await create(service, at, { billing_cycles }), 400, 'validation_error', 'billing_cycles');
    }
    assert.deepEqual(await ordersOf(service, at), []);
  });

  it('keeps the shipping given, or copies the address of the customer by its id', async () => {
    const { key, company, plan_id } = await scene();
    const shipping_address = { name: 'Ada', line1: '1 Main St', city: 'Paris', postal_code: '75001', country: 'FR' };
    const customer = await service.call('POST', '/v1/customers', { body: someCustomer({ shipping_address }), key });
    const customer_id = customer.body.id;
    await capture(service, customer_id, undefined, { key });
    const at = { key, company, plan_id, customer_id };
    const shipping_address_id = customer.body.shipping_address.id;
    const copied = await created(service, at, { shipping_address_id });
    assert.equal(copied.shipping_address_id, shipping_address_id);
    assert.partialDeepStrictEqual(copied.shipping, { line1: '1 Main St', city: 'Paris' });
    assert.partialDeepStrictEqual(await readOrder(service, copied.latest_order_id, at), {
      shipping: { city: 'Paris' },
    });
    const written = await created(service, at, { shipping: { ...shipping_address, city: 'Lyon' } });
    assert.partialDeepStrictEqual(written, { shipping: { city: 'Lyon' }, shipping_address_id: null });
    const unknown = await create(service, at, { shipping_address_id: randomUUID() });
    assertRefused(unknown, 404, 'resource_not_found', 'shipping_address_id');
  });

  it('needs subscriptions:write, and subscriptions:read to read', async () => {
    const { sandbox } = await service.createMerchant();
    const reader = await service.createKey(sandbox, { permissions: ['subscriptions:read'] });
    const body = { customer_id: randomUUID(), plan_id: randomUUID() };
    assertRefused(await subscribe(service, body, { key: reader }), 403, 'insufficient_permissions');
    assert.equal((await service.call('GET', '/v1/subscriptions', { key: reader })).status, 200);
    const other = await service.createKey(sandbox, { permissions: ['orders:write'] });
    assertRefused(await service.call('GET', '/v1/subscriptions', { key: other }), 403, 'insufficient_permissions');
  });
});

describe('GET /v1/subscriptions', () => {
  it('finds those whose card expires in one of some months', async () => {
    const at = await scene();
    const { id, payment_method } = await created(service, at);
    await service.db.query('UPDATE payment_methods SET exp_year = 2031, exp_month = 2 WHERE id = $1', [
      payment_method.id,
    ]);
    const list = async (query: string) => service.call('GET', `/v1/subscriptions?${query}`, { key: at.key });
    const found = async (months: string): Promise<string[]> =>
      (await list(`card_expires=${months}`)).body.data.map((one: { id: string }) => one.id);
    assert.deepEqual(await found('2031-02'), [id]);
    assert.deepEqual(await found('2031-01,2031-02&status=active'), [id]);
    assert.deepEqual(await found('2031-01,2032-02'), []);
    for (const wrong of ['2031-2', '2031-13', '', 'soon']) {
      assertInvalid(await list(`card_expires=${wrong}`), 'card_expires');
    }
  });
});

describe('a plan that costs nothing', () => {
  it('is active without a sale transaction, and its renewals too', async () => {
    const at = await scene({ amount: 0 }, declined);
    const body = await created(service, at);
    await advance(service, { by: { months: 1, hours: 1 } }, at);
    const orders = await ordersOf(service, at);
    assert.deepEqual(
      orders.map(({ status, total, subscription_cycle, transactions }) => [
        status,
        total,
        subscription_cycle,
        transactions.length,
      ]),
      [
        ['succeeded', 0, 1, 0],
        ['succeeded', 0, 2, 0],
      ],
    );
    assert.deepEqual(await eventTypes(service, body.id), ['subscription.created', 'subscription.charged']);
  });

  it('with a setup fee charges that, on the first cycle only', async () => {
    const at = await scene({ amount: 0, one_time_amount: 300 });
    await created(service, at);
    await advance(service, { by: { months: 1, hours: 1 } }, at);
    assert.deepEqual(
      (await ordersOf(service, at)).map(({ total }) => total),
      [300, 0],
    );
  });
});

const bodyOf = ({ plan_id, customer_id }: Scene) => ({ plan_id, customer_id });

describe('the idempotency key of a new subscription', () => {
  it('replays byte for byte without a second charge, and refuses another payload', async () => {
    const at = await scene();
    const idempotencyKey = randomUUID();
    const first = await subscribe(service, bodyOf(at), { key: at.key, idempotencyKey });
    assert.equal(first.status, 201, first.text);
    await service.call('DELETE', `/v1/subscriptions/${first.body.id}`, { key: at.key });
    const again = await subscribe(service, bodyOf(at), { key: at.key, idempotencyKey });
    assert.deepEqual([again.status, again.text], [201, first.text]);
    assert.equal(again.headers.get('svc-idempotent-replayed'), 'true');
    const other = await subscribe(service, { ...bodyOf(at), billing_cycles: 2 }, { key: at.key, idempotencyKey });
    assertRefused(other, 422, 'idempotency_key_conflict');
    assert.equal((await ordersOf(service, at)).length, 1);
  });

  it('replays a declined first charge, a later start and a refusal', async () => {
    for (const [number, more, status] of [
      [declined, {}, 201],
      [undefined, { start_date: '2035-01-01' }, 201],
      [undefined, { plan_id: randomUUID() }, 404],
    ] as const) {
      const at = await scene({}, number);
      const idempotencyKey = randomUUID();
      const first = await subscribe(service, { ...bodyOf(at), ...more }, { key: at.key, idempotencyKey });
      assert.equal(first.status, status, first.text);
      const again = await subscribe(service, { ...bodyOf(at), ...more }, { key: at.key, idempotencyKey });
      const replayed = again.headers.get('svc-idempotent-replayed');
      assert.deepEqual([again.status, replayed], [status, 'true'], again.text);
      if (status === 201) assert.equal(again.text, first.text);
    }
  });

  it('of 10 at once makes one subscription and one charge', async () => {
    const at = await scene();
    const idempotencyKey = randomUUID();
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => subscribe(service, bodyOf(at), { key: at.key, idempotencyKey })),
    );
    for (const { status, text } of replies) assert.ok(status === 201 || status === 409, text);
    assert.equal(new Set(replies.filter(({ status }) => status === 201).map(({ text }) => text)).size, 1);
    assert.equal((await ordersOf(service, at)).length, 1);
  });
});

describe('the subscriptions that are due', () => {
  const copies = `INSERT INTO subscriptions
    SELECT (jsonb_populate_record(s, jsonb_build_object('id', uuidv7(), 'due_at', now() - interval '1 minute'))).*
    FROM subscriptions s, generate_series(1, 5000) WHERE s.status = 'active' LIMIT 5000`;

  const ofOneCompany = 'ALTER TABLE subscriptions ALTER company_id SET (n_distinct = 1)';
  const analyze = 'ANALYZE subscriptions, company_fences';

  it('are read in order and not sorted, even if one company has all of them', async () => {
    await created(service, await scene());
    const plan = await planOf(service.db, (db) => lockDue(db, 100), [copies, ofOneCompany, analyze]);
    assert.match(plan, /Limit .* rows=100 [^]*Index Scan using subscriptions_due on/, plan);
  });
});
