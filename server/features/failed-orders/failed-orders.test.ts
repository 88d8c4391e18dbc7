import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { colleague, companyOf, lastMail, type Person, signUp } from '../../../tests/support/dashboard.ts';
import {
  assertRefused,
  capture,
  openShop,
  order,
  readOrder,
  retry,
  type Shop,
  succeeded,
} from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';

/** What a merchant can do about a failed order: a payment link for exactly that sum, another card, a retry. */

let service: TestService;
let owner: Person;
let shop: Shop;
let key: string;
/** Declined once, then approved. */
const declinedOnce = '4000009999003220';
const declined = '4000000000000002';

before(async () => {
  service = await startTestService({
    settings: { SVC_RATE_LIMIT_CAPTURE: 'off', SVC_RATE_LIMIT_REFUSED_CARDS: 'off' },
  });
  owner = await signUp(service);
  key = await service.createKey({ ...service.company, id: companyOf(owner, 'sandbox'), mode: 'sandbox' });
  shop = await openShop(service, undefined, { key });
});
after(() => service.stop());

async function failed(number = declined): Promise<Reply['body']> {
  const card = await capture(service, shop.customerId, number, { key });
  const reply = await order(service, shop, { payment_method_id: card }, { key });
  assert.equal(reply.body.status, 'failed', reply.text);
  return reply.body;
}

const whatNow = async ({ id }: Reply['body']): Promise<Reply['body']> =>
  (await owner.in('GET', `/dashboard/orders/${id}/what_now`)).body;

const link = ({ id }: Reply['body'], send = true, person = owner): Promise<Reply> =>
  person.in('POST', `/dashboard/orders/${id}/payment_link`, { send });

const onPage = (path: string, body?: object): Promise<Reply> =>
  service.call(body ? 'POST' : 'GET', path, {
    key: null,
    headers: { origin: service.baseUrl },
    ...(body && { body }),
  });

/** Opens the link as the customer does. Returns the path of the page, or undefined if the link is closed. */
async function visit(url: string): Promise<string | undefined> {
  const response = await fetch(service.baseUrl + new URL(url).pathname, { redirect: 'manual' });
  await response.arrayBuffer();
  return response.headers.get('location') ?? undefined;
}

async function pay(page: string): Promise<Reply['body']> {
  const { body: shown } = await onPage(`${page}/session`);
  const card = { number: '4242424242424242', exp_month: '12', exp_year: '2032', cvc: '999' };
  const token = await onPage(`${page}/card_tokens`, { card });
  const reply = await onPage(`${page}/pay`, { attempt: shown.attempt, total: shown.total, card_token: token.body.id });
  return reply.body;
}

describe('a failed order', () => {
  it('has one payment link for its sum, which the customer gets by email and pays once', async () => {
    const made = await failed();
    assert.deepEqual(await whatNow(made), { link: null, obstacle: null, paid_by: null, sends_emails: true });
    const both = await Promise.all([link(made, false), link(made, false)]);
    assert.equal(new Set(both.map(({ body }) => body.link.id)).size, 1);
    const { body: sent } = await link(made);
    assert.equal(sent.is_new, true);
    const { url, id } = sent.link;
    assert.equal(id, both[0]?.body.link.id);
    assert.equal((await link(made)).body.is_new, false);
    // The page can offer the saved cards of the customer, so the link has no address that can be guessed.
    assertRefused(
      await owner.in('PATCH', `/v1/payment_links/${id}`, { slug: 'mine' }),
      400,
      'validation_error',
      'slug',
    );
    const customer = await service.call('GET', `/v1/customers/${shop.customerId}`, { key });
    const mail = await lastMail(service, customer.body.email);
    assert.ok(mail.includes(url), mail);
    assert.match(mail, /did not go through/);

    const page = await visit(url);
    assert.ok(page);
    const shown = await onPage(`${page}/session`);
    assert.equal(shown.body.total, made.total);
    assert.equal(shown.body.customer.email, customer.body.email);
    assert.deepEqual(shown.body.saved_cards, []);
    assert.equal((await pay(page)).status, 'completed');
    const { paid_by, obstacle } = await whatNow(made);
    assert.equal(paid_by.by_link, true);
    assert.equal(obstacle, 'not_owed');
    const paid = await readOrder(service, paid_by.id, { key });
    assert.deepEqual([paid.customer_id, paid.total, paid.status], [shop.customerId, made.total, 'succeeded']);
    assert.equal(await visit(url), undefined);
    const again = await retry(service, made.id, { key });
    assert.equal(again.status, 400);
    assert.match(again.body.error.message, /pay twice/);
    assert.equal((await link(made)).status, 400);
  });

  it('is not charged a second time: a link that is open ends when a retry succeeds', async () => {
    const made = await failed(declinedOnce);
    const { body: sent } = await link(made, false);
    const page = await visit(sent.link.url);
    assert.ok(page);
    assert.equal((await retry(service, made.id, { key })).body.status, 'succeeded');
    const shown = await pay(page);
    assert.notEqual(shown.status, 'completed');
    assert.equal(await visit(sent.link.url), undefined);
    assert.equal((await link(made)).status, 400);
  });

  it('has no link when the items cost something else by now', async () => {
    const made = await failed();
    const { body: sent } = await link(made, false);
    const page = await visit(sent.link.url);
    const { body: product } = await service.call('GET', `/v1/products/${shop.productId}`, { key });
    const pricing = { ...product.pricing, amount: product.pricing.amount + 100 };
    const change = (to: object): Promise<Reply> =>
      service.call('PATCH', `/v1/products/${shop.productId}`, {
        key,
        body: { pricing: to },
        idempotencyKey: crypto.randomUUID(),
      });
    await change(pricing);
    assert.equal((await whatNow(made)).obstacle, 'price_changed');
    assert.match((await link(made)).body.error.message, /another price/);
    const refused = await pay(page ?? '');
    assert.notEqual(refused.status, 'completed');
    await change(product.pricing);
    assert.equal((await pay(page ?? '')).status, 'completed');
  });

  it('asks for another card by email, and shows links only to those who may see them', async () => {
    const made = await failed();
    await link(made, false);
    const asked = await owner.in('POST', `/dashboard/orders/${made.id}/card_request`, {});
    assert.deepEqual(asked.body, { is_new: true });
    const customer = await service.call('GET', `/v1/customers/${shop.customerId}`, { key });
    assert.match(await lastMail(service, customer.body.email), /\/customer\//);
    const viewer = await colleague(service, owner, 'Viewer');
    assert.equal((await link(made, true, viewer)).status, 403);
    assert.equal((await viewer.in('POST', `/dashboard/orders/${made.id}/card_request`, {})).status, 403);
    const paid = await openShop(service, undefined, { key });
    assert.equal((await link(await succeeded(service, paid, { key }))).status, 400);
  });
});
