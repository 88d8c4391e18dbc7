import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { someCoupon } from '../../../tests/support/coupons.ts';
import { signUp } from '../../../tests/support/dashboard.ts';
import { assertRefused, contextOf, countOf, createProduct } from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { getVisits } from './service.ts';

/** What a payment link allows: how often, until when, and with which code. */

let service: TestService;
let product: string;
before(async () => {
  const off = ['COUPON_VALIDATION', 'CAPTURE', 'REFUSED_CARDS'].map((name) => [`SVC_RATE_LIMIT_${name}`, 'off']);
  service = await startTestService({ settings: Object.fromEntries(off) });
  product = await createProduct(service, 1000);
});
after(() => service.stop());

async function createLink(body: object): Promise<{ readonly id: string; readonly path: string }> {
  const items = [{ product_id: product, quantity: 1 }];
  const offer = { name: 'Tea', mode: 'payment', items };
  const reply = await service.call('POST', '/v1/payment_links', { body: { ...offer, ...body } });
  assert.equal(reply.status, 201, reply.text);
  return { id: reply.body.id, path: new URL(reply.body.url).pathname };
}

async function visit(path: string, headers: Record<string, string> = {}): Promise<string> {
  const reply = await fetch(service.baseUrl + path, { headers, redirect: 'manual' });
  assert.equal(reply.status, 303);
  return reply.headers.get('location') ?? '';
}

function onPage(path: string, part: string, body?: object): Promise<Reply> {
  const headers = { origin: service.baseUrl };
  return service.call(body ? 'POST' : 'GET', `${path}/${part}`, { key: null, headers, ...(body && { body }) });
}

async function pay(path: string, number = '4242424242424242'): Promise<Reply> {
  const card = { number, exp_month: '12', exp_year: '2032', cvc: '999' };
  const [{ body: session }, { body: token }] = [
    await onPage(path, 'session'),
    await onPage(path, 'card_tokens', { card }),
  ];
  const phone = `+1555${String(Math.floor(Math.random() * 1e7)).padStart(7, '0')}`;
  const customer = { email: `${randomUUID()}@example.com`, first_name: 'Ada', last_name: 'Lovelace', phone };
  return onPage(path, 'pay', { attempt: session.attempt, total: session.total, card_token: token.id, customer });
}

const tasting = { name: 'Tea tasting', pricing: { amount: 2500, currency: 'usd' } };

const paymentsOf = async (id: string): Promise<number> =>
  (await service.call('GET', `/v1/payment_links/${id}`)).body.payments;

