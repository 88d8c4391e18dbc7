import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import axe, { type AxeResults } from 'axe-core';
import type { Locator, Page } from 'playwright-core';
import { launchBrowser } from '../support/browser.ts';
import { invitationOf, somePassword } from '../support/dashboard.ts';
import { startTestService } from '../support/service.ts';

/** The dashboard as a merchant meets it, from signing up to the renewal of a subscription, in a real browser. */

const service = await startTestService();
const browser = await launchBrowser();
// Without a language of its own this Chromium has one that no formatting knows.
const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1280, height: 900 } });
const page = await context.newPage();
page.setDefaultTimeout(10_000);
const problems: string[] = [];
page.on('pageerror', (error) => problems.push(`${page.url()}: ${error.message}`));
page.on('console', (message) => {
  const refused = /Content Security Policy/.test(message.text());
  if (refused) problems.push(`${page.url()}: ${message.text()}`);
});

after(async () => {
  await browser.close();
  await service.stop();
});

const button = (name: string | RegExp, within: Page | Locator = page): Locator =>
  within.getByRole('button', { name, exact: typeof name === 'string' });
const dialog = (): Locator => page.locator('dialog[open]').last();
const open = (path: string) => page.goto(`${service.baseUrl}${path}`);

async function fill(within: Page | Locator, values: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(values)) await within.getByLabel(label, { exact: true }).fill(value);
}

async function barriers(): Promise<string[]> {
  const run = `(() => { ${axe.source}; return axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }); })()`;
  const { violations } = (await page.evaluate(run)) as AxeResults;
  return violations.map(({ id, nodes }) => `${page.url()}: ${id} in ${nodes[0]?.html}`);
}

const ownerEmail = `owner-${randomUUID()}@example.com`;

test('a merchant signs up and is in the sandbox, which no page lets them overlook', async () => {
  await open('/');
  await page.waitForURL('**/login**');
  await page.getByRole('link', { name: 'Create an account' }).click();
  await fill(page, { 'First name': 'Ada', 'Last name': 'Lovelace', 'Company name': 'Engines' });
  await fill(page, { 'E-mail address': ownerEmail, Password: somePassword });
  await button('Create an account').click();
  await page.waitForURL('**/home');
  await page.getByTestId('sandbox-bar').waitFor();
  await button('Live').click();
  await page.getByTestId('sandbox-bar').waitFor({ state: 'detached' });
  await button('Sandbox').click();
  await page.getByTestId('sandbox-bar').waitFor();
});

test('a key is shown once and works', async () => {
  await open('/developers/api-keys');
  await button('Create key').first().click();
  await fill(dialog(), { Name: 'Server' });
  await button('Create key', dialog()).click();
  const key = await page.getByTestId('secret').innerText();
  assert.match(key, /^svc_test_sk_/);
  const reply = await service.call('GET', '/v1/customers', { key });
  assert.equal(reply.status, 200);
  await button('Done', dialog()).click();
  await page.getByRole('cell', { name: 'Server', exact: true }).waitFor();
  assert.equal((await page.content()).includes(key), false);
});

test('a plan, a customer and a card typed into our fields make a subscription that renews', async () => {
  await open('/plans/new');
  await fill(page, { Name: 'Tea of the month', 'Amount per cycle': '19.00' });
  await page.getByRole('table', { name: 'Preview' }).getByText('$19.00').first().waitFor();
  await button('New plan').click();
  await page.getByRole('link', { name: 'Subscribe a customer' }).waitFor();
  const plan = page.url();

  await open('/customers');
  await button('Add customer').first().click();
  await fill(dialog(), { 'First name': 'Grace', 'Last name': 'Hopper', 'E-mail address': 'grace@example.com' });
  await fill(dialog(), { Phone: 'none' });
  await button('Add customer', dialog()).click();
  await dialog()
    .getByText(/^Must be an international number/)
    .waitFor();
  await fill(dialog(), { Phone: '+1 555 123 4567' });
  await button('Add customer', dialog()).click();
  await button('Add card').click();
  const fields = page.frameLocator('[data-testid=card-fields] iframe');
  await fields.getByLabel('Card number').fill('4242424242424242');
  await fields.getByLabel('Expiry').fill('1234');
  await fields.getByLabel('CVC').fill('123');
  await button('Save card', dialog()).click();
  await page.getByText('Visa •••• 4242').waitFor();

  await open(plan.slice(service.baseUrl.length));
  await page.getByRole('link', { name: 'Subscribe a customer' }).click();
  await page.getByRole('combobox', { name: 'Customer' }).fill('Grace');
  await page.getByRole('option', { name: /Grace Hopper/ }).click();
  await page.getByText('Visa •••• 4242').waitFor({ state: 'attached' });
  await button('Start subscription').click();
  await dialog().getByText('$19.00').waitFor();
  await button('Start subscription', dialog()).click();
  await page.getByText('1 paid, without end').waitFor();
  const subscription = page.url();

  await open('/sandbox/clock');
  await button('1 month').click();
  await page.getByRole('cell', { name: 'subscription.charged' }).waitFor();
  await open(subscription.slice(service.baseUrl.length));
  await page.getByText('2 paid, without end').waitFor();
});

