import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { silentLog } from '../../../tests/support/silent-log.ts';
import { someCoupon } from '../../../tests/support/coupons.ts';
import { signUp } from '../../../tests/support/dashboard.ts';
import { assertRefused, createProduct, openShop, type Shop } from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { advance, somePlan } from '../../../tests/support/subscriptions.ts';
import { eventually } from '../../../tests/support/webhooks.ts';
import { WatchedClient } from '../../platform/database-connections.ts';
import type { PaymentMethod } from '../payment-methods/schemas.ts';
import { addActive } from '../team/service.ts';
import { continuePayments, expireSessions } from './jobs.ts';

/** Checkout sessions: the API, the requests of the page, and that a session is paid once. */

let service: TestService;
let shop: Shop;
before(async () => {
  service = await startTestService({
    settings: {
      SVC_RATE_LIMIT_COUPON_VALIDATION: 'off',
      SVC_RATE_LIMIT_CAPTURE: 'off',
      SVC_RATE_LIMIT_REFUSED_CARDS: 'off',
    },
  });
  shop = await openShop(service);
});
after(() => service.stop());

const cards = { approved: '4242424242424242', declined: '4000000000000002', inDoubt: '4000009999007070' };

async function createSession(body: object = {}): Promise<Reply['body']> {
  const items = [{ product_id: shop.productId, quantity: 1 }];
  const reply = await service.call('POST', '/v1/checkout_sessions', { body: { mode: 'payment', items, ...body } });
  assert.equal(reply.status, 201, reply.text);
  return reply.body;
}

/** `SVC_CHECKOUT_PAYMENTS=1000`: the long version. */
const payments = Number(process.env.SVC_CHECKOUT_PAYMENTS ?? 100);

const tokenOf = ({ url }: Reply['body']): string => url.split('/').at(-1);

async function onPage(token: string, path: string, body?: object): Promise<Reply> {
  const method = body ? 'POST' : 'GET';
  const headers = { origin: service.baseUrl };
  return service.call(method, `/checkout/${token}/${path}`, { key: null, headers, ...(body && { body }) });
}

async function newCardToken(token: string, number = cards.approved): Promise<string> {
  const card = { number, exp_month: '12', exp_year: '2032', cvc: '999' };
  const reply = await onPage(token, 'card_tokens', { card });
  assert.equal(reply.status, 201, reply.text);
  return reply.body.id;
}

const person = (email = `${randomUUID()}@example.com`, phone = somePhone()): Record<string, string> => ({
  email,
  first_name: 'Ada',
  last_name: 'Lovelace',
  phone,
});
const somePhone = (): string => `+1555${String(Math.floor(Math.random() * 1e7)).padStart(7, '0')}`;

async function pay(token: string, body: object = {}, number = cards.approved): Promise<Reply> {
  const { body: session } = await onPage(token, 'session');
  return onPage(token, 'pay', {
    attempt: session.attempt,
    total: session.total,
    card_token: await newCardToken(token, number),
    customer: person(),
    ...body,
  });
}

const eventsOf = async (id: string): Promise<string[]> => {
  const { body } = await service.call('GET', `/v1/events?object_id=${id}`);
  return body.data.map(({ type }: { type: string }) => type);
};

