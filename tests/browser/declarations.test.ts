import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { declarations } from '../../dashboard/src/texts/declarations.ts';
import { languages } from '../../server/customer-texts/languages.ts';
import { textsFor } from '../../server/customer-texts/texts.ts';
import { companyAddress } from '../../server/http/page-token.ts';
import { openDashboardPage } from '../support/dashboard-page.ts';
import { companyOf, signUp } from '../support/dashboard.ts';
import { allLooks, checkLooks, openPagesWorld } from '../support/hosted-pages.ts';
import { inspect } from '../support/inspect.ts';

/** The pages on which customers cancel and withdraw without signing in, and what the merchant sees of it. */

const { service, browser, visit, stop } = await openPagesWorld();
after(stop);

const owner = await signUp(service);
const address = companyAddress(companyOf(owner, 'sandbox'));
await owner.in('PATCH', '/dashboard/profile', { display_name: 'Tea House', address: { country: 'FR' } });

describe('the page to cancel', () => {
  test('says what is missing, sends once, and shows when it arrived; the merchant marks it as handled', async () => {
    const { page, complaints, close } = await visit(`/cancel/${address}`);
    await page.getByRole('heading', { name: 'Cancel a subscription' }).waitFor();
    assert.equal(await page.title(), 'Cancel a subscription · Tea House');
    await page.getByRole('button', { name: 'Cancel now' }).click();
    await page.getByText('Enter your name.').waitFor();
    await page.locator('#name:focus').waitFor();
    await checkLooks(page, 'cancel-errors', allLooks);
    const email = `${randomUUID()}@example.com`;
    await page.getByLabel('Your name').fill('Ada Lovelace');
    await page.getByLabel('Email').fill(email);
    await page.getByLabel('Order number or subscription').fill('See https://evil.example/x');
    await page.getByRole('button', { name: 'Cancel now' }).click();
    await page.getByText('This entry cannot be used. Please check it.').waitFor();
    await page.getByLabel('Order number or subscription').fill('Tea of the month');
    let isLost = false;
    await page.route('**/declarations', async (route) => {
      const response = await route.fetch();
      if (isLost) return route.fulfill({ response });
      isLost = true;
      // The page repeats what it sent.
      return route.abort('connectionreset');
    });
    await page.getByRole('button', { name: 'Cancel now' }).click();
    await page.getByRole('heading', { name: 'Your cancellation was received' }).waitFor();
    await page.getByText(`The confirmation goes to ${email}.`).waitFor();
    await checkLooks(page, 'cancel-received');
    assert.deepEqual(
      complaints.filter((text) => !/400|ERR_CONNECTION_RESET|Failed to load resource/.test(text)),
      [],
    );
    await close();
    const dashboard = await openDashboardPage(browser, service.baseUrl, owner);
    await dashboard.page.goto('/declarations');
    await dashboard.page.getByText(email).waitFor();
    assert.equal(await dashboard.page.getByText(email).count(), 1);
    await inspect(dashboard.page, '/declarations');
    await dashboard.button(declarations.handle).click();
    await dashboard.button(declarations.handle, dashboard.dialog()).click();
    await dashboard.page.getByText(declarations.handled, { exact: true }).waitFor();
    assert.deepEqual(dashboard.problems, []);
    await dashboard.context.close();
  });

  test('is not there if the merchant does not have it', async () => {
    const stranger = await signUp(service);
    const { page, close } = await visit(`/cancel/${companyAddress(companyOf(stranger, 'sandbox'))}`);
    await page.getByRole('heading', { name: 'This link does not work' }).waitFor();
    await close();
  });
});

describe('the page to withdraw', () => {
  for (const locale of languages) {
    test(`is whole in ${locale}`, async () => {
      const { declarations: texts } = await textsFor(locale);
      const { page, close } = await visit(`/withdraw/${address}`, { locale });
      await page.getByRole('heading', { name: texts.withdraw.headline }).waitFor();
      await page.getByRole('button', { name: texts.withdraw.confirm }).waitFor();
      await checkLooks(page, `withdraw-${locale}`, [{ isPhone: true }]);
      await close();
    });
  }
});
