import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import type { Browser, Page } from 'playwright-core';
import { examine } from '../../cli/doctor.ts';
import { whatNow } from '../../dashboard/src/texts/declines.ts';
import { disputes } from '../../dashboard/src/texts/disputes.ts';
import { home } from '../../dashboard/src/texts/home.ts';
import { sampleData } from '../../dashboard/src/texts/sample-data.ts';
import { loadConfig } from '../../server/config.ts';
import { type Service, startService } from '../../server/service.ts';
import { launchBrowser } from '../support/browser.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { inspect } from '../support/inspect.ts';
import { silentLog } from '../support/silent-log.ts';

/** An empty sandbox is filled with sample data and cleared in the dashboard, by the worker of the whole service. */

let database: TestDatabase;
let folder: string;
let service: Service;
let browser: Browser;
let page: Page;

type Json = Record<string, any>;

async function call(method: string, path: string, body?: object): Promise<Json> {
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
  return (await response.json()) as Json;
}

async function query<Row extends pg.QueryResultRow>(text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: database.connectionString });
  await client.connect();
  const { rows } = await client.query<Row>(text);
  await client.end();
  return rows;
}

before(async () => {
  [database, folder, browser] = await Promise.all([
    cloneDatabase(1),
    mkdtemp(join(tmpdir(), 'svc-sample-')),
    launchBrowser(),
  ]);
  const config = loadConfig({
    DATABASE_URL: database.connectionString,
    SVC_DATA_DIR: folder,
    SVC_MASTER_SECRET: 'a master secret for the tests of sample data',
    SVC_LOG_LEVEL: 'silent',
    SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
    SVC_DEMO: 'empty',
    PORT: '0',
  });
  service = await startService(config, silentLog, () => undefined);
  const { email, password } = service.demo ?? { email: '', password: '' };
  const context = await browser.newContext({ baseURL: service.baseUrl, locale: 'en-US' });
  context.setDefaultTimeout(120_000);
  page = await context.newPage();
  await page.request.post('/dashboard/session', {
    data: { email, password },
    headers: { origin: service.baseUrl },
  });
});
after(async () => {
  await browser?.close();
  await service?.stop();
  await database?.drop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

describe('sample data', () => {
  it('is offered on Home, shows its progress there, and then fills the page', async () => {
    await page.goto('/home');
    await page.getByRole('button', { name: sampleData.fill }).click();
    await page.getByRole('progressbar', { name: sampleData.filling }).waitFor();
    await inspect(page, 'Home with the progress of sample data');
    // A customer of the merchant, who comes meanwhile.
    const made = await call('POST', '/v1/customers', {
      email: 'meanwhile@shop.example',
      first_name: 'Mean',
      last_name: 'While',
      phone: '+15551230000',
    });
    assert.ok(Math.abs(Date.parse(made.created_at) - Date.now()) < 60_000);
    await page.getByRole('progressbar', { name: sampleData.filling }).waitFor({ state: 'detached' });
    await page.getByText(home.attentions.disputes_due[0]).waitFor();
    await page.getByText(home.attentions.subscriptions_past_due[0]).waitFor();
    await page.getByText(home.attentions.cards_expiring[0]).waitFor();
  });

  it('has declines, refunds, disputes, dunning and emails, each at its own time', async () => {
    const counts = await query<{ status: string; count: number; latest: Date }>(
      `SELECT status, count(*)::integer AS count, max(updated_at) AS latest FROM orders GROUP BY 1 ORDER BY 1`,
    );
    const of = (status: string): number => counts.find((one) => one.status === status)?.count ?? 0;
    assert.ok(of('succeeded') > 350, JSON.stringify(counts));
    assert.ok(of('failed') >= 10 && of('refunded') >= 5 && of('partially_refunded') >= 3, JSON.stringify(counts));
    assert.deepEqual([of('chargeback'), of('chargeback_accepted'), of('chargeback_dismissed')], [1, 1, 1]);
    const [started] = await query<{ ends_at: Date }>('SELECT ends_at FROM sample_data');
    for (const { latest } of counts) assert.ok(latest <= (started?.ends_at ?? new Date(0)), latest.toISOString());
    const statuses = await query<{ status: string }>(`SELECT DISTINCT status FROM subscriptions ORDER BY 1`);
    assert.deepEqual(
      statuses.map(({ status }) => status),
      ['active', 'canceled', 'failed', 'past_due', 'paused'],
    );
    const mails = await query<{ kind: string }>(
      `SELECT DISTINCT kind FROM mails WHERE inserted_at < now() - interval '1 hour'`,
    );
    assert.ok(mails.length >= 4, JSON.stringify(mails));
    const problems = (await examine({ query })).filter(({ count }) => count > 0);
    assert.deepEqual(
      problems.map(({ check }) => check),
      [],
    );
  });

  it('loads less than 200 kB for a list, and less than 100 kB for a checkout page with pictures', async () => {
    const { data } = await call('GET', '/v1/products?sort=created_at');
    const items = (data as Json[]).slice(0, 2).map(({ id }) => ({ product_id: id, quantity: 1 }));
    const { url } = await call('POST', '/v1/payment_links', { name: 'Two pots', mode: 'payment', items });
    const limits = { '/orders': 200, '/customers': 200, '/subscriptions': 200, '/products': 200, [url]: 100 };
    const network = await page.context().newCDPSession(page);
    await network.send('Network.enable');
    await network.send('Network.setCacheDisabled', { cacheDisabled: true });
    for (const [path, kilobytes] of Object.entries(limits)) {
      let bytes = 0;
      const add = ({ encodedDataLength }: { encodedDataLength: number }): void => void (bytes += encodedDataLength);
      network.on('Network.loadingFinished', add);
      await page.goto(path, { waitUntil: 'networkidle' });
      network.off('Network.loadingFinished', add);
      assert.ok(bytes > 50_000 && bytes < kilobytes * 1_000, `${path}: ${bytes} bytes`);
    }
    await network.detach();
  });

  it('has a failed order and a dispute that say what to do next', async () => {
    await page.goto('/orders?status=failed');
    await page.getByRole('row').nth(1).click();
    await page.getByRole('region', { name: whatNow.title }).getByRole('button').first().waitFor();
    await inspect(page, 'a failed order of the sample data');
    await page.goto('/disputes?status=needs_response');
    await page.getByRole('row').nth(1).click();
    await page.getByText(disputes.takenLine(1, disputes.sources.order)).waitFor();
    const explanation = page.getByLabel(disputes.questions[0]?.label ?? '', { exact: true });
    assert.match(await explanation.inputValue(), /was placed on .*\nCustomer: .*@/);
    await inspect(page, 'the evidence of the sample data');
    await page
      .getByRole('main')
      .getByRole('link', { name: /^[A-Z0-9]{8}$/ })
      .click();
    await page.getByRole('link', { name: disputes.respond, exact: true }).waitFor();
  });

  it('is cleared in the settings, after the name of the sandbox is entered', async () => {
    await page.goto('/settings');
    await page.getByText(sampleData.filled).waitFor();
    await page.getByRole('button', { name: sampleData.clear, exact: true }).click();
    const dialog = page.getByRole('dialog');
    await inspect(page, 'the question before a sandbox is cleared');
    await dialog.getByRole('textbox').fill('Tea House');
    await dialog.getByRole('button', { name: sampleData.clear }).click();
    await dialog.getByText(sampleData.confirmWrong('Tea House (demo)')).waitFor();
    await dialog.getByRole('textbox').fill('Tea House (demo)');
    await dialog.getByRole('button', { name: sampleData.clear }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: sampleData.fill, disabled: false }).waitFor();
    await page.goto('/home');
    await page.getByText(home.start).waitFor();
    assert.deepEqual((await call('GET', '/v1/customers')).data, []);
  });
});
