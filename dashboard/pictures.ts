import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import sharp from 'sharp';
import { loadConfig } from '../server/config.ts';
import type { Demo } from '../server/demo.ts';
import { createLog } from '../server/platform/log.ts';
import { startService } from '../server/service.ts';
import { launchBrowser } from '../tests/support/browser.ts';
import { loaded } from '../tests/support/inspect.ts';
import { disputes } from './src/texts/disputes.ts';
import { sampleData } from './src/texts/sample-data.ts';

/**
 * `node dashboard/pictures.ts [folder]`: takes screenshots of the pages of the demo company with its sample data, and of a new
 * one. Without a folder, it takes only the pictures for the docs, into docs/pictures. With `SVC_DATA_DIR`, it shows the demo company of
 * that data folder, whose sample data must be complete.
 */

/** The pictures of the docs: each page in the light, in the dark and on a phone. */
const pagesInDocs = [
  'landing',
  'home',
  'orders',
  'order',
  'failed-order',
  'customer',
  'subscription',
  'payment-link',
  'new-payment-link',
  'dispute',
  'products',
  'webhook',
  'branding',
  'clock',
  'mailbox',
];
const shown = pagesInDocs.flatMap((name) => [name, `${name}-dark`, `${name}-phone`]);
const docs = fileURLToPath(new URL('../docs/pictures/', import.meta.url));
const wanted = process.argv[2];
const filledWithinMs = 300_000;

interface Listed {
  readonly id: string;
  readonly subscription_id?: string | null;
}

/** The first object of each list is shown. */
const lists = {
  customer: '/v1/customers',
  order: '/v1/orders?status=partially_refunded',
  failedOrder: '/v1/orders?status=failed',
  subscription: '/v1/subscriptions?status=past_due',
  product: '/v1/products',
  plan: '/v1/plans',
  coupon: '/v1/coupons',
  link: '/v1/payment_links',
  endpoint: '/v1/webhook_endpoints',
} as const;
type Ids = Readonly<Record<keyof typeof lists, string>>;

async function idsOf({ base_url, secret_key }: Demo): Promise<Ids> {
  const idOf = async ([name, path]: [string, string]): Promise<[string, string]> => {
    const response = await fetch(base_url + path, { headers: { authorization: `Bearer ${secret_key}` } });
    const { data } = (await response.json()) as { data: Listed[] };
    // What to do about a failed order differs for renewals.
    return [name, data.find((one) => !one.subscription_id || name !== 'failedOrder')?.id ?? ''];
  };
  return Object.fromEntries(await Promise.all(Object.entries(lists).map(idOf))) as Ids;
}

const looks = [
  { name: '', width: 1280, height: 860, colorScheme: 'light' },
  { name: '-dark', width: 1280, height: 860, colorScheme: 'dark' },
  { name: '-phone', width: 390, height: 800, colorScheme: 'light' },
  { name: '-phone-dark', width: 390, height: 800, colorScheme: 'dark' },
] as const;

const pages = (ids: Ids): Record<string, string> => ({
  home: '/home',
  customers: '/customers',
  customer: `/customers/${ids.customer}`,
  orders: '/orders',
  order: `/orders/${ids.order}`,
  'failed-order': `/orders/${ids.failedOrder}`,
  'new-order': '/orders/new',
  subscriptions: '/subscriptions',
  subscription: `/subscriptions/${ids.subscription}`,
  transactions: '/transactions',
  disputes: '/disputes',
  dispute: '/disputes?status=needs_response',
  'payment-links': '/payment-links',
  'payment-link': `/payment-links/${ids.link}`,
  'new-payment-link': '/payment-links/new',
  'in-doubt': '/in-doubt',
  products: '/products',
  product: `/products/${ids.product}`,
  plans: '/plans',
  'new-plan': '/plans/new',
  plan: `/plans/${ids.plan}`,
  coupons: '/coupons',
  coupon: `/coupons/${ids.coupon}`,
  developers: '/developers',
  'api-keys': '/developers/api-keys',
  events: '/developers/events',
  requests: '/developers/requests',
  webhooks: '/developers/webhooks',
  webhook: `/developers/webhooks/${ids.endpoint}`,
  team: '/team',
  roles: '/roles',
  'audit-log': '/audit-log',
  settings: '/settings',
  branding: '/settings/branding',
  mailbox: '/mailbox',
  clock: '/sandbox/clock',
  'test-cards': '/sandbox/test-cards',
  account: '/account',
});

