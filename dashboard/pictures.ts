import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { loadConfig } from '../server/config.ts';
import type { Demo } from '../server/demo.ts';
import { createLog } from '../server/platform/log.ts';
import { startService } from '../server/service.ts';
import { launchBrowser } from '../tests/support/browser.ts';

/**
 * `node dashboard/pictures.ts [folder]`: takes screenshots of the dashboard of an established shop and of a new one.
 * Without a folder, it takes only the pictures for the docs, into docs/pictures.
 */

const shown = ['home', 'order', 'customers', 'webhook-phone-dark'];
const docs = fileURLToPath(new URL('../docs/pictures/', import.meta.url));
const wanted = process.argv[2];

const looks = [
  { name: '', width: 1280, height: 860, colorScheme: 'light' },
  { name: '-dark', width: 1280, height: 860, colorScheme: 'dark' },
  { name: '-phone', width: 390, height: 800, colorScheme: 'light' },
  { name: '-phone-dark', width: 390, height: 800, colorScheme: 'dark' },
] as const;

type Ids = Record<'customer' | 'order' | 'subscription' | 'product' | 'plan' | 'coupon' | 'endpoint', string>;

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

/** The fields of API responses that this script reads. */
interface Answer {
  readonly id: string;
  readonly status: string;
  readonly data: readonly { readonly id: string }[];
}

async function seed({ base_url, secret_key }: Demo): Promise<Ids> {
  let count = 0;
  const call = async (method: string, path: string, body?: object): Promise<Answer> => {
    count += 1;
    const response = await fetch(base_url + path, {
      method,
      headers: {
        authorization: `Bearer ${secret_key}`,
        'content-type': 'application/json',
        'x-svc-idempotency-key': `picture-${count}`,
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Answer;
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer;
  };
  const endpoint = await call('POST', '/v1/webhook_endpoints', {
    url: 'https://127.0.0.1:9/hooks',
    description: 'Warehouse',
    enabled_events: ['*'],
  });
  const { data: products } = await call('GET', '/v1/products');
  const { data: plans } = await call('GET', '/v1/plans');
  const coupon = await call('POST', '/v1/coupons', {
    name: 'Spring tea',
    percentage: 20,
    duration: 'once',
    product_scope: 'all',
    plan_scope: 'all',
    codes: { count: 25 },
  });
  const names = ['Ada Lovelace', 'Grace Hopper', 'Alan Turing', 'Emmy Noether', 'Edsger Dijkstra', 'Barbara Liskov'];
  const numbers = ['4242424242424242', '4242424242424242', '4000000000009995', '5555555555554444', '4000009999003220'];
  const ids: Partial<Ids> = {
    product: products[0]?.id ?? '',
    plan: plans[0]?.id ?? '',
    coupon: coupon.id,
    endpoint: endpoint.id,
  };
  for (const [index, name] of names.entries()) {
    const [first_name = '', last_name = ''] = name.split(' ');
    const customer = await call('POST', '/v1/customers', {
      first_name,
      last_name,
      email: `${first_name.toLowerCase()}@example.com`,
      phone: `+1555010${index}`,
    });
    await call('POST', '/capture', {
      customer_id: customer.id,
      card: { number: numbers[index % numbers.length], exp_month: '12', exp_year: '2032', cvc: '999' },
    });
    for (let order = 0; order < 4 - (index % 3); order += 1) {
      const items = [{ product_id: products[(index + order) % products.length]?.id, quantity: 1 + (order % 3) }];
      const made = await call('POST', '/v1/orders', { customer_id: customer.id, items });
      if (made.status === 'succeeded' && order === 1) {
        await call('POST', `/v1/orders/${made.id}/refund`, { amount: 500 });
        ids.order = made.id;
      }
      await call('POST', '/v1/sandbox/clock/advance', { by: { days: 1, hours: 7 } });
    }
    if (index % 3 === 2) continue;
    const subscription = await call('POST', '/v1/subscriptions', {
      customer_id: customer.id,
      plan_id: plans[index % plans.length]?.id,
    });
    ids.subscription ??= subscription.id;
    ids.customer ??= customer.id;
  }
  return ids as Ids;
}

async function settled(page: Page): Promise<void> {
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
});
const service = await startService(config, createLog('silent'), () => undefined);
const browser = await launchBrowser();
try {
  const { demo, baseUrl } = service;
  if (!demo) throw new Error('there is no demo company');
  const ids = await seed(demo);
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
      await settled(page);
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
