import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { common } from '../../dashboard/src/texts/common.ts';
import { orders } from '../../dashboard/src/texts/orders.ts';
import { planChanges, renewalItems } from '../../dashboard/src/texts/plan-changes.ts';
import { subscriptions } from '../../dashboard/src/texts/subscriptions.ts';
import { launchBrowser } from '../support/browser.ts';
import { type Person, signUp } from '../support/dashboard.ts';
import { type DashboardPage, openDashboardPage } from '../support/dashboard-page.ts';
import { inspect } from '../support/inspect.ts';
import { someProduct, startTestService, type TestService } from '../support/service.ts';

/** A merchant changes the plan and the seats of a subscription, and what its next renewal charges, in a real browser. */

let service: TestService;
let browser: Browser;
let merchant: Person;
let opened: DashboardPage;
let customerId: string;
let subscriptionId: string;

before(async () => {
  [service, browser] = await Promise.all([startTestService(), launchBrowser()]);
  merchant = await signUp(service);
  opened = await openDashboardPage(browser, service.baseUrl, merchant);
  const person = { first_name: 'Emmy', last_name: 'Noether', email: 'emmy@example.com', phone: '+15550102032' };
  ({ id: customerId } = await create('/v1/customers', person));
  const card = { number: '5555555555554444', exp_month: '12', exp_year: '2040', cvc: '999' };
  await create('/capture', { customer_id: customerId, card });
  const billing_cycle = { interval: 'day', interval_count: 10, anchor_day: 'signup_date' };
  for (const [name, amount] of [
    ['Small team', 1000],
    ['Large team', 3000],
  ] as const) {
    await create('/dashboard/plans', { name, amount, currency: 'usd', billing_cycle });
  }
  await create('/v1/products', someProduct({ name: 'Extra storage', pricing: { amount: 700, currency: 'usd' } }));
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

async function create(path: string, body: object): Promise<Record<string, any>> {
  const reply = await merchant.in('POST', path, body, { idempotencyKey: crypto.randomUUID() });
  assert.equal(reply.status, 201, reply.text);
  return reply.body;
}

const read = async (): Promise<Record<string, any>> =>
  (await merchant.in('GET', `/v1/subscriptions/${subscriptionId}`)).body;

/** A picture of the page at both sizes, if a folder for them is given. */
async function picture(name: string): Promise<void> {
  const folder = process.env.SVC_PICTURES;
  if (!folder) return;
  for (const [width, height] of [
    [1440, 1000],
    [390, 844],
  ] as const) {
    await opened.page.setViewportSize({ width, height });
    await opened.page.waitForTimeout(300);
    await opened.page.screenshot({ path: `${folder}/${name}-${width}.png` });
  }
  await opened.page.setViewportSize({ width: 1440, height: 900 });
}

describe('a merchant', () => {
  it('starts a subscription with several seats, and sees what is charged', async () => {
    const { page, button, field, dialog, choose } = opened;
    await page.goto('/subscriptions/new');
    await choose(common.customer, 'Emmy');
    await choose(subscriptions.plan, 'Small team');
    await field(planChanges.seats).fill('2');
    await page.getByText('$20.00').first().waitFor();
    await picture('new');
    await button(subscriptions.start).click();
    await button(subscriptions.start, dialog()).click();
    await page.waitForURL(/\/subscriptions\/[0-9a-f-]{36}/);
    subscriptionId = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    await page.getByText('$20.00 every 10 days').first().waitFor();
    assert.equal((await read()).quantity, 2);
    await page.goto('/subscriptions');
    await page.locator('tr').filter({ hasText: '$20.00 every 10 days' }).waitFor();
  });

  it('upgrades the plan at once after it saw the charge', async () => {
    const { page, button, dialog, choose } = opened;
    await page.goto(`/subscriptions/${subscriptionId}`);
    await button(planChanges.button).click();
    await choose(subscriptions.plan, 'Large team');
    await dialog().getByText(planChanges.due).waitFor();
    await inspect(page, 'a change of plan with its preview', 'colors');
    await picture('upgrade');
    await button(planChanges.charge('$40.00'), dialog()).click();
    await page.getByText(planChanges.done.applied).waitFor();
    const { plan, quantity } = await read();
    assert.deepEqual([plan.name, quantity], ['Large team', 2]);
  });

  it('downgrades at the next renewal, and takes that back', async () => {
    const { page, button, dialog, choose } = opened;
    await button(planChanges.button).click();
    await choose(subscriptions.plan, 'Small team');
    await dialog().getByText(planChanges.choices.renewal.label).click();
    await dialog().getByText(planChanges.due).waitFor();
    await button(planChanges.change, dialog()).click();
    await page.getByText(planChanges.done.scheduled).waitFor();
    await picture('scheduled');
    assert.equal((await read()).scheduled_change.plan.name, 'Small team');
    await button(planChanges.undo).click();
    await page.getByText(planChanges.undone).waitFor();
    assert.equal((await read()).scheduled_change, null);
  });

  it('sees what fewer seats now add to the credit, and takes them away at the renewal', async () => {
    const { page, button, field, dialog } = opened;
    await button(planChanges.button).click();
    await field(planChanges.seats, dialog()).fill('1');
    await dialog().getByText(planChanges.credit).waitFor();
    await dialog().getByText(planChanges.choices.renewal.label).click();
    await button(planChanges.change, dialog()).click();
    await page.getByText(planChanges.done.scheduled).waitFor();
    assert.equal((await read()).scheduled_change.quantity, 1);
  });

  it('adds a product to the next renewal after it saw the sum, and removes it', async () => {
    const { page, button, field, dialog, choose } = opened;
    await button(renewalItems.add).click();
    await choose(orders.product, 'Extra storage');
    await field(orders.quantity, dialog()).fill('3');
    await dialog().getByText('$51.00').waitFor();
    await inspect(page, 'a product for the next renewal', 'colors');
    await picture('add-item');
    await button(renewalItems.add, dialog()).click();
    await page.getByText(renewalItems.added).waitFor();
    await page.getByRole('row', { name: /Extra storage 3 \$21\.00/ }).waitFor();
    await page.getByRole('row', { name: /2 .* \$51\.00/ }).waitFor();
    await inspect(page, 'a subscription with a product for its renewal');
    await picture('items');
    await button(renewalItems.remove('Extra storage')).click();
    await button(common.remove, dialog()).click();
    await page.getByText(renewalItems.removed).waitFor();
    assert.deepEqual((await read()).renewal_items, []);
  });

  it('finds no errors in the console', () => assert.deepEqual(opened.problems, []));
});
