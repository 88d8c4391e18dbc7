import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { disputes } from '../../dashboard/src/texts/disputes.ts';
import { applyDueNotices } from '../../server/features/processors/notices.ts';
import { launchBrowser } from '../support/browser.ts';
import { waitUntil } from '../support/embedded-postgres.ts';
import { inspect } from '../support/inspect.ts';
import { type ConnectedMerchant, type LiveService, startLiveService } from '../support/live-merchants.ts';
import { succeeded } from '../support/orders.ts';
import { silentLog } from '../support/silent-log.ts';

/** How a merchant chooses the reason for which Adyen defends a dispute, in a real browser. */

let live: LiveService;
let merchant: ConnectedMerchant;
let browser: Browser;
let page: Page;
const problems: string[] = [];

before(async () => {
  [live, browser] = await Promise.all([startLiveService(), launchBrowser()]);
  merchant = await live.openMerchant('adyen');
  const { service, fakes } = live;
  await fakes.adyen.control({ notice_url: `${service.baseUrl}/processors/${merchant.connections[0]}/notices` });
  const context = await browser.newContext({ baseURL: service.baseUrl, locale: 'en-US' });
  context.setDefaultTimeout(20_000);
  const [name = '', value = ''] = merchant.owner.cookie.split(/=(.*)/);
  await context.addCookies([{ name, value, url: service.baseUrl }]);
  await context.addInitScript(`sessionStorage.setItem('svc.company', '${merchant.companyId}')`);
  page = await context.newPage();
  page.on('pageerror', (error) => problems.push(error.message));
});
after(async () => {
  await browser?.close();
  await live?.stop();
});

async function deliver(): Promise<void> {
  const { service, vault, fakes } = live;
  await waitUntil(async () => (await fakes.adyen.call('GET', '/healthz')).undelivered === 0);
  while ((await applyDueNotices({ db: service.db, vault, orders: service.orders, log: silentLog }, 100)) > 0);
}

const button = (name: string, within: Page | Locator = page): Locator =>
  within.getByRole('button', { name, exact: true });
const dialog = (): Locator => page.getByRole('dialog');

it('chooses a reason, sees what it needs, saves the draft, and submits all of it once', async () => {
  const { service, fakes } = live;
  const { id } = await succeeded(service, merchant.shop, { key: merchant.key });
  const [charge] = await service.db.query<{ reference: string }>(
    "SELECT reference FROM transactions WHERE order_id = $1 AND type = 'sale'",
    [id],
  );
  const open = { action: 'open', reference: charge?.reference, reason_code: '13.3' };
  const { dispute: atAdyen } = await fakes.adyen.call('POST', '/control/disputes', open);
  await deliver();

  await page.goto(`/orders/${id}`);
  await page.getByRole('link', { name: disputes.respond, exact: true }).click();
  const reason = page.getByLabel(disputes.defenseReason, { exact: true });
  await reason.waitFor();
  await page.getByText(disputes.once).waitFor();
  assert.equal(await button(disputes.submit).isDisabled(), true, 'not without a reason');
  await page.getByLabel(disputes.questions[0]?.label ?? '', { exact: true }).fill('winning_evidence');
  const chooser = page.locator('input[type=file]');
  const file = { mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.7 an invoice') };
  await chooser.setInputFiles({ ...file, name: 'invoice.pdf' });
  await page.getByRole('row', { name: /invoice\.pdf/ }).waitFor();

  await reason.selectOption({ label: 'Goods not returned' });
  const goods = page.getByLabel('Goods not returned', { exact: true });
  const invoice = page.getByLabel('Transaction receipt or invoice', { exact: true });
  await goods.waitFor();
  assert.equal(await goods.inputValue(), 'texts', 'the needed document gets the texts');
  await invoice.selectOption('');
  await page.getByText(disputes.notSent(['invoice.pdf'])).waitFor();
  assert.equal(await button(disputes.submit).isDisabled(), true, 'not while a file is left out');
  await inspect(page, 'a reason with a file that is not assigned');

  await reason.selectOption({ label: 'Goods were as described' });
  const described = page.getByLabel('Goods were as described', { exact: true });
  await described.selectOption('');
  await page.getByText(disputes.documentsMissing(['Goods were as described'])).waitFor();
  await described.selectOption('texts');
  await invoice.selectOption({ label: 'invoice.pdf' });
  await button(disputes.saveDraft).click();
  await page.getByText(disputes.draftSaved).waitFor();
  await page.reload();
  await described.waitFor();
  assert.equal(await described.inputValue(), 'texts', 'the draft is kept');
  const [stored] = await service.db.query<{ defense: { reason: string } }>(
    'SELECT defense FROM disputes WHERE order_id = $1',
    [id],
  );
  assert.equal(stored?.defense.reason, 'GoodsWereAsDescribed');

  await button(disputes.submit).click();
  await dialog().getByText(disputes.submitText).waitFor();
  await dialog()
    .getByText(/Respond by/)
    .waitFor();
  await dialog().getByText(disputes.defendsFor('Goods were as described')).waitFor();
  await dialog().getByText(disputes.sentAs('invoice.pdf', 'Transaction receipt or invoice')).waitFor();
  await inspect(page, 'the question before a dispute is defended');
  await button(disputes.submit, dialog()).click();
  await page.getByText(disputes.submitted, { exact: true }).waitFor();
  const { dispute } = await fakes.adyen.call('GET', `/disputes/${atAdyen}`);
  assert.equal(dispute.defenseReason, 'GoodsWereAsDescribed');
  assert.match(dispute.evidence, /winning_evidence[\s\S]*an invoice/);
  await deliver();
  await page.getByText(disputes.meanings.won).waitFor();
  assert.deepEqual(problems, []);
});
