import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { common, shell } from '../../dashboard/src/texts/common.ts';
import { orders } from '../../dashboard/src/texts/orders.ts';
import { sandbox } from '../../dashboard/src/texts/sandbox.ts';
import { team } from '../../dashboard/src/texts/team.ts';
import { launchBrowser } from '../support/browser.ts';
import { signUp } from '../support/dashboard.ts';
import { inspect } from '../support/inspect.ts';
import { eventually } from '../support/webhooks.ts';
import { someCustomer, someProduct, startTestService, type TestService } from '../support/service.ts';

/** The dashboard from the keyboard: the command palette and the shortcuts. */

let service: TestService;
let browser: Browser;
let page: Page;
let number = '';
before(async () => {
  [service, browser] = await Promise.all([startTestService(), launchBrowser()]);
  const person = await signUp(service);
  const post = async (path: string, body: object): Promise<Record<string, string>> => {
    const reply = await person.in('POST', path, body, { idempotencyKey: randomUUID() });
    assert.equal(reply.status, 201, reply.text);
    return reply.body;
  };
  const { id: customer_id } = await post('/v1/customers', someCustomer());
  const card = { number: '4242424242424242', exp_month: '12', exp_year: '2032', cvc: '999' };
  await post('/capture', { customer_id, card });
  const { id: product_id } = await post('/v1/products', {
    ...someProduct(),
    pricing: { amount: 1900, currency: 'usd' },
  });
  const order = await post('/v1/orders', { customer_id, items: [{ product_id, quantity: 1 }] });
  number = order.order_number ?? '';
  const [name = '', value = ''] = person.cookie.split('=');
  const context = await browser.newContext({ baseURL: service.baseUrl, viewport: { width: 1280, height: 900 } });
  context.setDefaultTimeout(20_000);
  await context.addCookies([{ name, value, url: service.baseUrl }]);
  page = await context.newPage();
  await open('/home');
});
after(async () => {
  await browser.close();
  await service.stop();
});

async function open(path: string): Promise<void> {
  await page.goto(path);
  await page.getByRole('button', { name: shell.sandbox, exact: true, pressed: true }).waitFor();
}

/** Types into the palette, and returns the first result once it is the expected one. */
async function find(text: string, expected: RegExp): Promise<Locator> {
  await page.keyboard.press('Control+k');
  await page.keyboard.type(text);
  const option = page.getByRole('option', { name: expected }).first();
  await option.waitFor();
  return option;
}

test('the palette starts an action in the dialog of its page', async () => {
  await find('invite', /Invite team member/);
  await inspect(page, 'palette');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByText(team.invite).first().waitFor();
  assert.match(page.url(), /\/team\?(?!.*open=)/);
  await page.keyboard.press('Escape');
});

test('the palette finds an order by amount, last four digits and the beginning of its number', async () => {
  for (const text of ['19.00', '4242', number.slice(0, 5).toLowerCase()]) {
    await find(text, new RegExp(`${number}.*Order · \\$19\\.00`));
    await page.keyboard.press('Escape');
  }
});

test('the palette finds the pages of the settings, and searches orders for what it does not know', async () => {
  const searches = {
    going: 'Going live',
    stripe: 'Processors',
    logo: 'Branding and emails',
    password: 'Account settings',
    mailbox: 'Emails',
  };
  for (const [text, name] of Object.entries({ ...searches, processors: 'Processors', req_: 'Request log' })) {
    await find(text, new RegExp(name));
    await page.keyboard.press('Escape');
  }
  await (await find('cancel subscription', /Cancel a subscription/)).waitFor();
  await page.keyboard.press('Escape');
  await (await find('49.00', /Search orders for “49.00”/)).click();
  await page.waitForURL(/\/orders\?.*q=49\.00/);
});

test('a link to an object of the other mode offers to open it there, and only if it exists there', async () => {
  await open('/orders');
  await page
    .getByRole('link', { name: /\$19\.00/ })
    .first()
    .click();
  await page.getByRole('heading', { name: orders.titleOf(number) }).waitFor();
  const { pathname } = new URL(page.url());
  const inSandbox = page.url();
  await page.getByRole('button', { name: shell.live, exact: true }).click();
  await page.getByRole('button', { name: shell.live, exact: true, pressed: true }).waitFor();
  const live = new URL(page.url()).searchParams.get('company');
  await page.goto(`${pathname}?company=${live}`);
  await page.getByRole('heading', { name: common.elsewhereTitle.sandbox }).waitFor();
  await inspect(page, 'an object of the other mode');
  await page.getByRole('button', { name: common.switchTo.sandbox }).click();
  await page.getByRole('heading', { name: orders.titleOf(number) }).waitFor();
  assert.equal(page.url(), inSandbox);
  await page.goto(`/orders/${randomUUID()}?company=${live}`);
  await page.getByText(common.missingHint).waitFor();
  assert.equal(await page.getByRole('button', { name: common.switchTo.sandbox }).count(), 0);
  await page.goto(inSandbox);
  await page.getByRole('heading', { name: orders.titleOf(number) }).waitFor();
});

