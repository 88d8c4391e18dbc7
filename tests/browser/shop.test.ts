import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { freePort } from '../../server/start/listen.ts';
import { Svc, webhooks } from '../../sdk/node/src/index.ts';
import { violationsIn } from '../support/axe.ts';
import { launchBrowser } from '../support/browser.ts';
import { picture } from '../support/images.ts';
import { startTestService } from '../support/service.ts';
import { somePlan } from '../support/subscriptions.ts';

/** The example shop as a shopper meets it, started by its one command; and the guides, which are read in a browser too. */

const program = fileURLToPath(new URL('../../examples/shop/server.ts', import.meta.url));
const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;

const port = await freePort('127.0.0.1');
const service = await startTestService({ port, baseUrl: `http://127.0.0.1:${port}` });
const svc = new Svc(service.key, { baseUrl: service.baseUrl });
const folder = await mkdtemp(join(tmpdir(), 'svc-shop-'));
await writeFile(
  join(folder, 'demo.json'),
  JSON.stringify({
    base_url: service.baseUrl,
    secret_key: service.key,
    publishable_key: await service.createKey(service.company, { kind: 'publishable' }),
  }),
);
for (const [sku, name, amount] of [
  ['tea-pot', 'Tea pot', 4900],
  ['tea-cup', 'Tea cup', 1200],
] as const) {
  await svc.products.create({
    name,
    sku,
    description: 'For tea.',
    pricing: { amount, currency: 'usd' },
    requires_shipping: true,
  });
}
const [pot] = (await svc.products.list({ limit: 1, sort: 'created_at' })).data;
await svc.products.images.upload(pot?.id ?? '', await picture());
await somePlan(service, { name: 'Tea of the month' });
const shops: ChildProcess[] = [];
const [shopUrl, browser] = await Promise.all([startShop({ SVC_WEBHOOK_SECRET: secret }), launchBrowser()]);

after(async () => {
  await browser.close();
  for (const shop of shops) shop.kill();
  await service.stop();
  await rm(folder, { recursive: true });
});

async function startShop(settings: Record<string, string>): Promise<string> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, PORT: '0', SVC_DATA_DIR: folder, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }), ...settings };
  const shop = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  shops.push(shop);
  for await (const chunk of shop.stdout.setEncoding('utf8')) {
    const url = /http:\S+/.exec(chunk as string)?.[0];
    if (url) return url;
  }
  throw new Error('the shop did not open');
}

/** Everything that happened to the newest order of the customer, signed as the service does it. */
async function deliver(email: string, signedWith = secret): Promise<number[]> {
  const [customer] = (await svc.customers.list({ email })).data;
  const [order] = (await svc.orders.list({ customer_id: customer?.id ?? '' })).data;
  const statuses: number[] = [];
  for await (const event of svc.events.list({ object_id: order?.id ?? '' })) {
    const { body, headers } = await webhooks.signTestEvent(event, signedWith);
    statuses.push((await fetch(`${shopUrl}/webhooks`, { method: 'POST', body, headers })).status);
  }
  return statuses;
}

async function fillCart(page: Page, url: string, email: string): Promise<void> {
  await page.goto(url);
  await page.getByRole('button', { name: 'Add to cart: Tea pot' }).click();
  await page.getByRole('button', { name: 'Add to cart: Tea cup' }).click();
  await page.getByLabel('Name').fill('Ada Lovelace');
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Phone').fill(`+1558${String(1_000_000 + email.length * 7_919)}`);
}

async function payWith(page: Page, number: string): Promise<void> {
  const fields = page.frameLocator('#card iframe');
  await fields.locator('#number').pressSequentially(number);
  await fields.locator('#expiry').pressSequentially('1234');
  await fields.locator('#cvc').pressSequentially('999');
  await page.getByRole('button', { name: 'Pay $61.00' }).click();
}

async function within(page: Page, options: { dark?: boolean; narrow?: boolean }): Promise<void> {
  await page.emulateMedia({ colorScheme: options.dark ? 'dark' : 'light' });
  await page.setViewportSize({ width: options.narrow ? 360 : 1100, height: 800 });
}

async function visit(body: (page: Page, complaints: string[]) => Promise<void>): Promise<void> {
  const page = await browser.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  try {
    await body(page, complaints);
  } finally {
    await page.close();
  }
}

