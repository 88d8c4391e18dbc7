import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { common } from '../../dashboard/src/texts/common.ts';
import { paymentLinks } from '../../dashboard/src/texts/payment-links.ts';
import { texts as checkout } from '../../pages/checkout/texts.ts';
import { launchBrowser } from '../support/browser.ts';
import { type Person, signUp } from '../support/dashboard.ts';
import { type DashboardPage, openDashboardPage } from '../support/dashboard-page.ts';
import { inspect } from '../support/inspect.ts';
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

describe('a merchant with an empty company', () => {
  it('gets a payment link from a name and a price, and sees who paid', async () => {
    const { page, button, field, dialog } = opened;
    await page.goto('/payment-links/new');
    await button(paymentLinks.add).click();
    // The focus goes to what is missing.
    await page.locator('[aria-invalid="true"]:focus').waitFor();
    await field(paymentLinks.what).fill('Tea tasting');
    await field(paymentLinks.price).fill('$25');
    await inspect(page, '/payment-links/new');
    await button(paymentLinks.add).click();

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
    await page.reload();
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
    await button(common.discard).click();
    assert.deepEqual(opened.problems, []);
  });
});
