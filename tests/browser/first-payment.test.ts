import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser, Locator } from 'playwright-core';
import { common } from '../../dashboard/src/texts/common.ts';
import { customers } from '../../dashboard/src/texts/customers.ts';
import { home } from '../../dashboard/src/texts/home.ts';
import { orders } from '../../dashboard/src/texts/orders.ts';
import { paymentLinks } from '../../dashboard/src/texts/payment-links.ts';
import { plans } from '../../dashboard/src/texts/plans.ts';
import { preview } from '../../dashboard/src/texts/preview.ts';
import { products } from '../../dashboard/src/texts/products.ts';
import { webhooks } from '../../dashboard/src/texts/webhooks.ts';
import { checkout } from '../../server/customer-texts/languages/en/checkout.ts';
import { loadConfig } from '../../server/config.ts';
import { openOneTimeSignIn, signInOnce, type UserDependencies } from '../../server/features/users/service.ts';
import { type Service, startService } from '../../server/service.ts';
import { announcement, welcome } from '../../server/welcome.ts';
import { launchBrowser } from '../support/browser.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { type Person, signUp } from '../support/dashboard.ts';
import { type DashboardPage, openDashboardPage } from '../support/dashboard-page.ts';
import { payAt as pay, seesEvents } from '../support/first-payment.ts';
import { allLooks, checkLooks } from '../support/hosted-pages.ts';
import { inspect } from '../support/inspect.ts';
import { silentLog } from '../support/silent-log.ts';
import { startTestService, type TestService } from '../support/service.ts';

/** The way of a merchant who has just signed up to the first payment. */

let service: TestService;
let browser: Browser;
let merchant: Person;
let opened: DashboardPage;

