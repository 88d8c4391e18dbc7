import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Locator, Page } from 'playwright-core';
import { auth } from '../../dashboard/src/texts/auth.ts';
import { common, shell } from '../../dashboard/src/texts/common.ts';
import { disputes } from '../../dashboard/src/texts/disputes.ts';
import { home } from '../../dashboard/src/texts/home.ts';
import { goingLive } from '../../dashboard/src/texts/going-live.ts';
import { processors } from '../../dashboard/src/texts/processors.ts';
import { settings } from '../../dashboard/src/texts/settings.ts';
import { applyDueNotices } from '../../server/features/processors/notices.ts';
import { notedOperations } from '../../server/features/processors/rejections.ts';
import { limits } from '../../server/limits.ts';
import { silentLog } from '../support/silent-log.ts';
import { Secret } from '../../server/platform/secret.ts';
import { violationsIn } from '../support/axe.ts';
import { launchBrowser } from '../support/browser.ts';
import { companyOf, type Person, signUp } from '../support/dashboard.ts';
import { assertRefused, openShop, order } from '../support/orders.ts';
import { openAcquirer, type OwnAcquirer } from '../support/own-acquirer.ts';
import { type Simulator, startSimulator } from '../support/simulator.ts';
import { type Reply, someProduct, startTestService, type TestService } from '../support/service.ts';

/** How an owner connects processors and goes live, in a real browser with a simulated Stripe and an acquirer. */

const secretKey = 'sk_live_51NotARealKey00000000';
const signingSecret = 'whsec_ofTheSimulatedStripe';
let service: TestService;
let stripe: Simulator;
let acquirer: OwnAcquirer;
let browser: Browser;
let owner: Person;
let page: Page;
const problems: string[] = [];

