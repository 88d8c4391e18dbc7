import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import pg from 'pg';
import { cardNotices } from '../../dashboard/src/texts/card-notices.ts';
import { account } from '../../dashboard/src/texts/account.ts';
import { amounts } from '../../dashboard/src/texts/amounts.ts';
import { auth } from '../../dashboard/src/texts/auth.ts';
import { common, shell } from '../../dashboard/src/texts/common.ts';
import { coupons } from '../../dashboard/src/texts/coupons.ts';
import { customers } from '../../dashboard/src/texts/customers.ts';
import { developers } from '../../dashboard/src/texts/developers.ts';
import { emails } from '../../dashboard/src/texts/emails.ts';
import { home } from '../../dashboard/src/texts/home.ts';
import { orders } from '../../dashboard/src/texts/orders.ts';
import { paymentLinks } from '../../dashboard/src/texts/payment-links.ts';
import { planChanges } from '../../dashboard/src/texts/plan-changes.ts';
import { plans } from '../../dashboard/src/texts/plans.ts';
import { preview } from '../../dashboard/src/texts/preview.ts';
import { products } from '../../dashboard/src/texts/products.ts';
import { sandbox } from '../../dashboard/src/texts/sandbox.ts';
import { subscriptions } from '../../dashboard/src/texts/subscriptions.ts';
import { team } from '../../dashboard/src/texts/team.ts';
import { transactions } from '../../dashboard/src/texts/transactions.ts';
import { webhooks } from '../../dashboard/src/texts/webhooks.ts';
import { loadConfig } from '../../server/config.ts';
import { codeAt, stepOf } from '../../server/features/users/totp.ts';
import { silentLog } from '../support/silent-log.ts';
import { type Service, startService } from '../../server/service.ts';
import { launchBrowser } from '../support/browser.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { inspect } from '../support/inspect.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

/** The dashboard as a merchant uses it: the whole service, a real browser, a real receiver of webhooks. */

const authority = fileURLToPath(new URL('../support/certificates/ca.pem', import.meta.url));
const merchant = { email: `ada-${randomUUID()}@example.com`, password: 'engines of analysis' };

let database: TestDatabase;
let folder: string;
let service: Service;
let receiver: Receiver;
let browser: Browser;
let context: BrowserContext;
let page: Page;
const problems: string[] = [];

async function newPage(): Promise<Page> {
  context = await browser.newContext({
    baseURL: service.baseUrl,
    locale: 'en-US',
    viewport: { width: 1280, height: 900 },
  });
  context.setDefaultTimeout(20_000);
  const opened = await context.newPage();
  opened.on('pageerror', (error) => problems.push(`${opened.url()}: ${error.message}`));
  opened.on('console', (message) => {
    // The page itself shows a rejected call; the rest are violated policies and errors of the code.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      problems.push(`${opened.url()}: ${message.text()}`);
    }
  });
  return opened;
}