test('the palette finds a request by its ID, and documentation by its name', async () => {
  await find('req_k3v5qz7m2n4p6r6s2t3u5w7x', /req_k3v5qz7m2n4p6r6s2t3u5w7x/);
  await page.keyboard.press('Escape');
  await find('docs', /Open guides/);
  await page.keyboard.press('Escape');
});

test('on the page of an order the palette refunds it, and it is a recent object afterwards', async () => {
  await (await find(number, new RegExp(number))).click();
  await page.waitForURL(/\/orders\/[0-9a-f-]{36}/);
  await (await find('refund', /Refund this order/)).click();
  await page
    .getByRole('dialog')
    .getByText(/Refund/)
    .first()
    .waitFor();
  await page.keyboard.press('Escape');
  await open('/home');
  const option = await find('', new RegExp(number));
  assert.equal(await option.getAttribute('data-group'), shell.recent);
  await page.keyboard.press('Escape');
});

test('the palette changes the theme and the mode', async () => {
  const themes = { dark: 'dark', light: 'light' } as const;
  for (const [text, theme] of Object.entries(themes)) {
    await find(`theme ${text}`, new RegExp(text, 'i'));
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate('document.documentElement.dataset.theme'), theme);
  }
  await find('switch', /Switch to live/);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: shell.live, exact: true, pressed: true }).waitFor();
});

test('shortcuts open pages and their own list, and none of them disturbs typing', async () => {
  await page.evaluate('sessionStorage.clear(); localStorage.clear()');
  await open('/home');
  await page.keyboard.press('?');
  await page.getByRole('dialog').getByText(shell.shortcuts.down).waitFor();
  await inspect(page, 'shortcuts');
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('c');
  await page.waitForURL(/\/customers/);
  await page.getByRole('searchbox').first().fill('');
  await page.keyboard.type('gon?');
  assert.equal(await page.getByRole('searchbox').first().inputValue(), 'gon?');
  await open('/home');
  await page.keyboard.press('n');
  await page.waitForURL(/\/orders\/new/);
});

test('a browser sees our own page at an address that does not exist', async () => {
  const answer = await page.goto('/nonsense');
  assert.equal(answer?.status(), 404);
  await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
  await inspect(page, '/nonsense');
  await page.getByRole('link', { name: 'Dashboard' }).click();
  await page.waitForURL(/\/home/);
  await page.goto('/sandbox');
  await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
  await page.getByRole('link', { name: 'Go to Home' }).click();
  await page.waitForURL(/\/home/);
});

test('a menu opens with the keyboard, moves with arrows and letters, and returns the focus', async () => {
  await open('/home');
  const button = page.getByRole('button', { name: shell.userMenu });
  const focused = (): Promise<unknown> => page.evaluate('document.activeElement?.textContent');
  await button.focus();
  await page.keyboard.press('ArrowDown');
  await page.getByRole('menu').waitFor();
  await inspect(page, 'menu');
  assert.equal(await button.getAttribute('aria-expanded'), 'true');
  assert.equal(await focused(), shell.account);
  await page.keyboard.press('ArrowUp');
  assert.equal(await focused(), shell.signOut);
  await page.keyboard.press('d');
  assert.equal(await focused(), shell.themes.dark);
  await page.keyboard.press('Escape');
  await page.getByRole('menu').waitFor({ state: 'hidden' });
  assert.equal(await page.locator(':focus').getAttribute('aria-label'), shell.userMenu);
  await button.click();
  await page.getByRole('menu').waitFor();
  await button.click();
  await page.getByRole('menu').waitFor({ state: 'hidden' });
});

test('the back button returns to the former page and place on it, and a link of a page opens in a new tab', async () => {
  await page.setViewportSize({ width: 1280, height: 600 });
  await open('/sandbox/test-cards');
  await page.getByRole('table').first().waitFor();
  await page.evaluate('scrollTo(0, 400)');
  const link = page.getByRole('link', { name: shell.places.orders, exact: true });
  // On a busy machine the page still moves while it loads, and a click may miss the link.
  const context = page.context();
  await eventually(
    'the link opens in a new tab',
    async () => {
      await link.click({ modifiers: ['ControlOrMeta'] });
      return context.pages().length > 1 || context.waitForEvent('page', { timeout: 2_000 }).catch(() => undefined);
    },
    20_000,
  );
  for (const other of context.pages().filter((one) => one !== page)) {
    await other.waitForURL(/\/orders/);
    await other.close();
  }
  const leftAt = await page.evaluate('scrollY');
  await link.click();
  await page.getByRole('heading', { level: 1, name: orders.title }).waitFor();
  assert.equal(await page.evaluate('scrollY'), 0);
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: sandbox.cardsTitle }).waitFor();
  assert.match(page.url(), /\/sandbox\/test-cards/);
  await eventually('the page is where it was', async () => (await page.evaluate('scrollY')) === leftAt);
  await page.goForward();
  await page.getByRole('heading', { level: 1, name: orders.title }).waitFor();
  await page.setViewportSize({ width: 1280, height: 900 });
});
