import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, it } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { disputes } from '../../dashboard/src/texts/disputes.ts';
import { launchBrowser } from '../support/browser.ts';
import { inspect } from '../support/inspect.ts';
import { type ConnectedMerchant, type LiveService, startLiveService } from '../support/live-merchants.ts';
import { order, readOrder } from '../support/orders.ts';
import type { Reply } from '../support/service.ts';

/** How a merchant finds the payment of a chargeback that NMI reports without it, and closes its dispute, in a real browser. */

let live: LiveService;
let merchant: ConnectedMerchant;
let browser: Browser;
let page: Page;
const problems: string[] = [];

before(async () => {
  [live, browser] = await Promise.all([startLiveService(), launchBrowser()]);
  merchant = await live.openMerchant('nmi');
  const context = await browser.newContext({ baseURL: live.service.baseUrl, locale: 'en-US' });
  context.setDefaultTimeout(20_000);
  const [name = '', value = ''] = merchant.owner.cookie.split(/=(.*)/);
  await context.addCookies([{ name, value, url: live.service.baseUrl }]);
  await context.addInitScript(`sessionStorage.setItem('svc.company', '${merchant.companyId}')`);
  page = await context.newPage();
  page.on('pageerror', (error) => problems.push(error.message));
});
after(async () => {
  await browser?.close();
  await live?.stop();
});

const button = (name: string, within: Page | Locator = page): Locator =>
  within.getByRole('button', { name, exact: true });
const dialog = (): Locator => page.getByRole('dialog');

async function pay(quantity: number): Promise<Reply['body']> {
  const items = [{ product_id: merchant.shop.productId, quantity }];
  const { body } = await order(live.service, merchant.shop, { items }, { key: merchant.key });
  assert.equal(body.status, 'succeeded');
  return body;
}

async function report(id: string, amount: string, days = 0): Promise<void> {
  const date = new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const card = { first6: '424242', last4: '4242' };
  const why = { reason: 'fraudulent', networkReasonCode: '10.4', text: '10.4: Fraud' } as const;
  const about = { kind: 'chargeback', chargeback: { id, date, ...card, amount, ...why } } as const;
  const connectionId = merchant.connections[0] ?? '';
  const notice = { companyId: merchant.companyId, connectionId, about, happenedAt: new Date(date) };
  await live.service.orders.applyNotice(notice);
}

it('searches the payment by amount and order number, records the decision, and is asked when it is reported again', async () => {
  const [first, second] = [await pay(1), await pay(2)];
  const id = `cb-${randomUUID()}`;
  await report(id, '12.50', -2);
  await page.goto('/disputes');
  await page.getByText(disputes.unmatchedNone).waitFor();
  const search = page.getByLabel(disputes.searchPayments, { exact: true });
  await search.fill('77.77');
  await page.getByText(disputes.searchedNone).waitFor();
  const link = (number: string): Locator => page.getByRole('link', { name: number, exact: true });
  await search.fill('$98.00');
  await link(second.order_number).waitFor();
  assert.equal(await link(first.order_number).count(), 0);
  await inspect(page, 'a chargeback without a payment, and a payment that was searched');
  await search.fill(first.order_number);
  await link(first.order_number).waitFor();
  assert.equal(await button(disputes.matchPayment).count(), 1);
  await button(disputes.matchPayment).click();
  await button(disputes.matchPayment, dialog()).click();
  await page.getByText(disputes.unmatchedDone).waitFor();
  await page.getByText(disputes.unmatched, { exact: true }).waitFor({ state: 'detached' });
  const { key } = merchant;
  assert.equal((await readOrder(live.service, first.id, { key })).status, 'chargeback');

  await page.getByRole('row', { name: /Needs response/ }).click();
  await page.getByText(disputes.answeredOutside).waitFor();
  await page.getByText(/Send your evidence to your acquirer/).waitFor();
  await page.getByText(new RegExp(disputes.decide.live)).waitFor();
  await inspect(page, 'a dispute that is decided outside');
  await button(disputes.markWon).click();
  await button(disputes.markWon, dialog()).click();
  await page.getByText(disputes.meanings.won).waitFor();
  assert.equal(await button(disputes.markLost).count(), 0);
  assert.equal((await readOrder(live.service, first.id, { key })).status, 'chargeback_dismissed');

  await report(id, '12.50');
  await page.goto('/disputes');
  await page.getByText(disputes.reportedAgain(disputes.closedAs.won)).waitFor();
  assert.equal(await search.count(), 0);
  await link(first.order_number).first().waitFor();
  await inspect(page, 'a chargeback that was reported again');
  await button(disputes.reopen).click();
  await button(disputes.reopen, dialog()).click();
  await page.getByRole('row', { name: /Needs response/ }).waitFor();
  assert.deepEqual(problems, []);
});

it('finds a dispute again that was dismissed, and chooses its payment all the same', async () => {
  const paid = await pay(3);
  const id = `cb-${randomUUID()}`;
  await report(id, '11.00', -1);
  await page.goto('/disputes');
  await page.getByText(id).waitFor();
  await button(disputes.dismissUnmatched).click();
  await button(disputes.dismissUnmatched, dialog()).click();
  await page.getByText(disputes.unmatchedDone).waitFor();
  await page.getByText(disputes.dismissedDisputes(1), { exact: true }).click();
  await page.getByText(disputes.dismissedLead).waitFor();
  await page.getByText(id).waitFor();
  assert.equal(await button(disputes.dismissUnmatched).count(), 0);
  await inspect(page, 'a chargeback that was dismissed');
  const pictures = process.env.SVC_PICTURES;
  if (pictures) await page.screenshot({ path: `${pictures}/dismissed.png`, fullPage: true });
  await page.getByLabel(disputes.searchPayments, { exact: true }).fill(paid.order_number);
  await button(disputes.matchPayment).click();
  await button(disputes.matchPayment, dialog()).click();
  await page.getByText(disputes.dismissedDisputes(1), { exact: true }).waitFor({ state: 'detached' });
  assert.equal((await readOrder(live.service, paid.id, { key: merchant.key })).status, 'chargeback');
  assert.deepEqual(problems, []);
});
