import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Browser, Locator, Page } from 'playwright-core';
import { docsTexts } from '../../pages/docs/texts.ts';
import { launchBrowser } from '../support/browser.ts';
import { type Person, signUp } from '../support/dashboard.ts';
import { inspect } from '../support/inspect.ts';
import { startTestService, type TestService } from '../support/service.ts';

/** The guides and the API reference in a browser. */

let service: TestService;
let browser: Browser;
let page: Page;
const problems: string[] = [];
before(async () => {
  [service, browser] = await Promise.all([startTestService(), launchBrowser()]);
  page = await browser.newPage({ baseURL: service.baseUrl });
  page.setDefaultTimeout(20_000);
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      problems.push(message.text());
    }
  });
  page.on('pageerror', (error) => problems.push(error.message));
});
after(async () => {
  await browser.close();
  await service.stop();
});

for (const colorScheme of ['light', 'dark'] as const) {
  test(`guides and reference have nothing for axe to mend in the ${colorScheme} theme, and fit on a phone`, async () => {
    await page.emulateMedia({ colorScheme });
    for (const path of ['/docs', '/docs/orders', '/docs/api/', '/docs/api/orders', '/docs/api/webhook-events']) {
      await page.goto(path);
      if (path === '/docs/api/orders') await page.getByRole('button', { name: docsTexts.tryIt }).first().click();
      await inspect(page, path, colorScheme === 'light' ? 'wcag' : 'colors');
    }
  });
}

test('the search of guides and reference finds a call and opens it with the keyboard', async () => {
  await page.goto('/docs/cards');
  await page.keyboard.press('/');
  await page.getByRole('combobox').fill('refund an order');
  await page.getByRole('option').first().getByText('Refund an order').waitFor();
  await inspect(page, 'search');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/docs/api/orders#refundOrder');
});

test('the language of samples is chosen for all of them and kept on the next page', async () => {
  await page.goto('/docs/api/orders');
  const code = page.locator('#createOrder').locator('xpath=../..').locator('.tabs code:visible');
  assert.match(await code.innerText(), /^curl/);
  await page.getByRole('tab', { name: 'Node' }).first().click();
  assert.match(await code.innerText(), /^const result = await svc\.orders\.create/);
  await page.goto('/docs/api/customers');
  assert.equal(await page.getByRole('tab', { name: 'Node', selected: false }).count(), 0);
});

test('a guide has its samples in four languages, also on a phone, and the choice holds on the next page', async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto('/docs/orders');
  const sample = page.locator('.tabs', { hasText: 'Q:' }).first();
  assert.deepEqual(await sample.getByRole('tab').allInnerTexts(), ['curl', 'Node', 'Python', 'Go']);
  for (const [language, code] of [
    ['Python', /^found = svc\.orders\.list\(/],
    ['Go', /^found, err := client\.Orders\.List\(/],
  ] as const) {
    await sample.getByRole('tab', { name: language }).click();
    assert.match(await sample.locator('code:visible').innerText(), code);
    const edge = await sample.locator('.copy:visible').evaluate((button) => button.getBoundingClientRect().right);
    assert.ok(edge <= 390, `${language}: the button ends at ${edge}`);
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
  }
  for (const path of ['/docs/coupons', '/docs/api/orders']) {
    await page.goto(path);
    assert.equal(await page.getByRole('tab', { name: 'Go', selected: false }).count(), 0, path);
  }
  await page.setViewportSize({ width: 1280, height: 720 });
});

test('a theme chosen in the guides is used before the next page is painted', async () => {
  await page.emulateMedia({ colorScheme: 'light' });
  await page.goto('/docs/orders');
  await page.locator('.theme').click();
  await page.goto('/docs/api/');
  assert.equal(await page.evaluate('document.documentElement.dataset.theme'), 'dark');
});

test('try it asks for a sign-in, then sends the request to the sandbox with a key that only the page knows', async () => {
  await page.goto('/docs/api/customers');
  const place = page.locator('#listCustomers').locator('xpath=../..').locator('.try');
  await place.getByRole('button', { name: docsTexts.tryIt }).click();
  await place.getByRole('button', { name: docsTexts.send }).click();
  await place.getByText(docsTexts.signIn).waitFor();
  const signIn = await place.getByRole('link', { name: 'Sign in' }).getAttribute('href');
  assert.equal(signIn, '/login?next=%2Fdocs%2Fapi%2Fcustomers');

  const person: Person = await signUp(service);
  const [name = '', value = ''] = person.cookie.split('=');
  await page.context().addCookies([{ name, value, url: service.baseUrl }]);
  await place.getByRole('button', { name: docsTexts.send }).click();
  await place.getByText('GET /v1/customers').waitFor();
  assert.match(await place.locator('pre').innerText(), /\n200 OK\n[\s\S]*"has_more": false/);
  const stored = await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })');
  assert.doesNotMatch(String(stored), /svc_test_sk/);
});