describe('a checkout session', () => {
  it('is paid once, and tells the merchant', async () => {
    const session = await createSession({
      success_url: 'https://shop.example.com/thanks?id={CHECKOUT_SESSION_ID}',
      metadata: { cart: 'c-1' },
    });
    assert.equal(session.status, 'open');
    const token = tokenOf(session);
    const paid = await pay(token);
    assert.equal(paid.status, 200, paid.text);
    assert.equal(paid.body.status, 'completed');
    assert.equal(paid.body.success_url, `https://shop.example.com/thanks?id=${session.id}`);
    const { body: completed } = await service.call('GET', `/v1/checkout_sessions/${session.id}`);
    assert.deepEqual([completed.status, completed.url], ['completed', null]);
    const { body: order } = await service.call('GET', `/v1/orders/${completed.order_id}`);
    assert.deepEqual([order.status, order.metadata], ['succeeded', { cart: 'c-1' }]);
    assert.equal(paid.body.result.order_number, order.order_number);
    assert.deepEqual(await eventsOf(session.id), ['checkout_session.completed']);
    const again = await onPage(token, 'pay', { attempt: 0, total: 4900, card_token: 'cct_used' });
    assert.equal(again.body.status, 'completed');
    const { body: orders } = await service.call('GET', `/v1/orders?customer_id=${order.customer_id}`);
    assert.equal(orders.data.length, 1);
  });

  it('makes one order when it is paid many times at once', async () => {
    const token = tokenOf(await createSession({ metadata: { many: true } }));
    const { body: session } = await onPage(token, 'session');
    const cardTokens = await Promise.all(Array.from({ length: 10 }, () => newCardToken(token)));
    const customer = person();
    const replies = await Promise.all(
      Array.from({ length: payments }, (_, index) =>
        onPage(token, 'pay', { attempt: 0, total: session.total, card_token: cardTokens[index % 10], customer }),
      ),
    );
    const statuses = new Set(replies.map(({ status, body }) => `${status} ${body.status ?? body.error.code}`));
    assert.ok(
      [...statuses].every((text) => ['200 completed', '200 processing'].includes(text)),
      [...statuses].join(),
    );
    const { body: found } = await service.call('GET', `/v1/customers?email=${customer.email}`);
    assert.equal(found.data.length, 1);
    const { body: orders } = await service.call('GET', `/v1/orders?customer_id=${found.data[0].id}`);
    assert.equal(orders.data.length, 1);
  });

  it('makes a declined payment a failed order, and the next one a new order', async () => {
    const session = await createSession();
    const token = tokenOf(session);
    const customer = person();
    const declined = await pay(token, { customer, save_card: true }, cards.declined);
    assert.deepEqual([declined.status, declined.body.status, declined.body.attempt], [200, 'open', 1]);
    assert.match(declined.body.failure.message, /card/);
    const paid = await pay(token, { customer, save_card: true });
    assert.deepEqual([paid.body.status, paid.body.failure], ['completed', null]);
    const { body: found } = await service.call('GET', `/v1/customers?email=${customer.email}`);
    const { body: methods } = await service.call('GET', `/v1/customers/${found.data[0].id}/payment_methods`);
    const listed = (methods.data as PaymentMethod[]).map(({ card, is_default }) => [card.last4, is_default]);
    assert.deepEqual(listed, [
      ['4242', true],
      ['0002', false],
    ]);
    const { body: orders } = await service.call('GET', `/v1/orders?customer_id=${found.data[0].id}`);
    assert.deepEqual(
      orders.data.map(({ status }: { status: string }) => status),
      ['succeeded', 'failed'],
    );
  });

  it('repeats the outcome of a payment whose answer was lost', async () => {
    const token = tokenOf(await createSession());
    const { body: session } = await onPage(token, 'session');
    const body = {
      attempt: 0,
      total: session.total,
      card_token: await newCardToken(token, cards.declined),
      customer: person(),
    };
    const first = await onPage(token, 'pay', body);
    const second = await onPage(token, 'pay', body);
    assert.deepEqual(second.body, first.body);
    assert.equal(second.body.attempt, 1);
  });

  it('charges nothing if the total has changed since it was shown', async () => {
    const product = await createProduct(service, 1000);
    const token = tokenOf(await createSession({ items: [{ product_id: product, quantity: 2 }] }));
    const { body: shown } = await onPage(token, 'session');
    assert.equal(shown.total, 2000);
    const card_token = await newCardToken(token);
    const changed = await service.call('PATCH', `/v1/products/${product}`, {
      body: { pricing: { amount: 1500 } },
      idempotencyKey: randomUUID(),
    });
    assert.equal(changed.status, 200, changed.text);
    const customer = person();
    const refused = await onPage(token, 'pay', { attempt: 0, total: shown.total, card_token, customer });
    assert.deepEqual([refused.body.notice, refused.body.total, refused.body.status], ['total_changed', 3000, 'open']);
    const { body: found } = await service.call('GET', `/v1/customers?email=${customer.email}`);
    assert.equal(found.data.length, 0);
    const paid = await onPage(token, 'pay', { attempt: 0, total: 3000, card_token, customer });
    assert.equal(paid.body.result.total, 3000);
  });

  it('sells an adjustable quantity within its range, with a coupon', async () => {
    const product = await createProduct(service, 1000);
    const { code } = await someCoupon(service, { percentage: 50 });
    const items = [{ product_id: product, quantity: 1, quantity_max: 3 }];
    const token = tokenOf(await createSession({ items, allow_coupons: true }));
    const quantities = [{ product_id: product, quantity: 3 }];
    const quote = await onPage(token, 'quote', { quantities, coupon_code: code });
    assert.deepEqual([quote.body.subtotal, quote.body.discount, quote.body.total], [3000, 1500, 1500]);
    const tooMany = await onPage(token, 'quote', { quantities: [{ product_id: product, quantity: 4 }] });
    assert.deepEqual([tooMany.status, tooMany.body.error.param], [400, 'quantities[0].quantity']);
    const unknown = await onPage(token, 'quote', { coupon_code: 'NOTHING' });
    assert.deepEqual([unknown.status, unknown.body.error.param], [400, 'coupon_code']);
    const [problem] = unknown.body.error.field_errors;
    assert.equal(problem?.message, 'This code is not valid. Please check the spelling.');
    const paid = await pay(token, { quantities, coupon_code: code, total: 1500 });
    assert.deepEqual([paid.body.status, paid.body.result.total], ['completed', 1500]);
  });

  it('starts a subscription', async () => {
    const plan = await somePlan(service, { amount: 1900 });
    const session = await createSession({ mode: 'subscription', items: undefined, plan_id: plan.id });
    const paid = await pay(tokenOf(session));
    assert.equal(paid.body.status, 'completed', paid.text);
    const { body: completed } = await service.call('GET', `/v1/checkout_sessions/${session.id}`);
    const { body: subscription } = await service.call('GET', `/v1/subscriptions/${completed.subscription_id}`);
    assert.deepEqual([subscription.status, subscription.latest_order_id], ['active', completed.order_id]);
  });
});

