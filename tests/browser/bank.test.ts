import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { bankCards, endCustomerTime, openTill, runBankJobs, switchAuthentication, type Till } from '../support/bank.ts';
import { launchBrowser } from '../support/browser.ts';
import { checkLooks, typeCard } from '../support/hosted-pages.ts';
import { openShop } from '../support/orders.ts';
import { startTestService } from '../support/service.ts';

/** The checkout page leads to the bank of the sandbox and back, as a customer meets it. */

const limits = Object.fromEntries(
  ['CAPTURE', 'WRITE', 'READ', 'REFUSED_CARDS'].map((name) => [`SVC_RATE_LIMIT_${name}`, 'off']),
);
// The links of the service name this host, which the browser finds at the port of the service.
const baseUrl = 'http://pay.localhost';
const service = await startTestService({ settings: limits, baseUrl });
await switchAuthentication(service);
const shop = await openShop(service);
const { host } = new URL(service.baseUrl);
const browser = await launchBrowser(`--host-resolver-rules=MAP pay.localhost:80 ${host}`);
after(async () => {
  await browser.close();
  await service.stop();
});

interface Visit {
  readonly till: Till;
  readonly context: BrowserContext;
  readonly page: Page;
  readonly complaints: string[];
}

async function newPage(context: BrowserContext, complaints: string[] = []): Promise<Page> {
  const page = await context.newPage();
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  return page;
}

async function openPage({ page, till }: Pick<Visit, 'page' | 'till'>): Promise<void> {
  await page.goto(`${baseUrl}/checkout/${till.token}`);
}

let people = 0;

/** Fills the form of the page, and presses Pay. */
async function pay(page: Page, number: string): Promise<void> {
  people += 1;
  await page.getByLabel('Email').fill(`bank-${process.pid}-${people}@example.com`);
  await page.getByLabel('First name').fill('Ada');
  await page.getByLabel('Last name').fill('Lovelace');
  await page.getByLabel('Phone').fill(`(555) 300-${String(1_000 + people)}`);
  await typeCard(page.frameLocator('#card iframe'), number);
  await page.locator('#pay').click();
}

async function during(body: (visit: Visit) => Promise<void>): Promise<void> {
  const till = await openTill(service, shop.productId);
  const context = await browser.newContext({ locale: 'en-US', reducedMotion: 'reduce' });
  const complaints: string[] = [];
  const page = await newPage(context, complaints);
  const visit = { till, context, page, complaints };
  try {
    await openPage(visit);
    await body(visit);
  } finally {
    await context.close();
  }
}

const bank = (page: Page) => page.getByRole('heading', { name: 'Bank of the sandbox' }).waitFor();
const paid = (page: Page) => page.getByRole('heading', { name: 'Payment successful' }).waitFor();
const asked = (page: Page) => page.getByRole('heading', { name: 'Your bank wants to confirm this payment' }).waitFor();
const notPaid = (page: Page) => page.getByText('The payment was not made').waitFor();

/** How the orders of the session ended, oldest first. */
async function ordersOf({ id }: Till): Promise<string[]> {
  const rows = await service.db.query<{ status: string }>(
    `SELECT DISTINCT o.id, o.status FROM checkout_payments p
     JOIN orders o ON o.company_id = p.company_id AND o.customer_id::text = p.input->'input'->>'customer_id'
     WHERE p.session_id = $1 ORDER BY o.id`,
    [id],
  );
  return rows.map(({ status }) => status);
}