before(async () => {
  [service, browser] = await Promise.all([startTestService(), launchBrowser()]);
  merchant = await signUp(service);
  opened = await openDashboardPage(browser, service.baseUrl, merchant);
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

/** Pays as a customer does. The links have the base URL of the tests; the browser reaches the service at its port. */
async function payAt(url: string): Promise<void> {
  const page = await browser.newPage();
  await pay(page, service.baseUrl + new URL(url).pathname);
  await page.close();
}

describe('a merchant with an empty company', () => {
  it('is led from Home to the first payment, its order and what follows', async () => {
    const person = await signUp(service);
    const { page, button, field, context } = await openDashboardPage(browser, service.baseUrl, person);
    const { steps } = home.byLink;
    const step = (name: string): Locator => page.getByRole('link', { name });
    await page.getByRole('heading', { name: home.byApi.title }).waitFor();
    assert.equal(await step(steps.order[0]).count(), 0, 'there is no order to see yet');
    await inspect(page, '/home');
    await step(steps.link[0]).click();
    await field(paymentLinks.what).fill('Tea tasting');
    await field(paymentLinks.price).fill('25');
    await button(paymentLinks.add).click();
    await page.getByText(paymentLinks.payYourself).waitFor();

    const url = await page.getByTestId('link').innerText();
    await payAt(url);
    await page.goto('/home');
    await step(steps.order[0]).click();
    await page.waitForURL(/\/orders\/[0-9a-f-]{36}/);
    await page.getByText('$25.00').first().waitFor();
    await page.goto('/home');
    await page.getByRole('heading', { name: home.byApi.title }).waitFor();
    await step(steps.webhook[0]).click();
    await page.waitForURL(/\/developers\/webhooks/);
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const commands = page.getByRole('region', { name: webhooks.local.commands });
    assert.match(await commands.innerText(), /SVC_KEY=svc_test_sk_… node svc\.mjs listen --base-url/);
    await inspect(page, '/developers/webhooks of a newcomer');
    const block = page.locator('section').filter({ has: commands });
    await button(common.copy, block).last().click();
    await button(common.copied).waitFor();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    await context.close();
    await seesEvents(copied, () => payAt(url));
  });

  it('gets a payment link from a name and a price, and sees who paid', async () => {
    const { page, button, field, dialog } = opened;
    await page.goto('/payment-links/new');
    await button(paymentLinks.add).click();
    // The focus goes to what is missing.
    await page.locator('[aria-invalid="true"]:focus').waitFor();
    // The page that customers will see is beside the form, and follows what is typed.
    const shown = page.frameLocator(`iframe[title="${preview.frame}"]`);
    await shown.getByText('Your product').waitFor();
    await field(paymentLinks.what).fill('Tea tasting');
    await field(paymentLinks.price).fill('$25');
    await shown.getByText('Tea tasting').waitFor();
    await shown.getByText('Pay $25.00').waitFor();
    await page.getByText(paymentLinks.options, { exact: true }).click();
    await page.getByLabel(paymentLinks.shipping).check();
    await shown.getByText(checkout.shipping, { exact: true }).waitFor();
    await page.getByLabel(paymentLinks.shipping).uncheck();
    await shown.getByText(checkout.shipping, { exact: true }).waitFor({ state: 'hidden' });
    await inspect(page, '/payment-links/new');
    await button(paymentLinks.add).click();

    await page.getByText(paymentLinks.payYourself).waitFor();
    const url = await page.getByTestId('link').innerText();
    assert.match(url, /\/pay\/[0-9A-Za-z]{44}$/);
    await page.getByRole('definition').filter({ hasText: '$25.00' }).first().waitFor();
    await page.getByRole('img', { name: paymentLinks.qrOf('Tea tasting') }).waitFor();
    assert.equal(await page.getByRole('link', { name: paymentLinks.open, exact: true }).getAttribute('href'), url);
    const mail = await page.getByRole('link', { name: paymentLinks.shareByEmail }).getAttribute('href');
    assert.equal(mail, `mailto:?subject=Tea%20tasting&body=${encodeURIComponent(url)}`);
    await inspect(page, '/payment-links/:id');

    const path = new URL(url).pathname;
    const shopper = await browser.newPage();
    await shopper.goto(service.baseUrl + path);
    await shopper.getByText('$25.00').first().waitFor();
    await shopper.getByText(checkout.sandboxHint).waitFor();
    await shopper.close();
    // The page counts while it is open.
    await page
      .locator('dl > div')
      .filter({ has: page.getByText(paymentLinks.visits, { exact: true }) })
      .filter({ hasText: '1' })
      .waitFor();

    await button(common.edit).click();
    await field(paymentLinks.name, dialog()).fill('Tasting on Saturday');
    await field(paymentLinks.max, dialog()).fill('12');
    await button(common.save, dialog()).click();
    await page.getByText(paymentLinks.of(0, 12)).waitFor();
    await page.getByRole('heading', { name: 'Tasting on Saturday' }).waitFor();
    await button(common.edit).click();
    await field(paymentLinks.max, dialog()).fill('');
    await button(common.save, dialog()).click();
    await dialog().getByText(paymentLinks.keepsLimit).waitFor();
    await button(common.cancel, dialog()).click();

    await button(paymentLinks.address).click();
    await field(paymentLinks.companyPart, dialog()).fill('admin');
    await button(common.save, dialog()).click();
    await dialog()
      .getByText(/reserved/)
      .waitFor();
    await field(paymentLinks.companyPart, dialog()).fill('tea-house');
    await field(paymentLinks.linkPart, dialog()).fill('autumn');
    await button(common.save, dialog()).click();
    await dialog().waitFor({ state: 'hidden' });
    await page.getByTestId('link').filter({ hasText: '/pay/test-tea-house/autumn' }).waitFor();
    assert.deepEqual(opened.problems, []);
  });

  it('creates what a form lacks without losing what is typed', async () => {
    const { page, button, field, dialog } = opened;
    await page.goto('/payment-links/new');
    await field(paymentLinks.mode).selectOption('plan');
    await page.getByText(paymentLinks.options).click();
    await field(paymentLinks.max).fill('7');
    const plan = page.getByRole('combobox', { name: paymentLinks.plan });
    await plan.fill('Tea club');
    await page.getByRole('option', { name: plans.add }).click();
    assert.equal(await field(common.name, dialog()).inputValue(), 'Tea club');
    await field(plans.amount, dialog()).fill('19');
    // A dialog over a dialog: the plan needs a product, which does not exist either.
    await button(orders.addItem, dialog()).click();
    await page.keyboard.type('Loose tea');
    await page.getByRole('option', { name: products.add }).waitFor();
    await page.keyboard.press('Enter');
    const inner = page.getByRole('dialog', { name: products.add });
    await field(products.price, inner).fill('9.50');
    await button(products.add, inner).click();
    await inner.waitFor({ state: 'hidden' });
    assert.equal(await page.getByRole('combobox', { name: orders.product }).inputValue(), 'Loose tea');
    await button(plans.add, dialog()).click();
    await dialog().waitFor({ state: 'hidden' });
    assert.equal(await plan.inputValue(), 'Tea club');
    assert.equal(await page.getByRole('listbox').count(), 0, 'the list does not open again');
    assert.equal(await field(paymentLinks.max).inputValue(), '7');
    await button(paymentLinks.add).click();
    await page.getByText('Tea club, $19.00').first().waitFor();

    await page.goto('/orders/new');
    await page.getByRole('combobox', { name: orders.customer }).click();
    await page.getByRole('option', { name: customers.add }).click();
    await field(customers.firstName, dialog()).fill('Ada');
    await field(customers.lastName, dialog()).fill('Lovelace');
    await field(customers.email, dialog()).fill('ada@example.com');
    await field(customers.phone, dialog()).fill('+15550102031');
    await button(customers.add, dialog()).click();
    await button(customers.addCard).waitFor();
    assert.equal(await page.getByRole('combobox', { name: orders.customer }).inputValue(), 'Ada Lovelace');
    assert.deepEqual(opened.problems, []);
  });
});

describe('the address of the service', () => {
  it('says in one screen what this is and where to go, also without scripts', async () => {
    const context = await browser.newContext({ baseURL: service.baseUrl, javaScriptEnabled: false });
    const page = await context.newPage();
    const answer = await page.goto('/');
    assert.equal(answer?.headers().vary, 'Cookie');
    assert.match(answer?.headers()['content-security-policy'] ?? '', /script-src 'self'; style-src 'self'/);
    await page.getByRole('heading', { level: 1 }).waitFor();
    const main = page.getByRole('main');
    const goals = await main.getByRole('link').evaluateAll((links) => links.map((link) => link.getAttribute('href')));
    assert.deepEqual(goals, ['/login', '/sign-up', '/docs', '/docs/api/'], 'there is no demo company here');
    await context.close();
    const scripted = await browser.newPage();
    await scripted.goto(service.baseUrl);
    await checkLooks(scripted, 'landing', allLooks);
    await scripted.setViewportSize({ width: 320, height: 700 });
    assert.equal(await scripted.evaluate('document.documentElement.scrollWidth'), 320);
    await scripted.close();
  });

  it('leads people who have signed in to their dashboard', async () => {
    const { page } = opened;
    await page.goto('/');
    await page.waitForURL(/\/home/);
  });
});

describe('a start on the local machine', () => {
  let database: TestDatabase;
  let folder: string;
  before(async () => {
    [database, folder] = await Promise.all([cloneDatabase(1), mkdtemp(join(tmpdir(), 'svc-demo-'))]);
  });
  after(async () => {
    await database?.drop();
    await rm(folder, { recursive: true, force: true });
  });
  const start = (HOST: string): Promise<Service> =>
    startService(
      loadConfig({
        DATABASE_URL: database.connectionString,
        SVC_DATA_DIR: folder,
        SVC_MASTER_SECRET: 'a master secret for the tests of the demo company',
        SVC_DEMO: 'empty',
        SVC_LOG_LEVEL: 'silent',
        SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
        SVC_TRUST_PROXY: '127.0.0.1',
        PORT: '0',
        HOST,
      }),
      silentLog,
      () => undefined,
    );
  const signIn = async ({ baseUrl }: Service, token: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${baseUrl}/dashboard/session/once`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: baseUrl, ...headers },
      body: JSON.stringify({ token }),
    });
    return { status: answer.status, text: await answer.text() };
  };

  it('prints one address that signs in to the demo company once, for people at this machine', async () => {
    const local = await start('127.0.0.1');
    try {
      const { signInUrl = '', demo } = local;
      const token = signInUrl.split('#once=')[1] ?? '';
      assert.match(token, /^[\w-]{43}$/);
      assert.ok(welcome(loadConfig({}), local, 1).includes(signInUrl));
      assert.ok(!JSON.stringify(announcement(loadConfig({}), local, 1)).includes(token), 'a log has no token');
      // From elsewhere it does not work, and is not used up.
      assert.equal((await signIn(local, token, { 'x-forwarded-for': '192.0.2.1' })).status, 401);
      assert.equal((await signIn(local, token, { origin: 'https://elsewhere.example' })).status, 403);
      assert.equal((await signIn(local, 'x'.repeat(43))).status, 401);
      const context = await browser.newContext({ baseURL: local.baseUrl });
      const page = await context.newPage();
      await page.goto('/');
      assert.equal(await page.getByRole('link', { name: /Demo checkout/ }).getAttribute('href'), demo?.checkout_url);
      await page.goto(signInUrl);
      await page.waitForURL(/\/home/);
      await page.getByText('Tea House').first().waitFor();
      assert.ok(!page.url().includes(token));
      await context.clearCookies();
      await page.goto('/login');
      await page.goto(signInUrl);
      await page.getByText('This address was used or has expired. Sign in with your password.').waitFor();
      assert.equal((await signIn(local, token)).status, 401);
      await context.close();
    } finally {
      await local.stop();
    }
    const open = await start('0.0.0.0');
    try {
      assert.equal(open.signInUrl, undefined, 'others reach this one');
      assert.ok(open.demo);
    } finally {
      await open.stop();
    }
  });

  it('signs in to no other company, and not past a second factor', async () => {
    const person = await signUp(service);
    const own = person.companies.map(({ id }) => id);
    const client = { address: '127.0.0.1', userAgent: '', browser: undefined, isLocal: true };
    const clock = service.clock;
    const attempt = async (companyIds: readonly string[], isLate = false): Promise<string> => {
      const oneTimeSignIn = openOneTimeSignIn();
      const nowMs = clock.nowMs() - (isLate ? 60 * 60_000 : 0);
      const token = oneTimeSignIn.offer({ email: person.email, companyIds }, nowMs);
      const sessionKey = { hash: () => randomBytes(32) };
      const dependencies = { db: service.control, clock, sessionKey, oneTimeSignIn } as unknown as UserDependencies;
      const both = await Promise.allSettled([1, 2].map(() => signInOnce(dependencies, token, client)));
      return both.map(({ status }) => status).join(' ');
    };
    assert.equal(await attempt(own), 'fulfilled rejected');
    assert.equal(await attempt(own, true), 'rejected rejected');
    assert.equal(await attempt(own.slice(1)), 'rejected rejected');
    await service.control.query(`UPDATE users SET totp_confirmed_at = now(), totp_secret = '\\x00' WHERE email = $1`, [
      person.email,
    ]);
    assert.equal(await attempt(own), 'rejected rejected');
  });
});
