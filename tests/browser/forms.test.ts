import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { amounts } from '../../dashboard/src/texts/amounts.ts';
import { auth } from '../../dashboard/src/texts/auth.ts';
import { common, shell } from '../../dashboard/src/texts/common.ts';
import { customers } from '../../dashboard/src/texts/customers.ts';
import { orders } from '../../dashboard/src/texts/orders.ts';
import { plans } from '../../dashboard/src/texts/plans.ts';
import { products } from '../../dashboard/src/texts/products.ts';
import { settings } from '../../dashboard/src/texts/settings.ts';
import { subscriptions } from '../../dashboard/src/texts/subscriptions.ts';
import { launchBrowser } from '../support/browser.ts';
import { type Person, signUp } from '../support/dashboard.ts';
import { openDashboardPage } from '../support/dashboard-page.ts';
import { startTestService, type TestService } from '../support/service.ts';

/** Forms and addresses of the dashboard: what people enter is not lost, and a link opens where it belongs. */

let service: TestService;
let browser: Browser;
let merchant: Person;
let opened: Awaited<ReturnType<typeof openDashboardPage>>;

before(async () => {
  [service, browser] = await Promise.all([startTestService(), launchBrowser()]);
  merchant = await signUp(service);
  opened = await openDashboardPage(browser, service.baseUrl, merchant);
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

/** Creates an object in the sandbox. */
async function create(path: string, body: object): Promise<Record<string, any>> {
  const reply = await merchant.in('POST', path, body, { idempotencyKey: crypto.randomUUID() });
  assert.equal(reply.status, 201, reply.text);
  return reply.body;
}

describe('a merchant', () => {
  it('prices a product in its currency, and reads a comma as people mean it', async () => {
    const { page, button, field, dialog, choose } = opened;
    await page.goto('/products');
    await button(products.add).first().click();
    await field(common.name, dialog()).fill('Cog, 2 cm');
    assert.equal(await field(products.sku, dialog()).inputValue(), 'cog-2-cm', 'a SKU is offered');
    await field(products.sku, dialog()).fill('cog');
    await field(common.name, dialog()).fill('Cog');
    assert.equal(await field(products.sku, dialog()).inputValue(), 'cog', 'what the merchant typed stays');
    await field(products.inventory, dialog()).pressSequentially('1.000');
    assert.equal(await field(products.inventory, dialog()).inputValue(), '1000', 'what is shown is what is sent');
    await field(products.price, dialog()).fill('1.234,50');
    await dialog().getByText('$1,234.50').waitFor();
    // It says what is wrong before the form is sent.
    await field(products.price, dialog()).fill('1,250');
    await dialog()
      .getByText(amounts.ambiguous('1,250', '1250.00', '1.25'))
      .waitFor();
    await field(products.price, dialog()).fill('12,50');
    await button(products.add, dialog()).click();
    await dialog().waitFor({ state: 'hidden' });
    await page.getByText('$12.50').first().waitFor();
    const [cog] = (await merchant.in('GET', '/v1/products?limit=1')).body.data;
    assert.partialDeepStrictEqual(cog, { pricing: { amount: 1250, currency: 'usd' }, inventory_quantity: 1000 });

    await page.goto(`/products/${cog.id}`);
    await button(common.edit).click();
    assert.equal(await field(products.price, dialog()).inputValue(), '12.50');
    await choose(common.currency, 'JPY');
    await button(common.save, dialog()).click();
    await dialog()
      .getByText(amounts.tooPrecise('JPY', 0, '1250'))
      .waitFor();
    await field(products.price, dialog()).fill('1500');
    await dialog().getByText('¥1,500').waitFor();
    await button(common.save, dialog()).click();
    await dialog().waitFor({ state: 'hidden' });
    await page.getByText('¥1,500').first().waitFor();
    const { pricing } = (await merchant.in('GET', `/v1/products/${cog.id}`)).body;
    assert.deepEqual(pricing, { amount: 1500, currency: 'jpy' });
  });

  it('has dates and checkboxes that look like its other fields, in the light and in the dark', async () => {
    const { page } = opened;
    const look = (selector: string): Promise<Record<string, string>> =>
      page.evaluate(`(({ appearance, backgroundColor, borderTopColor, height }) => ({
        appearance, backgroundColor, borderTopColor, height,
      }))(getComputedStyle(document.querySelector(${JSON.stringify(selector)})))`);
    const grounds = new Set<string | undefined>();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.goto('/coupons/new');
      await page.locator('input[type=datetime-local]').first().waitFor();
      const { appearance: _, ...field } = await look('input[name=description]');
      assert.deepEqual(await look('input[type=datetime-local]'), { appearance: 'none', ...field }, colorScheme);
      const { height: __, ...box } = await look('input[type=checkbox]');
      const { backgroundColor, borderTopColor } = field;
      assert.deepEqual(box, { appearance: 'none', backgroundColor, borderTopColor }, colorScheme);
      grounds.add(backgroundColor);
    }
    assert.equal(grounds.size, 2);
    await page.emulateMedia({ colorScheme: null });
  });

  it('asks before a form that is not saved is lost', async () => {
    const { page, button, field, dialog } = opened;
    await page.goto('/products');
    await button(products.add).first().click();
    await page.keyboard.press('Escape');
    await dialog().waitFor({ state: 'hidden' });
    await button(products.add).first().click();
    await field(common.name, dialog()).fill('Lever');
    await page.keyboard.press('Escape');
    await button(common.keepEditing).click();
    assert.equal(await field(common.name, dialog()).inputValue(), 'Lever');
    await page.keyboard.press('Escape');
    await button(common.discard).click();
    await dialog().waitFor({ state: 'hidden' });

    await page.goto('/orders/new');
    assert.ok(await button(orders.chargeSome).isDisabled(), 'nothing is charged yet');
    await field(orders.description).fill('For the engine');
    await page.getByRole('link', { name: shell.places.customers }).first().click();
    await button(common.keepEditing).click();
    assert.equal(await field(orders.description).inputValue(), 'For the engine');
    await button(shell.live).first().click();
    await button(common.discard).click();
    await page.getByRole('button', { name: shell.live, pressed: true }).waitFor();
    await button(shell.sandbox).first().click();
    await page.getByRole('button', { name: shell.sandbox, pressed: true }).waitFor();
  });

  it('reads an error at its field as a sentence, and the request ID only if the service is at fault', async () => {
    const { page, button, field, dialog } = opened;
    await page.goto('/customers');
    await button(customers.add).first().click();
    await field(customers.email, dialog()).fill('nowhere');
    await button(customers.add, dialog()).click();
    await dialog().getByText('Must be an email address, for example ada@example.com.', { exact: true }).waitFor();
    assert.doesNotMatch((await dialog().textContent()) ?? '', /req_/);
    const fault = { code: 'internal_error', message: 'An internal error occurred.', request_id: 'req_1' };
    await page.route('**/v1/customers', (route) => route.fulfill({ status: 500, json: { error: fault } }));
    await button(customers.add, dialog()).click();
    await dialog().getByText('req_1').waitFor();
    await page.unroute('**/v1/customers');
    await page.keyboard.press('Escape');
    await button(common.discard).click();
    await dialog().waitFor({ state: 'hidden' });
  });

  it('says the limit of an amount as money, also beside the form', async () => {
    const { page, button, field } = opened;
    await page.goto('/plans/new');
    await field(common.name).fill('Everything');
    await field(plans.amount).fill('99999999999');
    await page.getByText('Amount must be at most $999,999.99.', { exact: true }).waitFor();
    await button(plans.add).click();
    await page.getByText('Must be at most $999,999.99.', { exact: true }).waitFor();
    assert.doesNotMatch(await page.getByRole('main').innerText(), /99999999\./);
    await page.getByRole('main').getByText(common.cancel, { exact: true }).click();
    await button(common.discard).click();
    await page.waitForURL(/\/plans(\?|$)/);
  });

  it('goes on with the same form after the session has expired', async () => {
    const { page, context, button, field, dialog } = opened;
    await page.goto('/products');
    await button(products.add).first().click();
    await field(common.name, dialog()).fill('Crank');
    await field(products.price, dialog()).fill('7');
    await context.clearCookies();
    await button(products.add, dialog()).click();
    await page.getByText(shell.sessionExpiredLead).waitFor();
    await page.getByLabel(auth.password, { exact: true }).fill(merchant.password);
    await button(auth.signIn).click();
    await page.getByRole('heading', { name: 'Crank' }).waitFor();
    const { body } = await merchant.in('GET', '/v1/products');
    const made = body.data.filter(({ name }: { name: string }) => name === 'Crank');
    assert.equal(made.length, 1, 'the product is created once');
  });

  it('opens a link in the company it was copied from', async () => {
    const { page, button } = opened;
    const person = { first_name: 'Grace', last_name: 'Hopper', email: 'grace@example.com', phone: '+15550102030' };
    await create('/v1/customers', person);
    await page.goto('/customers');
    await page.waitForURL(/company=sandbox-[0-9a-f]{8}$/);
    const link = page.url();
    await button(shell.live).first().click();
    await page.waitForURL(/company=live-[0-9a-f]{8}$/);
    await page.getByText(customers.emptyTitle).waitFor();
    await page.goto(link);
    await page.getByText('Grace Hopper').waitFor();
    await page.goBack();
    await page.getByText(customers.emptyTitle).waitFor();
    await page.goForward();
    await page.getByText('Grace Hopper').waitFor();
    await page.goto('/customers?company=live-00000000');
    await page.getByText(shell.otherCompany).waitFor();
    await page.goto(link);
    await page.getByText('Grace Hopper').waitFor();
  });

  it('ends a subscription with its paid period, keeps it, and cancels it at once', async () => {
    const { page, button, dialog } = opened;
    const { id: customer_id } = await create('/v1/customers', {
      first_name: 'Mary',
      last_name: 'Somerville',
      email: 'mary@example.com',
      phone: '+15550102031',
    });
    const card = { number: '4242424242424242', exp_month: '12', exp_year: '2040', cvc: '999' };
    await create('/capture', { customer_id, card });
    const billing_cycle = { interval: 'month', interval_count: 1, anchor_day: 28 };
    const price = { amount: 1900, one_time_amount: 500, currency: 'usd' };
    const plan = await create('/dashboard/plans', { name: 'Monthly', ...price, billing_cycle });
    const { latest_order_id } = await create('/v1/subscriptions', { customer_id, plan_id: plan.id });
    // The order names the plan, its price and the setup fee.
    await page.goto(`/orders/${latest_order_id}`);
    await page.getByRole('row', { name: 'Monthly $19.00' }).waitFor();
    await page.getByRole('row', { name: `${orders.setupFee} $5.00` }).waitFor();
    await page.goto(`/customers/${customer_id}`);
    await page.getByRole('row', { name: 'Monthly Active $19.00 every month' }).waitFor();
    await page.goto(`/orders/${latest_order_id}`);
    await page.getByRole('link', { name: orders.cycle('Monthly', 1) }).click();
    await button(subscriptions.cancel).click();
    await button(subscriptions.endRenewal, dialog()).click();
    await page.getByText(/does not renew. It ends on/).waitFor();
    await page.getByText('1 paid', { exact: true }).waitFor();
    await button(subscriptions.keep).click();
    await page.getByText(/It ends on/).waitFor({ state: 'hidden' });
    await page.getByText('1 paid, never ends', { exact: true }).waitFor();
    await button(subscriptions.cancel).click();
    await page.getByLabel(subscriptions.cancelNow).check();
    await button(subscriptions.cancelNow, dialog()).click();
    await page.getByText('Canceled', { exact: true }).first().waitFor();
  });

  it('changes the API version after it saw what changes', async () => {
    const { page, button, field, dialog } = opened;
    await page.goto('/settings');
    await field(settings.version).selectOption('2025-11-04');
    await button(settings.changeVersion).click();
    await dialog().getByText('A single resource is wrapped in data.').waitFor();
    await button(settings.changeVersion, dialog()).click();
    await page.getByText(common.saved).waitFor();
    assert.equal((await merchant.in('GET', '/dashboard/company')).body.api_version, '2025-11-04');
    await field(settings.version).selectOption('2026-02-11');
    await button(settings.changeVersion).click();
    await dialog()
      .getByText(/No longer: A single resource/)
      .waitFor();
    await button(settings.changeVersion, dialog()).click();
    await dialog().waitFor({ state: 'hidden' });
  });

  it('sees no error of the code and no violated policy', () => {
    assert.deepEqual(opened.problems, []);
  });
});
