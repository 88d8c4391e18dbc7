import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it, mock } from 'node:test';
import { companyAddress, hashPageToken } from '../../http/page-token.ts';
import { limits } from '../../limits.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import { createMemoryRateLimiter } from '../../platform/rate-limiter/memory.ts';
import { getCustomerEmails } from '../customer-emails/service.ts';
import { sendDueMails } from '../mails/jobs.ts';
import { addActive } from '../team/service.ts';
import { customerMailsToday, latestMails, mailsToday } from '../mails/service.ts';
import { changeProfile } from '../profile/service.ts';
import { pauseSubscription, resumeSubscription } from '../subscriptions/service.ts';
import {
  addCard,
  cards,
  created,
  moveTo,
  openScene,
  operator,
  ordersOf,
  type Scene,
  typesOf,
} from '../../../tests/support/billing.ts';
import { invoicesFor, numberNow } from '../../../tests/support/invoices.ts';
import {
  assertInvalid,
  assertRefused,
  capture,
  checkAllOpen,
  contextOf,
  refund,
  until,
} from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { readSubscription } from '../../../tests/support/subscriptions.ts';
import { forgetCustomerSessions } from './jobs.ts';
import { customerPageLink } from './service.ts';

/** Customer sessions: the API, and what the page of a customer shows and does. */

let service: TestService;
const limiter = createMemoryRateLimiter();
before(async () => {
  const settings = { SVC_TRUST_PROXY: '127.0.0.1', SVC_RATE_LIMIT_CAPTURE: 'off' };
  service = await startTestService({ limiter, settings });
});
after(() => service.stop());

const create = (body: object, options: object = {}): Promise<Reply> =>
  service.call('POST', '/v1/customer_sessions', { body, ...options });

async function open({ key, customer_id }: Scene, more: object = {}): Promise<string> {
  const reply = await create({ customer_id, ...more }, { key });
  assert.equal(reply.status, 201, reply.text);
  return reply.body.url.split('/').at(-1);
}

