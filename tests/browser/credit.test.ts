import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { bulk } from '../../dashboard/src/texts/bulk.ts';
import { common } from '../../dashboard/src/texts/common.ts';
import { credit } from '../../dashboard/src/texts/credit.ts';
import { customers } from '../../dashboard/src/texts/customers.ts';
import { orders } from '../../dashboard/src/texts/orders.ts';
import type { Company } from '../../server/company.ts';
import { companyOf, type Person, signUp } from '../support/dashboard.ts';
import { type DashboardPage, openDashboardPage } from '../support/dashboard-page.ts';
import { checkLooks, openPagesWorld } from '../support/hosted-pages.ts';
import { inspect } from '../support/inspect.ts';
import { someCustomer, someProduct } from '../support/service.ts';

/** The credit of a customer, granted and taken back in the dashboard. */

const { service, browser, visit, stop } = await openPagesWorld();
after(stop);

const pictures = process.env.SVC_PICTURES;
let key: string;
let opened: DashboardPage;
let page: Page;
let id: string;

before(async () => {
  const owner: Person = await signUp(service);
  const company: Company = { ...service.company, id: companyOf(owner, 'sandbox'), mode: 'sandbox' };
  key = await service.createKey(company);
  ({
    body: { id },
  } = await service.call('POST', '/v1/customers', { key, body: someCustomer() }));
  opened = await openDashboardPage(browser, service.baseUrl, owner);
  ({ page } = opened);
});

const balances = async (): Promise<unknown> =>
  (await service.call('GET', `/v1/customers/${id}/credit`, { key })).body.balances;

async function picture(name: string): Promise<void> {
  if (!pictures) return;
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 900 });
    await page.screenshot({ path: `${pictures}/credit-${name}-${width}.png`, fullPage: true });
  }
  await page.setViewportSize({ width: 1440, height: 900 });
}

describe('the credit of a customer in the dashboard', () => {
  it('is granted with a reason', async () => {
    await page.goto(`/customers/${id}`);
    await page.getByText(credit.none).waitFor();
    await opened.button(credit.grant).click();
    await opened.field(common.amount).fill('15.00');
    await opened.button(credit.grant, opened.dialog()).click();
    await page.getByText(credit.reasonMissing).waitFor();
    await opened.field(credit.reason).fill('Late delivery in March');
    await inspect(page, 'a grant of credit');
    await opened.button(credit.grant, opened.dialog()).click();
    await page.getByText(credit.granted).waitFor();
    await page.getByText('Late delivery in March').waitFor();
    assert.deepEqual(await balances(), [{ currency: 'usd', amount: 1500 }]);
  });

  it('is taken back up to the balance', async () => {
    await opened.button(credit.takeBack).click();
    await opened.field(common.amount).fill('20.00');
    await opened.field(credit.reason).fill('Granted too much');
    await opened.button(credit.takeBack, opened.dialog()).click();
    await page.getByText(credit.tooMuch('$15.00')).waitFor();
    await opened.field(common.amount).fill('4.00');
    await picture('take-back');
    await opened.button(credit.takeBack, opened.dialog()).click();
    await page.getByText(credit.takenBack).waitFor();
    await page.getByText('$11.00', { exact: true }).first().waitFor();
    await inspect(page, 'a customer with credit');
    await picture('customer');
    assert.deepEqual(await balances(), [{ currency: 'usd', amount: 1100 }]);
  });

  it('is shown to the customer', async () => {
    const { body } = await service.call('POST', '/v1/customer_sessions', { key, body: { customer_id: id } });
    const visited = await visit(body.url);
    await visited.page.getByText(/^Your credit: \$11\.00\./).waitFor();
    await checkLooks(visited.page, 'customer-credit');
    assert.equal(await visited.page.getByText('Late delivery').count(), 0, 'the reason is for the team');
    await visited.close();
  });

  it('pays an order first where the merchant says so', async () => {
    const card = { number: '5555555555554444', exp_month: '12', exp_year: '2040', cvc: '999' };
    await service.call('POST', '/capture', { key, body: { customer_id: id, card } });
    const product = someProduct({ name: 'Gear', pricing: { amount: 500, currency: 'usd' } });
    await service.call('POST', '/v1/products', { key, body: product, idempotencyKey: crypto.randomUUID() });
    await page.goto('/orders/new');
    await opened.choose(orders.customer, 'Ada');
    await opened.choose(orders.product, 'Gear');
    await opened.field(orders.useCredit('$11.00')).check();
    await opened.field(orders.quantity).fill('2');
    await opened.button(orders.placeByCredit).waitFor();
    await opened.field(orders.quantity).fill('3');
    await opened.button(orders.charge('$4.00')).click();
    await opened.dialog().getByText('$11.00').waitFor();
    await inspect(page, 'an order that credit pays a part of');
    await picture('order');
    await opened.button(orders.charge('$4.00'), opened.dialog()).click();
    await page.waitForURL(/\/orders\/[0-9a-f-]{36}/);
    await page.getByText(orders.creditApplied).waitFor();
    assert.deepEqual(await balances(), [{ currency: 'usd', amount: 0 }]);
    const body = { type: 'grant', amount: 1100, currency: 'usd', reason: 'Late delivery in April' };
    await service.call('POST', `/v1/customers/${id}/credit`, { key, body, idempotencyKey: crypto.randomUUID() });
  });

  it('is on Home as what the company owes, and each change of it is exported', async () => {
    await page.goto('/home');
    const panel = page.locator('section', { has: page.getByRole('heading', { name: credit.owed }) });
    await panel.getByText(credit.ofCustomers(1)).waitFor();
    await panel.getByText('$11.00').waitFor();
    await opened.button(bulk.export, panel).click();
    await opened.button(bulk.exportAll).waitFor();
    await inspect(page, 'credit on Home');
    await picture('home');
    await page.goto(`/customers/${id}`);
  });

  it('is shown before the customer is deleted', async () => {
    await opened.button(common.delete).click();
    await page.getByText(credit.deleteText('$11.00')).waitFor();
    await opened.button(common.delete, opened.dialog()).click();
    await page.getByText(customers.deletedToast).waitFor();
    assert.deepEqual(await balances(), [{ currency: 'usd', amount: 0 }]);
  });
});