describe('the customer of a checkout session', () => {
  it('is the one with the email address, who stays as they are', async () => {
    const { body: known } = await service.call('POST', '/v1/customers', { body: person() });
    const token = tokenOf(await createSession());
    const paid = await pay(token, { customer: { ...person(known.email), first_name: 'Eve' } });
    assert.equal(paid.body.status, 'completed', paid.text);
    const { body: after } = await service.call('GET', `/v1/customers/${known.id}?expand=payment_methods`);
    assert.deepEqual([after.first_name, after.default_payment_method_id, after.payment_methods], ['Ada', null, []]);
    const { body: orders } = await service.call('GET', `/v1/orders?customer_id=${known.id}`);
    assert.equal(orders.data.length, 1);
    const { body: listed } = await service.call('GET', `/v1/customers/${known.id}/payment_methods`);
    assert.equal(listed.data.length, 0);
  });

  it('makes no difference to a payment whose card is refused: no statement is about a customer', async (t) => {
    const { body: known } = await service.call('POST', '/v1/customers', { body: person() });
    const token = tokenOf(await createSession());
    const used = await newCardToken(token);
    await pay(tokenOf(await createSession()), { card_token: used });
    const bare = { attempt: 0, total: 4900 };
    const needsBilling = await newCardToken(token, '4000009999001000');
    const query = t.mock.method(WatchedClient.prototype, 'query');
    const statementsOf = async (email: string, card_token: string): Promise<string[]> => {
      query.mock.resetCalls();
      const reply = await onPage(token, 'pay', { ...bare, card_token, customer: person(email) });
      assert.equal(reply.status, 400, reply.text);
      const texts = query.mock.calls.map(
        ({ arguments: [statement] }) => (statement as unknown as { text: string }).text,
      );
      // Not what the service asks from time to time.
      return texts.filter((text) => /checkout|card|customer|payment/.test(text));
    };
    for (const card of ['cct_none', used, needsBilling]) {
      const stranger = await statementsOf(`${randomUUID()}@example.com`, card);
      assert.ok(stranger.some((text) => text.includes('card_tokens')));
      assert.deepEqual(
        stranger.filter((text) => /\bcustomers\b/.test(text)),
        [],
      );
      assert.deepEqual(await statementsOf(known.email, card), stranger);
    }
  });

  it('may give a phone number that another customer has', async () => {
    const { body: known } = await service.call('POST', '/v1/customers', { body: person() });
    const customer = person(undefined, known.phone);
    const paid = await pay(tokenOf(await createSession()), { customer });
    assert.equal(paid.body.status, 'completed', paid.text);
    const { body: found } = await service.call('GET', `/v1/customers?email=${customer.email}`);
    const { body: changed } = await service.call('PATCH', `/v1/customers/${found.data[0].id}`, {
      body: { last_name: 'Byron' },
    });
    assert.deepEqual([changed.last_name, changed.phone], ['Byron', known.phone]);
  });

  it('sees saved cards only if the merchant named the customer', async () => {
    const named = tokenOf(await createSession({ customer_id: shop.customerId }));
    const { body: session } = await onPage(named, 'session');
    assert.ok(session.saved_cards.length > 0);
    const [card] = session.saved_cards;
    const anonymous = tokenOf(await createSession());
    const { body: unnamed } = await onPage(anonymous, 'session');
    assert.deepEqual([unnamed.customer, unnamed.saved_cards], [null, []]);
    const stolen = await pay(anonymous, { card_token: undefined, payment_method_id: card.id });
    assert.equal(stolen.status, 404);
    const paid = await onPage(named, 'pay', { attempt: 0, total: session.total, payment_method_id: card.id });
    assert.equal(paid.body.status, 'completed', paid.text);
  });
});

