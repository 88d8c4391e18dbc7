import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import type { Browser, Locator, Page } from 'playwright-core';
import { bulk } from '../../dashboard/src/texts/bulk.ts';
import { common } from '../../dashboard/src/texts/common.ts';
import { lists } from '../../dashboard/src/texts/lists.ts';
import { orders } from '../../dashboard/src/texts/orders.ts';
import { webhooks } from '../../dashboard/src/texts/webhooks.ts';
import { loadConfig } from '../../server/config.ts';
import { silentLog } from '../support/silent-log.ts';
import { type Service, startService } from '../../server/service.ts';
import { launchBrowser } from '../support/browser.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { inspect, loaded } from '../support/inspect.ts';

/** Lists of the dashboard in a real browser: search, filters, views and the keyboard. */

let database: TestDatabase;
let folder: string;
let service: Service;
let browser: Browser;
let page: Page;
const problems: string[] = [];
const made: Record<string, any>[] = [];

async function call(method: string, path: string, body?: object): Promise<Record<string, any>> {
  const response = await fetch(service.baseUrl + path, {
    method,
    headers: {
      authorization: `Bearer ${service.demo?.secret_key}`,
      'x-svc-idempotency-key': randomUUID(),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  assert.ok(response.ok, `${method} ${path} was answered ${response.status}`);
  return (await response.json()) as Record<string, any>;
}

async function buy(first_name: string, number: string, quantities: readonly number[]): Promise<void> {
  const { data: products } = await call('GET', '/v1/products');
  const phone = `+1555${String(1_000_000 + made.length)}`;
  const email = `${first_name.toLowerCase()}@shop.example`;
  const customer = await call('POST', '/v1/customers', { first_name, last_name: 'Buyer', email, phone });
  const card = { number, exp_month: '12', exp_year: '2032', cvc: '999' };
  await call('POST', '/capture', { customer_id: customer.id, card });
  for (const quantity of quantities) {
    const items = [{ product_id: products[0].id, quantity }];
    made.push(await call('POST', '/v1/orders', { customer_id: customer.id, items }));
  }
}

before(async () => {
  [database, folder, browser] = await Promise.all([
    cloneDatabase(1),
    mkdtemp(join(tmpdir(), 'svc-lists-')),
    launchBrowser(),
  ]);
  const config = loadConfig({
    DATABASE_URL: database.connectionString,
    SVC_DATA_DIR: folder,
    SVC_MASTER_SECRET: 'a master secret for the tests of the lists',
    SVC_LOG_LEVEL: 'silent',
    SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
    SVC_DEMO: 'empty',
    PORT: '0',
  });
  service = await startService(config, silentLog, () => undefined);
  assert.ok(service.demo);
  await buy('Olga', '4242424242424242', [1, 2, 3]);
  await buy('Piet', '4000000000009995', [4]);
  const { email, password } = service.demo;
  const context = await browser.newContext({ baseURL: service.baseUrl, locale: 'en-US' });
  context.setDefaultTimeout(10_000);
  page = await context.newPage();
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  const origin = service.baseUrl;
  await page.request.post('/dashboard/session', { data: { email, password }, headers: { origin } });
});
after(async () => {
  await browser?.close();
  await service?.stop();
  await database?.drop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const button = (name: string | RegExp): Locator =>
  page.getByRole('button', typeof name === 'string' ? { name, exact: true } : { name });
const rows = (): Locator => page.locator('tbody tr.linked');
const addressOf = (name: string): string | null => new URL(page.url()).searchParams.get(name);

/** Waits until the list has exactly this many rows. */
async function hasRows(count: number): Promise<void> {
  const deadline = Date.now() + 10_000;
  while ((await rows().count()) !== count || (await page.locator('.skeleton').count()) > 0) {
    assert.ok(Date.now() < deadline, `${await rows().count()} rows instead of ${count}`);
    await page.waitForTimeout(50);
  }
}

describe('the list of orders', () => {
  it('is searched with / and shows how many orders there are', async () => {
    await page.goto('/orders');
    await page.getByText(/Showing \d+ of \d+/).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type(made[1]?.order_number);
    await hasRows(1);
    assert.equal(addressOf('q'), made[1]?.order_number);
    await page.getByText(lists.showing('1', '1')).waitFor();
    await page.getByRole('searchbox').fill('olga');
    await hasRows(3);
    await inspect(page, 'a searched list');
  });

  it('opens a row with j, k and Enter, and typing in a field moves nothing', async () => {
    await page.getByRole('searchbox').press('j');
    assert.equal(await page.locator('[data-opener]:focus').count(), 0);
    await page.getByRole('searchbox').fill('olga');
    await hasRows(3);
    await page.getByRole('searchbox').blur();
    for (const key of ['j', 'j', 'k', 'j', 'Enter']) await page.keyboard.press(key);
    await page.waitForURL(new RegExp(`/orders/${made[1]?.id}`));
    await page.goBack();
    await hasRows(3);
  });

  it('is filtered by chips, which are part of the address, and offers to clear them', async () => {
    await page.goto('/orders');
    await button(common.status).click();
    await page.getByLabel('Failed', { exact: true }).check();
    await page.waitForURL(/status=failed/);
    await page.keyboard.press('Escape');
    await page.getByText('Failed · Insufficient funds').first().waitFor();
    await inspect(page, 'a filtered list');
    await button(common.amount).first().click();
    await page.getByLabel(lists.least).fill('1,234');
    await button(lists.apply).click();
    assert.equal(addressOf('total_from'), null);
    await page.getByLabel(lists.least).fill('100000');
    await button(lists.apply).click();
    await page.getByText(common.nothingFound).waitFor();
    await page.reload();
    await page.getByText(common.nothingFound).waitFor();
    await button(lists.clear).last().click();
    await rows().first().waitFor();
    assert.deepEqual([addressOf('status'), addressOf('total_from')], [null, null]);
    await button(lists.date).first().click();
    await button(lists.presets.today).click();
    await page.waitForURL(/date=today/);
    await rows().first().waitFor();
  });

  it('shows four filters and the others on demand, and amounts below each other', async () => {
    await page.goto('/orders');
    await rows().first().waitFor();
    const chips = page.getByRole('button', {
      name: /^(Status|Date|Amount|Customer|Currency|Card brand|Product|Plan)$/,
    });
    const before = await chips.count();
    await button(lists.moreFilters).click();
    assert.ok((await chips.count()) > before);
    await button(lists.fewerFilters).click();
    await page.goto('/orders?currency=usd');
    await button(lists.clearOne('Currency')).waitFor();
    await rows().first().waitFor();
    const amount = `[...document.querySelectorAll('tbody td')].find((cell) => cell.textContent.startsWith('$'))`;
    assert.equal(await page.evaluate<string>(`getComputedStyle(${amount}).textAlign`), 'right');
  });

  it('fits on a laptop with all its columns, as do the other lists', async () => {
    for (const path of ['/orders', '/transactions', '/subscriptions', '/customers', '/products', '/disputes']) {
      await page.goto(path);
      await page.locator('main').getByRole('heading', { level: 1 }).waitFor();
      await loaded(page);
      const hidden = await page.evaluate(
        `Math.max(0, ...[...document.querySelectorAll('.table-frame')].map((one) => one.scrollWidth - one.clientWidth))`,
      );
      assert.equal(hidden, 0, path);
    }
    await page.goto('/orders');
  });

  it('takes a period from the calendar, with the mouse and with the keyboard', async () => {
    await page.goto('/orders?from=2026-02-11&to=2026-02-20');
    await button(/^Date/).first().click();
    const day = (name: string): Locator => page.getByRole('grid').getByRole('button', { name });
    await day('Friday, February 20, 2026').waitFor();
    assert.equal(await page.getByRole('gridcell', { selected: true }).count(), 2);
    await inspect(page, 'a calendar');
    await day('Monday, February 9, 2026').click();
    await page.keyboard.press('PageDown');
    await page.keyboard.press('ArrowUp');
    assert.equal(await page.locator(':focus').getAttribute('aria-label'), 'Monday, March 2, 2026');
    await page.keyboard.press('Enter');
    await button(lists.apply).click();
    await page.waitForURL(/from=2026-02-09&to=2026-03-02/);
  });

  it('is sorted by a column that has an index', async () => {
    await page.goto('/orders?q=buyer');
    await hasRows(4);
    await page.getByRole('columnheader', { name: common.amount }).getByRole('button').click();
    await page.waitForURL(/sort=total/);
    assert.equal(await page.locator('th[aria-sort=descending]').count(), 1);
    await page.getByRole('columnheader', { name: common.amount }).getByRole('button').click();
    await page.waitForURL(/sort=total%5Basc%5D/);
  });

  it('saves a view by name, with its filters, and keeps chosen columns', async () => {
    await page.goto('/orders?status=failed&q=piet');
    await hasRows(1);
    await button(lists.view).click();
    await page.getByLabel(orders.items, { exact: true }).check();
    await button(new RegExp(lists.saveView)).click();
    await page.getByLabel(lists.viewName).fill('Declined for Piet');
    // The page must not be left before the answer.
    const isSaved = page.waitForResponse((response) => response.url().includes('/saved_views') && response.ok());
    await button(common.save).click();
    await isSaved;
    await page.goto('/orders');
    await rows().first().waitFor();
    assert.equal(await page.getByRole('columnheader', { name: orders.items }).count(), 1);
    await button(lists.view).click();
    await button('Declined for Piet').click();
    await hasRows(1);
    assert.deepEqual([addressOf('status'), addressOf('q')], ['failed', 'piet']);
  });
});

describe('several orders', () => {
  it('are refunded together after the exact sum is confirmed, with a result for each', async () => {
    await page.goto('/orders?q=buyer');
    await hasRows(4);
    await page.getByLabel(lists.selectAll).check();
    await page.getByText(lists.selected(4)).waitFor();
    await button(bulk.refund).click();
    const sum = made.slice(0, 3).reduce((total, { total: one }) => total + one, 0);
    const { currency } = made[0] ?? {};
    const text = new Intl.NumberFormat('en-US', { style: 'currency', currency }).format(sum / 100);
    await page.getByText(bulk.refundSkipped(1)).waitFor();
    await inspect(page, 'the confirmation of a bulk refund');
    await button(bulk.refundButton(text)).click();
    await page.getByText(bulk.refundFinished).waitFor({ timeout: 20_000 });
    assert.equal(await page.getByRole('dialog').getByText('Refunded', { exact: true }).count(), 3);
    await page.getByRole('dialog').getByRole('button', { name: common.close }).last().click();
    for (const { id, total } of made.slice(0, 3)) {
      assert.equal((await call('GET', `/v1/orders/${id}`)).refunded_amount, total);
    }
  });

  it('are exported: those that are selected at once, all of them in the background', async () => {
    await page.goto('/orders?q=buyer');
    await hasRows(4);
    await page.getByLabel(lists.select).first().check();
    const [selected] = await Promise.all([page.waitForEvent('download'), button(bulk.exportSelected).click()]);
    assert.equal((await readFile(await selected.path(), 'utf8')).split('\r\n').length, 3);
    await button(bulk.export).click();
    const [all] = await Promise.all([
      page.waitForEvent('download', { timeout: 20_000 }),
      button(bulk.exportAll).click(),
    ]);
    const lines = (await readFile(await all.path(), 'utf8')).split('\r\n');
    assert.equal(lines.length, 6);
    assert.match(lines[1] ?? '', /"Piet Buyer","piet@shop.example"/);
    await button(bulk.downloadOf('Orders')).waitFor();
    await inspect(page, 'exports');
  });
});

describe('a filter that no order of a long list matches', () => {
  it('says how far it searched, and searches further', async () => {
    const sql = new pg.Client({ connectionString: database.connectionString });
    await sql.connect();
    await sql.query(
      `INSERT INTO orders (company_id, id, order_number, customer_id, payment_method_id, card_brand, card_last4, status, items,
         currency, subtotal, discount_amount, total, refunded_amount, metadata, attempt_count, sale_id, sequence, updated_at)
       SELECT company_id, made.id, 'X' || n, customer_id, payment_method_id, 'visa', '4242', 'succeeded', '[]', 'usd', n, 0, n, 0,
         '{}', 0, made.id, 1, now()
       FROM orders CROSS JOIN generate_series(1, 10500) n
       CROSS JOIN LATERAL (SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - 86400000 - n), 12, '0')
         || '70008' || substr(md5(n::text), 1, 15))::uuid AS id) made
       WHERE orders.id = $1`,
      [made[0]?.id],
    );
    await sql.end();
    await page.goto('/orders?card_brand=jcb');
    await page.getByText(lists.nothingSoFar).waitFor();
    await page.getByText(/Searched back to/).waitFor();
    await inspect(page, 'a search that is not finished');
    await button(lists.searchFurther).click();
    await page.getByText(common.nothingFound).waitFor();
    await page.goto('/orders');
    await page.getByText(lists.showing('25', '10,000+')).waitFor();
  });
});

describe('the list of subscriptions', () => {
  it('keeps a subscription in one line on a laptop, and its controls in one row on a phone', async () => {
    const { data: plans } = await call('GET', '/v1/plans');
    const longest = plans.toSorted((a: any, b: any) => b.name.length - a.name.length)[0];
    await call('POST', '/v1/subscriptions', { customer_id: made[0]?.customer_id, plan_id: longest.id });
    await page.goto('/subscriptions');
    const heights = `[...document.querySelectorAll('tbody tr.linked')].map((row) => row.getBoundingClientRect().height)`;
    await rows().first().waitFor();
    for (const height of await page.evaluate<number[]>(heights)) assert.ok(height < 44, `a row of ${height} px`);
    await page.setViewportSize({ width: 390, height: 800 });
    for (const [path, first] of [
      ['/subscriptions', page.getByRole('searchbox')],
      ['/audit-log', button(lists.date)],
    ] as const) {
      await page.goto(path);
      const [left, right] = [await first.first().boundingBox(), await button(lists.view).boundingBox()];
      assert.ok(left && right && right.y < left.y + left.height, `${path}: the controls are in two rows`);
    }
  });
});

describe('the list of events', () => {
  it('names a subscription as its page does', async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    const { data: plans } = await call('GET', '/v1/plans');
    const { id } = await call('POST', '/v1/subscriptions', { customer_id: made[0]?.customer_id, plan_id: plans[0].id });
    await page.goto(`/developers/events?type=subscription.created&object_id=${id}`);
    await hasRows(1);
    await rows().first().getByRole('link', { name: plans[0].name }).click();
    await page.getByRole('heading', { level: 1, name: plans[0].name }).waitFor();
    assert.equal(new URL(page.url()).pathname, `/subscriptions/${id}`);
  });

  it('ignores a period in its address that does not exist', async () => {
    await page.goto('/developers/events?date=last_week');
    await rows().first().waitFor();
    await button(lists.date).waitFor();
    assert.equal(await button(lists.clearOne(lists.date)).count(), 0);
  });
});

describe('the page of an endpoint', () => {
  it('keeps its buttons in one row on a phone', async () => {
    const { id } = await call('POST', '/v1/webhook_endpoints', {
      url: 'https://example.com/hooks',
      enabled_events: ['*'],
    });
    await page.setViewportSize({ width: 390, height: 800 });
    await page.goto(`/developers/webhooks/${id}`);
    const [first, menu] = [await button(webhooks.test).boundingBox(), await button(common.more).boundingBox()];
    assert.ok(first && menu && menu.y < first.y + first.height, 'the menu is on a line of its own');
    await inspect(page, 'an endpoint');
  });
});

it('no page reported an error', () => assert.deepEqual(problems, []));
