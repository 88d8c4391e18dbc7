import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import sharp from 'sharp';
import { branding } from '../../dashboard/src/texts/branding.ts';
import { common } from '../../dashboard/src/texts/common.ts';
import { consents } from '../../dashboard/src/texts/consents.ts';
import { emails } from '../../dashboard/src/texts/emails.ts';
import { preview } from '../../dashboard/src/texts/preview.ts';
import { makeCustomerEmails } from '../../server/features/customer-emails/jobs.ts';
import { customerPageLink } from '../../server/features/customer-sessions/service.ts';
import { silentLog } from '../support/silent-log.ts';
import { launchBrowser } from '../support/browser.ts';
import { openCheckout } from '../support/checkout.ts';
import { signUp } from '../support/dashboard.ts';
import { inspect } from '../support/inspect.ts';
import { openShop, succeeded } from '../support/orders.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { somePlan } from '../support/subscriptions.ts';
import { eventually } from '../support/webhooks.ts';

let service: TestService;
let browser: Browser;
let page: Page;
let orderId: string;
let key: string;
let planOf: () => Promise<string>;

before(async () => {
  service = await startTestService();
  browser = await launchBrowser();
  const owner = await signUp(service, 'branding@example.com');
  const sandbox = owner.companies.find(({ mode }) => mode === 'sandbox');
  assert.ok(sandbox);
  const company = { ...service.company, id: sandbox.id };
  key = await service.createKey(company);
  planOf = async () => (await somePlan(service, {}, company)).id;
  const shard = {
    name: company.shard,
    db: service.db,
    clock: service.clock,
    log: silentLog,
  };
  const links = {
    baseUrl: service.baseUrl,
    linkKey: service.linkKey,
    mailKey: service.mailKey,
    clock: service.clock,
    customerPageLink: async (context: Parameters<typeof customerPageLink>[0], { id: customerId }: { id: string }) =>
      (await customerPageLink(context, { baseUrl: service.baseUrl }, { customerId }))?.url,
  };
  await makeCustomerEmails(shard, links);
  const shop = await openShop(service, undefined, { key });
  orderId = (await succeeded(service, shop, { key })).id;
  await makeCustomerEmails(shard, links);
  const role_id = (await owner.in('GET', '/v1/roles')).body.data[0].id;
  const invited = await owner.in('POST', '/v1/team_members', {
    email: 'grace@example.com',
    first_name: 'Grace',
    last_name: 'Hopper',
    phone_number: '+15551230000',
    role_id,
  });
  assert.equal(invited.status, 201, invited.text);
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

const section = (name: string) => page.getByRole('tab', { name });
/** The color of the button in the preview, and that of its text. */
async function buttonColors(): Promise<unknown> {
  const frame = page.frames().find((one) => one.url().endsWith('/checkout/preview'));
  return frame?.evaluate(
    `(({ backgroundColor, color }) => backgroundColor + ' ' + color)(getComputedStyle(document.querySelector('#pay')))`,
  );
}

describe('branding in the dashboard', () => {
  it('is previewed while it is typed, saved, and shown in the preview of a real email', async () => {
    await page.goto('/settings/branding');
    const checkout = page.frameLocator(`iframe[title="${preview.frame}"]`);
    await checkout.getByRole('button', { name: 'Pay $49.00', includeHidden: true }).waitFor();
    await page.getByLabel(branding.displayName).fill('Ada’s Tea');
    await page.locator('input[name="color"]').fill('#ffd400');
    await checkout.getByText('Pay Ada’s Tea').waitFor();
    const isPainted = async (): Promise<boolean> => (await buttonColors()) === 'rgb(255, 212, 0) rgb(0, 0, 0)';
    await eventually('the preview has the typed color', isPainted);
    await page.getByRole('button', { name: preview.screens.phone }).click();
    assert.equal(await page.locator(`iframe[title="${preview.frame}"]`).evaluate((frame) => frame.clientWidth), 390);
    await inspect(page, '/settings/branding with a draft');
    // One form: a mistake in another section is shown there, and one button saves all sections.
    await section(branding.sections.emails).click();
    await page.getByText(emails.unsent.mailbox).waitFor();
    await page.getByLabel(branding.replyTo).fill('nobody');
    await section(branding.sections.brand).click();
    await page.getByRole('button', { name: common.save }).click();
    await page.locator('[aria-invalid="true"]').waitFor();
    assert.equal(await section(branding.sections.emails).getAttribute('aria-selected'), 'true');
    await page.getByLabel(branding.replyTo).fill('tea@example.com');
    await page.getByRole('button', { name: common.save }).click();
    await page.getByText(common.saved).first().waitFor();
    await section(branding.sections.brand).click();
    const png = await sharp({ create: { width: 300, height: 80, channels: 3, background: '#c04020' } })
      .png()
      .toBuffer();
    await page.locator('input[type="file"]').setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: png });
    await page.getByRole('button', { name: branding.replaceLogo }).waitFor();
    await page.reload();
    assert.equal(await page.getByLabel(branding.displayName).inputValue(), 'Ada’s Tea');
    await checkout.locator('#logo').and(checkout.locator(':visible')).waitFor();
    await section(branding.sections.emails).click();
    assert.equal(await page.getByLabel(branding.replyTo).inputValue(), 'tea@example.com');
    const frame = page.frameLocator(`iframe[title="${emails.frame}"]`);
    await frame.getByText('You paid $49.00').waitFor();
    assert.match((await frame.locator('img').getAttribute('src')) ?? '', /\/logos\/.*\.png$/);
    await page.getByLabel(emails.kind, { exact: true }).selectOption('payment_failed');
    await frame.getByText('We could not charge $49.00').waitFor();
    await inspect(page, '/settings/branding');
  });

  it('has the terms, and the order shows what its customer agreed to', async () => {
    await page.goto('/settings/branding');
    await page.getByLabel(branding.terms, { exact: true }).fill('https://tea.example/terms');
    await page.getByLabel(branding.termsVersion).fill('3');
    await page.getByRole('button', { name: common.save }).click();
    await page.getByText(common.saved).first().waitFor();
    const plan_id = await planOf();
    const checkout = await openCheckout(service, { mode: 'subscription', plan_id }, { key });
    const { body: shown } = await checkout.ask('session');
    const { terms } = shown.agreement;
    const paid = await checkout.pay({ agreed: { terms: terms.text, renewal: shown.renewal } });
    assert.equal(paid.body.status, 'completed', paid.text);
    const order = await checkout.order();
    for (const path of [`/orders/${order.id}`, `/subscriptions/${order.subscription_id}`]) {
      await page.goto(path);
      await page.getByText(consents.title).waitFor();
      await page.locator('blockquote').getByText(terms.text, { exact: true }).waitFor();
      await page.locator('blockquote').getByText(shown.renewal, { exact: true }).waitFor();
      const link = page.getByRole('link', { name: consents.terms, exact: true });
      assert.equal(await link.getAttribute('href'), terms.url);
      await inspect(page, path);
    }
  });

  it('lists the emails to customers with their state', async () => {
    await page.goto('/emails');
    await page.getByText(branding.kinds.order_receipt).first().waitFor();
    const row = page.getByRole('row').filter({ hasText: emails.states.kept }).first();
    // An email of the sandbox is never sent, but it has a time.
    await row.locator('time').waitFor();
    await inspect(page, '/emails');
  });

  it('opens the receipt of an order', async () => {
    await page.goto(`/orders/${orderId}`);
    const asked = page.waitForResponse((response) => response.url().endsWith(`/v1/orders/${orderId}/receipt`));
    await page.getByRole('button', { name: emails.receipt }).click();
    assert.match((await (await asked).json()).number, /^R-\d{6}$/);
  });
});

