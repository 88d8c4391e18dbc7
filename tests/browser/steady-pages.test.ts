import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { changeProfile } from '../../server/features/profile/service.ts';
import { created, openScene } from '../support/billing.ts';
import { signUp } from '../support/dashboard.ts';
import { openPagesWorld } from '../support/hosted-pages.ts';
import { loaded } from '../support/inspect.ts';
import { shiftsOf, watchShifts } from '../support/layout-shift.ts';
import { contextOf, createProduct } from '../support/orders.ts';
import { someCustomer, someProduct } from '../support/service.ts';

/** Pages on a slow connection do not move under the eyes and fingers of people, and say when they need JavaScript. */

const { service, browser, stop } = await openPagesWorld();
after(stop);

const sizes = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
];
const shiftMax = 0.05;

async function assertSteady(page: Page, what: string): Promise<void> {
  const { sum, shifts } = await shiftsOf(page);
  assert.ok(sum < shiftMax, `${what} moves by ${sum.toFixed(3)}: ${JSON.stringify(shifts, null, 2)}`);
}

async function on(size: (typeof sizes)[number], body: (context: BrowserContext) => Promise<void>): Promise<void> {
  const context = await browser.newContext({ baseURL: service.baseUrl, viewport: size, locale: 'en-US' });
  context.setDefaultTimeout(20_000);
  try {
    await body(context);
  } finally {
    await context.close();
  }
}

async function newPage(context: BrowserContext, late: readonly string[]): Promise<Page> {
  const page = await context.newPage();
  await watchShifts(page, late);
  return page;
}

let checkoutPath = '';
let customerPath = '';
before(async () => {
  const scene = await openScene(service, { name: 'Tea of the month' });
  await created(service, scene);
  const { key, customer_id } = scene;
  await changeProfile(contextOf(service, scene.company), { display_name: 'Tea House', color: '#1f6b4f' });
  const items = [{ product_id: await createProduct(service, 4900, { key }), quantity: 1 }];
  const session = { mode: 'payment', items, collect: ['shipping'], allow_coupons: true };
  const pathOf = async (path: string, body: object): Promise<string> => {
    const reply = await service.call('POST', path, { key, body });
    assert.equal(reply.status, 201, reply.text);
    return new URL(reply.body.url).pathname;
  };
  checkoutPath = await pathOf('/v1/checkout_sessions', session);
  customerPath = await pathOf('/v1/customer_sessions', { customer_id });
});

for (const size of sizes) {
  describe(`at ${size.width} × ${size.height}, while data and fonts arrive one after the other`, () => {
    test('the checkout page does not move', () =>
      on(size, async (context) => {
        const page = await newPage(context, ['**/checkout/*/session', '**/fonts/**', '**/card-fields**']);
        await page.goto(checkoutPath);
        await page.getByRole('button', { name: 'Pay $49.00' }).waitFor();
        await page.frameLocator('#card iframe').locator('#cvc').waitFor();
        await page.waitForLoadState('networkidle');
        await assertSteady(page, 'The checkout page');
      }));

    test('the customer page does not move', () =>
      on(size, async (context) => {
        const page = await newPage(context, ['**/customer/*/account', '**/fonts/**']);
        await page.goto(customerPath);
        await page.getByText('Tea of the month').first().waitFor();
        await page.waitForLoadState('networkidle');
        await assertSteady(page, 'The customer page');
      }));
  });
}

describe('the dashboard', () => {
  const paths = ['/home', '/orders', '/coupons', '/settings/branding'];
  const others = [
    '/customers',
    '/subscriptions',
    '/payment-links',
    '/transactions',
    '/disputes',
    '/products',
    '/plans',
    '/developers/webhooks',
    '/developers/requests',
    '/team',
    '/emails',
    '/settings',
    '/sandbox/clock',
    '/account',
  ];
  /** Pages of objects, whose parts load on their own. */
  const objects: string[] = [];
  let cookie = { name: '', value: '' };
  before(async () => {
    const person = await signUp(service);
    const post = async (path: string, body: object): Promise<Record<string, string>> =>
      (await person.in('POST', path, body, { idempotencyKey: randomUUID() })).body;
    const { id: product_id } = await post('/v1/products', someProduct());
    for (const number of ['4242424242424242', '4000000000000002']) {
      const { id: customer_id } = await post('/v1/customers', someCustomer());
      await post('/capture', { customer_id, card: { number, exp_month: '12', exp_year: '2032', cvc: '999' } });
      const { id } = await post('/v1/orders', { customer_id, items: [{ product_id, quantity: 1 }] });
      objects.splice(0, objects.length, `/customers/${customer_id}`, `/orders/${id}`);
    }
    const [name = '', value = ''] = person.cookie.split('=');
    cookie = { name, value };
  });

  for (const size of sizes) {
    test(`does not move at ${size.width} × ${size.height}, while its data and fonts arrive one after the other`, () =>
      on(size, async (context) => {
        await context.addCookies([{ ...cookie, url: service.baseUrl }]);
        const all = process.env.SVC_AXE === 'all' ? [...paths, ...others] : paths;
        for (const path of [...all, ...objects]) {
          const page = await newPage(context, ['**/dashboard/**', '**/v1/**', '**/fonts/**']);
          await page.goto(path);
          await loaded(page);
          await assertSteady(page, path);
          await page.close();
        }
      }));
  }

  test('cuts no status on a phone', () =>
    on({ width: 390, height: 844 }, async (context) => {
      await context.addCookies([{ ...cookie, url: service.baseUrl }]);
      const page = await context.newPage();
      await page.goto('/orders?status=failed');
      const badge = page.getByText('Failed · Processor declined');
      await badge.waitFor();
      const { x = 0, width = 0 } = (await badge.boundingBox()) ?? {};
      assert.ok(x >= 0 && x + width <= 390, `the badge ends at ${x + width}`);
      const isCut = `[...document.querySelectorAll('td span')].some(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1)`;
      assert.equal(await page.evaluate(isCut), false);
    }));

  test('reads the session once, and not on pages that need none', () =>
    on({ width: 1440, height: 900 }, async (context) => {
      const page = await context.newPage();
      let reads = 0;
      page.on('request', (request) => void (reads += Number(request.url().endsWith('/dashboard/session'))));
      await page.goto('/login');
      await loaded(page);
      assert.equal(reads, 0);
      await context.addCookies([{ ...cookie, url: service.baseUrl }]);
      await page.goto('/home');
      await loaded(page);
      assert.equal(reads, 1);
    }));
});

describe('without JavaScript', () => {
  for (const size of sizes) {
    test(`each page that needs it says so at sight, at ${size.width} × ${size.height}`, async () => {
      const context = await browser.newContext({ baseURL: service.baseUrl, viewport: size, javaScriptEnabled: false });
      const page = await context.newPage();
      for (const path of [checkoutPath, customerPath, '/login', '/orders']) {
        await page.goto(path);
        const notice = page.getByText(/needs JavaScript\. Turn it on/);
        await notice.waitFor();
        const { y = size.height, height = 0 } = (await notice.boundingBox()) ?? {};
        assert.ok(y + height < size.height, `${path} shows it at ${y}`);
        assert.equal(await page.getByText('Loading').locator('visible=true').count(), 0, path);
      }
      await context.close();
    });
  }
});