const emptyPages = [
  'home',
  'customers',
  'orders',
  'disputes',
  'subscriptions',
  'products',
  'coupons',
  'webhooks',
  'events',
];

/** Also pictures of products and the preview of the checkout page are there. */
async function drawn(page: Page): Promise<void> {
  await loaded(page);
  const shownPage = page.locator('iframe[src="/checkout/preview"]');
  if (await shownPage.isVisible()) {
    await shownPage.contentFrame().frameLocator('#card iframe').locator('#cvc').waitFor();
  }
  await page.waitForLoadState('networkidle');
  await page.waitForTimeout(1_000);
}

/** Waits on Home until the sample data is complete. */
async function waitUntilFilled(browser: Browser, demo: Demo): Promise<void> {
  const page = await browser.newPage({ baseURL: demo.base_url });
  page.setDefaultTimeout(filledWithinMs);
  await signIn(page, demo);
  await page.goto('/home');
  const progress = page.getByRole('progressbar', { name: sampleData.filling });
  await progress.waitFor();
  await progress.waitFor({ state: 'detached' });
  await page.close();
}

async function signIn(page: Page, { base_url, email, password }: Demo): Promise<void> {
  await page.request.post('/dashboard/session', { data: { email, password }, headers: { origin: base_url } });
}

const folder = wanted ?? docs;
await mkdir(folder, { recursive: true });
const known = process.env.SVC_DATA_DIR;
const dataDir = known ?? (await mkdtemp(join(tmpdir(), 'svc-pictures-')));
const config = loadConfig({ SVC_DATA_DIR: dataDir, PORT: '0', SVC_LOG_LEVEL: 'silent' });
const service = await startService(config, createLog('silent'), () => undefined);
const browser = await launchBrowser();
try {
  const { demo, baseUrl } = service;
  if (!demo) throw new Error('there is no demo company');
  if (!known) await waitUntilFilled(browser, demo);
  const ids = await idsOf(demo);
  for (const { name: look, width, height, colorScheme } of looks) {
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme,
      baseURL: baseUrl,
      locale: 'en-US',
    });
    const page = await context.newPage();
    page.on('console', (message) => {
      if (message.type() === 'error') process.stderr.write(`${look} ${page.url()}: ${message.text()}\n`);
    });
    page.on('pageerror', (error) => process.stderr.write(`${look} ${page.url()}: ${error.message}\n`));
    const take = async (name: string, path: string): Promise<void> => {
      if (!wanted && !shown.includes(name + look)) return;
      await page.goto(path);
      await drawn(page);
      if (name === 'dispute') {
        await page.getByRole('row').nth(1).click();
        await page.getByText(disputes.prefilled).waitFor();
        await drawn(page);
      }
      const picture = await page.screenshot({ fullPage: Boolean(wanted) });
      await sharp(picture)
        .png({ palette: true, compressionLevel: 9 })
        .toFile(join(folder, `dashboard-${name}${look}.png`));
    };
    await take('landing', '/');
    await take('login', '/login');
    await take('sign-up', '/sign-up');
    await signIn(page, demo);
    for (const [name, path] of Object.entries(pages(ids))) await take(name, path);
    await context.clearCookies();
    await page.request.post('/dashboard/sign_up', {
      data: {
        email: `new${look}@example.com`,
        password: 'a fresh start for tea',
        first_name: 'New',
        last_name: 'Merchant',
        phone_number: '+15551234567',
        company_name: 'Fresh Start',
      },
      headers: { origin: baseUrl },
    });
    for (const name of emptyPages) await take(`empty-${name}`, pages(ids)[name] ?? '/');
    await context.close();
  }
} finally {
  await browser.close();
  await service.stop();
  if (!known) await rm(dataDir, { recursive: true, force: true });
}