test('a refund is confirmed with its amount before it is made', async () => {
  await open('/orders');
  await page.getByRole('link', { name: '$19.00' }).first().click();
  await button('Refund').click();
  await fill(dialog(), { 'Amount to refund': '20.00' });
  await button('Next', dialog()).click();
  await dialog().getByText('At most $19.00').waitFor();
  await fill(dialog(), { 'Amount to refund': '4.50' });
  await button('Next', dialog()).click();
  await button('Refund $4.50', dialog()).click();
  await page.getByText('Partially refunded').waitFor();
});

test('a member is invited, comes in, and is refused what the role may not do', async () => {
  const email = `viewer-${randomUUID()}@example.com`;
  await open('/team');
  await button('Invite').click();
  await fill(dialog(), { 'First name': 'Joan', 'Last name': 'Clarke', 'E-mail address': email });
  await fill(dialog(), { Phone: '+15551234567' });
  const viewer = await dialog().locator('option', { hasText: 'Viewer' }).getAttribute('value');
  await dialog().getByLabel('Role').selectOption(viewer);
  await button('Invite', dialog()).click();
  await page.getByRole('cell', { name: /^Joan Clarke/ }).waitFor();

  const other = await browser.newContext({ locale: 'en-US' });
  const theirs = await other.newPage();
  await theirs.goto(`${service.baseUrl}/invitations/${await invitationOf(service, email)}`);
  await fill(theirs, { Password: somePassword });
  await button('Accept the invitation', theirs).click();
  await theirs.waitForURL('**/home');
  await theirs.goto(`${service.baseUrl}/customers`);
  const add = button('Add customer', theirs).first();
  assert.equal(await add.getAttribute('aria-disabled'), 'true');
  assert.match((await add.getAttribute('title')) ?? '', /role/);
  await other.close();
});

test('the palette finds customers and places with the keyboard alone', async () => {
  await open('/home');
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search' }).fill('grace');
  await page.getByRole('option', { name: /Grace Hopper/ }).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/customers/*');
});

const looks = [
  { theme: 'light', width: 1280, paths: ['/home', '/customers', '/orders/new', '/roles', '/settings', '/account'] },
  { theme: 'dark', width: 390, paths: ['/home', '/orders', '/plans/new', '/developers/api-keys', '/sandbox/clock'] },
];

for (const { theme, width, paths } of looks) {
  test(`pages have no barriers and fit, ${theme}, ${width} wide`, async () => {
    await page.setViewportSize({ width, height: 900 });
    await page.evaluate((choice) => localStorage.setItem('svc.theme', choice), theme);
    for (const path of paths) {
      await open(path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.locator('.skeleton').first().waitFor({ state: 'detached' });
      assert.deepEqual(await barriers(), []);
      const pageWidth = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(pageWidth <= width, `${path} is ${pageWidth} wide`);
    }
  });
}

test('signing in and the home page load less than 200 kB of script', async () => {
  const loaded = new Set<string>();
  const fresh = await browser.newContext({ locale: 'en-US' });
  const first = await fresh.newPage();
  first.on('response', (response) => {
    if (response.url().endsWith('.js')) loaded.add(new URL(response.url()).pathname);
  });
  await first.goto(`${service.baseUrl}/login`);
  await fill(first, { 'E-mail address': ownerEmail, Password: somePassword });
  await button('Sign in', first).click();
  await first.waitForURL('**/home');
  await first.getByText('Volume over time').first().waitFor();
  await first.waitForLoadState('networkidle');
  const folder = fileURLToPath(new URL('../../dashboard/dist', import.meta.url));
  const bytes = [...loaded].reduce((sum, path) => sum + gzipSync(readFileSync(folder + path)).length, 0);
  assert.ok(bytes > 50_000 && bytes < 200_000, `${bytes} bytes`);
  await fresh.close();
});

test('nothing failed on the way, and the content policy was never in the way', () => {
  assert.deepEqual(problems, []);
});