describe('a payment link', () => {
  it('cannot end in the past', async () => {
    const past = new Date(service.clock.nowMs() - 1000).toISOString();
    const offer = { name: 'Tea', mode: 'payment', items: [{ product_id: product, quantity: 1 }] };
    const made = await service.call('POST', '/v1/payment_links', { body: { ...offer, ends_at: past } });
    assertRefused(made, 400, 'validation_error', 'ends_at');
    const soon = new Date(service.clock.nowMs() + 60_000).toISOString();
    const { id } = await createLink({ ends_at: soon });
    const changed = await service.call('PATCH', `/v1/payment_links/${id}`, { body: { ends_at: past } });
    assertRefused(changed, 400, 'validation_error', 'ends_at');
    service.clock.advance(120_000);
    // What was already past may be sent again unchanged.
    const renamed = await service.call('PATCH', `/v1/payment_links/${id}`, {
      body: { ends_at: soon, name: 'Old tea' },
    });
    assert.deepEqual([renamed.status, renamed.body.name], [200, 'Old tea']);
  });

  it('of a live company needs a processor, as a checkout session and an order do', async () => {
    const { live } = await service.createMerchant();
    const key = await service.createKey(live);
    const live_product = await createProduct(service, 1000, { key });
    const offer = { mode: 'payment', items: [{ product_id: live_product, quantity: 1 }] };
    for (const path of ['/v1/payment_links', '/v1/checkout_sessions']) {
      const body = path.endsWith('links') ? { name: 'Tea', ...offer } : offer;
      assertRefused(await service.call('POST', path, { key, body }), 400, 'merchant_not_configured');
    }
    await service.db.query(`UPDATE companies SET processor = 'connected' WHERE id = $1`, [live.id]);
    service.forgetAccess(live.id);
    const { body: session } = await service.call('POST', '/v1/checkout_sessions', { key, body: offer });
    const page = new URL(session.url).pathname;
    assert.equal((await onPage(page, 'session')).body.status, 'open');
    await service.db.query('UPDATE companies SET processor = NULL WHERE id = $1', [live.id]);
    service.forgetAccess(live.id);
    assert.equal((await onPage(page, 'session')).body.status, 'unavailable');
    const paid = await onPage(page, 'pay', { attempt: 0, total: 1000, card_token: 'cct_none' });
    assert.deepEqual([paid.status, paid.body.status], [200, 'unavailable']);
  });

  it('takes no more payments than its limit, however many are made at once', async () => {
    const { id, path } = await createLink({ max_payments: 2 });
    const pages = await Promise.all(Array.from({ length: 6 }, () => visit(path)));
    const replies = await Promise.all(pages.map((page) => pay(page)));
    assert.equal(replies.filter(({ body }) => body.status === 'completed').length, 2);
    const refused = replies.filter(({ status }) => status === 400);
    assert.equal(refused.length, 4);
    assert.match(refused[0]?.body.error.message, /no longer active. You were not charged/);
    assert.equal(await paymentsOf(id), 2);
    assert.equal((await fetch(service.baseUrl + path, { redirect: 'manual' })).status, 404);
  });

  it('gets the place of a declined payment back', async () => {
    const { id, path } = await createLink({ max_payments: 1 });
    const page = await visit(path);
    assert.equal((await pay(page, '4000000000000002')).body.status, 'open');
    assert.equal(await paymentsOf(id), 0);
    assert.equal((await pay(page)).body.status, 'completed');
    assert.equal(await paymentsOf(id), 1);
  });

  it('ends at its time, also on pages that are already open', async () => {
    const { path } = await createLink({ ends_at: new Date(service.clock.nowMs() + 60_000).toISOString() });
    const page = await visit(path);
    service.clock.advance(60_000);
    assert.equal((await pay(page)).status, 400);
    assert.equal((await fetch(service.baseUrl + path, { redirect: 'manual' })).status, 404);
  });

  it('sells at the full price when its code cannot be used any more', async () => {
    const { id: couponId, code } = await someCoupon(service, { percentage: 50 });
    const { path } = await createLink({ coupon_code: code });
    assert.equal((await onPage(await visit(path), 'session')).body.total, 500);
    await service.call('PATCH', `/v1/coupons/${couponId}`, { body: { active: false } });
    const page = await visit(path);
    const { body: session } = await onPage(page, 'session');
    assert.deepEqual([session.total, session.coupon], [1000, null]);
    assert.equal((await pay(page)).body.result.total, 1000);
  });

  it('asks for a language, unless the visitor does, also on the page that says why it is closed', async () => {
    const { id, path } = await createLink({ locale: 'fr' });
    const at = `/v1/payment_links/${id}`;
    const queryOf = async (query = ''): Promise<string> =>
      new URL(await visit(path + query, { 'accept-language': 'de' }), service.baseUrl).search;
    assert.deepEqual([await queryOf(), await queryOf('?locale=nl')], ['?locale=fr', '?locale=nl']);
    const { body: sessions } = await service.call('GET', `/v1/checkout_sessions?payment_link_id=${id}`);
    assert.deepEqual(new Set(sessions.data.map(({ locale }: { locale: string }) => locale)), new Set(['fr']));
    const changed = await service.call('PATCH', at, { body: { locale: 'pt-BR', active: false } });
    assert.deepEqual([changed.body.locale, new URL(changed.body.url).search], ['pt-BR', '']);
    const closed = await fetch(service.baseUrl + path, { headers: { accept: 'text/html', 'accept-language': 'de' } });
    assert.match(await closed.text(), /<html lang="pt-BR"/);
    for (const locale of ['tlh', 'DE', '', 7]) {
      assertRefused(await service.call('PATCH', at, { body: { locale } }), 400, 'validation_error', 'locale');
    }
    const cleared = await service.call('PATCH', at, { body: { locale: null, active: true } });
    assert.equal(cleared.body.locale, null);
    assert.equal(await queryOf(), '');
    await assert.rejects(
      service.db.query(`UPDATE payment_links SET locale = 'French' WHERE id = $1`, [id]),
      /payment_links_locale_check/,
    );
  });

  it('creates what it sells from a name and a price', async () => {
    const pricing = { amount: 2500, currency: 'eur' };
    const made = { product: { name: 'Tea tasting, \u6614', pricing }, quantity: 1 };
    const { path, id } = await createLink({ items: [made, { ...made, quantity: 2 }] });
    const { body: link } = await service.call('GET', `/v1/payment_links/${id}`);
    const ids: string[] = link.items.map(({ product_id }: { product_id: string }) => product_id);
    assert.equal(new Set(ids).size, 2);
    const { body: tasting } = await service.call('GET', `/v1/products/${ids[0]}`);
    assert.deepEqual([tasting.name, tasting.pricing, tasting.requires_shipping], [made.product.name, pricing, false]);
    assert.match(tasting.sku, /^tea-tasting-[0-9a-f]{8}$/);
    assert.equal((await pay(await visit(path))).body.result.total, 7500);
  });

  it('is created together with its products, or neither is', async () => {
    const products = async (): Promise<number> => countOf(service, 'products', 'company_id = $1', [service.company.id]);
    const before = await products();
    const made = { product: { name: 'Tea', pricing: { amount: 2500, currency: 'usd' } }, quantity: 1 };
    const create = (items: readonly object[], key?: string): Promise<Reply> =>
      service.call('POST', '/v1/payment_links', { body: { name: 'Tea', mode: 'payment', items }, ...(key && { key }) });
    assertRefused(await create([made, { product_id: randomUUID(), quantity: 1 }]), 404, 'resource_not_found');
    const euros = { ...made, product: { ...made.product, pricing: { amount: 1, currency: 'eur' } } };
    assertRefused(await create([made, euros]), 400, 'validation_error', 'items');
    assertRefused(await create([{ ...made, product_id: product }]), 400, 'validation_error', 'items[0].product');
    assertRefused(await create([{ quantity: 1 }]), 400, 'validation_error', 'items[0].product_id');
    const key = await service.createKey(service.company, { permissions: ['payment_links:write'] });
    assertRefused(await create([made], key), 403, 'insufficient_permissions', 'items[0].product');
    assert.equal(await products(), before);
  });

  it('counts people who opened it, those who tried to pay and those who paid', async () => {
    const { id, path } = await createLink({});
    const [paid, declined] = [await visit(path), await visit(path), await visit(path)];
    await pay(declined ?? '', '4000000000000002');
    await pay(paid ?? '');
    await fetch(service.baseUrl + path, { method: 'HEAD', redirect: 'manual' });
    const bots = [
      'WhatsApp/2.23.20.0',
      'Slackbot-LinkExpanding 1.0',
      'facebookexternalhit/1.1',
      'Mozilla (Googlebot/2.1)',
    ];
    for (const agent of bots) {
      const headers = { 'user-agent': agent };
      const shown = await fetch(service.baseUrl + path, { headers, redirect: 'manual' });
      assert.equal(shown.status, 200);
      assert.match(await shown.text(), /<title>Pay /);
      // A person who is taken for a program can still pay.
      if (agent === bots[0]) await visit(`${path}?open`, headers);
    }
    assert.deepEqual(await getVisits(contextOf(service), id), { days: 30, visits: 4, started: 2, paid: 1 });
  });

  it('has a readable address, which is unique, can change, and leads to its company only', async () => {
    const owner = await signUp(service);
    const offer = { name: 'Tea', mode: 'payment', items: [{ product: tasting, quantity: 1 }] };
    const create = (slug: string): Promise<Reply> => owner.in('POST', '/v1/payment_links', { ...offer, slug });
    const { body: link } = await create('autumn');
    assert.deepEqual([link.slug, link.readable_url], ['autumn', null], 'the company has no name yet');
    assertRefused(await create('autumn'), 409, 'resource_already_exists', 'slug');
    const rename = (name: string): Promise<Reply> => owner.in('POST', '/dashboard/payment_link_name', { name });
    for (const name of ['', 'ab', 'Tea', '-tea', 'te--a', 'té', '../x', 'a'.repeat(41)]) {
      assertRefused(await rename(name), 400, 'validation_error', 'name');
    }
    for (const name of ['admin', 'stripe', 'test-tea']) assert.match((await rename(name)).text, /reserved/);
    assert.deepEqual((await rename('tea-house')).body, { prefix: 'test-', name: 'tea-house' });
    const readAgain = async (): Promise<Reply['body']> => (await owner.in('GET', `/v1/payment_links/${link.id}`)).body;
    const path = '/pay/test-tea-house/autumn';
    assert.equal(new URL((await readAgain()).readable_url).pathname, path);
    for (const address of [path, path.toUpperCase().replace('PAY', 'pay'), new URL(link.url).pathname]) {
      assert.match(await visit(address), /^\/checkout\//);
    }
    const status = async (address: string): Promise<number> => (await fetch(service.baseUrl + address)).status;
    // A name that is taken, a link of another company, and names that lead nowhere are all alike.
    const stranger = await signUp(service);
    assert.match((await stranger.in('POST', '/dashboard/payment_link_name', { name: 'tea-house' })).text, /is taken/);
    const theirs = { ...offer, slug: 'winter' };
    assert.equal((await stranger.in('POST', '/v1/payment_links', theirs)).status, 201);
    for (const lost of ['winter', 'no', '..', 'autumn%00'])
      assert.equal(await status(`/pay/test-tea-house/${lost}`), 404);
    assert.deepEqual([await status('/pay/tea-house/autumn'), await status('/pay/test-tea-house')], [404, 404]);

    await rename('tea-palace');
    await owner.in('PATCH', `/v1/payment_links/${link.id}`, { slug: 'fall' });
    assert.equal(new URL((await readAgain()).readable_url).pathname, '/pay/test-tea-palace/fall');
    await visit('/pay/test-tea-house/fall');
    assert.equal(await status(path), 404);
    assert.match((await stranger.in('POST', '/dashboard/payment_link_name', { name: 'tea-house' })).text, /is taken/);
    for (const name of ['one', 'two', 'three']) await rename(`tea-${name}`);
    assertRefused(await rename('tea-four'), 400, 'invalid_request');
    assert.equal((await rename('tea-house')).status, 200, 'an own name can be used again');
    await owner.in('PATCH', `/v1/payment_links/${link.id}`, { slug: null });
    assert.equal((await readAgain()).readable_url, null);
  });
});
