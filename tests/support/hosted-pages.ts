import assert from 'node:assert/strict';
import type { Browser, BrowserContext, FrameLocator, Page } from 'playwright-core';
import { violationsIn } from './axe.ts';
import { launchBrowser } from './browser.ts';
import { startTestService, type TestService } from './service.ts';

/** The pages for customers in a real browser, against the real service. */

/** The service makes its links with this base; the browser reaches it at its port. */
export interface PagesWorld {
  readonly service: TestService;
  readonly browser: Browser;
  visit(url: string, look?: Look): Promise<Visited>;
  stop(): Promise<void>;
}

export interface Look {
  readonly isPhone?: boolean;
  readonly isDark?: boolean;
  /** The language of the browser; American English if it is left out. */
  readonly locale?: string;
}

export interface Visited {
  readonly page: Page;
  readonly fields: FrameLocator;
  /** Errors in the console, for example of the content security policy. */
  readonly complaints: string[];
  close(): Promise<void>;
}

export const allLooks: readonly Look[] = [{}, { isDark: true }, { isPhone: true }, { isPhone: true, isDark: true }];
/** Where colors and space are scarcest. */
const furtherLooks: readonly Look[] = [{ isPhone: true, isDark: true }];

export async function openPagesWorld(): Promise<PagesWorld> {
  const limits = Object.fromEntries(
    ['COUPON_VALIDATION', 'CAPTURE', 'REFUSED_CARDS'].map((name) => [`SVC_RATE_LIMIT_${name}`, 'off']),
  );
  const [service, browser] = await Promise.all([startTestService({ settings: limits }), launchBrowser()]);
  const contexts: BrowserContext[] = [];
  return {
    service,
    browser,
    async visit(url, { isPhone = false, isDark = false, locale = 'en-US' } = {}) {
      const context = await browser.newContext({
        viewport: isPhone ? { width: 390, height: 844 } : { width: 1440, height: 900 },
        colorScheme: isDark ? 'dark' : 'light',
        locale,
        reducedMotion: 'reduce',
      });
      contexts.push(context);
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text());
      });
      page.on('pageerror', (error) => complaints.push(String(error)));
      const { pathname, search } = new URL(url, service.baseUrl);
      await page.goto(service.baseUrl + pathname + search);
      return { page, fields: page.frameLocator('#card iframe'), complaints, close: () => context.close() };
    },
    async stop() {
      await browser.close();
      await service.stop();
    },
  };
}

export async function typeCard(fields: FrameLocator, number = '4242424242424242'): Promise<void> {
  await fields.locator('#number').fill(number);
  await fields.locator('#expiry').fill('1236');
  await fields.locator('#cvc').fill('999');
}

/** What axe finds, and whether the page scrolls sideways. */
async function problemsOf(page: Page): Promise<string[]> {
  // The frame is transparent, so axe cannot know the background of its messages. The tests of the fields check them.
  const outside = "{ exclude: [{ fromFrames: ['#card iframe', '.errors'] }] }";
  const hasFrame = await page.locator('#card iframe').isVisible();
  const violations = await violationsIn(page, hasFrame ? { part: outside } : {});
  const overflow = await sidewaysBy(page);
  return [...violations, ...(overflow > 0 ? [`scrolls sideways by ${overflow} px`] : [])];
}

/** How far the page is wider than its window. */
const sidewaysBy = async (page: Page): Promise<number> =>
  Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));

/** Looks at the page on a phone and a desktop, in both themes; at a further state of it in one of them. `SVC_PICTURES`: in all. */
export async function checkLooks(page: Page, picture: string, which = furtherLooks): Promise<void> {
  for (const { isPhone, isDark } of process.env.SVC_PICTURES ? allLooks : which) {
    await page.setViewportSize(isPhone ? { width: 390, height: 844 } : { width: 1440, height: 900 });
    await page.emulateMedia({ colorScheme: isDark ? 'dark' : 'light' });
    const name = `${isPhone ? 'phone' : 'desktop'}, ${isDark ? 'dark' : 'light'}`;
    assert.deepEqual(await problemsOf(page), [], name);
    const folder = process.env.SVC_PICTURES;
    if (folder) {
      await page.screenshot({ path: `${folder}/${picture}-${name.replace(', ', '-')}.png`, fullPage: true });
    }
  }
  const last = page.viewportSize();
  await page.setViewportSize({ width: 320, height: 640 });
  assert.ok((await sidewaysBy(page)) <= 0, `${picture} is wider than 320 pixels`);
  if (last) await page.setViewportSize(last);
}

/** Opens a page in a slow network, without a cache. Returns how much it loads and when it can be used. */
export async function openSlowly(
  page: Page,
  url: string,
  isUsable: () => Promise<unknown>,
): Promise<{ readonly bytes: number; readonly ms: number }> {
  const devtools = await page.context().newCDPSession(page);
  const addresses = new Map<string, string>();
  // With its cache, a browser loads a file once, also where a page and its frame ask for it.
  const sizes = new Map<string, number>();
  devtools.on('Network.requestWillBeSent', ({ requestId, request }) => addresses.set(requestId, request.url));
  devtools.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    sizes.set(addresses.get(requestId) ?? requestId, encodedDataLength);
  });
  await devtools.send('Network.enable');
  await devtools.send('Network.setCacheDisabled', { cacheDisabled: true });
  const bytesPerSecond = 1_600_000 / 8;
  await devtools.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 150,
    downloadThroughput: bytesPerSecond,
    uploadThroughput: bytesPerSecond,
  });
  const startMs = performance.now();
  await page.goto(url, { waitUntil: 'commit' });
  await isUsable();
  const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  return { bytes, ms: Math.round(performance.now() - startMs) };
}