describe('a checkout session that is over', () => {
  it('expires by the clock of the company, or at once', async () => {
    const session = await createSession({ expires_in: 300 });
    const other = await createSession();
    const third = await createSession();
    const expired = await service.call('POST', `/v1/checkout_sessions/${other.id}/expire`);
    assert.deepEqual([expired.status, expired.body.status], [200, 'expired']);
    const twice = await service.call('POST', `/v1/checkout_sessions/${other.id}/expire`);
    assert.deepEqual([twice.status, twice.body.error.code], [422, 'invalid_state_transition']);
    const { body: advanced } = await advance(service, { by: { minutes: 6 } });
    const happened = advanced.happened.find(({ object_id }: { object_id: string }) => object_id === session.id);
    assert.deepEqual([happened?.type, happened?.at], ['checkout_session.expired', session.expires_at]);
    const { body: page } = await onPage(tokenOf(session), 'session');
    assert.equal(page.status, 'expired');
    assert.equal((await onPage(tokenOf(session), 'pay', { attempt: 0, total: 1 })).body.status, 'expired');
    await service.db.query(`UPDATE checkout_sessions SET expires_at = now() WHERE id = $1`, [third.id]);
    await expireSessions({ name: service.company.shard, db: service.db }, 100);
    for (const { id } of [session, third]) assert.deepEqual(await eventsOf(id), ['checkout_session.expired']);
    const { body } = await service.call('GET', '/v1/checkout_sessions?status=expired');
    assert.ok(body.data.some(({ id }: { id: string }) => id === session.id));
  });

  it('does not expire while a payment is in progress, and a worker ends it', async () => {
    const session = await createSession({ expires_in: 300 });
    const token = tokenOf(session);
    const { body: page } = await onPage(token, 'session');
    const paying = await onPage(token, 'pay', {
      attempt: 0,
      total: page.total,
      card_token: await newCardToken(token, cards.inDoubt),
      customer: person(),
    });
    assert.equal(paying.body.status, 'processing', paying.text);
    const refused = await service.call('POST', `/v1/checkout_sessions/${session.id}/expire`);
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'resource_in_use']);
    await service.db.query(`UPDATE checkout_payments SET check_at = now() WHERE session_id = $1`, [session.id]);
    const { orders, subscriptions } = service.paymentsOn(service.company.shard);
    const shard = { name: service.company.shard, db: service.db, clock: service.clock };
    let status = 'processing';
    for (let look = 1; look <= 50 && status === 'processing'; look += 1) {
      await continuePayments(shard, { db: service.db, orders, subscriptions }, silentLog, 10);
      ({ status } = (await onPage(token, 'session')).body);
      await service.db.query(`UPDATE checkout_payments SET check_at = now() WHERE session_id = $1 AND state = 'open'`, [
        session.id,
      ]);
    }
    assert.notEqual(status, 'processing');
  });
});