test('a copied sample runs as it is, with the address and a key of the sandbox, which no storage has', async () => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const copied = async (sample: Locator): Promise<string> => {
    await page.evaluate(`navigator.clipboard.writeText('')`);
    await sample.locator('.copy').click();
    await sample.getByText(docsTexts.copied).waitFor();
    return String(await page.evaluate('navigator.clipboard.readText()'));
  };
  await page.goto('/docs/quickstart');
  const product = await copied(page.locator('figure', { hasText: '"name": "Tea pot"' }).first());
  assert.match(product, /^export SVC_URL=http.*\nexport SVC_KEY=svc_test_sk_\w+\ncurl /);
  const { stdout } = await promisify(execFile)('bash', ['-c', product]);
  assert.equal(JSON.parse(stdout).name, 'Tea pot');
  await page.getByText(/lasts until \d/).waitFor();
  assert.match(
    await copied(page.locator('figure', { hasText: 'export SVC_URL=' }).first()),
    /export SVC_KEY=svc_test_sk_\w+$/,
  );
  await page.evaluate(`localStorage.setItem('svc.language', 'Node')`);
  await page.goto('/docs/api/customers');
  const call = await copied(page.locator('#listCustomers').locator('xpath=../..').locator('figure:visible').first());
  assert.match(
    call,
    /^import \{ Svc \} from '@svc-payments\/node';\n\nconst svc = new Svc\('svc_test_sk_\w+', \{ baseUrl: 'http/,
  );
  for (const [language, ofCall, ofGuide] of [
    [
      'Python',
      /^from svc_payments import Svc\n\nsvc = Svc\("svc_test_sk_\w+", base_url="http/,
      /^import os\n\nos\.environ\./,
    ],
    ['Go', /^package main\n[^]*\n\tclient, err := svc\.New\("svc_test_sk_\w+", "http/, /^package main\n\nimport \(/],
  ] as const) {
    await page.evaluate(`localStorage.setItem('svc.language', '${language}')`);
    await page.goto('/docs/api/customers');
    const place = page.locator('#listCustomers').locator('xpath=../..');
    assert.match(await copied(place.locator('figure:visible').first()), ofCall);
    await page.goto('/docs/orders');
    const guide = await copied(page.locator('figure:visible', { hasText: 'SVC_KEY"' }).first());
    assert.match(guide, ofGuide);
    assert.match(guide, /"SVC_URL", "http[^]*"SVC_KEY", "svc_test_sk_\w+"/);
  }
  const stored = await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })');
  assert.doesNotMatch(String(stored), /svc_test_sk/);
  await page.context().clearCookies();
  await page.evaluate(`localStorage.setItem('svc.language', 'curl')`);
  await page.goto('/docs/orders');
  const visitor = await copied(page.locator('figure', { hasText: '$SVC_KEY' }).first());
  assert.match(visitor, /^export SVC_URL=http/);
  assert.doesNotMatch(visitor, /svc_test_sk_\w/);
});

test('no page made an error or violated its policy, which lets no injected script run', async () => {
  assert.deepEqual(problems, []);
  const inject = `const script = document.createElement('script');
    script.textContent = 'window.injected = true';
    document.body.append(script);
    'injected' in window`;
  assert.equal(await page.evaluate(inject), false);
  assert.match(problems.join(), /Content Security Policy/);
});