function onPage(token: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Reply> {
  return service.call(body ? 'POST' : 'GET', `/customer/${token}/${path}`, {
    key: null,
    headers: { origin: service.baseUrl, ...headers },
    ...(body && { body }),
  });
}

async function done(token: string, path: string, body: object = {}): Promise<Reply['body']> {
  const reply = await onPage(token, path, body);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

const account = async (token: string): Promise<Reply['body']> => {
  const reply = await onPage(token, 'account');
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
};

async function cardToken(token: string, number: string): Promise<string> {
  const card = { number, exp_month: '12', exp_year: '2036', cvc: '999' };
  const reply = await onPage(token, 'card_tokens', { card });
  assert.equal(reply.status, 201, reply.text);
  return reply.body.id;
}

const monthLater = (iso: string): string => new Date(Date.parse(iso) + 60_000).toISOString();

describe('POST /v1/customer_sessions', () => {
  it('returns a link for one customer that is shown once and valid for an hour', async () => {
    const scene = await openScene(service);
    const { key, customer_id } = scene;
    const idempotencyKey = randomUUID();
    const body = { customer_id: customer_id.toUpperCase(), return_url: 'https://shop.example.com/account' };
    const reply = await create(body, { key, idempotencyKey });
    assert.equal(reply.status, 201, reply.text);
    assert.match(reply.body.url, /^http:\/\/service\.test\/customer\/[0-9A-Za-z]{44}$/);
    assert.equal(reply.body.customer_id, customer_id);
    const lifeMs = Date.parse(reply.body.expires_at) - service.clock.nowMs();
    assert.ok(Math.abs(lifeMs - limits.customerSessionSeconds * 1000) < 5_000, String(lifeMs));
    assert.deepEqual((await create(body, { key, idempotencyKey })).body, reply.body);
    const read = await service.call('GET', `/v1/customer_sessions/${reply.body.id}`, { key });
    assert.deepEqual(read.body, { ...reply.body, url: null });
    const token = reply.body.url.split('/').at(-1);
    assert.equal((await account(token)).return_url, 'https://shop.example.com/account');
    const [stored] = await service.db.query<{ row: string }>(
      'SELECT customer_sessions::text AS row FROM customer_sessions WHERE id = $1',
      [reply.body.id],
    );
    assert.ok(stored && !stored.row.includes(token), 'the token itself is not stored');
  });

  it('refuses customers that do not exist, of another company or deleted, and URLs that are not https', async () => {
    const { key, customer_id } = await openScene(service);
    const other = await openScene(service);
    for (const id of [randomUUID(), other.customer_id]) {
      assertRefused(await create({ customer_id: id }, { key }), 404, 'resource_not_found', 'customer_id');
    }
    await service.call('DELETE', `/v1/customers/${other.customer_id}`, { key: other.key });
    assert.ok([400, 404].includes((await create({ customer_id: other.customer_id }, { key: other.key })).status));
    for (const return_url of ['http://shop.example.com', 'javascript:alert(1)', 'https://a:b@shop.example.com']) {
      assertInvalid(await create({ customer_id, return_url }, { key }), 'return_url');
    }
  });
});

describe('the link of a customer', () => {
  it('opens nothing if it is unknown, of another kind or expired, also by an advanced sandbox clock', async () => {
    const scene = await openScene(service);
    const token = await open(scene);
    for (const wrong of [token.slice(0, -1), `${token.slice(0, -1)}!`, token.toLowerCase(), 'x'.repeat(44)]) {
      assert.equal((await onPage(wrong, 'account')).status, 404, wrong);
    }
    const product = await service.call('POST', '/v1/products', {
      key: scene.key,
      idempotencyKey: randomUUID(),
      body: {
        name: 'Tea pot',
        description: null,
        pricing: { amount: 4900, currency: 'usd' },
        requires_shipping: false,
        sku: 'pot',
      },
    });
    const checkout = await service.call('POST', '/v1/checkout_sessions', {
      key: scene.key,
      body: { mode: 'payment', items: [{ product_id: product.body.id, quantity: 1 }] },
    });
    const checkoutToken = checkout.body.url.split('/').at(-1);
    assert.equal((await onPage(checkoutToken, 'account')).status, 404);
    await moveTo(service, scene.key, new Date(Date.now() + 40 * 86_400_000).toISOString());
    assert.equal((await account(token)).customer.first_name, 'Ada');
    await service.db.query('UPDATE customer_sessions SET expires_at = now() WHERE customer_id = $1', [
      scene.customer_id,
    ]);
    assert.equal((await onPage(token, 'account')).status, 404);
    assert.equal(await forgetCustomerSessions(service.db, service.clock, 100), 0);
    const inEightDays = { nowMs: () => service.clock.nowMs() + 8 * 86_400_000 };
    assert.ok((await forgetCustomerSessions(service.db, inEightDays, 100)) > 0);
  });

  const change = (scene: Scene, body: object): Promise<Reply> =>
    service.call('PATCH', `/v1/customers/${scene.customer_id}`, { key: scene.key, body });
  const newEmail = (): string => `${randomUUID()}@example.com`;
  const waiting = async (): Promise<boolean> =>
    (
      await service.db.query(
        "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
      )
    ).length > 0;

  it('ends when the email address changes or the customer is deleted, and not with another change', async () => {
    const scene = await openScene(service);
    const { body: customer } = await service.call('GET', `/v1/customers/${scene.customer_id}`, { key: scene.key });
    const [token, mailed] = [await open(scene), await open(scene)];
    await service.db.query(
      `UPDATE customer_sessions SET expires_at = now() + interval '7 days' WHERE token_hash = $1`,
      [hashPageToken(mailed)],
    );
    assert.equal((await change(scene, { first_name: 'Grace', email: customer.email.toUpperCase() })).status, 200);
    for (const link of [token, mailed]) assert.equal((await account(link)).customer.first_name, 'Grace');
    assert.equal((await change(scene, { email: newEmail() })).status, 200);
    for (const link of [token, mailed]) {
      assert.equal((await onPage(link, 'account')).status, 404);
      assert.equal((await onPage(link, 'payments', { starting_after: randomUUID() })).status, 404);
      const card = { number: '4242424242424242', exp_month: '12', exp_year: '2036', cvc: '999' };
      assert.equal((await onPage(link, 'card_tokens', { card })).status, 404);
    }
    const later = await open(scene);
    assert.equal((await change(scene, { email: customer.email })).status, 200);
    assert.equal((await onPage(token, 'account')).status, 404, 'the address of before does not bring it back');
    assert.equal((await onPage(later, 'account')).status, 404);
    const last = await open(scene);
    await service.call('DELETE', `/v1/customers/${scene.customer_id}`, { key: scene.key });
    assert.equal((await onPage(last, 'payments', { starting_after: randomUUID() })).status, 404);
    const left = 'SELECT 1 FROM customer_sessions WHERE customer_id = $1';
    assert.equal((await service.db.query(left, [scene.customer_id])).length, 0);
  });

  it('can be ended alone, or with all others of the customer', async () => {
    const scene = await openScene(service);
    const { key, customer_id } = scene;
    const made = (await create({ customer_id }, { key })).body;
    const [token, other] = [made.url.split('/').at(-1), await open(scene)];
    const end = (): Promise<Reply> => service.call('DELETE', `/v1/customer_sessions/${made.id}`, { key });
    assert.deepEqual([(await end()).body.deleted, (await end()).status], [true, 404]);
    assert.equal((await onPage(token, 'account')).status, 404);
    assert.equal((await account(other)).customer.first_name, 'Ada');
    const others = await openScene(service);
    const theirs = await open(others);
    const all = `/v1/customers/${customer_id.toUpperCase()}/customer_sessions`;
    assert.deepEqual((await service.call('DELETE', all, { key })).body, { customer_id, deleted_count: 1 });
    assert.deepEqual((await service.call('DELETE', all, { key })).body, { customer_id, deleted_count: 0 });
    assert.equal((await onPage(other, 'account')).status, 404);
    assert.equal((await account(theirs)).customer.first_name, 'Ada');
    assertRefused(await service.call('DELETE', all, { key: others.key }), 404, 'resource_not_found');
    const reads = await service.createKey(scene.company, {
      permissions: ['customer_sessions:read', 'customers:write'],
    });
    assertRefused(await service.call('DELETE', all, { key: reads }), 403, 'insufficient_permissions');
  });

  it('is not made for an address that the customer is just giving up', async () => {
    const scene = await openScene(service);
    const { body: customer } = await service.call('GET', `/v1/customers/${scene.customer_id}`, { key: scene.key });
    const made = (email: string, db = service.db) =>
      customerPageLink(
        { ...contextOf(service, scene.company), db },
        { baseUrl: '' },
        { customerId: customer.id, email },
      );
    const email = newEmail();
    const first = await service.db.transaction(async (transaction) => {
      await transaction.query('UPDATE customers SET email = $2, email_key = $2 WHERE id = $1', [customer.id, email]);
      const link = made(customer.email);
      await until('the link waits for the change', waiting);
      return { link };
    });
    assert.equal(await first.link, undefined);
    const second = await service.db.transaction(async (transaction) => {
      const link = await made(email, transaction as typeof service.db);
      const changed = change(scene, { email: newEmail() });
      await until('the change waits for the link', waiting);
      return { token: link?.url.split('/').at(-1) ?? '', changed };
    });
    assert.equal((await second.changed).status, 200);
    assert.equal((await onPage(second.token, 'account')).status, 404);
  });

  it('shows nothing that was read after it had ended', async () => {
    const scene = await openScene(service);
    const token = await open(scene);
    const email = newEmail();
    const { shown } = await service.db.transaction(async (transaction) => {
      await transaction.query('LOCK TABLE payment_methods IN ACCESS EXCLUSIVE MODE');
      const asked = onPage(token, 'account');
      await until('the page waits', waiting);
      await transaction.query('UPDATE customers SET email = $2, email_key = $2 WHERE id = $1', [
        scene.customer_id,
        email,
      ]);
      return { shown: asked };
    });
    assert.equal((await shown).status, 404);
  });

  it('does nothing for requests from other sites', async () => {
    const scene = await openScene(service);
    const token = await open(scene);
    const { id } = await created(service, scene);
    for (const origin of ['https://evil.example', 'null', '']) {
      assert.equal((await onPage(token, `subscriptions/${id}/cancel`, {}, { origin })).status, 400, origin);
    }
    assert.equal((await readSubscription(service, id, { key: scene.key })).status, 'active');
  });

  it('shows what belongs to its customer and nothing of others', async () => {
    const scene = await openScene(service);
    const { id } = await created(service, scene);
    const other = await service.call('POST', '/v1/customers', {
      key: scene.key,
      body: { email: `${randomUUID()}@example.com`, first_name: 'Bob', last_name: 'Byte', phone: '+15559990001' },
    });
    await capture(service, other.body.id, undefined, { key: scene.key });
    const foreign = await created(service, { ...scene, customer_id: other.body.id });
    const token = await open(scene);
    const shown = await account(token);
    assert.deepEqual(
      shown.subscriptions.map((one: { id: string }) => one.id),
      [id],
    );
    assert.equal(shown.payments.items.length, 1);
    assert.equal(shown.cards.length, 1);
    assert.doesNotMatch(JSON.stringify(shown), /Bob|Byte|fingerprint/);
    for (const action of ['cancel', 'end_renewal', 'keep_renewal', 'pay']) {
      const body = action === 'pay' ? { declines: 1 } : {};
      const reply = await onPage(token, `subscriptions/${foreign.id}/${action}`, body);
      assertRefused(reply, 404, 'resource_not_found');
      for (const id of [randomUUID(), 'no-id', '%00', "'"]) {
        const unknown = await onPage(token, `subscriptions/${id}/${action}`, body);
        assert.ok([400, 404].includes(unknown.status), `${action} ${id}: ${unknown.status}`);
      }
    }
    const foreignOrder = foreign.latest_order_id;
    for (const id of [foreignOrder, randomUUID(), 'no-id']) {
      assert.equal((await onPage(token, `orders/${id}/receipt`)).status, 404, id);
    }
    const { body: methods } = await service.call('GET', `/v1/customers/${other.body.id}/payment_methods`, {
      key: scene.key,
    });
    const reply = await onPage(token, 'card', { payment_method_id: methods.data[0].id });
    assertRefused(reply, 404, 'resource_not_found');
    assert.equal((await readSubscription(service, foreign.id, { key: scene.key })).status, 'active');
  });
});

describe('the documents of a customer', () => {
  it('are at their payments, and open only for the customer who paid', async () => {
    const scene = await openScene(service);
    await invoicesFor(service, scene.customer_id);
    const { latest_order_id: orderId } = await created(service, scene);
    const token = await open(scene);
    const shown = async (): Promise<{ id: string; kind: string; number: string }[]> =>
      (await account(token)).payments.items[0].documents;
    assert.deepEqual(await shown(), []);
    await refund(service, orderId, 100, { key: scene.key });
    await checkAllOpen(service);
    await numberNow(service, scene.company.id);
    const documents = await shown();
    assert.deepEqual(
      documents.map(({ kind, number }) => [kind, number.replace(/\d{4}-/, '')]),
      [
        ['invoice', 'INV-000001'],
        ['credit_note', 'CN-000001'],
      ],
    );
    for (const { id } of documents) {
      const link = await fetch(`${service.baseUrl}/customer/${token}/documents/${id}`, { redirect: 'manual' });
      assert.equal(link.status, 303);
      const { pathname, search } = new URL(link.headers.get('location') ?? '');
      const pdf = await fetch(service.baseUrl + pathname + search);
      assert.deepEqual([pdf.status, pdf.headers.get('content-type')], [200, 'application/pdf']);
    }
    const other = await service.call('POST', '/v1/customers', {
      key: scene.key,
      body: { email: `${randomUUID()}@example.com`, first_name: 'Bob', last_name: 'Byte', phone: '+15559990002' },
    });
    const foreign = await open({ ...scene, customer_id: other.body.id });
    for (const id of [documents[0]?.id ?? '', randomUUID(), 'no-id', '%00']) {
      const refused = await onPage(foreign, `documents/${id}`);
      assert.ok([400, 404].includes(refused.status), `${id}: ${refused.status}`);
    }
  });
});

describe('a customer', () => {
  it('pays with a new card from now on, or with one on file', async () => {
    const scene = await openScene(service);
    const { id, payment_method } = await created(service, scene);
    const token = await open(scene);
    const shown = await done(token, 'card', { card_token: await cardToken(token, cards.good) });
    const [newest] = shown.cards;
    assert.deepEqual([newest.last4, newest.is_default], ['4444', true]);
    const on = async (): Promise<string> => (await readSubscription(service, id, { key: scene.key })).payment_method.id;
    assert.equal(await on(), newest.id);
    await done(token, 'card', { payment_method_id: payment_method.id });
    assert.equal(await on(), payment_method.id);
    for (const body of [{}, { card_token: 'cct_x', payment_method_id: newest.id }]) {
      assertRefused(await onPage(token, 'card', body), 400, 'validation_error', 'card_token');
    }
    assertRefused(await onPage(token, 'card', { card_token: 'cct_unknown' }), 400, 'invalid_request', 'card_token');
  });

  const renewalOf = async (scene: Scene): Promise<Reply['body'] | undefined> =>
    (await ordersOf(service, scene)).find(({ subscription_cycle }) => subscription_cycle === 2);
  const changesOf = async (id: string): Promise<string[]> =>
    (await typesOf(service, id)).filter((type) => type.startsWith('subscription.'));

  async function pastDue(): Promise<{ scene: Scene; id: string; token: string; declines: number }> {
    const scene = await openScene(service, {}, cards.declinesAfterFirst);
    const { id, current_period_end } = await created(service, scene);
    await moveTo(service, scene.key, monthLater(current_period_end));
    const token = await open(scene);
    const { overdue } = (await account(token)).subscriptions[0];
    assert.deepEqual([overdue.total, overdue.declines, overdue.in_progress], [1900, 1, false]);
    return { scene, id, token, declines: overdue.declines };
  }

  it('pays a failed renewal by changing the card, once', async () => {
    const { scene, id, token } = await pastDue();
    const shown = await done(token, 'card', { card_token: await cardToken(token, cards.good) });
    assert.equal(shown.subscriptions[0].overdue.in_progress, true);
    await service.subscriptions.billDue(100);
    await service.subscriptions.billDue(100);
    const after = await account(token);
    assert.deepEqual([after.subscriptions[0].status, after.subscriptions[0].overdue], ['active', null]);
    const renewal = await renewalOf(scene);
    assert.equal(renewal?.status, 'succeeded');
    const sales = renewal?.transactions.filter(({ status }: { status: string }) => status === 'succeeded');
    assert.equal(sales.length, 1);
    assert.ok((await typesOf(service, id)).includes('subscription.recovered'));
  });

  it('pays a failed renewal at once, and once, however often the button is pressed', async () => {
    const { scene, id, token, declines } = await pastDue();
    const declined = await done(token, `subscriptions/${id}/pay`, { declines });
    assert.deepEqual([declined.subscriptions[0].status, declined.subscriptions[0].overdue.declines], ['past_due', 2]);
    const repeated = await done(token, `subscriptions/${id}/pay`, { declines });
    assert.equal(repeated.subscriptions[0].overdue.declines, 2, 'a repeated request charges nothing');
    await capture(service, scene.customer_id, cards.good, { key: scene.key });
    const { cards: onFile } = await account(token);
    const good = onFile.find(({ last4 }: { last4: string }) => last4 === '4444');
    await service.db.query('UPDATE subscriptions SET payment_method_id = $2 WHERE id = $1', [id, good.id]);
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => onPage(token, `subscriptions/${id}/pay`, { declines: 2 })),
    );
    assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200]);
    assert.equal((await account(token)).subscriptions[0].status, 'active');
    const renewal = await renewalOf(scene);
    const statuses = renewal?.transactions.map(({ status }: { status: string }) => status).toSorted();
    assert.deepEqual(statuses, ['failed', 'failed', 'succeeded']);
    assert.equal(renewal?.payment_method.card_last_four, '4444');
  });

  it('neither sees nor pays a subscription whose first payment was declined', async () => {
    const scene = await openScene(service, {}, cards.noFunds);
    const { id } = await created(service, scene, {}, 'failed');
    const token = await open(scene);
    const { subscriptions } = await done(token, 'card', { card_token: await cardToken(token, cards.good) });
    assert.deepEqual(subscriptions, []);
    for (const declines of [0, 1]) await done(token, `subscriptions/${id}/pay`, { declines });
    assert.equal((await readSubscription(service, id, { key: scene.key })).status, 'failed');
    const again = await created(service, scene);
    assert.deepEqual(
      (await account(token)).subscriptions.map((one: { id: string }) => one.id),
      [again.id],
    );
    const [first] = await ordersOf(service, scene);
    assert.equal(first?.attempt_count, 1);
  });

  it('pays a failed renewal after its retries have ended', async () => {
    const { scene, id, token } = await pastDue();
    await moveTo(service, scene.key, new Date(Date.now() + 120 * 86_400_000).toISOString());
    assert.equal((await readSubscription(service, id, { key: scene.key })).status, 'failed');
    await done(token, 'card', { card_token: await cardToken(token, cards.good) });
    const { overdue } = (await account(token)).subscriptions[0];
    const paid = await done(token, `subscriptions/${id}/pay`, { declines: overdue.declines });
    assert.equal(paid.subscriptions[0].status, 'active');
  });

  const fromNetwork = (address: string): Record<string, string> => ({ 'x-forwarded-for': address });
  const thief = fromNetwork('192.0.2.66');
  const other = fromNetwork('192.0.2.77');

  it('tries to pay a failed renewal a few times, so that the page tests no cards', async () => {
    const { scene, id, token } = await pastDue();
    const pay = (declines: number, headers: Record<string, string>): Promise<Reply> =>
      onPage(token, `subscriptions/${id}/pay`, { declines }, headers);
    for (let tries = 1; tries <= limits.customerTries; tries += 1) {
      assert.equal((await pay(tries, thief)).body.subscriptions[0].overdue.declines, tries + 1);
      assert.equal((await pay(tries, other)).status, 200, 'a repeated request is no try');
    }
    const { declines } = (await account(token)).subscriptions[0].overdue;
    const ofNetwork = await pay(declines, thief);
    assertRefused(ofNetwork, 429, 'too_many_requests');
    assert.match(ofNetwork.text, /from your network/);
    const ofOrder = await pay(declines, other);
    assertRefused(ofOrder, 429, 'too_many_requests');
    assert.match(ofOrder.text, /declined too often/);
    const number = await cardToken(token, cards.good);
    assertRefused(await onPage(token, 'card', { card_token: number }, other), 429, 'too_many_requests');
    assert.equal((await renewalOf(scene))?.attempt_count, limits.customerTries + 1);
  });

  it('loses no try while the vault cannot charge', async () => {
    const { id, token, declines } = await pastDue();
    const vault = mock.method(service.vault, 'charge', async () => ({ outcome: 'unavailable', reason: 'it is down' }));
    for (let tries = 0; tries <= limits.customerTries; tries += 1) {
      const shown = await done(token, `subscriptions/${id}/pay`, { declines });
      assert.equal(shown.subscriptions[0].overdue.declines, declines);
    }
    assert.equal(vault.mock.callCount(), limits.customerTries + 1);
    vault.mock.restore();
    const charged = await done(token, `subscriptions/${id}/pay`, { declines });
    assert.equal(charged.subscriptions[0].overdue.declines, declines + 1);
  });

  it('counts a change of the card as a try if it charges a failed renewal', async () => {
    const { scene, id, token } = await pastDue();
    const second = await addCard(service, scene, cards.declined, { set_as_default: false });
    const [first] = (await account(token)).cards.filter((one: { id: string }) => one.id !== second);
    const change = (payment_method_id: string, headers: Record<string, string>): Promise<Reply> =>
      onPage(token, 'card', { payment_method_id }, headers);
    assertRefused(await change(randomUUID(), thief), 404, 'resource_not_found');
    for (let tries = 0; tries < limits.customerTries; tries += 1) {
      assert.equal((await change(tries % 2 ? first.id : second, thief)).status, 200);
    }
    assert.match((await change(second, thief)).text, /from your network/);
    assert.match((await change(second, other)).text, /declined too often/);
    assertRefused(await onPage(token, `subscriptions/${id}/pay`, { declines: 1 }, thief), 429, 'too_many_requests');
  });

  it('ends the renewal, and the subscription is completed when the paid period ends', async () => {
    const scene = await openScene(service);
    const { id, current_period_end } = await created(service, scene);
    const token = await open(scene);
    const shown = await done(token, `subscriptions/${id}/end_renewal`);
    const [subscription] = shown.subscriptions;
    assert.deepEqual(
      [subscription.status, subscription.ends_at, subscription.next_payment, subscription.can_keep_renewal],
      ['active', current_period_end, null, true],
    );
    const read = await readSubscription(service, id, { key: scene.key });
    assert.deepEqual(
      [read.status, read.end_date, read.next_billing_at],
      ['active', current_period_end.slice(0, 10), null],
    );
    await done(token, `subscriptions/${id}/end_renewal`);
    assert.deepEqual(await changesOf(id), ['subscription.created', 'subscription.updated']);
    await moveTo(service, scene.key, monthLater(current_period_end));
    assert.equal((await readSubscription(service, id, { key: scene.key })).status, 'completed');
    assert.equal((await ordersOf(service, scene)).length, 1);
    const late = await done(token, `subscriptions/${id}/keep_renewal`);
    assert.equal(late.subscriptions[0].status, 'completed');
  });

  it('keeps a subscription whose renewal was ended, with the end date it had before', async () => {
    const scene = await openScene(service);
    const inAYear = new Date(service.clock.nowMs() + 365 * 86_400_000).toISOString().slice(0, 10);
    const { id, current_period_end, next_billing_at } = await created(service, scene, { end_date: inAYear });
    const token = await open(scene);
    await done(token, `subscriptions/${id}/end_renewal`);
    await done(token, `subscriptions/${id}/keep_renewal`);
    const read = await readSubscription(service, id, { key: scene.key });
    assert.deepEqual([read.status, read.end_date, read.next_billing_at], ['active', inAYear, next_billing_at]);
    await moveTo(service, scene.key, monthLater(current_period_end));
    assert.equal((await ordersOf(service, scene)).length, 2);
  });

  it('is not charged again after the renewal has ended, although the merchant changes the cycle or pauses', async () => {
    const scene = await openScene(service);
    const { id, current_period_end } = await created(service, scene);
    const token = await open(scene);
    await done(token, `subscriptions/${id}/end_renewal`);
    const weekly = { billing_cycle: { interval: 'day', interval_count: 7 } };
    const reply = await service.call('PATCH', `/v1/subscriptions/${id}`, { key: scene.key, body: weekly });
    assert.deepEqual(
      [reply.status, reply.body.error.code, reply.body.error.param],
      [400, 'subscription_not_modifiable', 'billing_cycle'],
      reply.text,
    );
    await pauseSubscription(await operator(service, scene), id);
    await resumeSubscription(await operator(service, scene), id);
    await moveTo(service, scene.key, monthLater(current_period_end));
    assert.equal((await readSubscription(service, id, { key: scene.key })).status, 'completed');
    assert.equal((await ordersOf(service, scene)).length, 1);
  });

  it('cancels at once, also twice', async () => {
    const scene = await openScene(service);
    const { id } = await created(service, scene);
    const token = await open(scene);
    for (const _ of [1, 2]) {
      const shown = await done(token, `subscriptions/${id}/cancel`);
      assert.deepEqual([shown.subscriptions[0].status, shown.subscriptions[0].can_cancel], ['canceled', false]);
    }
    assert.deepEqual(await changesOf(id), ['subscription.created', 'subscription.canceled']);
  });

  it('can do what the merchant allows', async () => {
    const scene = await openScene(service);
    const { id } = await created(service, scene);
    const forbidden = { allow_cancel: false, allow_end_renewal: false, allow_update_card: false };
    const more = { headline: 'Your tea', return_url: 'https://tea.example/home' };
    await changeProfile(contextOf(service, scene.company), { customer_page: { ...forbidden, ...more } });
    const token = await open(scene);
    const shown = await account(token);
    assert.deepEqual(
      [shown.headline, shown.return_url, shown.allow_update_card],
      ['Your tea', 'https://tea.example/home', false],
    );
    const [subscription] = shown.subscriptions;
    assert.deepEqual([subscription.can_cancel, subscription.can_end_renewal], [false, false]);
    for (const action of ['cancel', 'end_renewal']) {
      assertRefused(await onPage(token, `subscriptions/${id}/${action}`, {}), 400, 'invalid_request');
    }
    const choice = { payment_method_id: shown.cards[0].id };
    assertRefused(await onPage(token, 'card', choice), 400, 'invalid_request');
    assert.equal((await readSubscription(service, id, { key: scene.key })).status, 'active');
  });

  it('sees the payments page by page', async () => {
    const scene = await openScene(service, {
      billing_cycle: { interval: 'day', interval_count: 1, anchor_day: 'signup_date' },
    });
    const { start_date } = await created(service, scene);
    await moveTo(service, scene.key, new Date(Date.parse(start_date) + 13 * 86_400_000).toISOString());
    const token = await open(scene);
    const { payments } = await account(token);
    assert.equal(payments.items.length, 10);
    const rest = await done(token, 'payments', { starting_after: payments.next });
    assert.equal(rest.next, null);
    const ids = [...payments.items, ...rest.items].map(({ id }: { id: string }) => id);
    assert.equal(new Set(ids).size, (await ordersOf(service, scene)).length);
  });
});