describe('a payment that begins at the last moment', () => {
  it('is never lost to the expiry of its session', async () => {
    const tokens = await Promise.all(
      Array.from({ length: 15 }, async () => {
        const session = await createSession();
        const token = tokenOf(session);
        return { session, token, card_token: await newCardToken(token) };
      }),
    );
    let isRunning = true;
    const worker = (async () => {
      while (isRunning) await expireSessions({ name: service.company.shard, db: service.db }, 100);
    })();
    for (const { session, token, card_token } of tokens) {
      const { body: page } = await onPage(token, 'session');
      await service.db.query(
        `UPDATE checkout_sessions s SET expires_at = now() + (c.clock_offset_ms + 15) * interval '1 ms'
         FROM companies c WHERE c.id = s.company_id AND s.id = $1`,
        [session.id],
      );
      await onPage(token, 'pay', { attempt: 0, total: page.total, card_token, customer: person() });
    }
    isRunning = false;
    await worker;
    const lost = await service.db.query(
      `SELECT 1 FROM checkout_payments p JOIN checkout_sessions s ON s.company_id = p.company_id AND s.id = p.session_id
       WHERE p.state = 'succeeded' AND (s.status <> 'completed' OR EXISTS (SELECT 1 FROM events e
         WHERE e.company_id = s.company_id AND e.object_id = s.id AND e.type = 'checkout_session.expired'))`,
    );
    assert.deepEqual(lost, []);
  });

  it('shows that it is in progress, although it holds the last use of its coupon', async () => {
    const { code } = await someCoupon(service, { percentage: 50, max_redemptions: 1 });
    const token = tokenOf(await createSession({ allow_coupons: true }));
    const { body: quote } = await onPage(token, 'quote', { coupon_code: code });
    const paying = await pay(token, { coupon_code: code, total: quote.total }, cards.inDoubt);
    assert.deepEqual([paying.status, paying.body.status, paying.body.total], [200, 'processing', quote.total]);
    assert.equal((await onPage(token, 'session')).status, 200);
  });

  it('creates nothing after a day, when its key may be forgotten', async () => {
    const session = await createSession();
    const customer = person();
    const { body: made } = await service.call('POST', '/v1/customers', { body: customer });
    await service.db.query(
      `INSERT INTO checkout_payments (company_id, session_id, number, state, input, total, check_at, valid_until)
       VALUES ($1, $2, 0, 'open', $3, 4900, now(), now() - interval '1 s')`,
      [
        service.company.id,
        session.id,
        { kind: 'order', input: { customer_id: made.id, items: [{ product_id: shop.productId, quantity: 1 }] } },
      ],
    );
    const shard = { name: service.company.shard, db: service.db, clock: service.clock };
    const { orders, subscriptions } = service.paymentsOn(service.company.shard);
    await continuePayments(shard, { db: service.db, orders, subscriptions }, silentLog, 10);
    const { body: page } = await onPage(tokenOf(session), 'session');
    assert.deepEqual([page.status, page.attempt], ['open', 1]);
    assert.equal((await service.call('GET', `/v1/orders?customer_id=${made.id}`)).body.data.length, 0);
  });
});

