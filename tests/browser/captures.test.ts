import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { common } from '../../dashboard/src/texts/common.ts';
import { home } from '../../dashboard/src/texts/home.ts';
import { orders } from '../../dashboard/src/texts/orders.ts';
import { paymentLinks } from '../../dashboard/src/texts/payment-links.ts';
import type { Company } from '../../server/company.ts';
import { companyOf, type Person, signUp } from '../support/dashboard.ts';
import { type DashboardPage, openDashboardPage } from '../support/dashboard-page.ts';
import { checkLooks, openPagesWorld, typeCard, type Visited } from '../support/hosted-pages.ts';
import { inspect } from '../support/inspect.ts';

/** A payment that is authorized by a payment link, and captured, refunded or voided in the dashboard. */

const { service, browser, visit, stop } = await openPagesWorld();
after(stop);

let key: string;
let opened: DashboardPage;
let page: Page;
let link: string;

before(async () => {
  const owner: Person = await signUp(service);
  const company: Company = { ...service.company, id: companyOf(owner, 'sandbox'), mode: 'sandbox' };
  key = await service.createKey(company);
  opened = await openDashboardPage(browser, service.baseUrl, owner);
  ({ page } = opened);
});

let people = 0;

/** A customer orders with the link. Returns the page that shows the result. */
async function orderWithLink(): Promise<Visited> {
  const visited = await visit(link);
  const { page: shop, fields } = visited;
  people += 1;
  await shop.getByRole('button', { name: 'Place order for $49.00' }).waitFor();
  await shop.getByText('$49.00 is held on your card, not charged yet.').waitFor();
  await shop.getByLabel('Email').fill(`ada-held-${process.pid}-${people}@example.com`);
  await shop.getByLabel('First name').fill('Ada');
  await shop.getByLabel('Last name').fill('Lovelace');
  await shop.getByLabel('Phone').fill(`(555) 210-${String(1000 + people)}`);
  await typeCard(fields);
  await shop.locator('#pay').click();
  await shop.getByRole('heading', { name: 'Order placed' }).waitFor();
  return visited;
}

const latestOrder = async (): Promise<Record<string, any>> =>
  (await service.call('GET', '/v1/orders?limit=1', { key })).body.data[0];

describe('a payment that is captured later', () => {
  it('begins with a payment link of the dashboard that says so', async () => {
    await page.goto('/payment-links/new');
    await opened.field(paymentLinks.what).fill('Tea pot');
    await opened.field(paymentLinks.price).fill('49.00');
    await page.getByText(paymentLinks.options).click();
    await opened.field(paymentLinks.manual).check();
    await page
      .frameLocator('iframe')
      .getByRole('button', { name: /Place order for/, includeHidden: true })
      .waitFor();
    await inspect(page, 'a new payment link that is captured later');
    await opened.button(paymentLinks.add).click();
    await page.getByText(paymentLinks.captureManual).waitFor();
    ({ url: link } = (await service.call('GET', '/v1/payment_links?limit=1', { key })).body.data[0]);
    assert.match(link, /\/pay\//);
  });

  it('tells the customer that the amount is held and not charged yet', async () => {
    const { page: shop, complaints, close } = await orderWithLink();
    await shop
      .getByText(/\$49\.00 is held on your card, not charged yet\. .* charges it when your order is ready\./)
      .waitFor();
    await shop.getByText('Amount held').waitFor();
    assert.equal(await shop.getByText('Amount paid').count(), 0);
    assert.equal(await shop.getByRole('link', { name: 'View receipt' }).count(), 0);
    await checkLooks(shop, 'held');
    assert.deepEqual(complaints, []);
    await close();
  });

  it('is found by its filter, captured in part and refunded in the dashboard', async () => {
    const { id, order_number } = await latestOrder();
    await page.goto('/orders?authorized=true');
    await page
      .getByRole('link', { name: /49\.00/ })
      .first()
      .waitFor();
    await page.getByText('Authorized').first().waitFor();
    await inspect(page, 'the list of authorized orders');
    await page.goto(`/orders/${id}`);
    await page.getByRole('heading', { name: orders.titleOf(order_number) }).waitFor();
    await opened.button(orders.capture).click();
    await opened.field(orders.captureAmount).fill('50.00');
    await opened.button(orders.reviewCapture, opened.dialog()).click();
    await page.getByText(orders.captureTooMuch('$49.00')).waitFor();
    await opened.field(orders.captureAmount).fill('30.00');
    await inspect(page, 'the amount of a capture');
    await opened.button(orders.reviewCapture, opened.dialog()).click();
    await opened.button(orders.captureButton('$30.00'), opened.dialog()).click();
    await page.getByText(orders.captureDone).waitFor();
    await opened.button(orders.refund).click();
    await opened.field(orders.refundAmount).fill('30.01');
    await opened.button(orders.reviewRefund, opened.dialog()).click();
    await page.getByText(orders.refundTooMuch('$30.00')).waitFor();
    await opened.field(orders.refundAmount).fill('10.00');
    await opened.button(orders.reviewRefund, opened.dialog()).click();
    await opened.button(orders.refundButton('$10.00'), opened.dialog()).click();
    await page.getByText(orders.refundDone).waitFor();
    const { status, captured_amount, refunded_amount } = (await service.call('GET', `/v1/orders/${id}`, { key })).body;
    assert.deepEqual([status, captured_amount, refunded_amount], ['partially_refunded', 3000, 1000]);
  });

  it('needs attention a day before its end, and is voided in the dashboard', async () => {
    const { close } = await orderWithLink();
    await close();
    const { id } = await latestOrder();
    await service.db.query(`UPDATE orders SET capture_before = now() + interval '20 hours' WHERE id = $1`, [id]);
    await page.goto('/home');
    await page.getByText(home.attentions.authorizations_ending[0]).click();
    await page.waitForURL(new RegExp(id));
    await opened.button(orders.void).click();
    await opened.dialog().getByText(orders.releaseText).waitFor();
    await inspect(page, 'the question before held funds are released');
    await opened.button(orders.void, opened.dialog()).click();
    await page.getByText(orders.voidDone).waitFor();
    const { status, captured_amount } = (await service.call('GET', `/v1/orders/${id}`, { key })).body;
    assert.deepEqual([status, captured_amount], ['voided', 0]);
    await page.goto('/orders?authorized=true');
    await page.getByText(common.nothingFound).waitFor();
  });

  it('has no errors in its console', () => assert.deepEqual(opened.problems, []));
});
