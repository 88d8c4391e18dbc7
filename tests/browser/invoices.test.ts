import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { common } from '../../dashboard/src/texts/common.ts';
import { invoices } from '../../dashboard/src/texts/invoices.ts';
import { launchBrowser } from '../support/browser.ts';
import { companyOf, type Person, signUp } from '../support/dashboard.ts';
import { inspect } from '../support/inspect.ts';
import { germanRate, numberNow, sellerAddress } from '../support/invoices.ts';
import { checkAllOpen, openShop, refund, succeeded } from '../support/orders.ts';
import { startTestService, type TestService } from '../support/service.ts';

/** Invoices in the dashboard: switched on, found, opened, printed. */

let service: TestService;
let browser: Browser;
let page: Page;
let companyId: string;
let key: string;
let owner: Person;

before(async () => {
  service = await startTestService();
  browser = await launchBrowser();
  owner = await signUp(service, 'invoices@example.com');
  companyId = companyOf(owner, 'sandbox');
  key = await service.createKey({ ...service.company, id: companyId });
  await owner.in('PATCH', '/dashboard/profile', { address: sellerAddress, tax_id: 'DE123456789' });
  page = await browser.newPage({ baseURL: service.baseUrl, viewport: { width: 1280, height: 900 } });
  await page.request.post('/dashboard/session', {
    data: { email: owner.email, password: owner.password },
    headers: { origin: service.baseUrl },
  });
});
after(async () => {
  await browser.close();
  await service.stop();
});

/** The address in a link is not that of the test. */
const requestOf = (file: string): Promise<unknown> =>
  page.context().waitForEvent('request', (request) => request.url().includes(`/${file}?`));

test('the settings switch invoices on and show what a number looks like', async () => {
  await page.goto('/settings/invoices');
  await page.getByLabel(invoices.enabled).check();
  await page.getByLabel(invoices.invoicePrefix).fill('RE-');
  await page.getByText(`RE-${new Date().getFullYear()}-000001`).waitFor();
  await page.getByRole('button', { name: common.save }).click();
  await page.getByText(common.saved).waitFor();
  await page.reload();
  assert.equal(await page.getByLabel(invoices.invoicePrefix).inputValue(), 'RE-');
  assert.ok(await page.getByLabel(invoices.enabled).isChecked());
  await inspect(page, '/settings/invoices');
});

test('a payment and its refund are in the list, and lead to their documents', async () => {
  const shop = await openShop(service, undefined, { key });
  const { id, order_number } = await succeeded(service, shop, { key });
  await refund(service, id, 1000, { key });
  await checkAllOpen(service);
  await numberNow(service, companyId);
  await page.goto('/invoices');
  const [year] = [new Date().getUTCFullYear()];
  await page.getByText(`RE-${year}-000001`).waitFor();
  await page.getByText(`CN-${year}-000001`).waitFor();
  await inspect(page, '/invoices');
  await page.getByPlaceholder(invoices.search).fill(order_number);
  await page.getByText(`CN-${year}-000001`).click();
  await page.getByText(`Refund of invoice RE-${year}-000001`).waitFor();
  await page.getByRole('link', { name: `RE-${year}-000001` }).click();
  await page.getByRole('heading', { name: `RE-${year}-000001` }).waitFor();
  await page.getByText('DE123456789').waitFor();
  const opened = page.waitForEvent('popup');
  await page.getByRole('button', { name: invoices.pdf }).click();
  await opened;
  await page.getByText(invoices.eInvoiceMissing(['a tax rate for each line (Settings → Invoices)'])).waitFor();
  assert.equal(await page.getByRole('button', { name: invoices.xml }).count(), 0);
  await inspect(page, 'the page of an invoice');
});

test('rules for business buyers abroad are checked, added and removed', async () => {
  await page.goto('/settings/invoices');
  const form = page.locator('form').filter({ has: page.getByRole('button', { name: invoices.addRule }) });
  await form.getByLabel(invoices.countries).fill('Austria');
  await form.getByLabel(invoices.taxName).fill('VAT');
  await form.getByLabel(invoices.ruleText).fill('Reverse charge');
  await form.getByRole('button', { name: invoices.addRule }).click();
  await form.getByText(invoices.countriesProblem).waitFor();
  await form.getByLabel(invoices.countries).fill('at, FR');
  await form.getByRole('button', { name: invoices.addRule }).click();
  await page.getByRole('cell', { name: 'AT, FR' }).waitFor();
  const { body } = await owner.in('GET', '/dashboard/invoice_settings');
  const rule = { countries: ['AT', 'FR'], category: 'reverse_charge', name: 'VAT', text: 'Reverse charge' };
  assert.deepEqual(body.business_rules, [rule]);
  await inspect(page, '/settings/invoices with a rule');
  await page.getByRole('button', { name: invoices.remove }).click();
  await page.getByRole('dialog').getByRole('button', { name: invoices.remove }).click();
  await page.getByRole('cell', { name: 'AT, FR' }).waitFor({ state: 'detached' });
});

test('the buyer of an invoice is corrected with a reason', async () => {
  const { id } = await succeeded(service, await openShop(service, undefined, { key }), { key });
  await numberNow(service, companyId);
  const documents = async (): Promise<any[]> =>
    (await service.call('GET', `/v1/invoices?order_id=${id}&sort=created_at`, { key })).body.data;
  const [invoice] = await documents();
  await page.goto(`/invoices/${invoice.id}`);
  await page.getByRole('button', { name: invoices.correct, exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(invoices.company).fill('Hopper GmbH');
  await dialog.getByRole('button', { name: invoices.correct, exact: true }).click();
  await dialog.getByText(invoices.reasonMissing).waitFor();
  await dialog.getByLabel(invoices.cause).fill('The company was missing');
  await inspect(page, 'the correction of an invoice');
  await dialog.getByRole('button', { name: invoices.correct, exact: true }).click();
  await page.getByText(invoices.corrected).waitFor();
  await numberNow(service, companyId);
  assert.deepEqual(
    (await documents()).map(({ cause, buyer }) => [cause, buyer.company]),
    [
      ['payment_recorded', null],
      ['invoice_canceled', null],
      ['invoice_corrected', 'Hopper GmbH'],
    ],
  );
});

test('an invoice with complete data is downloaded as an e-invoice', async () => {
  await owner.in('PATCH', '/dashboard/invoice_settings', { tax_rates: [germanRate] });
  const { id } = await succeeded(service, await openShop(service, undefined, { key }), { key });
  await numberNow(service, companyId);
  const [invoice] = (await service.call('GET', `/v1/invoices?order_id=${id}`, { key })).body.data;
  await page.goto(`/invoices/${invoice.id}`);
  await page.getByText(invoices.eInvoiceReady).waitFor();
  const opened = requestOf(`${invoice.id}.xml`);
  await page.getByRole('button', { name: invoices.xml }).click();
  await opened;
});

test('a month is downloaded as one file', async () => {
  await page.goto('/invoices');
  await page.getByRole('button', { name: invoices.download }).click();
  const month = new Date().toISOString().slice(0, 7);
  await page.getByLabel(invoices.month, { exact: true }).selectOption(month);
  await inspect(page, 'the dialog to download a month');
  const opened = requestOf(`${month}.zip`);
  await page.getByRole('button', { name: invoices.startDownload, exact: true }).click();
  await opened;
});
