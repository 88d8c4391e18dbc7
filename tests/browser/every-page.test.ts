import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { signUp } from '../support/dashboard.ts';
import { openPagesWorld } from '../support/hosted-pages.ts';
import { inspect, loaded } from '../support/inspect.ts';

/** What holds for every page of the dashboard: people can use it with any eyes and on a phone, and it is small. */

const { service, browser, stop } = await openPagesWorld();
after(stop);

const problems: string[] = [];

async function signedIn(colorScheme: 'light' | 'dark'): Promise<{ context: BrowserContext; page: Page }> {
  const { cookie } = await signUp(service);
  const [name = '', value = ''] = cookie.split('=');
  const context = await browser.newContext({ baseURL: service.baseUrl, locale: 'en-US', colorScheme });
  await context.addCookies([{ name, value, url: service.baseUrl }]);
  const page = await context.newPage();
  page.on('pageerror', (error) => problems.push(`${page.url()}: ${error.message}`));
  page.on('console', (message) => {
    // The page itself shows a rejected call.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      problems.push(`${page.url()}: ${message.text()}`);
    }
  });
  return { context, page };
}

const paths = {
  light: ['/home', '/customers', '/orders/new', '/plans/new', '/developers/api-keys', '/settings'],
  dark: [
    '/login',
    '/orders',
    '/disputes',
    '/coupons/new',
    '/payment-links/new',
    '/developers/webhooks',
    '/team',
    '/settings/branding',
    '/sandbox/clock',
  ],
};
const others = [
  '/sign-up',
  '/forgot-password',
  '/subscriptions',
  '/subscriptions/new',
  '/products',
  '/plans',
  '/coupons',
  '/payment-links',
  '/transactions',
  '/invoices',
  '/in-doubt',
  '/approvals',
  '/developers',
  '/developers/events',
  '/developers/requests',
  '/roles',
  '/audit-log',
  '/declarations',
  '/emails',
  '/settings/processors',
  '/settings/going-live',
  '/settings/invoices',
  '/settings/rehearsal',
  '/sandbox/test-cards',
  '/account',
];
// Some in each theme; with SVC_AXE=all every one in both.
const pagesOf = (theme: 'light' | 'dark'): readonly string[] =>
  process.env.SVC_AXE === 'all' ? [...paths.light, ...paths.dark, ...others] : paths[theme];

for (const theme of ['light', 'dark'] as const) {
  test(`every page has nothing for axe to mend in the ${theme} theme, and fits on a phone`, async () => {
    const { context, page } = await signedIn(theme);
    for (const path of pagesOf(theme)) {
      await page.goto(path);
      await inspect(page, path);
    }
    await context.close();
  });
}

test('a first view needs less than 200 kB on the wire: scripts, styles, font, pictures and data', async () => {
  const { context, page } = await signedIn('light');
  await page.goto('/home');
  await loaded(page);
  const network = await context.newCDPSession(page);
  await network.send('Network.enable');
  await network.send('Network.setCacheDisabled', { cacheDisabled: true });
  for (const path of ['/orders', '/home', '/customers']) {
    let bytes = 0;
    const add = ({ encodedDataLength }: { encodedDataLength: number }): void => void (bytes += encodedDataLength);
    network.on('Network.loadingFinished', add);
    await page.goto(path, { waitUntil: 'networkidle' });
    network.off('Network.loadingFinished', add);
    assert.ok(bytes > 100_000 && bytes < 200_000, `${path}: ${bytes} bytes`);
  }
  await context.close();
});

test('no page made an error or violated a policy', () => {
  assert.deepEqual(problems, []);
});
