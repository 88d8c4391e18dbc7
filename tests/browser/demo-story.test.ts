import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { common, shell } from '../../dashboard/src/texts/common.ts';
import { paymentLinks } from '../../dashboard/src/texts/payment-links.ts';
import { webhooks as texts } from '../../dashboard/src/texts/webhooks.ts';
import { checkout } from '../../server/customer-texts/languages/en/checkout.ts';
import { webhooks } from '../../sdk/node/src/webhooks.ts';
import { loadConfig } from '../../server/config.ts';
import { type Service, startService } from '../../server/service.ts';
import { launchBrowser } from '../support/browser.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { payAt, seesEvents } from '../support/first-payment.ts';
import { silentLog } from '../support/silent-log.ts';

/** The first five minutes of a newcomer who has run `npm start`, while the sample data is still being created. */

let database: TestDatabase;
let folder: string;
let browser: Browser;
let service: Service;
before(async () => {
  [database, folder, browser] = await Promise.all([
    cloneDatabase(1),
    mkdtemp(join(tmpdir(), 'svc-demo-')),
    launchBrowser(),
  ]);
  const settings = {
    DATABASE_URL: database.connectionString,
    SVC_DATA_DIR: folder,
    SVC_MASTER_SECRET: 'a master secret for the tests of the demo company',
    SVC_DEMO: '1',
    SVC_LOG_LEVEL: 'silent',
    SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
    PORT: '0',
    HOST: '127.0.0.1',
  };
  service = await startService(loadConfig(settings), silentLog, () => undefined);
});
after(async () => {
  await browser?.close();
  await service?.stop();
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

it('leads from the printed address to a paid link, its receipt and a verified webhook', async () => {
  const verified: string[] = [];
  let secret = '';
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = Buffer.concat(await request.toArray());
    const event = await webhooks.verify(body, request.headers, secret).catch(() => undefined);
    if (event) verified.push(event.type);
    response.writeHead(event ? 200 : 400).end();
  };
  const receiver = createServer((request, response) => void receive(request, response)).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1440, height: 900 } });
  context.setDefaultTimeout(30_000);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  try {
    const page = await context.newPage();
    await page.goto(service.signInUrl ?? '');
    await page.waitForURL(/\/home/);
    await page.getByRole('link', { name: shell.places.paymentLinks, exact: true }).click();
    await page.getByRole('link', { name: paymentLinks.add }).click();
    await page.getByLabel(paymentLinks.what, { exact: true }).fill('Tea tasting');
    await page.getByLabel(paymentLinks.price, { exact: true }).fill('$24.50');
    await page.getByRole('button', { name: paymentLinks.add, exact: true }).click();
    await page.getByText(paymentLinks.payYourself).waitFor();
    const url = await page.getByTestId('link').innerText();

    const customer = await context.newPage();
    await payAt(customer, url);
    const [mailbox] = await Promise.all([
      context.waitForEvent('page'),
      customer.getByRole('link', { name: checkout.openMailbox }).click(),
    ]);
    await mailbox.getByRole('heading', { name: /^Your receipt from Tea House/ }).waitFor();
    await mailbox.frameLocator('iframe').getByText('$24.50').first().waitFor();

    await page.getByRole('link', { name: shell.places.orders, exact: true }).click();
    await page.getByRole('row').filter({ hasText: 'grace@example.com' }).getByText('$24.50').click();
    await page.waitForURL(/\/orders\/[0-9a-f-]{36}/);
    await page.getByText('Tea tasting').first().waitFor();

    await page.goto(`${service.baseUrl}/developers/webhooks`);
    const commands = page.getByRole('region', { name: texts.local.commands });
    const block = page.locator('section').filter({ has: commands });
    await block.getByRole('button', { name: common.copy, exact: true }).last().click();
    await block.getByRole('button', { name: common.copied }).waitFor();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const port = (receiver.address() as AddressInfo).port;
    await seesEvents(
      `export SVC_WEBHOOK_SECRET=${secret}\n${copied.trimEnd()} --forward-to localhost:${port}/webhooks`,
      () => payAt(customer, url),
    );
    assert.ok(verified.includes('order.succeeded'), verified.join());

    // The program of the guide listens on the port that the page names.
    assert.match(await page.getByText('--forward-to').innerText(), /localhost:4000\//);
    const guide = await page.getByRole('link', { name: texts.local.guide }).getAttribute('href');
    await page.goto(service.baseUrl + guide);
    await page.getByText('process.env.PORT ?? 4000').first().waitFor();
    const fonts = '[...document.fonts].map(({ status }) => status)';
    await page.evaluate('document.fonts.ready');
    assert.deepEqual(await page.evaluate(fonts), ['loaded', 'loaded'], 'letters, and the arrow of a path');
  } finally {
    await context.close();
    receiver.close();
  }
});