describe('the link of a session', () => {
  it('is for callers who can create sessions, and never in the request log', async () => {
    const session = await createSession();
    const reader = await service.createKey(service.company, { permissions: ['checkout_sessions:read'] });
    const { body } = await service.call('GET', `/v1/checkout_sessions/${session.id}`, { key: reader });
    assert.equal(body.url, null);
    const { headers } = await service.call('GET', `/v1/checkout_sessions/${session.id}`);
    const path = `/v1/requests/${headers.get('svc-request-id')}`;
    const logged = await eventually('it is logged', async () => {
      const reply = await service.call('GET', path);
      return reply.status === 200 && reply.text;
    });
    assert.ok(logged.includes('/checkout/***') && !logged.includes(tokenOf(session)), logged);
  });

  it('shows the result of a payment for a day, and after that only that it was paid', async () => {
    const session = await createSession();
    const token = tokenOf(session);
    await pay(token);
    const more = await onPage(token, 'card_tokens', {
      card: { number: cards.approved, exp_month: '12', exp_year: '2032', cvc: '999' },
    });
    assert.equal(more.status, 400);
    await service.db.query(
      `UPDATE checkout_sessions SET completed_at = completed_at - interval '25 hours' WHERE id = $1`,
      [session.id],
    );
    const { body: later } = await onPage(token, 'session');
    assert.deepEqual([later.status, later.result, later.customer, later.lines], ['completed', null, null, []]);
  });
});

