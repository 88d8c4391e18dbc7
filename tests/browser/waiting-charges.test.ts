import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { common } from '../../dashboard/src/texts/common.ts';
import { whatNow } from '../../dashboard/src/texts/declines.ts';
import { confirmationAdvice, declineAdvice } from '../../server/customer-texts/decline-advice.ts';
import { customers } from '../../dashboard/src/texts/customers.ts';
import { transactions } from '../../dashboard/src/texts/transactions.ts';
import { orders } from '../../dashboard/src/texts/orders.ts';
import type { Company } from '../../server/company.ts';
import { everyDays } from '../support/billing.ts';
import { launchBrowser } from '../support/browser.ts';
import { companyOf, type Person, signUp } from '../support/dashboard.ts';
import { type DashboardPage, openDashboardPage } from '../support/dashboard-page.ts';
import { inspect } from '../support/inspect.ts';
import { approvedOutcome, declinedOutcome, type FaultyService, startFaultyService } from '../support/faulty-service.ts';
import { capture, openShop, order, runWorker, type Shop } from '../support/orders.ts';
import type { Reply, TestService } from '../support/service.ts';
import { somePlan, subscribe } from '../support/subscriptions.ts';

/** What a merchant sees of a charge that was not sent yet, or was declined, in a real browser. */

let faulty: FaultyService;
let service: TestService;
let browser: Browser;
let opened: DashboardPage;
let page: Page;
let company: Company;
let key: string;
let shop: Shop;

before(async () => {
  [faulty, browser] = await Promise.all([startFaultyService(), launchBrowser()]);
  ({ service } = faulty);
  const owner: Person = await signUp(service);
  company = { ...service.company, id: companyOf(owner, 'sandbox'), mode: 'sandbox' };
  key = await service.createKey(company);
  shop = await openShop(service, undefined, { key });
  opened = await openDashboardPage(browser, service.baseUrl, owner);
  ({ page } = opened);
});
after(async () => {
  await browser?.close();
  await faulty?.stop();
});

const unavailable = async () => ({ outcome: 'unavailable', reason: 'the vault is away' }) as const;
const credentialsRefused = async () => ({ ...(await declinedOutcome()), refusesCredentials: true }) as const;
const { waiting } = orders;

/** A subscription whose renewal is due and waits. */
async function waitingRenewal(charge: NonNullable<FaultyService['faults']['charge']>): Promise<Reply['body']> {
  const plan = await somePlan(service, { billing_cycle: everyDays(1) }, company);
  const { body } = await subscribe(service, { plan_id: plan.id, customer_id: shop.customerId }, { key });
  faulty.faults.charge = charge;
  await service.db.query('UPDATE companies SET clock_offset_ms = clock_offset_ms + 90000000 WHERE id = $1', [
    company.id,
  ]);
  await service.subscriptions.billDue(64);
  return (await service.call('GET', `/v1/subscriptions/${body.id}`, { key })).body;
}