describe('the page at the bank', () => {
  test('passed: leads there, comes back, says that it is paid, and stays so after a reload', async () => {
    await during(async ({ till, page, complaints }) => {
      await pay(page, bankCards.challenge);
      await bank(page);
      await checkLooks(page, 'sandbox-bank');
      await page.getByRole('link', { name: 'Confirm' }).click();
      await paid(page);
      assert.equal(new URL(page.url()).search, '', 'the address keeps nothing of the bank');
      await page.reload();
      await paid(page);
      assert.deepEqual(await ordersOf(till), ['succeeded']);
      assert.deepEqual(complaints, []);
    });
  });

  test('failed: comes back to the form, says why, and another card pays', async () => {
    await during(async ({ till, page }) => {
      await pay(page, bankCards.challenge);
      await bank(page);
      await page.getByRole('link', { name: 'Refuse' }).click();
      await notPaid(page);
      await page.getByText('Your bank did not confirm the payment.', { exact: false }).waitFor();
      await pay(page, '4242424242424242');
      await paid(page);
      assert.deepEqual(await ordersOf(till), ['failed', 'succeeded']);
    });
  });

  test('back and reload: offers the bank again, which then pays', async () => {
    await during(async ({ till, page }) => {
      await pay(page, bankCards.challenge);
      await bank(page);
      await page.goBack();
      await asked(page);
      await checkLooks(page, 'checkout-at-bank');
      await page.reload();
      await asked(page);
      await page.getByRole('link', { name: 'Continue to your bank' }).click();
      await bank(page);
      await page.getByRole('link', { name: 'Confirm' }).click();
      await paid(page);
      assert.deepEqual(await ordersOf(till), ['succeeded']);
    });
  });

  test('two tabs: the second pays another way, the first one cannot be paid any more', async () => {
    await during(async ({ till, context, page }) => {
      await pay(page, bankCards.challenge);
      await bank(page);
      const second = await newPage(context);
      await openPage({ page: second, till });
      await asked(second);
      await second.getByRole('button', { name: 'Pay another way' }).click();
      await notPaid(second);
      await pay(second, '4242424242424242');
      await paid(second);
      await page.getByRole('link', { name: 'Confirm' }).click();
      await paid(page);
      assert.deepEqual(await ordersOf(till), ['failed', 'succeeded']);
    });
  });

  test('two tabs: both forms are open, and the second learns that the bank is asked', async () => {
    await during(async ({ till, context, page }) => {
      const second = await newPage(context);
      await openPage({ page: second, till });
      await second.frameLocator('#card iframe').locator('#cvc').waitFor();
      await pay(page, bankCards.challenge);
      await bank(page);
      await pay(second, '4242424242424242');
      // Its card token is refused, because the session is being paid, and it shows what that waits for.
      await asked(second);
      await page.getByRole('link', { name: 'Confirm' }).click();
      await paid(page);
      await paid(second);
      assert.deepEqual(await ordersOf(till), ['succeeded']);
    });
  });

  test('abandoned: the time is over, and the page says so and takes another card', async () => {
    await during(async ({ till, page }) => {
      await pay(page, bankCards.abandoned);
      await bank(page);
      await page.goBack();
      await asked(page);
      await endCustomerTime(service);
      await notPaid(page);
      await pay(page, '4242424242424242');
      await paid(page);
      assert.deepEqual(await ordersOf(till), ['failed', 'succeeded']);
    });
  });

  test('late: waits for the bank, and is paid by itself', async () => {
    await during(async ({ till, page }) => {
      await pay(page, bankCards.late);
      await bank(page);
      await page.getByRole('link', { name: 'Confirm' }).click();
      await page.getByRole('heading', { name: 'Your payment is being confirmed' }).waitFor();
      await paid(page);
      assert.deepEqual(await ordersOf(till), ['succeeded']);
    });
  });

  test('a closed browser: the payment is made, and the customer finds it paid an hour later', async () => {
    await during(async ({ till, context, page }) => {
      await pay(page, bankCards.challenge);
      await bank(page);
      // The phone ends the browser while it goes back.
      await context.route('**/checkout/**', (route) => route.abort());
      const answered = page.waitForResponse((response) => response.url().includes('/confirm'));
      await page.getByRole('link', { name: 'Confirm' }).click();
      await answered;
      await page.close();
      await context.unroute('**/checkout/**');
      await runBankJobs(service);
      const later = await newPage(context);
      await openPage({ page: later, till });
      await paid(later);
      assert.deepEqual(await ordersOf(till), ['succeeded']);
    });
  });

  test('a customer who comes back after the end is not charged', async () => {
    await during(async ({ till, page }) => {
      await pay(page, bankCards.challenge);
      await bank(page);
      await endCustomerTime(service);
      await page.getByRole('link', { name: 'Confirm' }).click();
      await notPaid(page);
      assert.deepEqual(await ordersOf(till), ['failed']);
    });
  });

  test('frictionless and unavailable: the page stays where it is', async () => {
    await during(async ({ page }) => {
      await pay(page, bankCards.unavailable);
      await page.getByText('Your bank could not be reached. You were not charged.').waitFor();
      await pay(page, bankCards.frictionless);
      await paid(page);
    });
  });
});
