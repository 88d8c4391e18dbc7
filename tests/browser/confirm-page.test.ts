import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { changeProfile } from '../../server/features/profile/service.ts';
import { checkLooks, openPagesWorld } from '../support/hosted-pages.ts';
import { contextOf, openShop, order, readOrder } from '../support/orders.ts';

/** The page on which a customer confirms one payment with the bank, as the customer meets it. */

const { service, visit, stop } = await openPagesWorld();
after(stop);
await changeProfile(contextOf(service), { display_name: 'Tea House', support_email: 'help@teahouse.example' });
await service.db.query('UPDATE companies SET authenticates = true WHERE id = $1', [service.company.id]);

async function declined(): Promise<{ readonly id: string; readonly url: string }> {
  const shop = await openShop(service, '4000009999003315');
  const { body } = await order(service, shop);
  assert.equal(body.status, 'failed');
  return { id: body.id, url: body.authentication_url };
}

const confirmButton = (page: Page) => page.getByRole('button', { name: 'Confirm with your bank' });

/** The addresses of the service do not have its port. */
async function toBank(page: Page): Promise<void> {
  await page.route('http://service.test/**', async (route) => {
    const { pathname, search } = new URL(route.request().url());
    await route.fulfill({ status: 302, headers: { location: service.baseUrl + pathname + search } });
  });
}

describe('the page to confirm a payment', () => {
  test('leads to the bank and back, and is accessible in both themes on phone and desktop', async () => {
    const { id, url } = await declined();
    const { page, complaints, close } = await visit(url);
    await toBank(page);
    await page.getByRole('heading', { name: 'Your bank wants to confirm this payment' }).waitFor();
    await page.getByText('$49.00').waitFor();
    await page.getByText('3315').waitFor();
    await checkLooks(page, 'confirm');
    await confirmButton(page).click();
    await page.getByRole('link', { name: 'Confirm', exact: true }).click();
    await page.getByRole('heading', { name: 'Payment confirmed' }).waitFor();
    await page.getByText('You paid $49.00 to Tea House. Thank you.').waitFor();
    assert.equal(new URL(page.url()).search, '');
    await checkLooks(page, 'confirmed');
    assert.equal((await readOrder(service, id)).status, 'succeeded');
    await page.reload();
    await page.getByRole('heading', { name: 'Payment confirmed' }).waitFor();
    assert.deepEqual(complaints, []);
    await close();
  });

  test('offers the bank again after the back button, in a second tab, and after the customer refused', async () => {
    const { id, url } = await declined();
    const first = await visit(url);
    await toBank(first.page);
    await confirmButton(first.page).click();
    await first.page.getByRole('link', { name: 'Confirm', exact: true }).waitFor();
    await first.page.goBack();
    await first.page.getByRole('heading', { name: 'Your bank waits for you' }).waitFor();
    const second = await visit(url);
    await toBank(second.page);
    await second.page.getByRole('link', { name: 'Continue at your bank' }).click();
    await second.page.getByRole('link', { name: 'Refuse' }).click();
    await second.page.getByText('The payment was not made').waitFor();
    await confirmButton(first.page).click();
    await first.page.getByRole('link', { name: 'Confirm', exact: true }).click();
    await first.page.getByRole('heading', { name: 'Payment confirmed' }).waitFor();
    const { status, transactions } = await readOrder(service, id);
    assert.equal(status, 'succeeded');
    assert.deepEqual(
      transactions.map((one: { status: string }) => one.status),
      ['failed', 'failed', 'succeeded'],
    );
    await Promise.all([first.close(), second.close()]);
  });

  test('says that an address with another signature leads to nothing', async () => {
    const { url } = await declined();
    const { page, close } = await visit(url.slice(0, -1) + (url.endsWith('0') ? '1' : '0'));
    await page.getByRole('heading', { name: 'This link is not valid' }).waitFor();
    await close();
  });
});