before(async () => {
  [stripe, acquirer, browser] = await Promise.all([
    startSimulator('stripe', secretKey),
    openAcquirer(),
    launchBrowser(),
  ]);
  const settings = { SVC_ACQUIRERS: `${acquirer.url}/`, SVC_PROCESSOR_ORIGINS: stripe.url };
  service = await startTestService({ settings });
  owner = await signUp(service);
  const context = await browser.newContext({ baseURL: service.baseUrl, locale: 'en-US' });
  context.setDefaultTimeout(10_000);
  page = await context.newPage();
  page.on('pageerror', (error) => problems.push(`${page.url()}: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      problems.push(`${page.url()}: ${message.text()}`);
    }
  });
  // The field for the URL of a simulated Stripe is not shown.
  await page.route('**/dashboard/processors{,/test}', (route) => {
    const body = route.request().postDataJSON();
    if (body?.kind !== 'stripe') return route.continue();
    return route.continue({
      postData: { ...body, configuration: { ...body.configuration, api_url: stripe.url } },
    });
  });
  await page.goto('/login');
  await field(auth.email).fill(owner.email);
  await field(auth.password).fill(owner.password);
  await button(auth.signIn).click();
  await page.waitForURL(/\/home/);
});
after(async () => {
  await browser?.close();
  await Promise.all([service?.stop(), stripe?.stop(), acquirer?.stop()]);
});

const button = (name: string, within: Page | Locator = page): Locator =>
  within.getByRole('button', { name, exact: true });
const field = (label: string, within: Page | Locator = page): Locator => within.getByLabel(label, { exact: true });
const dialog = (): Locator => page.getByRole('dialog');
const card = (name: string): Locator => page.getByRole('listitem').filter({ hasText: name });
const names = (): Promise<string[]> => page.getByRole('heading', { level: 3 }).allInnerTexts();

async function choose(name: string, action: string): Promise<void> {
  await button(`${common.actions}: ${name}`).click();
  await page.getByRole('menuitem', { name: action }).click();
}

/** Nothing for axe to mend, and no wider than a phone, in both themes. */
async function inspect(): Promise<void> {
  for (const theme of ['light', 'dark']) {
    await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
    // Colors change gradually, and a contrast in between means nothing.
    await page.evaluate('Promise.allSettled(document.getAnimations().map(({ finished }) => finished))');
    assert.deepEqual(await violationsIn(page, { rules: theme === 'light' ? 'wcag' : 'colors' }), [], theme);
  }
  await page.evaluate(`delete document.documentElement.dataset.theme`);
  const size = page.viewportSize() ?? { width: 1280, height: 720 };
  await page.setViewportSize({ width: 360, height: 740 });
  const fits = 'document.documentElement.scrollWidth <= document.documentElement.clientWidth';
  assert.ok(await page.evaluate(fits), 'it is wider than a phone');
  await page.setViewportSize(size);
}

/** Returns how to place a live order, and how to repeat it. */
async function liveOrder(): Promise<() => Promise<Reply>> {
  const id = companyOf(owner, 'live');
  const key = await service.createKey({ ...service.company, id, mode: 'live', processor: 'connected' });
  const shop = await openShop(service, undefined, { key });
  const idempotencyKey = randomUUID();
  return () => order(service, shop, {}, { key, idempotencyKey });
}

/** Places an order whose outcome is in doubt at the second acquirer. Returns how to repeat it. */
async function orderInDoubt(): Promise<() => Promise<Reply>> {
  const company = companyOf(owner, 'live');
  const [main, europe] = await liveConnections();
  await owner.in('PATCH', `/dashboard/processors/${europe?.id}`, { rules: {} }, { company });
  await owner.in('POST', '/dashboard/processors/order', { connection_ids: [europe?.id, main?.id] }, { company });
  await acquirer.control({ faults: { reset_after: 1, lookup_error: 1 } });
  const place = await liveOrder();
  assertRefused(await place(), 502, 'gateway_error');
  return place;
}

const liveConnections = async (): Promise<Record<string, any>[]> =>
  (await owner.in('GET', '/dashboard/processors', undefined, { company: companyOf(owner, 'live') })).body.connections;

/** Waits until the notices of Stripe have arrived and are applied. */
async function applied(orderId: string, status: string): Promise<void> {
  const read = async (): Promise<string> => {
    const { vault, orders, db } = service;
    await applyDueNotices({ db, vault, orders, log: silentLog }, 100);
    const [row] = await db.query<{ status: string }>('SELECT status FROM orders WHERE id = $1', [orderId]);
    return row?.status ?? '';
  };
  for (let tries = 0; (await read()) !== status; tries += 1) {
    assert.ok(tries < 100, `the order never becomes ${status}`);
    await sleep(50);
  }
}

describe('an owner', () => {
  it('reads that the sandbox needs no processor', async () => {
    await page.goto('/settings/processors');
    await page.getByRole('heading', { name: processors.sandboxTitle }).waitFor();
    await button(shell.live).click();
    await page.getByRole('heading', { name: processors.emptyTitle }).waitFor();
    await inspect();
  });

  it('tests credentials before connecting, and confirms the password', async () => {
    await page.goto('/settings');
    await page.getByRole('link', { name: settings.manageProcessors }).click();
    await page.getByRole('button', { name: /^Stripe/ }).click();
    await button(processors.test, dialog()).click();
    await dialog().getByText('is required').waitFor();
    await field('Secret key', dialog()).fill('pk_live_publishable0000');
    await button(processors.test, dialog()).click();
    await dialog().getByText('must be a secret key', { exact: false }).waitFor();
    await field('Secret key', dialog()).fill(`${secretKey}0`);
    await button(processors.test, dialog()).click();
    await dialog().getByText('Stripe does not know this secret key', { exact: false }).waitFor();
    assert.deepEqual(await liveConnections(), [], 'a test stores nothing');
    await field('Secret key', dialog()).fill(secretKey);
    await field('Signing secret (optional)', dialog()).fill(signingSecret);
    await field(processors.name, dialog()).fill('Main');
    await button(processors.test, dialog()).click();
    await dialog().getByText('It works. The account is', { exact: false }).waitFor();
    await inspect();

    await service.control.query(`UPDATE sessions SET stepped_up_at = stepped_up_at - $1 * interval '1 min'`, [
      limits.stepUpMinutes + 1,
    ]);
    await button(processors.connectNow, dialog()).click();
    const confirmation = page.getByRole('dialog', { name: shell.stepUp });
    await field(auth.password, confirmation).fill(owner.password);
    await button(auth.confirm, confirmation).click();
    await page.getByRole('heading', { name: processors.connectedTitle('Main') }).waitFor();
    const url = await dialog().getByTestId('notice-url').innerText();
    const [connection] = await liveConnections();
    assert.equal(new URL(url).pathname, `/processors/${connection?.id}/notices`);
    const here = new URL(new URL(url).pathname, service.baseUrl).href;
    await stripe.control({ webhook: { url: here, secret: signingSecret } });
    await inspect();
    await button(common.done, dialog()).click();
    await card('Main').getByText(processors.noNotice).waitFor();
    await owner.call('POST', '/dashboard/session/step_up', { body: { password: owner.password } });
  });

  it('takes a payment through Stripe, and answers the dispute that Stripe reports', async () => {
    const { body: paid } = await (await liveOrder())();
    assert.equal(paid.status, 'succeeded');
    const transaction_id = paid.transactions[0].processor_transaction_id;
    await stripe.call('POST', '/control/disputes', { transaction_id, action: 'open' });
    await applied(paid.id, 'chargeback');
    await page.goto('/disputes');
    await page.getByRole('row', { name: paid.order_number }).click();
    await page.getByText(disputes.meanings.needs_response).waitFor();
    await page.getByLabel(disputes.questions[0]?.label ?? '', { exact: true }).fill('They confirmed the delivery.');
    const receipt = { name: 'receipt.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.7 a receipt') };
    await page.locator('input[type=file]').setInputFiles(receipt);
    await page.getByRole('row', { name: /receipt\.pdf/ }).waitFor();
    await button(disputes.submit).click();
    await button(disputes.submit, dialog()).click();
    await page.getByText(disputes.meanings.under_review).waitFor();
    await stripe.call('POST', '/control/disputes', { transaction_id, action: 'win' });
    await applied(paid.id, 'chargeback_dismissed');
    await page.goto('/settings/processors');
    await card('Main').getByText(processors.noNotice).waitFor({ state: 'detached' });
  });

  it('orders processors, and sets rules and verification', async () => {
    await button(processors.connect).click();
    await page.getByRole('button', { name: /^Acquirer protocol/ }).click();
    await field('URL', dialog()).selectOption(`${acquirer.url}/`);
    await field('Secret', dialog()).fill(acquirer.secret);
    await field(processors.name, dialog()).fill('Euro');
    await button(processors.connectNow, dialog()).click();
    await page.getByRole('heading', { name: processors.connectedTitle('Euro') }).waitFor();
    await button(common.done, dialog()).click();
    await page.getByRole('heading', { name: 'Euro', exact: true }).waitFor();
    assert.deepEqual(await names(), ['Main', 'Euro']);
    await button(processors.moveUp('Euro')).click();
    await page.getByText(processors.moved).waitFor();
    await page.getByLabel(processors.position(1, 2)).waitFor();
    await page.getByRole('heading', { level: 3 }).first().filter({ hasText: 'Euro' }).waitFor();

    await choose('Euro', processors.editRules);
    await field(processors.currencies, dialog()).fill('euro');
    await button(common.save, dialog()).click();
    await dialog().getByText(processors.currenciesInvalid).waitFor();
    await field(processors.currencies, dialog()).fill('EUR, chf');
    await field('Visa', dialog()).check();
    await field(`${processors.share} (%)`, dialog()).fill('30');
    await button(common.save, dialog()).click();
    await page.getByText('EUR, CHF · Visa · 30% of the traffic').waitFor();
    await card('Euro').getByLabel(processors.verifies).check();
    await page.getByText(processors.verifiesOn).waitFor();
    const [first, second] = await liveConnections();
    assert.deepEqual(first?.rules, { currencies: ['eur', 'chf'], brands: ['visa'], share: 30 });
    assert.deepEqual([first?.verifies_cards, second?.verifies_cards], [true, false]);
    assert.equal((await (await liveOrder())()).body.status, 'succeeded', 'dollars go to Stripe');
    await page.reload();
    await card('Main').getByText(processors.noticeSeen, { exact: false }).waitFor();
    await card('Main').getByText('2 calls, none failed').waitFor();
    await card('Main').getByText(processors.lastCalls).click();
    assert.equal(await card('Main').getByText('Approved', { exact: true }).count(), 2);
    await card('Main').getByRole('button', { name: processors.test }).click();
    await card('Main').getByText('It works.', { exact: false }).waitFor();
    await inspect();
  });

  it('disconnects a processor, connects it again, and removes credentials against a warning', async () => {
    await choose('Euro', processors.rename);
    await field(processors.name, dialog()).fill('Europe');
    await button(common.save, dialog()).click();
    await page.getByRole('heading', { name: 'Europe' }).waitFor();
    await choose('Europe', processors.disconnect);
    await dialog().getByText(processors.disconnectText('Europe')).waitFor();
    await button(processors.disconnect, dialog()).click();
    await page.getByRole('heading', { name: processors.earlier }).waitFor();
    await choose('Europe', processors.reconnect);
    await button(processors.reconnect, dialog()).click();
    await page.getByRole('heading', { name: processors.earlier }).waitFor({ state: 'detached' });
    assert.deepEqual(await names(), ['Main', 'Europe']);

    const placeOrder = await orderInDoubt();
    await choose('Europe', processors.disconnect);
    await button(processors.disconnect, dialog()).click();
    await page.getByRole('heading', { name: processors.earlier }).waitFor();
    await choose('Europe', processors.remove);
    await dialog().getByText(processors.removeWarning).waitFor();
    await button(processors.remove, dialog()).click();
    await dialog().getByText('only this processor knows it', { exact: false }).waitFor();
    await acquirer.control({ faults: {} });
    assert.equal((await placeOrder()).body.status, 'succeeded', 'a disconnected processor still answers');
    await button(processors.remove, dialog()).click();
    await page.getByText(processors.removed).waitFor();
    await card('Europe').getByText(processors.statuses.removed).waitFor();
    await inspect();
  });

  it('learns that the processor refuses a revoked key, and replaces it', async () => {
    const [main] = await liveConnections();
    const configuration = { secret_key: 'sk_live_wasRevoked0000', signing_secret: signingSecret, api_url: stripe.url };
    const stored = {
      companyId: companyOf(owner, 'live'),
      id: String(main?.id),
      kind: 'stripe',
      timeoutMs: 1_000,
    } as const;
    await service.vault.connect({ ...stored, configuration: new Secret(configuration) });
    assert.equal((await (await liveOrder())()).body.failure_code, 'invalid_merchant_configuration');
    await page.goto('/home');
    await page.getByRole('link', { name: home.attentions.processors_refusing[0] }).click();
    await card('Main').getByText(processors.refusedText(true), { exact: false }).waitFor();
    await inspect();
    await choose('Main', processors.credentials);
    await field('Secret key', dialog()).fill(secretKey);
    await button(processors.credentials, dialog()).click();
    await card('Main').getByText(processors.refusedText(true), { exact: false }).waitFor({ state: 'detached' });
    assert.equal((await (await liveOrder())()).body.status, 'succeeded');
  });

  it('reads which operations a processor rejects because of the account, and what it said', async () => {
    const [main] = await liveConnections();
    const company = companyOf(owner, 'live');
    const says = 'Stripe refuses requests of the account: testmode_charges_only.';
    for (const operation of notedOperations) {
      await service.db.query(
        `UPDATE processor_connections SET rejected_at = now(), rejection = $3, rejected_operation = $4
         WHERE company_id = $1 AND id = $2`,
        [company, main?.id, says, operation],
      );
      await page.goto('/settings/processors');
      const shown = card(String(main?.name));
      await shown.getByText(processors.rejected[operation], { exact: true }).waitFor();
      await shown.getByText(processors.rejectedSince[operation]).waitFor();
      await shown.getByText(says, { exact: true }).waitFor();
    }
    await inspect();
    const pictures = process.env.SVC_PICTURES;
    if (pictures) await page.screenshot({ path: `${pictures}/rejected.png`, fullPage: true });
    await service.db.query(
      `UPDATE processor_connections SET rejected_at = NULL, rejection = NULL, rejected_operation = NULL WHERE company_id = $1`,
      [company],
    );
  });

  it('sees what is left before going live, and copies the sandbox', async () => {
    const created = await owner.in('POST', '/v1/products', someProduct({ sku: 'pot' }), { idempotencyKey: 'pot' });
    assert.equal(created.status, 201);
    const hook = { url: 'https://shop.example.com/hook', enabled_events: ['*'] };
    assert.equal((await owner.in('POST', '/v1/webhook_endpoints', hook)).status, 201);
    await page.goto('/home');
    await page.getByRole('heading', { name: goingLive.title }).waitFor();
    await page.getByText(goingLive.progress(4, 5), { exact: false }).waitFor();
    await page.getByRole('link', { name: goingLive.open }).click();
    await button(goingLive.copy).click();
    await button(goingLive.copy, dialog()).click();
    await page.getByRole('row', { name: 'Products 1 0' }).waitFor();
    await dialog()
      .getByText(/^whsec_/)
      .waitFor();
    await inspect();
    await button(common.done, dialog()).click();
    await page.getByText(goingLive.complete).waitFor();
  });

  it('caused no error and violated no policy', () => {
    assert.deepEqual(problems, []);
  });
});