describe('the mailbox', () => {
  const rows = () => page.locator('#list li a');
  const open = () => page.locator('#reading h2');

  it('has a list with the times of the reader, and shows the email that is chosen, by click or key', async () => {
    await page.goto('/mailbox');
    assert.match((await rows().first().locator('time').textContent()) ?? '', /^\d{1,2}:\d{2}( [AP]M)?$/);
    assert.match((await page.locator('.bar time').textContent()) ?? '', /^\w+, .+ \d{4} .+ \((now|.+ ago)\)$/);
    // The newest email is open: the invitation, whose link can be followed.
    assert.match((await open().textContent()) ?? '', /^You are invited/);
    await page.locator('#reading pre a').waitFor();
    await page.keyboard.press('j');
    await page.locator('#reading iframe').waitFor();
    assert.match((await open().textContent()) ?? '', /^Your receipt from/);
    const frame = page.frameLocator('#reading iframe');
    await frame.getByText('You paid $49.00').waitFor();
    const opened = page.context().waitForEvent('page');
    await frame.getByRole('link', { name: 'Unsubscribe' }).click();
    await (await opened).close();
    await page.getByRole('link', { name: 'Text and links' }).click();
    await page.locator('#reading pre').getByText('You paid $49.00').waitFor();
    await page.goBack();
    await page.locator('#reading iframe').waitFor();
    await inspect(page, '/mailbox');
  });

  it('searches while one types, and says when nothing is found', async () => {
    await page.goto('/mailbox');
    const count = await rows().count();
    await page.keyboard.press('/');
    await page.keyboard.type(`receipt R-0000`);
    await page.waitForURL(/q=receipt/);
    await page.locator('#reading iframe').waitFor();
    assert.equal(await rows().count(), 1);
    await page.getByRole('searchbox').fill('zeppelin');
    await page.getByText('No email matches “zeppelin”').waitFor();
    await inspect(page, '/mailbox without a result');
    await page.getByRole('link', { name: 'Show all emails' }).click();
    await rows()
      .nth(count - 1)
      .waitFor();
  });

  it('shows the list or the email on a phone, one at a time', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto('/mailbox');
    assert.equal(await open().isVisible(), false);
    // Screen readers jump to the list, and find everything in the main part of the page.
    await page.getByRole('main').getByRole('navigation').waitFor();
    await page
      .getByRole('main')
      .getByText(/^No mail server is set/)
      .waitFor();
    await rows().nth(1).click();
    await page.frameLocator('#reading iframe').getByText('You paid $49.00').waitFor();
    assert.equal(await rows().first().isVisible(), false);
    await page.getByRole('link', { name: /All emails/ }).click();
    await rows().first().waitFor();
    assert.equal(await open().isVisible(), false);
  });
});