test('a shopper pays, and the page says so when a webhook has confirmed it', () =>
  visit(async (page, complaints) => {
    const email = 'good@example.com';
    await fillCart(page, shopUrl, email);
    for (const dark of [false, true]) {
      await within(page, { dark });
      assert.deepEqual(await violationsIn(page), []);
    }
    await payWith(page, '4242424242424242');
    await page.getByRole('heading', { name: 'We are waiting for the bank' }).waitFor();
    assert.deepEqual(await deliver(email, `whsec_${Buffer.alloc(32, 6).toString('base64')}`), [400, 400]);
    assert.equal(await page.locator('#badge').textContent(), 'One moment', 'a forged webhook changes nothing');

    // Newest first, and then all of them again: neither the order nor the repetition matters.
    assert.deepEqual(await deliver(email), [204, 204]);
    assert.deepEqual(await deliver(email), [204, 204]);
    await page.getByRole('heading', { name: 'Thank you!' }).waitFor();
    assert.match((await page.locator('#detail').textContent()) ?? '', /^We have received \$61\.00 for order \w+\.$/);
    assert.deepEqual(await violationsIn(page), []);
    assert.deepEqual(complaints, []);
  }));

test('a declined card is said kindly, and another one pays the same cart', () =>
  visit(async (page) => {
    const email = 'declined@example.com';
    await fillCart(page, shopUrl, email);
    await payWith(page, '4000000000000002');
    await page
      .getByText('Your card was not charged. Your bank declined the payment. Please try another card.')
      .waitFor();
    assert.deepEqual(await violationsIn(page), []);
    await payWith(page, '4242424242424242');
    await page.waitForURL('**/orders/*');
    await deliver(email);
    await page.getByRole('heading', { name: 'Thank you!' }).waitFor();
    const [customer] = (await svc.customers.list({ email })).data;
    const { data: orders } = await svc.orders.list({ customer_id: customer?.id ?? '' });
    assert.deepEqual(
      orders.map(({ status, total }) => [status, total]),
      [
        ['succeeded', 6100],
        ['failed', 6100],
      ],
    );
  }));

test('a shopper who paid before pays with the saved card and a coupon, here or on the checkout page', async () => {
  const url = await startShop({});
  await svc.coupons.create({ name: 'TEA10', kind: 'promo', percentage: 10 });
  await visit(async (page, complaints) => {
    await fillCart(page, url, 'back-again@example.com');
    await payWith(page, '4242424242424242');
    await page.getByRole('heading', { name: 'Thank you!' }).waitFor();

    await page.goto(url);
    assert.ok((await page.locator('#products img').getAttribute('src'))?.startsWith(service.baseUrl));
    await page.getByRole('button', { name: 'Add to cart: Tea pot' }).click();
    await page.getByRole('button', { name: 'Add one Tea pot' }).click();
    await page.getByLabel('Coupon').fill('tea10');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('button', { name: 'Pay $88.20 with your card •••• 4242' }).click();
    await page.getByText('We have received $88.20').waitFor();

    await page.goto(url);
    await page.getByRole('button', { name: 'Add to cart: Tea cup' }).click();
    await page.getByRole('button', { name: 'Pay on the checkout page' }).click();
    await page.waitForURL('**/checkout/*');
    await page.getByRole('button', { name: 'Pay $12.00' }).click();
    await page.getByRole('link', { name: /^Continue to/ }).click();
    await page.waitForURL('**/orders/*');
    await page.getByText('We have received $12.00').waitFor();

    await page.goto(url);
    await page.getByRole('button', { name: 'Subscribe: Tea of the month' }).click();
    await page.waitForURL('**/checkout/*');
    await page.getByRole('button', { name: /^Subscribe/ }).click();
    await page.getByRole('link', { name: /^Continue to/ }).click();
    await page.getByText('We have received $19.00').waitFor();
    assert.deepEqual(complaints, []);
  });
});

test('without a webhook secret the shop asks, and takes no webhook', async () => {
  const url = await startShop({});
  assert.equal((await fetch(`${url}/webhooks`, { method: 'POST', body: '{}' })).status, 400);
  await visit(async (page) => {
    await fillCart(page, url, 'asked@example.com');
    await payWith(page, '4242424242424242');
    await page.getByRole('heading', { name: 'Thank you!' }).waitFor();
  });
});

test('the guides are readable: nothing for axe to mend, nothing wider than a phone', () =>
  visit(async (page, complaints) => {
    for (const path of ['/docs/cards', '/docs/going-live']) {
      await page.goto(service.baseUrl + path);
      for (const dark of [false, true]) {
        await within(page, { dark });
        assert.deepEqual(await violationsIn(page), [], path);
      }
    }
    await within(page, { narrow: true });
    for (const path of ['/docs', '/docs/quickstart', '/docs/cards', '/docs/errors', '/docs/webhooks']) {
      await page.goto(service.baseUrl + path);
      const width = await page.evaluate('document.documentElement.scrollWidth');
      assert.ok(Number(width) <= 360, `${path} is ${String(width)} px wide`);
    }
    assert.deepEqual(complaints, []);
  }));