describe('a link by email', () => {
  let addresses = 0;
  const ask = (address: string, email: string, from?: string): Promise<Reply> => {
    addresses += 1;
    return onPage(
      address,
      'links',
      { email },
      { 'x-forwarded-for': from ?? `198.51.${addresses >> 8}.${addresses & 255}` },
    );
  };
  const mailsTo = async (email: string): Promise<string[]> => {
    await service.background.flush();
    const mails = await latestMails(service.shards, service.mailKey, 200);
    return mails.filter(({ recipient }) => recipient === email).map(({ body }) => body);
  };

  it('never says whether an address is known', async () => {
    const scene = await openScene(service);
    const { body: customer } = await service.call('GET', `/v1/customers/${scene.customer_id}`, { key: scene.key });
    const address = companyAddress(scene.company.id);
    const shown = await onPage(address, 'company');
    assert.deepEqual(shown.body.merchant.name, scene.company.name);
    const unknown = `${randomUUID()}@example.com`;
    const replies = [await ask(address, customer.email.toUpperCase()), await ask(address, unknown)];
    const seen = replies.map(({ status, text, headers }) => ({
      status,
      text,
      headers: [...headers].filter(([name]) => !['date', 'svc-request-id', 'x-forwarded-for'].includes(name)),
    }));
    assert.deepEqual(seen[0], seen[1]);
    assert.deepEqual([replies[0]?.status, replies[0]?.body], [200, { minutes: 60 }]);
    const [mail] = await mailsTo(customer.email);
    const token = /\/customer\/([0-9A-Za-z]{44})\s/.exec(mail ?? '')?.[1] ?? '';
    assert.equal((await account(token)).customer.email, customer.email);
    assert.deepEqual(await mailsTo(unknown), []);
    const stored = await service.db.query<{ row: string }>(
      'SELECT mails::text AS row FROM mails WHERE recipient = $1',
      [customer.email],
    );
    assert.ok(
      stored.every(({ row }) => !row.includes(token)),
      'no stored mail contains the link',
    );
  });

  it('is answered before the customer is looked up, so that the time reveals nothing', async () => {
    const scene = await openScene(service);
    const { body: customer } = await service.call('GET', `/v1/customers/${scene.customer_id}`, { key: scene.key });
    await service.db.transaction(async (transaction) => {
      await transaction.query('LOCK TABLE customers IN ACCESS EXCLUSIVE MODE');
      const reply = await ask(companyAddress(scene.company.id), customer.email);
      assert.deepEqual([reply.status, reply.body], [200, { minutes: 60 }]);
    });
    assert.equal((await mailsTo(customer.email)).length, 1);
  });

  it('counts neither as an email to the team nor as a notice, and is sent with the emails to customers', async () => {
    const scene = await openScene(service);
    const { body: customer } = await service.call('GET', `/v1/customers/${scene.customer_id}`, { key: scene.key });
    // A sandbox sends emails only to its team.
    const member = { email: customer.email, first_name: 'Ada', last_name: 'Lovelace' };
    await addActive(service.db, scene.company.id, service.clock.nowMs(), member, 'Viewer');
    await ask(companyAddress(scene.company.id), customer.email);
    await service.background.flush();
    assert.equal(await mailsToday(service.db, scene.company.id), 0);
    assert.equal(await customerMailsToday(service.db, scene.company.id), 0);
    const page = { limit: 10, sort: { field: 'created_at', descending: true }, cursor: null };
    assert.deepEqual((await getCustomerEmails(contextOf(service, scene.company), {}, page)).items, []);
    const sent: { recipient: string; text: string }[] = [];
    const mailer = {
      send: async (mail: { recipient: string; text: string }) => void sent.push(mail),
      check: async () => undefined,
      close: async () => undefined,
    };
    const texts = () => sent.filter(({ recipient }) => recipient === customer.email).map(({ text }) => text);
    await sendDueMails(service.db, mailer, service.mailKey, silentLog, 500);
    assert.deepEqual(texts(), []);
    await sendDueMails(service.db, mailer, service.mailKey, silentLog, 500, { toCustomers: true });
    assert.equal(texts().length, 1);
    assert.match(texts()[0] ?? '', /^Open this link within 60 minutes .*\/customer\/[0-9A-Za-z]{44}\s/s);
    assert.ok(!texts()[0]?.includes(customer.first_name), 'the text has no name that a stranger could choose');
  });

  it('is bounded for each company', async () => {
    const scene = await openScene(service);
    const { body: customer } = await service.call('GET', `/v1/customers/${scene.customer_id}`, { key: scene.key });
    const { count, windowSeconds } = limits.linkMailsPerCompany;
    const bucket = { key: `{${scene.company.id}}:customer_links:company`, limit: { count, windowSeconds } };
    limiter.charge([bucket], count, service.clock.nowMs());
    assert.equal((await ask(companyAddress(scene.company.id), customer.email)).status, 200);
    assert.deepEqual(await mailsTo(customer.email), []);
  });

  it('is sent a few times to a customer, and requested a few times from an address', async () => {
    const scene = await openScene(service);
    const { body: customer } = await service.call('GET', `/v1/customers/${scene.customer_id}`, { key: scene.key });
    const address = companyAddress(scene.company.id);
    for (let count = 0; count < limits.linkMailsPerCustomer.count + 2; count += 1) {
      assert.equal((await ask(address, customer.email)).status, 200);
      await service.background.flush();
    }
    const sessions = await service.db.query('SELECT 1 FROM customer_sessions WHERE customer_id = $1', [customer.id]);
    assert.equal(sessions.length, limits.linkMailsPerCustomer.count);
    for (let count = 0; count < limits.linkMailsPerAddress.count; count += 1) {
      assert.equal((await ask(address, `${randomUUID()}@example.com`, '203.0.113.9')).status, 200);
    }
    assertRefused(await ask(address, customer.email, '203.0.113.9'), 429, 'too_many_requests');
    assert.equal((await onPage(companyAddress(randomUUID()), 'company')).status, 404);
    assertRefused(await ask(address, 'not an address'), 400, 'validation_error', 'email');
  });
});