describe('the dashboard', () => {
  it('says of an order that its charge waits, until when, and what to do', async () => {
    faulty.faults.charge = unavailable;
    const idempotencyKey = randomUUID();
    assert.equal((await order(service, shop, {}, { key, idempotencyKey })).status, 503);
    const { id } = (await service.call('GET', '/v1/orders?limit=1', { key })).body.data[0];
    await page.goto(`/orders/${id}`);
    const notice = page.getByRole('status').filter({ hasText: waiting.title });
    await notice.filter({ hasText: waiting.causes.service }).filter({ hasText: waiting.repeat }).waitFor();
    await notice.filter({ hasText: /the order fails in (59|60) minutes\. You can then retry it here\./ }).waitFor();
    await inspect(page, 'an order whose charge waits');
    delete faulty.faults.charge;
    assert.equal((await order(service, shop, {}, { key, idempotencyKey })).status, 201);
    await notice.waitFor({ state: 'detached' });
  });

  it('says of a subscription and its order that the renewal waits for the merchant', async () => {
    const { id, latest_order_id } = await waitingRenewal(credentialsRefused);
    for (const path of [`/subscriptions/${id}`, `/orders/${latest_order_id}`]) {
      await page.goto(path);
      const notice = page.getByRole('status').filter({ hasText: waiting.renewalTitle });
      await notice
        .filter({ hasText: waiting.causes.credentials })
        .filter({ hasText: /in \d minutes/ })
        .waitFor();
      assert.match((await notice.getByRole('link').getAttribute('href')) ?? '', /^\/settings\/processors/);
      await inspect(page, path);
    }
    delete faulty.faults.charge;
    await runWorker(service);
    await page.getByRole('status').filter({ hasText: waiting.renewalTitle }).waitFor({ state: 'detached' });
  });

  it('says of a failed order once why, and offers a payment link, another card and a retry', async () => {
    const card = await capture(service, shop.customerId, '4000000000009995', { key });
    const { body: failed } = await order(service, shop, { payment_method_id: card }, { key });
    await page.goto(`/orders/${failed.id}`);
    const panel = page.getByRole('region', { name: whatNow.title });
    await panel.getByText(declineAdvice.insufficient_funds.next).waitFor();
    await page.getByRole('heading', { name: common.timeline }).waitFor();
    await page.getByText('declined').first().waitFor();
    assert.equal(await page.getByText(/enough funds/).count(), 1);
    await opened.button(whatNow.sendLink('$49.00')).click();
    await inspect(page, 'the question before a payment link is sent');
    await opened.button(whatNow.send, opened.dialog()).click();
    await page.getByText(whatNow.linkSent, { exact: true }).waitFor();
    await panel.getByText(whatNow.sentAt).waitFor();
    await opened.button(whatNow.sendAgain).click();
    await opened.button(whatNow.send, opened.dialog()).click();
    await page.getByText(whatNow.sentAlready).waitFor();
    await panel.getByRole('link', { name: whatNow.viewLink }).waitFor();
    await inspect(page, 'a failed order with a payment link');
    await opened.button(whatNow.askCard).click();
    await opened.dialog().getByText(whatNow.cardLater).waitFor();
    await opened.button(whatNow.send, opened.dialog()).click();
    await page.getByText(whatNow.cardSent, { exact: true }).waitFor();
    await opened.button(orders.retry, panel).click();
    await opened.button(orders.retry, opened.dialog()).click();
    await page.getByText(orders.retryDone).waitFor();

    const expired = await capture(service, shop.customerId, '4000000000000069', { key });
    const { body: second } = await order(service, shop, { payment_method_id: expired }, { key });
    await page.goto(`/orders/${second.id}`);
    await panel.getByText(declineAdvice.expired_card.next).waitFor();
    await opened.button(whatNow.copyLink).waitFor();
    assert.equal(await opened.button(orders.retry).count(), 0);
  });

  it('says of an order that the bank wants to confirm it, and of a card and a payment how they were authenticated', async () => {
    faulty.faults.charge = async () => ({
      ...(await declinedOutcome()),
      failureCode: 'transaction_not_allowed',
      needsAuthentication: true,
    });
    const { body: failed } = await order(service, shop, {}, { key });
    await page.goto(`/orders/${failed.id}`);
    const panel = page.getByRole('region', { name: whatNow.title });
    await panel.getByText(confirmationAdvice.next).waitFor();
    await opened.button(whatNow.copyConfirmation).waitFor();
    assert.equal(await opened.button(orders.retry).count(), 0);
    await inspect(page, 'an order that the bank wants to confirm');
    await page.goto(`/customers/${shop.customerId}`);
    await page.getByText(customers.noMandate).first().waitFor();
    const authentication = {
      flow: 'challenge',
      status: 'authenticated',
      liabilityShifted: true,
      version: '2.2.0',
      eci: '05',
    } as const;
    faulty.faults.charge = async () => ({ ...(await approvedOutcome()), authentication });
    const { body: paid } = await order(service, shop, {}, { key });
    delete faulty.faults.charge;
    await page.goto(`/transactions/${paid.transactions[0].id}`);
    await page.getByText(transactions.authenticationResults.authenticated).waitFor();
    await page.getByText(transactions.liabilities.bank).waitFor();
    await inspect(page, 'a transaction with an authentication');
    await page.goto(`/customers/${shop.customerId}`);
    await page.getByText(customers.mandate, { exact: true }).waitFor();
  });

  it('has no errors in its console', () => assert.deepEqual(opened.problems, []));
});
