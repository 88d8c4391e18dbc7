import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Request } from 'playwright-core';
import { common } from '../../dashboard/src/texts/common.ts';
import { customers } from '../../dashboard/src/texts/customers.ts';
import { editing } from '../../dashboard/src/texts/editing.ts';
import { products } from '../../dashboard/src/texts/products.ts';
import { settings } from '../../dashboard/src/texts/settings.ts';
import { webhooks } from '../../dashboard/src/texts/webhooks.ts';
import { violationsIn } from '../support/axe.ts';
import { launchBrowser } from '../support/browser.ts';
import { colleague, type Person, signUp } from '../support/dashboard.ts';
import { type DashboardPage, openDashboardPage } from '../support/dashboard-page.ts';
import { someCustomer, someProduct, startTestService, type TestService } from '../support/service.ts';

/** Two people edit the same object at the same time: no change of one is lost through the other. */

let service: TestService;
let browser: Browser;
/** Ada Lovelace, the owner. */
let ada: Person;
let first: DashboardPage;
/** Grace Hopper, another owner. */
let second: DashboardPage;
/** What the page of Grace has sent. */
const sent: { path: string; body: unknown; version: string | undefined }[] = [];

before(async () => {
  [service, browser] = await Promise.all([startTestService(), launchBrowser()]);
  ada = await signUp(service);
  const grace = await colleague(service, ada, 'Owner');
  [first, second] = await Promise.all([
    openDashboardPage(browser, service.baseUrl, ada),
    openDashboardPage(browser, service.baseUrl, grace),
  ]);
  second.page.on('request', (request) => {
    if (request.method() === 'PATCH') sent.push(saved(request));
  });
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

const saved = (request: Request): (typeof sent)[number] => ({
  path: new URL(request.url()).pathname,
  body: request.postDataJSON(),
  version: request.headers()['if-match'],
});

async function create(path: string, body: object): Promise<string> {
  const reply = await ada.in('POST', path, body, { idempotencyKey: crypto.randomUUID() });
  assert.equal(reply.status, 201, reply.text);
  return reply.body.id;
}

async function change(path: string, body: object): Promise<void> {
  const reply = await ada.in('PATCH', path, body, { idempotencyKey: crypto.randomUUID() });
  assert.equal(reply.status, 200, reply.text);
}

const read = async (path: string): Promise<Record<string, any>> => (await ada.in('GET', path)).body;

const createProduct = (): Promise<string> =>
  create('/v1/products', someProduct({ name: 'Cup', description: null, pricing: { amount: 1000, currency: 'usd' } }));

async function openEditor({ page, button, dialog }: DashboardPage, address: string): Promise<void> {
  await page.goto(address);
  await button(common.edit).click();
  await dialog().waitFor();
}

describe('two people who edit the same product', () => {
  it('both keep their changes, because a form sends only what was changed', async () => {
    const id = await createProduct();
    await openEditor(second, `/products/${id}`);
    await openEditor(first, `/products/${id}`);
    await first.field(common.name, first.dialog()).fill('Big cup');
    await first.field(products.price, first.dialog()).fill('12');
    await first.button(common.save, first.dialog()).click();
    await first.dialog().waitFor({ state: 'hidden' });

    sent.length = 0;
    const { field, dialog, button, page } = second;
    await field(common.description, dialog()).fill('Made of clay');
    await button(common.save, dialog()).click();
    await dialog().waitFor({ state: 'hidden' });
    assert.deepEqual(
      sent.map(({ path, body }) => ({ path, body })),
      [{ path: `/v1/products/${id}`, body: { description: 'Made of clay' } }],
    );
    assert.partialDeepStrictEqual(await read(`/v1/products/${id}`), {
      name: 'Big cup',
      description: 'Made of clay',
      pricing: { amount: 1200, currency: 'usd' },
    });
    await page.getByText(editing.meanwhile('Ada Lovelace', products.price, '$12.00')).waitFor();
  });

  it('are asked if both changed the same field, and nothing that was typed is lost', async () => {
    const id = await createProduct();
    const { field, dialog, button, page } = second;
    await openEditor(second, `/products/${id}`);
    await field(products.price, dialog()).fill('15');
    await field(common.description, dialog()).fill('Made of clay');
    await change(`/v1/products/${id}`, { pricing: { amount: 1300 }, category: 'Cups' });
    sent.length = 0;
    await button(common.save, dialog()).click();

    const notice = dialog().getByRole('alert').filter({ hasText: editing.title });
    await notice.waitFor();
    assert.deepEqual(sent, [], 'nothing is sent before the choice');
    const text = (await notice.textContent()) ?? '';
    assert.ok(text.includes(editing.changed('Ada Lovelace', '$10.00', '$13.00')), text);
    assert.ok(text.includes(`${products.category}: ${editing.changed('Ada Lovelace', editing.empty, '“Cups”')}`), text);
    assert.match(text, /just now/);
    assert.equal(await field(products.price, dialog()).inputValue(), '15');
    assert.equal(await field(common.description, dialog()).inputValue(), 'Made of clay');
    assert.equal(await field(products.category, dialog()).inputValue(), 'Cups', 'the form has the new category');
    await dialog()
      .getByText(`${editing.changedTo('Ada Lovelace', '$13.00')}.`)
      .waitFor();
    assert.equal(await field(products.price, dialog()).getAttribute('aria-invalid'), 'true');
    // The focus moves after the form is rendered.
    await page.locator('[data-notice]:focus').waitFor();
    for (const theme of ['light', 'dark'] as const) {
      await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
      for (const width of [1440, 390]) {
        await page.setViewportSize({ width, height: 900 });
        await page.evaluate('Promise.allSettled(document.getAnimations().map(({ finished }) => finished))');
        const found = await violationsIn(page, { rules: theme === 'light' ? 'wcag' : 'colors' });
        assert.deepEqual(found, [], `${width} ${theme}`);
        const pictures = process.env.SVC_PICTURES;
        if (pictures) await page.screenshot({ path: `${pictures}/conflict-${width}-${theme}.png` });
      }
    }
    await page.setViewportSize({ width: 1280, height: 900 });

    await notice.getByRole('radio', { name: /\$13\.00/ }).check();
    assert.equal(await field(products.price, dialog()).inputValue(), '13.00');
    await notice.getByRole('radio', { name: /\$15\.00/ }).check();
    assert.equal(await field(products.price, dialog()).inputValue(), '15');
    await button(common.save, dialog()).click();
    await dialog().waitFor({ state: 'hidden' });
    assert.partialDeepStrictEqual(await read(`/v1/products/${id}`), {
      pricing: { amount: 1500 },
      description: 'Made of clay',
      category: 'Cups',
    });
  });

  it('both keep their changes if one comes between reading and saving', async () => {
    const id = await createProduct();
    const { field, dialog, button, page } = second;
    await openEditor(second, `/products/${id}`);
    await field(common.description, dialog()).fill('Made of clay');
    let isFirst = true;
    await page.route(`**/v1/products/${id}`, async (route) => {
      if (route.request().method() === 'PATCH' && isFirst) {
        isFirst = false;
        await change(`/v1/products/${id}`, { name: 'Small cup' });
      }
      await route.continue();
    });
    sent.length = 0;
    await button(common.save, dialog()).click();
    await dialog().waitFor({ state: 'hidden' });
    await page.unroute(`**/v1/products/${id}`);
    assert.equal(sent.length, 2, 'the first was rejected');
    assert.notEqual(sent[0]?.version, sent[1]?.version);
    assert.partialDeepStrictEqual(await read(`/v1/products/${id}`), {
      name: 'Small cup',
      description: 'Made of clay',
    });
  });

  it('learn what was changed, but not by whom, without access to the audit log', async () => {
    const role = { name: 'Catalog', permissions: ['products:read', 'products:write'] };
    await create('/dashboard/roles', role);
    const clerk = await openDashboardPage(browser, service.baseUrl, await colleague(service, ada, role.name));
    const id = await createProduct();
    await openEditor(clerk, `/products/${id}`);
    await clerk.field(common.name, clerk.dialog()).fill('Mug');
    await change(`/v1/products/${id}`, { name: 'Bowl' });
    await clerk.button(common.save, clerk.dialog()).click();
    const notice = clerk.dialog().getByRole('alert').filter({ hasText: editing.title });
    await notice.getByText(editing.wasChanged('“Cup”', '“Bowl”')).waitFor();
    assert.doesNotMatch((await notice.textContent()) ?? '', /Ada/);
    assert.equal(await clerk.field(common.name, clerk.dialog()).inputValue(), 'Mug');
    await clerk.context.close();
  });
});

describe('a form', () => {
  /** Ada changes one field and Grace another; then both change the same one. */
  async function checkForm(
    path: string,
    open: () => Promise<void>,
    mine: { label: string; text: string; name: string },
    theirs: { body: object; label: string; shown: string },
    both: { body: object; shown: string },
  ): Promise<void> {
    const { field, button, page } = second;
    await open();
    await change(path, theirs.body);
    sent.length = 0;
    await field(mine.label).fill(mine.text);
    await button(common.save).first().click();
    await page.getByText(editing.meanwhile('Ada Lovelace', theirs.label, theirs.shown)).waitFor();
    assert.deepEqual(
      sent.map(({ body }) => body),
      [{ [mine.name]: mine.text }],
    );
    assert.partialDeepStrictEqual(await read(path), { ...theirs.body, [mine.name]: mine.text });

    await open();
    await field(mine.label).fill(`${mine.text}!`);
    await change(path, both.body);
    await button(common.save).first().click();
    const notice = page.getByRole('alert').filter({ hasText: editing.title });
    await notice.getByText(editing.changed('Ada Lovelace', `“${mine.text}”`, both.shown)).waitFor();
    assert.equal(await field(mine.label).inputValue(), `${mine.text}!`);
    await notice.getByRole('radio').first().check();
    await button(common.save).first().click();
    await page.getByText(common.saved, { exact: true }).waitFor();
    assert.equal(await notice.count(), 0);
    assert.partialDeepStrictEqual(await read(path), both.body);
  }

  it('of a customer keeps the changes of both', async () => {
    const id = await create('/v1/customers', someCustomer());
    await checkForm(
      `/v1/customers/${id}`,
      () => openEditor(second, `/customers/${id}`),
      { label: customers.company, text: 'Engines', name: 'company' },
      { body: { first_name: 'Ann' }, label: customers.firstName, shown: '“Ann”' },
      { body: { company: 'Looms' }, shown: '“Looms”' },
    );
  });

  it('of a webhook endpoint keeps the changes of both', async () => {
    const id = await create('/v1/webhook_endpoints', { url: 'https://shop.example.com/hook', enabled_events: ['*'] });
    await checkForm(
      `/v1/webhook_endpoints/${id}`,
      async () => {
        await second.page.goto(`/developers/webhooks/${id}`);
        await second.button(common.more).click();
        await second.page.getByRole('menuitem', { name: common.edit }).click();
        await second.dialog().waitFor();
      },
      { label: common.description, text: 'Shop', name: 'description' },
      {
        body: { url: 'https://shop.example.com/other' },
        label: webhooks.url,
        shown: '“https://shop.example.com/other”',
      },
      { body: { description: 'Store' }, shown: '“Store”' },
    );
  });

  it('of the settings keeps the changes of both, and continues with what was saved', async () => {
    await checkForm(
      '/dashboard/company',
      async () => {
        await second.page.goto('/settings');
        await second.field(settings.name).waitFor();
      },
      { label: settings.name, text: 'Engines and Looms', name: 'name' },
      { body: { time_zone: 'Europe/London' }, label: settings.timeZone, shown: '“Europe/London”' },
      { body: { name: 'Looms' }, shown: '“Looms”' },
    );
    const { field, button, page } = second;
    sent.length = 0;
    await field(settings.name).fill('Looms and Engines');
    const answered = page.waitForResponse((response) => response.request().method() === 'PATCH');
    await button(common.save).first().click();
    assert.equal((await answered).status(), 200);
    assert.deepEqual(sent[0]?.body, { name: 'Looms and Engines' });
  });

  it('of a plan keeps the changes of both', async () => {
    const billing_cycle = { interval: 'month', interval_count: 1, anchor_day: 1 };
    const id = await create('/dashboard/plans', { name: 'Basic', amount: 100, currency: 'usd', billing_cycle });
    const { field, dialog, button, page } = second;
    await openEditor(second, `/plans/${id}`);
    await change(`/dashboard/plans/${id}`, { name: 'Pro' });
    await field(common.description, dialog()).fill('For everyone');
    await button(common.save, dialog()).click();
    await page.getByText(editing.meanwhile('Ada Lovelace', common.name, '“Pro”')).waitFor();
    assert.partialDeepStrictEqual(await read(`/v1/plans/${id}`), { name: 'Pro', description: 'For everyone' });
    assert.deepEqual([...first.problems, ...second.problems], []);
  });
});