describe('bad input', () => {
  it('is refused with the field', async () => {
    const attempts: [object, string][] = [
      [{ success_url: 'http://shop.example.com' }, 'success_url'],
      [{ success_url: 'javascript:alert(1)' }, 'success_url'],
      [{ cancel_url: 'https://user:secret@shop.example.com' }, 'cancel_url'],
      [{ items: undefined }, 'items'],
      [{ plan_id: randomUUID() }, 'plan_id'],
      [{ mode: 'subscription' }, 'items'],
      [{ items: [{ product_id: randomUUID(), quantity: 1 }] }, 'items[0].product_id'],
      [{ items: [{ product_id: shop.productId, quantity: 2, quantity_max: 1 }] }, 'items[0].quantity_max'],
      [{ customer_id: randomUUID() }, 'customer_id'],
      [{ expires_in: 1 }, 'expires_in'],
    ];
    for (const [body, param] of attempts) {
      const items = [{ product_id: shop.productId, quantity: 1 }];
      const reply = await service.call('POST', '/v1/checkout_sessions', { body: { mode: 'payment', items, ...body } });
      assert.ok(reply.status === 400 || reply.status === 404, reply.text);
      assert.equal(reply.body.error.param, param, reply.text);
    }
  });

  it('in a name is refused if it is a web address or longer than 80 characters, since emails repeat it', async () => {
    const token = tokenOf(await createSession());
    for (const field of ['first_name', 'last_name', 'company']) {
      for (const text of ['Visit http://evil.example', 'WWW.evil.example', 'Win at evil．example/x', 'A'.repeat(81)]) {
        const reply = await pay(token, { customer: { ...person(), [field]: text } });
        assert.equal(reply.status, 400, reply.text);
        assert.equal(reply.body.error.param, `customer.${field}`);
        assert.match(reply.body.error.field_errors[0].message, /must not contain a web address|80 characters/);
      }
    }
    const long = 'Å'.repeat(80);
    const paid = await pay(token, { customer: { ...person(), first_name: long, last_name: long, company: long } });
    assert.equal(paid.body.status, 'completed', paid.text);
  });

  it('as tax ID is checked, and kept with the company of a new customer', async () => {
    const token = tokenOf(await createSession({ collect: ['company'] }));
    for (const tax_id of ['DE12345', 'Visit evil.example/1']) {
      const refused = await pay(token, { customer: { ...person(), company: 'Engines', tax_id } });
      assert.deepEqual([refused.status, refused.body.error.param], [400, 'customer.tax_id']);
    }
    const email = `${randomUUID()}@example.com`;
    const customer = { ...person(email), company: 'Engines', tax_id: 'de 123 456 789' };
    assert.equal((await pay(token, { customer })).body.status, 'completed');
    const byEmail = async () => (await service.call('GET', `/v1/customers?email=${email}`)).body.data[0];
    assert.equal((await byEmail()).tax_id, 'DE123456789');
    const other = tokenOf(await createSession({ collect: ['company'] }));
    const phone = somePhone();
    assert.equal(
      (await pay(other, { customer: { ...customer, phone, tax_id: 'ATU12345678' } })).body.status,
      'completed',
    );
    assert.equal((await byEmail()).tax_id, 'DE123456789', 'a stranger does not change the data of a customer');
  });

  it('leads nowhere with a wrong token, or from another page', async () => {
    const token = tokenOf(await createSession());
    const wrong = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`;
    for (const unknown of [wrong, 'A'.repeat(44), 'z'.repeat(44), 'short', '%00']) {
      assert.equal((await onPage(unknown, 'session')).status, 404);
    }
    const elsewhere = await service.call('POST', `/checkout/${token}/quote`, {
      key: null,
      headers: { origin: 'https://evil.example' },
      body: {},
    });
    assert.equal(elsewhere.status, 400);
  });

  it('asks for what the session collects', async () => {
    const token = tokenOf(await createSession({ collect: ['shipping'] }));
    const reply = await pay(token, { customer: undefined });
    const fields = reply.body.error.field_errors.map(({ field }: { field: string }) => field);
    assert.deepEqual(fields, ['customer', 'shipping.line1', 'shipping.city', 'shipping.country']);
    const shipping = { name: 'Ada', line1: '1 Main St', city: 'Springfield', country: 'US' };
    assert.equal((await pay(token, { shipping })).body.status, 'completed');
  });
});

it('a payment is refused while the company is closed after a restore, and nothing is charged later', async () => {
  const session = await createSession();
  const token = tokenOf(session);
  const gate = (state: string | null): Promise<unknown> =>
    service.db.query('UPDATE companies SET gate = $2 WHERE id = $1', [service.company.id, state]);
  await gate('closed');
  const refused = await pay(token);
  await gate(null);
  assert.deepEqual([refused.status, refused.body.error.code], [503, 'restore_in_progress'], refused.text);
  await service.db.query(`UPDATE checkout_payments SET check_at = now() WHERE state = 'open'`);
  const shard = { name: service.company.shard, db: service.db, clock: service.clock };
  const { orders, subscriptions } = service.paymentsOn(service.company.shard);
  await continuePayments(shard, { db: service.db, orders, subscriptions }, silentLog, 20);
  assert.equal((await onPage(token, 'session')).body.status, 'open');
  assert.equal((await pay(token)).body.status, 'completed');
});

describe('the preview of a draft', () => {
  const path = '/dashboard/checkout_preview';

  it('shows what the page would, with what is typed and not saved, and writes nothing', async () => {
    const owner = await signUp(service);
    const product = { name: 'Tea pot', description: 'Round.', pricing: { amount: 4900, currency: 'usd' }, sku: 'pot' };
    const made = await owner.in(
      'POST',
      '/v1/products',
      { ...product, requires_shipping: true },
      { idempotencyKey: 'p' },
    );
    assert.equal(made.status, 201, made.text);
    const count = async (): Promise<unknown> =>
      service.db.query(`SELECT (SELECT count(*) FROM checkout_sessions), (SELECT count(*) FROM events),
        (SELECT count(*) FROM products), (SELECT count(*) FROM audit_entries), (SELECT count(*) FROM company_profiles)`);
    const before = await count();
    const items = [{ product_id: made.body.id, quantity: 2 }];
    const profile = { display_name: 'Draft Tea', color: '#0a7d5c' };
    const shown = await owner.in('POST', path, { mode: 'payment', items, collect: ['shipping'], profile });
    assert.equal(shown.status, 200, shown.text);
    const { merchant, lines, total, collect, status, livemode } = shown.body;
    assert.deepEqual(
      [merchant.name, merchant.color, total, status, livemode],
      ['Draft Tea', '#0a7d5c', 9800, 'open', false],
    );
    assert.deepEqual([lines[0].name, lines[0].quantity, collect], ['Tea pot', 2, ['shipping']]);
    const typed = { name: 'Autumn tea', amount: 1250, currency: 'eur' };
    const other = await owner.in('POST', path, { mode: 'payment', product: typed });
    assert.deepEqual([other.body.lines[0].name, other.body.total, other.body.currency], ['Autumn tea', 1250, 'eur']);
    assert.equal((await owner.in('POST', path, { mode: 'subscription' })).body.lines.length, 1, 'an example');
    const cycle = { interval: 'month', interval_count: 1, anchor_day: 'signup_date' };
    const plan = { name: 'Tea club', amount: 1900, one_time_amount: 500, currency: 'usd', billing_cycle: cycle };
    const club = (await owner.in('POST', path, { mode: 'subscription', plan: { ...plan, billing_cycles: 0 } })).body;
    assert.deepEqual([club.mode, club.plan.name, club.total], ['subscription', 'Tea club', 2400]);
    const terms = { percentage: 12.5, amount: null, currency: 'usd', max_discount_amount: 500 };
    const { body } = await owner.in('POST', path, { mode: 'payment', coupon: { code: 'tea', ...terms } });
    assert.deepEqual([body.coupon.code, body.discount, body.total], ['TEA', 500, 4400]);
    assert.deepEqual(body.card_brands, ['visa', 'mastercard', 'amex', 'discover']);
    assert.deepEqual(await count(), before);
    const stranger = await signUp(service);
    assertRefused(await stranger.in('POST', path, { mode: 'payment', items }), 400, 'invalid_request');
    assert.equal((await service.call('POST', path, { key: null, body: { mode: 'payment' } })).status, 401);
  });

  it('is in a page without a session, the only one that our own pages can show in a frame', async () => {
    const framedBy = async (address: string): Promise<string | undefined> =>
      /frame-ancestors ([^;]+)/.exec((await fetch(address)).headers.get('content-security-policy') ?? '')?.[1];
    const { url } = await createSession();
    const customerPage = `${service.baseUrl}/customer/abc`;
    assert.equal(await framedBy(`${service.baseUrl}/checkout/preview`), "'self'");
    assert.equal(await framedBy(service.baseUrl + new URL(url).pathname), "'none'");
    assert.equal(await framedBy(customerPage), "'none'");
    for (const request of ['session', 'quote', 'pay', 'card_tokens']) {
      const { status } = await onPage('preview', request, request === 'session' ? undefined : {});
      assert.equal(status, 404, request);
    }
  });
});

it('says where the receipt went: a sandbox sends it to members of its team only', async () => {
  const settings = { SMTP_URL: 'smtp://127.0.0.1:9', SVC_MAIL_FROM: 'pay@example.com' };
  const sending = await startTestService({ settings });
  try {
    const { productId } = await openShop(sending);
    const member = { email: 'ada@example.com', first_name: 'Ada', last_name: 'Lovelace' };
    await addActive(sending.db, sending.company.id, Date.now(), member, 'Viewer');
    const expected = { 'ada@example.com': 'sent', 'grace@example.com': 'kept' };
    for (const [to, state] of Object.entries(expected)) {
      const items = [{ product_id: productId, quantity: 1 }];
      const made = await sending.call('POST', '/v1/checkout_sessions', { body: { mode: 'payment', items } });
      const path = new URL(made.body.url).pathname;
      const post = (name: string, body: object): Promise<Reply> =>
        sending.call('POST', `${path}/${name}`, { key: null, headers: { origin: sending.baseUrl }, body });
      const card = { number: cards.approved, exp_month: '12', exp_year: '2032', cvc: '999' };
      const card_token = (await post('card_tokens', { card })).body.id;
      const paid = await post('pay', { attempt: 0, total: 4900, card_token, customer: person(to) });
      assert.deepEqual(paid.body.result?.receipt_email, { to, state }, paid.text);
    }
  } finally {
    await sending.stop();
  }
});
