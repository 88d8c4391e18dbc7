import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { loadConfig } from '../server/config.ts';
import { createLog } from '../server/platform/log.ts';
import { startService } from '../server/service.ts';
import { launchBrowser } from '../tests/support/browser.ts';
import { type Ids, seedYear } from './picture-data.ts';

/**
 * `node dashboard/pictures.ts [folder]`: takes screenshots of the dashboard of a shop after a year, and of a new one.
 * Without a folder, it takes only the pictures for the docs, into docs/pictures.
 */

/** The pictures of the docs: each page in the light, in the dark and on a phone. */
const pagesInDocs = [
  'home',
  'orders',
  'order',
  'customers',
  'customer',
  'subscription',
  'products',
  'webhook',
  'team',
  'settings',
];
const shown = [...pagesInDocs.flatMap((name) => [name, `${name}-dark`, `${name}-phone`]), 'webhook-phone-dark'];
const docs = fileURLToPath(new URL('../docs/pictures/', import.meta.url));
const wanted = process.argv[2];

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
  'new-order': '/orders/new',
  subscriptions: '/subscriptions',
  subscription: `/subscriptions/${ids.subscription}`,
  transactions: '/transactions',
  disputes: '/disputes',
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

async function idle(page: Page): Promise<void> {
  await page.waitForLoadState('networkidle');
  await page.waitForTimeout(400);
}

const folder = wanted ?? docs;
await mkdir(folder, { recursive: true });
const dataDir = await mkdtemp(join(tmpdir(), 'svc-pictures-'));
const config = loadConfig({
  SVC_DATA_DIR: dataDir,
  PORT: '0',
  SVC_LOG_LEVEL: 'silent',
  SVC_WEBHOOK_ALLOW: '127.0.0.1',
  // A year passes in a minute.
  SVC_RATE_LIMIT_GLOBAL: 'off',
  SVC_RATE_LIMIT_READ: 'off',
  SVC_RATE_LIMIT_WRITE: 'off',
  SVC_RATE_LIMIT_CAPTURE: 'off',
});
const service = await startService(config, createLog('silent'), () => undefined);
const browser = await launchBrowser();
try {
  const { demo, baseUrl } = service;
  if (!demo) throw new Error('there is no demo company');
  const ids = await seedYear(demo);
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
      await idle(page);
      await page.screenshot({ path: join(folder, `dashboard-${name}${look}.png`), fullPage: Boolean(wanted) });
    };
    await take('login', '/login');
    await take('sign-up', '/sign-up');
    await page.request.post('/dashboard/session', {
      data: { email: demo.email, password: demo.password },
      headers: { origin: baseUrl },
    });
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
  await rm(dataDir, { recursive: true, force: true });
}