before(async () => {
  [database, folder, receiver, browser] = await Promise.all([
    cloneDatabase(1),
    mkdtemp(join(tmpdir(), 'svc-dashboard-')),
    startReceiver(),
    launchBrowser(),
  ]);
  const config = loadConfig({
    DATABASE_URL: database.connectionString,
    SVC_DATA_DIR: folder,
    SVC_MASTER_SECRET: 'a master secret for the tests of the dashboard',
    SVC_LOG_LEVEL: 'silent',
    // Other tests run beside this one: a busy machine is no news.
    SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
    SVC_WEBHOOK_ALLOW: '127.0.0.1,::1',
    SVC_WEBHOOK_CA: authority,
    PORT: '0',
  });
  service = await startService(config, silentLog, () => undefined);
  page = await newPage();
});
after(async () => {
  await browser?.close();
  await service?.stop();
  await receiver?.stop();
  await database?.drop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const button = (name: string | RegExp, within: Page | Locator = page): Locator =>
  within.getByRole('button', typeof name === 'string' ? { name, exact: true } : { name });
/** The one place that says whether money is real. */
const mode = (name: 'sandbox' | 'live'): Locator =>
  page.getByRole('button', { name: shell[name], exact: true, pressed: true });
const field = (label: string, within: Page | Locator = page): Locator => within.getByLabel(label, { exact: true });
const dialog = (): Locator => page.getByRole('dialog');
const table = (): Locator => page.getByRole('table').first();

async function choose(label: string, text: string): Promise<void> {
  await page.getByRole('combobox', { name: label }).fill(text);
  await page
    .getByRole('option', { name: new RegExp(text) })
    .first()
    .click();
}

async function typeCard(number: string): Promise<void> {
  const frame = page.frameLocator('[data-testid="card-fields"] iframe');
  await frame.locator('#number').fill(number);
  await frame.locator('#expiry').fill('12 / 32');
  await frame.locator('#cvc').fill('999');
}

async function call(method: string, path: string, key: string, body?: object): Promise<Record<string, any>> {
  const response = await fetch(service.baseUrl + path, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      'x-svc-idempotency-key': randomUUID(),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  assert.ok(response.ok, `${method} ${path} was answered ${response.status}`);
  return { ...((await response.json()) as object), request_id: response.headers.get('svc-request-id') };
}

/** The first request of this kind is carried out, but the page does not learn of it. */
async function loseFirstAnswer(url: string): Promise<void> {
  let lost = false;
  await page.route(url, async (route) => {
    if (lost || route.request().method() !== 'POST') return route.continue();
    lost = true;
    await route.fetch();
    return route.abort();
  });
}

let secretKey = '';
let renewedOn = '';
const gear = {
  name: 'Gear',
  description: 'Brass.',
  pricing: { amount: 500, currency: 'usd' },
  requires_shipping: true,
};

describe('a merchant', () => {
  it('signs up, makes a key, calls the API with it, and finds the request in the log', async () => {
    await page.goto('/');
    await page.getByRole('link', { name: auth.signUp }).click();
    await field(auth.password).fill('short');
    await button(auth.signUp).click();
    await page.getByText(auth.passwordShort).waitFor();
    assert.equal(await page.getByText(common.required).count(), 4, 'all wrong fields are marked at once');
    await field(auth.firstName).fill('Ada');
    await field(auth.lastName).fill('Lovelace');
    await field(auth.companyName).fill('Engines');
    await field(auth.email).fill(merchant.email);
    await field(auth.password).fill(merchant.password);
    await button(auth.signUp).click();
    await page.waitForURL(/\/home/);
    await mode('sandbox').waitFor();

    await page.goto('/developers/api-keys');
    await button(developers.newKey).first().click();
    await field(common.name, dialog()).fill('Server');
    await button(developers.newKey, dialog()).click();
    await page.getByText(developers.keyOnce).waitFor();
    secretKey = /svc_test_sk_\w+/.exec((await dialog().innerText()) + (await valuesIn(dialog())))?.[0] ?? '';
    const { request_id } = await call('GET', '/v1/customers', secretKey);
    assert.equal(await page.evaluate(`JSON.stringify({ ...localStorage, ...sessionStorage }).includes("_sk_")`), false);

    await page.goto(`/developers/requests?request_id=${request_id}`);
    await page.getByText('GET /v1/customers').first().click();
    await dialog().getByText(String(request_id)).first().waitFor();
    await dialog().getByText('Server').first().waitFor();
  });

  it('adds a webhook endpoint and rotates its secret', async () => {
    await page.goto('/developers/webhooks');
    await button(webhooks.add).first().click();
    await field(webhooks.url, dialog()).fill(receiver.url);
    await button(/./, dialog())
      .filter({ hasText: /Add endpoint|Create/ })
      .last()
      .click();
    await page.getByText(webhooks.secretOnce).waitFor();
    const first = await secretIn(dialog());
    assert.match(first, /^whsec_/);
    await page.keyboard.press('Escape');
    await dialog().getByText(common.copyFirst).waitFor();
    assert.ok(await button(common.done, dialog()).isDisabled(), 'a secret that is shown once is copied first');
    await button(common.copy, dialog()).click();
    await button(common.done, dialog()).click();
    await page.waitForURL(/\/developers\/webhooks\/[0-9a-f-]{36}/);

    await page.goto('/developers/webhooks');
    await table().getByText(receiver.url).click();
    await button(common.more).click();
    await page.getByRole('menuitem', { name: webhooks.rotate }).click();
    await button(webhooks.rotate, dialog()).click();
    await page.getByText(webhooks.oldUntil).first().waitFor();
    const second = await secretIn(dialog());
    assert.match(second, /^whsec_/);
    assert.notEqual(second, first);
  });

  it('creates a plan, subscribes a customer with a card from the card fields, and sees the first renewal', async () => {
    await call('POST', '/v1/products', secretKey, { ...gear, sku: 'gear' });
    await call('POST', '/v1/coupons', secretKey, { name: 'OIL20', kind: 'promo', percentage: 20, duration: 'once' });
    await page.goto('/coupons/new');
    await field(coupons.name).fill('autumn');
    await field(coupons.percentage).fill('10');
    await page.frameLocator(`iframe[title="${preview.frame}"]`).getByText('Pay $44.10').waitFor();
    await page.goto('/plans/new');
    await field(common.name).fill('Monthly engine');
    await field(plans.amount).fill('15.00');
    await button(plans.split).click();
    await button(plans.addTier).click();
    await button(plans.add).click();
    await page.getByText(common.required).waitFor();
    // The focus goes to what is wrong.
    await page.locator('[aria-invalid="true"]:focus').waitFor();
    await page.keyboard.type('Oil');
    await field(common.amount).last().fill('4');
    await page.getByRole('definition').filter({ hasText: '$19.00' }).waitFor();
    await page.frameLocator(`iframe[title="${preview.frame}"]`).getByText('Subscribe · $19.00 per month').waitFor();
    await button(orders.addItem).click();
    await page.getByRole('option', { name: /Gear/ }).click();
    await field(orders.quantity).fill('3');
    await button(plans.add).click();
    await page.getByText(plans.added).waitFor();
    await page.getByRole('row', { name: /Oil.*\$4\.00/ }).waitFor();
    await page.getByRole('row', { name: /Gear 3/ }).waitFor();

    await page.goto('/payment-links/new');
    await field(paymentLinks.mode).selectOption('products');
    await choose(orders.product, 'Gear');
    await page.getByText(paymentLinks.options).click();
    await field(paymentLinks.name).fill('Fair');
    await button(paymentLinks.add).click();
    await page.getByText(paymentLinks.added).waitFor();
    await page.getByRole('img', { name: paymentLinks.qrOf('Fair') }).waitFor();
    await inspect(page, '/payment-links/:id');

    await page.goto('/customers');
    await button(customers.add).first().click();
    await field(customers.firstName, dialog()).fill('Charles');
    await field(customers.lastName, dialog()).fill('Babbage');
    await field(customers.email, dialog()).fill('charles@example.com');
    await field(customers.phone, dialog()).fill('+15550102030');
    await page.getByText(customers.shippingAddress).click();
    await field(customers.address.name, dialog()).fill('C. Babbage');
    await choose(customers.address.country, 'United Kingdom');
    await button(/./, dialog())
      .filter({ hasText: /Add customer|Save|Create/ })
      .last()
      .click();
    await page.getByRole('heading', { name: 'Charles Babbage' }).waitFor();
    await button(common.edit).click();
    await dialog().getByText(customers.shippingAddress).click();
    await field(customers.address.city, dialog()).fill('London');
    await button(common.save, dialog()).click();
    await page.getByText('London').waitFor();
    await button(customers.addCard).click();
    await typeCard('4242424242424242');
    await button(customers.saveCard, dialog()).click();
    await page.getByText('Visa •••• 4242', { exact: true }).waitFor();

    await page.goto('/subscriptions/new');
    await choose(orders.customer, 'Charles');
    await choose(subscriptions.plan, 'Monthly engine');
    await field(orders.coupon).fill('oil20');
    await page.getByText(orders.takesOff('$3.80')).waitFor();
    await page.getByText(customers.shippingAddress).click();
    await field(customers.address.line1).fill('1 Dorset Street');
    await choose(customers.address.country, 'United Kingdom');
    await button(subscriptions.start).click();
    await dialog().getByText('$15.20').waitFor();
    await button(subscriptions.start, dialog()).click();
    await page.waitForURL(/\/subscriptions\/[0-9a-f-]{36}/);
    await page.getByText('1 paid, never ends').waitFor();
    const subscription = page.url();
    await button(subscriptions.edit).click();
    await dialog().getByText(customers.shippingAddress).click();
    await field(customers.address.postal_code, dialog()).fill('W1');
    await button(common.save, dialog()).click();
    await page.getByText('London, W1').waitFor();

    await page.goto('/sandbox/clock');
    await button(sandbox.steps.month).click();
    await page.getByRole('link', { name: 'Monthly engine renewed: $19.00 paid' }).waitFor();
    await page
      .getByText(/^\d+ days without events$/)
      .first()
      .waitFor();
    await page.getByRole('link', { name: 'Charles Babbage', exact: true }).first().waitFor();

    await page.goto(subscription);
    await page.getByText('2 paid, never ends').waitFor();
    const { data: renewals } = await call('GET', '/v1/orders?limit=1', secretKey);
    const address = { name: 'C. Babbage', line1: '1 Dorset Street', city: 'London', postal_code: 'W1', country: 'GB' };
    assert.partialDeepStrictEqual(renewals[0], {
      total: 1900,
      shipping: address,
      items: [{ sku: 'gear', quantity: 3 }],
    });
    renewedOn = renewals[0].created_at.slice(0, 10);
    const renewed = receiver.received.filter(({ event }) => event.type === 'subscription.charged');
    assert.equal(renewed.length, 1, 'the renewal was delivered to the receiver');
    await page.goto('/developers/webhooks');
    await table().getByText(receiver.url).click();
    const delivery = page.getByRole('row').filter({ hasText: 'subscription.charged' });
    await delivery.getByText(/Delivered/i).waitFor();

    const arrived = receiver.received.length;
    await delivery.click();
    await button(webhooks.replay, dialog()).click();
    await page.getByText(webhooks.replayed).waitFor();
    await receiver.count(arrived + 1);
    assert.equal(receiver.received.at(-1)?.event.id, renewed[0]?.event.id, 'the same event is sent again');
  });

  it('refunds a part of an order once, after a confirmation with the amount, although a response is lost', async () => {
    // Until a day: that day included.
    await page.goto(`/orders?from=${renewedOn}&to=${renewedOn}`);
    await table().getByRole('row').nth(1).click();
    await page.waitForURL(/\/orders\/[0-9a-f-]{36}/);
    await button(orders.refund).click();
    await field(orders.refundAmount, dialog()).fill('1,900');
    await button(orders.reviewRefund, dialog()).click();
    await dialog()
      .getByText(amounts.ambiguous('1,900', '1900.00', '1.90'))
      .waitFor();
    await field(orders.refundAmount, dialog()).fill('5,00');
    await field(orders.refundReason, dialog()).selectOption('Duplicate');
    await button(orders.reviewRefund, dialog()).click();
    await loseFirstAnswer('**/refund');
    await button(orders.refundButton('$5.00'), dialog()).click();
    await page.getByText(common.notTwice).waitFor();
    await button(common.cancel, dialog()).click();
    await field(orders.refundReason, dialog()).selectOption('Fraudulent');
    await button(orders.reviewRefund, dialog()).click();
    await button(orders.refundButton('$5.00'), dialog()).click();
    await page.getByText(orders.refundDone).waitFor();
    await page.getByText(orders.refundNote('$5.00', 'Fraudulent')).waitFor();
    await page.getByText('Partially refunded').first().waitFor();
    await page.getByText('−$5.00').waitFor();
  });

  it('charges once when the answer is lost, and the question is closed and asked again', async () => {
    await loseFirstAnswer('**/v1/orders');
    const count = async () => (await call('GET', '/v1/orders?limit=100', secretKey)).data.length;
    const before = await count();
    await page.goto('/orders/new');
    await choose(orders.customer, 'Charles');
    await choose(orders.product, 'Gear');
    await field(orders.card).locator('option').waitFor({ state: 'attached' });
    await button(orders.charge('$5.00')).click();
    await button(orders.charge('$5.00'), dialog()).click();
    await page.getByText(common.notTwice).waitFor();
    await button(common.cancel, dialog()).click();
    await button(orders.charge('$5.00')).click();
    await button(orders.charge('$5.00'), dialog()).click();
    await page.waitForURL(/\/orders\/[0-9a-f-]{36}/);
    assert.equal(await count(), before + 1);
  });

  it('moves a past due subscription to a card on file, and makes another card the default', async () => {
    const person = { first_name: 'Mary', last_name: 'Somerville', email: 'mary@example.com', phone: '+15550102031' };
    const { id: customer_id } = await call('POST', '/v1/customers', secretKey, person);
    for (const number of ['4000009999000341', '5555555555554444']) {
      const card = { number, exp_month: '12', exp_year: '2040', cvc: '999' };
      await call('POST', '/capture', secretKey, { customer_id, card });
    }
    const [plan] = (await call('GET', '/v1/plans', secretKey)).data;
    const { id } = await call('POST', '/v1/subscriptions', secretKey, { customer_id, plan_id: plan.id });
    await call('POST', '/v1/sandbox/clock/advance', secretKey, { by: { months: 1, hours: 1 } });
    const read = () => call('GET', `/v1/subscriptions/${id}`, secretKey);
    assert.equal((await read()).status, 'past_due');

    await page.goto(`/subscriptions/${id}`);
    await button(subscriptions.changeCard).click();
    await dialog().getByText('Mastercard •••• 4444').waitFor({ state: 'attached' });
    await button(subscriptions.charge('$19.00'), dialog()).click();
    await page.getByText(subscriptions.cardChanged).waitFor();
    const deadlineMs = Date.now() + 20_000;
    while ((await read()).status !== 'active' && Date.now() < deadlineMs) await page.waitForTimeout(50);
    assert.partialDeepStrictEqual(await read(), {
      status: 'active',
      completed_cycles: 2,
      payment_method: { card_last_four: '4444' },
    });

    await page.goto(`/customers/${customer_id}`);
    const { url } = await call('POST', '/v1/customer_sessions', secretKey, { customer_id });
    await button(customers.endLinks).click();
    await button(customers.endLinks, dialog()).click();
    // The email about the declined renewal may have one too.
    await page.getByText(/^(1 link has|2 links have) ended\.$/).waitFor();
    assert.equal((await fetch(`${service.baseUrl}${new URL(url).pathname}/account`)).status, 404);
    await button(`${customers.makeDefault}: Mastercard •••• 4444`).click();
    await field(customers.moveSubscriptions, dialog()).check();
    await button(customers.makeDefault, dialog()).click();
    await page.getByText(customers.defaultChanged).waitFor();
    await button(`${customers.makeDefault}: Visa •••• 0341`).waitFor();
  });

  it('changes the seats of a subscription after the preview, and takes a scheduled change back', async () => {
    const person = { first_name: 'Emmy', last_name: 'Noether', email: 'emmy@example.com', phone: '+15550102032' };
    const { id: customer_id } = await call('POST', '/v1/customers', secretKey, person);
    const card = { number: '5555555555554444', exp_month: '12', exp_year: '2040', cvc: '999' };
    await call('POST', '/capture', secretKey, { customer_id, card });
    const [plan] = (await call('GET', '/v1/plans', secretKey)).data;
    const { id } = await call('POST', '/v1/subscriptions', secretKey, { customer_id, plan_id: plan.id });

    await page.goto(`/subscriptions/${id}`);
    await button(planChanges.button).click();
    await field(planChanges.seats, dialog()).fill('2');
    await dialog().getByText(planChanges.due).waitFor();
    await button(planChanges.charge('$19.00'), dialog()).click();
    await page.getByText(planChanges.done.applied).waitFor();
    assert.equal((await call('GET', `/v1/subscriptions/${id}`, secretKey)).quantity, 2);

    await button(planChanges.button).click();
    await field(planChanges.seats, dialog()).fill('3');
    await dialog().getByText(planChanges.choices.renewal.label).click();
    await button(planChanges.change, dialog()).click();
    await page.getByText(planChanges.done.scheduled).waitFor();
    await button(planChanges.undo).click();
    await page.getByText(planChanges.undone).waitFor();
    assert.equal((await call('GET', `/v1/subscriptions/${id}`, secretKey)).scheduled_change, null);
  });

  it('adds images by dropping them anywhere on their panel, and is asked before one goes', async () => {
    const { id } = await call('POST', '/v1/products', secretKey, { ...gear, sku: 'spare-gear' });
    await page.goto(`/products/${id}`);
    for (const _ of ['first', 'second']) {
      const dataTransfer = await page.evaluateHandle(draggedImage);
      await page.getByText(products.imagesHint).dispatchEvent('drop', { dataTransfer });
      await page.getByText(products.uploaded).waitFor();
      await button(common.dismiss).click();
    }
    await page.getByAltText(products.imageAlt('Gear', 2)).waitFor();
    await button(products.removeImage(1)).click();
    await button(common.cancel, dialog()).click();
    await button(products.removeImage(1)).click();
    await button(common.delete, dialog()).click();
    await page.getByAltText(products.imageAlt('Gear', 2)).waitFor({ state: 'hidden' });
    await page.getByAltText(products.imageAlt('Gear', 1)).waitFor();
  });

  it('is warned of fields that hold what looks like card numbers, by name and without the value', async () => {
    const person = { email: 'numbers@example.com', first_name: 'N', last_name: 'O', phone: '+15550109999' };
    await call('POST', '/v1/customers', secretKey, { ...person, metadata: { ledger_number: '4242.4242.4242.4242' } });
    for (const place of ['/developers', '/home']) {
      await page.goto(place);
      await page.getByRole('heading', { name: cardNotices.warnings.title }).waitFor();
      await page.getByRole('row', { name: /metadata\.ledger_number POST \/v1\/customers/ }).waitFor();
      assert.ok(!(await page.locator('body').innerText()).includes('4242.4242'));
    }
    await button(cardNotices.warnings.dismiss).click();
    await page.getByText(cardNotices.warnings.dismissed).waitFor();
    await page.getByRole('heading', { name: cardNotices.warnings.title }).waitFor({ state: 'detached' });
  });

  it('raises the limit of a coupon but cannot remove it, and makes an amount a percentage and back', async () => {
    const limits = { max_redemptions: 5, expires_at: '2099-01-01T00:00:00Z' };
    const discount = { name: 'Week', amount: 500, currency: 'usd' };
    const { id } = await call('POST', '/v1/coupons', secretKey, { ...discount, ...limits });
    await page.goto(`/coupons/${id}`);
    await button(common.edit).click();
    await field(coupons.maxAll, dialog()).fill('');
    await field(coupons.expires, dialog()).fill('');
    await button(common.save, dialog()).click();
    await dialog().getByText(coupons.limitStays).waitFor();
    await dialog().getByText(coupons.dateStays).waitFor();
    await field(coupons.maxAll, dialog()).fill('7');
    await field(coupons.expires, dialog()).fill('2098-01-01T00:00');
    await field(coupons.how, dialog()).selectOption('percentage');
    await field(coupons.percentage, dialog()).fill('15');
    await button(common.save, dialog()).click();
    await page.getByText(common.saved).waitFor();
    const read = () => call('GET', `/v1/coupons/${id}`, secretKey);
    assert.partialDeepStrictEqual(await read(), { max_redemptions: 7, percentage: 15, amount: null, currency: null });
    await button(common.edit).click();
    await field(coupons.how, dialog()).selectOption('amount');
    await field(coupons.amount, dialog()).fill('3');
    await button(common.save, dialog()).click();
    await dialog().waitFor({ state: 'detached' });
    assert.partialDeepStrictEqual(await read(), { percentage: null, amount: 300, currency: 'usd' });
  });

  it('chooses a figure, a period and a comparison on Home, and reads what the figure means', async () => {
    await page.goto('/home');
    const [name, definition] = home.metrics.mrr;
    await button(name).click();
    await page.waitForURL(/figure=mrr/);
    await page.getByRole('heading', { name, exact: true }).waitFor();
    await button(home.ranges['30d']).click();
    await button(home.ranges['90d']).click();
    await page.waitForURL(/range=90d/);
    const numbers = page.getByRole('table', { name, exact: true });
    await numbers.getByRole('columnheader', { name: home.previous }).waitFor();
    assert.ok((await numbers.getByRole('row').count()) >= 13);
    await button(home.compare).click();
    await page.waitForURL(/compare=off/);
    await numbers.getByRole('columnheader', { name: home.previous }).waitFor({ state: 'detached' });
    await button(home.definitionOf(name)).click();
    await page.getByText(definition).waitFor();
    await page.keyboard.press('Escape');
    await page.reload();
    await page.getByRole('heading', { name, exact: true }).waitFor();
    await page.getByRole('heading', { name: home.attention }).waitFor();
  });

  it('arranges the figures of Home with the keyboard, and finds them so on another device', async () => {
    await page.goto('/home');
    await page.getByText(home.zone('UTC')).waitFor();
    const figures = page.locator('main li button[aria-pressed]');
    const texts = async () => (await figures.allTextContents()).slice(0, 4);
    const [gross, net, mrr, payments] = ['gross_volume', 'net_volume', 'mrr', 'payments'].map(
      (name) => home.metrics[name as keyof typeof home.metrics][0],
    );
    await figures.first().waitFor();
    assert.deepEqual(await texts(), [gross, net, mrr, payments]);
    await button(home.arrange).click();
    await button(home.moveUp(payments ?? ''), dialog()).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await button(common.save, dialog()).click();
    await dialog().waitFor({ state: 'detached' });
    await page.evaluate('localStorage.clear()');
    await page.reload();
    await figures.first().waitFor();
    assert.deepEqual(await texts(), [gross, payments, net, mrr]);
    await inspect(page, 'Home with arranged figures');
  });

  it('finds things with Ctrl-K', async () => {
    await page.goto('/home');
    await mode('sandbox').waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('babbage');
    await dialog().getByText('Charles Babbage').first().waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Charles Babbage' }).waitFor();
  });

  it('switches to the live company, whose pages show no sandbox and say when it was restored', async () => {
    await button(shell.live).first().click();
    await mode('live').waitFor();
    await page.goto('/customers');
    await page.getByText(customers.emptyTitle).waitFor();
    const { missingTitle, title, text, waitsFor } = transactions.restored;
    const owner = new pg.Client({ connectionString: database.connectionString });
    await owner.connect();
    await owner.query(
      `INSERT INTO company_gates (company_id, noticed_by, detail, waits_for, next_compare_at)
       SELECT id, 'operator', 'a test', 'operator', now() + interval '1 day' FROM companies WHERE mode = 'live'`,
    );
    await owner.query(
      `INSERT INTO missing_operations (company_id, reference, kind, amount, currency, card_last4,
         processor_transaction_id, executed_at)
       SELECT id, uuidv7(), 'charge', 4900, 'usd', '4242', 'acq_000000007', now() FROM companies
       WHERE mode = 'live'`,
    );
    await page.goto('/home');
    await page.getByRole('heading', { name: title }).waitFor();
    await page.getByText(text).waitFor();
    await page.getByText(waitsFor.operator).waitFor();
    await page.getByRole('row', { name: /49\.00.*acq_000000007/ }).waitFor();
    await owner.query('DELETE FROM company_gates');
    await page.goto('/in-doubt');
    await page.getByRole('heading', { name: missingTitle }).waitFor();
    await owner.query('DELETE FROM missing_operations');
    await owner.end();
    await button(shell.sandbox).first().click();
    await mode('sandbox').waitFor();
  });
});

describe('a member who was invited', () => {
  it('accepts from the mailbox page and is refused what the role may not do', async () => {
    await page.goto('/team');
    await button(team.invite).first().click();
    await button(team.invite, dialog()).click();
    await dialog().getByText(team.chooseRole).waitFor();
    await field(team.email, dialog()).fill('grace@example.com');
    const role = await field(team.role, dialog()).locator('option', { hasText: 'Support' }).getAttribute('value');
    await field(team.role, dialog()).selectOption(role);
    await button(team.invite, dialog()).click();
    // Without a mail server, the dashboard does not say that the invitation was sent.
    await dialog().getByText(team.unsent.text('grace@example.com')).waitFor();
    const mailbox = await dialog().getByRole('link', { name: emails.unsent.openMailbox }).getAttribute('href');
    assert.equal(await page.getByText(team.invited).count(), 0);
    await button(common.done, dialog()).click();

    const owner = page;
    page = await newPage();
    await page.goto(mailbox ?? '');
    await page
      .getByRole('link', { name: /invitations/ })
      .first()
      .click();
    await field(auth.firstName).fill('Grace');
    await field(auth.lastName).fill('Hopper');
    await field(auth.phone).fill('+49 30 123456');
    await field(auth.password).fill('nanoseconds of wire');
    await button(auth.accept).click();
    await page.waitForURL(/\/customers/);
    await page.getByText('Charles Babbage').waitFor();

    await page.goto('/products');
    await page.getByRole('heading', { name: 'Products', exact: true }).waitFor();
    assert.ok(
      await button(/Add product/)
        .first()
        .isDisabled(),
      'what is not allowed cannot be pressed',
    );
    await page.goto('/developers/api-keys');
    await page
      .getByText(/does not have the permission|have access/)
      .first()
      .waitFor();
    const refused = await page.evaluate(`(async () => {
      const { companies } = await (await fetch('/dashboard/session')).json();
      const headers = { 'svc-company': companies[0].id, 'content-type': 'application/json', 'x-svc-idempotency-key': 'x' };
      return (await fetch('/v1/products', { method: 'POST', headers, body: '{}' })).status;
    })()`);
    assert.equal(refused, 403);

    // With permission to read orders and nothing else, the pages do without the customers.
    const changed = await owner.evaluate(`(async () => {
      const { companies } = await (await fetch('/dashboard/session')).json();
      const company = companies.find(({ mode }) => mode === 'sandbox').id;
      const headers = { 'svc-company': company, 'content-type': 'application/json' };
      const send = async (method, path, body) =>
        (await fetch(path, { method, headers, ...(body && { body: JSON.stringify(body) }) })).json();
      const role = await send('POST', '/dashboard/roles', { name: 'Packer', permissions: ['orders:read'] });
      const { data } = await send('GET', '/v1/team_members');
      const { id } = data.find(({ email }) => email === 'grace@example.com');
      return (await send('PATCH', '/dashboard/team_members/' + id, { role_id: role.id })).role.name;
    })()`);
    assert.equal(changed, 'Packer');
    await page.goto('/orders');
    await table().getByRole('row').nth(1).waitFor();
    await table().getByRole('link').first().click();
    await page.getByRole('heading', { name: orders.items, exact: true }).waitFor();
    await page.goto('/home');
    await page.getByText(home.metrics.gross_volume[0], { exact: true }).first().waitFor();
    assert.equal(await page.getByText(home.metrics.new_customers[0]).count(), 0);
    assert.equal(await page.getByText('Charles Babbage').count(), 0);

    // Blocked while signed in: the next thing they do is refused.
    const member = page;
    page = owner;
    await page.goto('/team');
    await page.getByRole('row').filter({ hasText: 'grace@example.com' }).getByRole('button').last().click();
    await page.getByRole('menuitem', { name: team.block }).click();
    await button(team.block, dialog()).click();
    await page.getByText(team.blocked).waitFor();
    await member.goto('/customers');
    await member.getByText(shell.noCompany).waitFor();
    await member.context().close();
  });
});

describe('signing in', () => {
  let recoveryCodes: readonly string[] = [];

  it('asks for the code of an authenticator app once that is set up', async () => {
    page = await newPage();
    await page.goto('/login');
    await field(auth.email).fill(merchant.email);
    await field(auth.password).fill(merchant.password);
    await button(auth.signIn).click();
    await page.waitForURL(/\/home/);
    await page.goto('/account');
    await button(account.totpStart).click();
    await page.getByText(account.totpSecret).waitFor();
    const shown =
      (await page.locator('body').innerText()).replaceAll(/\s/g, ' ') + (await valuesIn(page.locator('body')));
    const secret = decoded(/[A-Z2-7]{32}/.exec(shown.replaceAll(' ', ''))?.[0] ?? '');
    await field(account.totpCode).fill(codeAt(secret, stepOf(Date.now())));
    await button(common.done, dialog()).click();
    await page.getByText(account.recovery).waitFor();
    recoveryCodes = (await dialog().locator('li').allInnerTexts()).join(' ').match(/[a-z0-9]{10}/g) ?? [];

    page = await newPage();
    await page.goto('/login?next=/orders');
    await field(auth.email).fill(merchant.email);
    await field(auth.password).fill(merchant.password);
    await button(auth.signIn).click();
    await field(auth.totpCode).fill(recoveryCodes[0] ?? '');
    await button(auth.signIn).click();
    await page.waitForURL(/\/orders/);
  });

  it('works with a new password chosen from the mailbox page, and the old one does not', async () => {
    page = await newPage();
    await page.goto('/login');
    await page.getByRole('link', { name: auth.forgot }).click();
    // Both pages have a field for the address.
    await button(auth.unsent.sendLink).waitFor();
    await field(auth.email).fill(merchant.email);
    await button(auth.unsent.sendLink).click();
    await page.getByText(auth.unsent.mailbox).waitFor();
    // The mail is written behind the answer.
    const link = page.getByRole('link', { name: /reset-password/ }).first();
    for (let look = 0; look < 100 && (await link.count()) === 0; look += 1) await page.goto('/mailbox');
    await link.click();
    const old = merchant.password;
    merchant.password = 'difference engines, too';
    await field(auth.newPassword).fill(merchant.password);
    await page.keyboard.press('Enter');
    await page.getByText(auth.passwordChanged).waitFor();
    await field(auth.email).fill(merchant.email);
    await field(auth.password).fill(old);
    await button(auth.signIn).click();
    await page.getByRole('alert').waitFor();
    await field(auth.password).fill(merchant.password);
    await button(auth.signIn).click();
    await field(auth.totpCode).fill(recoveryCodes[1] ?? '');
    await button(auth.signIn).click();
    await page.waitForURL(/\/home/);
  });

  it('leaves nothing behind after signing out that opens the account, only that the browser is known', async () => {
    const cookies = await page.context().cookies();
    await button(new RegExp(shell.userMenu)).click();
    await page.getByRole('menuitem', { name: shell.signOut }).click();
    await page.waitForURL('**/login**');
    const left = (await page.context().cookies()).map(({ name }) => name);
    assert.deepEqual(left, ['svc_browser']);
    await page.context().addCookies(cookies);
    await page.goto('/customers');
    await page.waitForURL('**/login**');
  });
});

describe('all of this', () => {
  it('made no error and violated no policy', () => {
    assert.deepEqual(problems, []);
  });
});

/** Runs in the page: an image file, as it is dragged in from outside. */
const draggedImage = `(async () => {
  const image = await new Promise((done) => document.createElement('canvas').toBlob(done, 'image/png'));
  const dragged = new DataTransfer();
  dragged.items.add(new File([image], 'gear.png', { type: 'image/png' }));
  return dragged;
})()`;

/** What is written in fields, which a page's text does not include. */
async function valuesIn(scope: Locator): Promise<string> {
  const fields = await scope.locator('input, textarea').all();
  const values = await Promise.all(fields.map((one) => one.inputValue()));
  return ` ${values.join(' ')}`;
}

async function secretIn(scope: Locator): Promise<string> {
  return /whsec_[\w+/=]+/.exec((await scope.innerText()) + (await valuesIn(scope)))?.[0] ?? '';
}

function decoded(base32: string): Buffer {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = [...base32].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
