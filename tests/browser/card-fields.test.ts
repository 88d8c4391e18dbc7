import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import axe, { type AxeResults } from 'axe-core';
import Fastify, { type FastifyInstance } from 'fastify';
import type { BrowserContext, BrowserContextOptions, Frame, Page, Route } from 'playwright-core';
import { formatExpiry } from '../../sdk/browser/src/cards.ts';
import { ApiError, errorBody } from '../../server/errors.ts';
import { type CardFieldsOptions, mountCardFields } from '../../server/pages/card-fields.ts';
import { launchBrowser } from '../support/browser.ts';
import { someCustomer, startTestService, type TestService } from '../support/service.ts';

/**
 * Card capture as a shopper and a merchant meet it: a real browser, the fields on one site, the shop on another.
 * The service is the real one; what it must answer for a single test only is given by that test.
 */

const run = promisify(execFile);
const sdkFolder = fileURLToPath(new URL('../../sdk/browser/', import.meta.url));

const card = { number: '4000123456789017', expiry: `11${String(new Date().getFullYear() + 3).slice(-2)}`, cvc: '738' };
const foreignTexts = { title: 'כרטיס', number: 'מספר כרטיס', numberIncomplete: 'המספר קצר מדי', cvc: 'קוד' };

const service = await startService();
const shop = await startShop(service.baseUrl);
const browser = await launchBrowser();
const context = await browser.newContext();

after(async () => {
  await browser.close();
  await shop.stop();
  await service.stop();
});

interface TestedService {
  readonly baseUrl: string;
  readonly publishableKey: string;
  readonly livePublishableKey: string;
  readonly secretKey: string;
  readonly call: TestService['call'];
  stop(): Promise<void>;
}

async function startService(): Promise<TestedService> {
  const started = await startTestService();
  const merchant = await started.createMerchant();
  return {
    baseUrl: started.baseUrl,
    publishableKey: await started.createKey(merchant.sandbox, { kind: 'publishable' }),
    livePublishableKey: await started.createKey(merchant.live, { kind: 'publishable' }),
    secretKey: merchant.key,
    call: started.call,
    stop: started.stop,
  };
}

/** The pages on a server that has nothing else. */
async function pagesOnly(options: CardFieldsOptions = {}): Promise<FastifyInstance> {
  const app = Fastify();
  app.setErrorHandler<Error>((error, request, reply) => {
    const known = error instanceof ApiError ? error : new ApiError('internal_error', error.message);
    return reply.code(known.status).send(errorBody(known, request.id));
  });
  await mountCardFields(app, options);
  return app;
}

interface Shop {
  /** On another site than the service. */
  readonly origin: string;
  /** The same server under another name: a third site. */
  readonly hostileOrigin: string;
  /** Served as `/bundle.js` to the page `/bundled`. */
  bundle: string;
  stop(): Promise<void>;
}

/** A merchant's page with a strict policy. It keeps every message that reaches it, also those sent to the SDK alone. */
function shopPage(serviceUrl: string, query: URLSearchParams): string {
  const key = query.get('key') ?? '';
  const options = query.get('options') ?? '{}';
  return `<!doctype html><html lang="en" dir="${query.get('dir') ?? 'ltr'}"><head><title>Shop</title>
    <meta name="viewport" content="width=device-width">
    <script nonce="shop">
      var messages = [], changes = [], outcomes = [], channels = 0, listeners = 0, submits = 0, ready = 0;
      addEventListener('message', (event) => messages.push(event.data));
      const add = window.addEventListener, remove = window.removeEventListener;
      window.addEventListener = function () { listeners += 1; add.apply(window, arguments); };
      window.removeEventListener = function () { listeners -= 1; remove.apply(window, arguments); };
      const Channel = MessageChannel;
      window.MessageChannel = function () {
        const channel = new Channel();
        channels += 1;
        channel.port1.addEventListener('message', (event) => messages.push(event.data));
        return channel;
      };
      var globalsBefore = Object.getOwnPropertyNames(window);
    </script>
    <script nonce="shop" src="${serviceUrl}/svc.js"></script></head>
    <body><main><h1>Shop</h1><form id="form"><label>Name <input id="name"></label><div id="card"></div>
    <button id="pay">Pay</button></form></main>
    <script nonce="shop">
      var globalsAfter = Object.getOwnPropertyNames(window);
      document.getElementById('form').addEventListener('submit', (event) => { event.preventDefault(); submits += 1; pay(); });
      function pay(details) {
        const keep = (error) => ({ name: error.name, message: error.message, ...error });
        return card.createToken(details).then((token) => outcomes.push({ token }), (error) => outcomes.push({ error: keep(error) }));
      }
      var card = Svc('${key}').cardFields({
        ...${options}, onChange: (state) => changes.push(state), onReady: () => { ready += 1; },
      });
      if (${!query.has('bare')}) card.mount('#card');
    </script></body></html>`;
}

async function startShop(serviceUrl: string): Promise<Shop> {
  const policy = `default-src 'none'; script-src 'nonce-shop'; frame-src *; base-uri 'none'`;
  let served: Shop;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://shop');
    response.setHeader('Content-Type', 'text/html; charset=utf-8');
    if (url.pathname === '/bundle.js') {
      return void response.setHeader('Content-Type', 'text/javascript').end(served.bundle);
    }
    if (url.pathname === '/bundled') return void response.end('<!doctype html><div id="card"></div>');
    if (url.pathname === '/hostile') return void response.end('<!doctype html><title>Hostile</title>');
    if (url.searchParams.has('isolated')) {
      response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
      response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    }
    response.setHeader('Content-Security-Policy', policy);
    return void response.end(shopPage(serviceUrl, url.searchParams));
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const { port } = server.address() as AddressInfo;
  served = {
    origin: `http://localhost:${port}`,
    hostileOrigin: `http://127.0.0.1:${port}`,
    bundle: '',
    stop: () => new Promise((resolve) => server.close(() => resolve()).closeAllConnections()),
  };
  return served;
}

interface Visit {
  readonly page: Page;
  readonly frame: Frame;
  readonly complaints: string[];
  /** What the page would show, by the element's id inside the frame. */
  value(id: string): Promise<string>;
  text(id: string): Promise<string>;
  focused(): Promise<string>;
  caret(id: string): Promise<number>;
  typeCard(values?: Partial<typeof card>): Promise<void>;
  /** A slow click: `meanwhile` runs between press and release, once a message that the press brought up has settled. */
  press(selector: string, meanwhile: () => Promise<void>): Promise<void>;
  /** Presses the shop's button and waits for what the SDK answers. */
  pay(): Promise<Outcome>;
}

interface Outcome {
  readonly token?: { id: string; card: Record<string, unknown>; expires_at: string };
  readonly error?: {
    name: string;
    code: string;
    message: string;
    param: string | null;
    field_errors: { field: string; code: string; message: string }[];
    request_id: string | null;
    retry_after: number | null;
  };
}

interface VisitOptions {
  readonly options?: object;
  readonly key?: string;
  readonly dir?: string;
  readonly isolated?: boolean;
  readonly widthPx?: number;
  readonly in?: BrowserContext;
}

async function visit(visitOptions: VisitOptions = {}): Promise<Visit> {
  const page = await (visitOptions.in ?? context).newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.setViewportSize({ width: visitOptions.widthPx ?? 700, height: 500 });
  const query = new URLSearchParams({ key: visitOptions.key ?? service.publishableKey });
  if (visitOptions.options) query.set('options', JSON.stringify(visitOptions.options));
  if (visitOptions.dir) query.set('dir', visitOptions.dir);
  if (visitOptions.isolated) query.set('isolated', '1');
  await page.goto(`${shop.origin}/?${query}`);
  await until(page, 'ready > 0');
  const frame = fieldsFrame(page);

  return {
    page,
    frame,
    complaints,
    value: (id) => frame.locator(`#${id}`).inputValue(),
    text: async (id) => (await frame.locator(`#${id}`).textContent()) ?? '',
    focused: async () => String(await frame.evaluate('document.activeElement.id')),
    caret: async (id) => Number(await frame.evaluate(`document.getElementById('${id}').selectionStart`)),
    async typeCard(values = {}) {
      const wanted = { ...card, ...values };
      for (const id of ['number', 'expiry', 'cvc'] as const)
        await frame.locator(`#${id}`).pressSequentially(wanted[id]);
    },
    async press(selector, meanwhile) {
      const { x, y, width, height } = (await page.locator(selector).boundingBox()) ?? assert.fail(`no ${selector}`);
      await page.mouse.move(x + width / 2, y + height / 2);
      await page.mouse.down();
      await until(frame, '!document.hasFocus()');
      await page.waitForTimeout(100);
      await meanwhile();
      await page.mouse.up();
    },
    async pay() {
      const before = Number(await page.evaluate('outcomes.length'));
      await page.click('#pay');
      await until(page, `outcomes.length > ${before}`);
      return page.evaluate('outcomes.at(-1)');
    },
  };
}

function fieldsFrame(page: Page): Frame {
  const frame = page.frames().find((one) => one.url().startsWith(`${service.baseUrl}/card-fields`));
  assert.ok(frame, 'the page shows the fields');
  return frame;
}

/** Opens the page for one test and closes it afterwards. */
async function during(options: VisitOptions, body: (one: Visit) => Promise<void>): Promise<void> {
  const one = await visit(options);
  try {
    await body(one);
  } finally {
    await one.page.close();
  }
}

async function inContext(options: BrowserContextOptions, body: (own: BrowserContext) => Promise<void>): Promise<void> {
  const own = await browser.newContext(options);
  try {
    await body(own);
  } finally {
    await own.close();
  }
}

async function answerTokens(page: Page, answer: (route: Route) => Promise<void>): Promise<void> {
  await page.route('**/v1/card_tokens', answer);
}

const errorAnswer = (
  status: number,
  code: string,
  fieldErrors: object[] = [],
  headers: Record<string, string> = {},
) => ({
  status,
  headers,
  json: {
    error: {
      type: 'invalid_request_error',
      code,
      message: `The service says ${code}.`,
      param: null,
      request_id: 'req_test',
      field_errors: fieldErrors,
    },
  },
});

/** Playwright has this too, but asks the page to do it, which the pages' policies forbid. */
async function until(where: Page | Frame, condition: string, timeoutMs = 15_000): Promise<void> {
  const endMs = Date.now() + timeoutMs;
  while (!(await where.evaluate(condition))) {
    assert.ok(Date.now() < endMs, `this never came true: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** What axe complains of in the page and in the fields it shows. */
async function violations(page: Page): Promise<string[]> {
  for (const frame of page.frames()) {
    if (await frame.evaluate("typeof axe === 'object'")) continue;
    await frame.evaluate(axe.source);
    await frame.evaluate("axe.configure({ allowedOrigins: ['<unsafe_all_origins>'] })");
  }
  const results = (await page.evaluate('axe.run()')) as AxeResults;
  const lookedInside = JSON.stringify(results.passes).includes('#cvc');
  assert.equal(lookedInside, await page.locator('iframe').isVisible(), 'axe looks into a frame that is shown');
  return results.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

describe('what is served', () => {
  test('the scripts are small and kept by caches for minutes only', async () => {
    const limitsBytes = { '/svc.js': 10_000, '/card-fields.js': 10_000, '/card-fields.css': 4_000 };
    for (const [path, limitBytes] of Object.entries(limitsBytes)) {
      const response = await fetch(service.baseUrl + path);
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('cache-control'), 'public, max-age=300');
      assert.ok(gzipSync(await response.text()).length < limitBytes, path);
      const etag = response.headers.get('etag') ?? '';
      const again = await fetch(service.baseUrl + path, { headers: { 'if-none-match': etag } });
      assert.equal(again.status, 304);
    }
  });

  test('the fields run only the scripts and styles of this one answer and connect to the service only', async () => {
    const [first, second] = [await pageOf('/card-fields'), await pageOf('/card-fields')];
    assert.notEqual(first.nonce, second.nonce);
    assert.ok(first.nonce.length >= 22);
    assert.deepEqual(first.policy, {
      'default-src': "'none'",
      'script-src': `'nonce-${first.nonce}'`,
      'style-src': `'nonce-${first.nonce}'`,
      'connect-src': "'self'",
      'img-src': 'data:',
      'base-uri': "'none'",
      'form-action': "'none'",
      'frame-ancestors': '*',
      'require-trusted-types-for': "'script'",
      'trusted-types': "'none'",
    });
    assert.equal(first.headers.get('referrer-policy'), 'no-referrer');
    assert.equal(first.headers.get('cache-control'), 'no-store');
    assert.equal(first.headers.get('x-content-type-options'), 'nosniff');
    assert.match(first.headers.get('permissions-policy') ?? '', /camera=\(\).*payment=\(\)/);
    assert.deepEqual([...first.html.matchAll(/<(script|link)(?![^>]*nonce=)/g)], []);
    assert.doesNotMatch(first.html, / style=| on\w+=|<script(?![^>]*src=)/);
  });

  async function pageOf(path: string, baseUrl = service.baseUrl) {
    const response = await fetch(baseUrl + path);
    const html = await response.text();
    const header = response.headers.get('content-security-policy') ?? '';
    const policy = Object.fromEntries(header.split('; ').map((part) => part.split(/ (.*)/s).slice(0, 2)));
    return { headers: response.headers, html, policy, nonce: /nonce="([^"]+)"/.exec(html)?.[1] ?? '' };
  }

  test('without a demo company there is no checkout page', async () => {
    for (const [method, path] of [
      ['GET', '/demo/checkout'],
      ['POST', '/demo/checkout/cards'],
    ] as const) {
      const response = await fetch(service.baseUrl + path, { method, headers: { origin: service.baseUrl } });
      assert.equal(response.status, 404);
    }
  });

  test('the checkout page saves a card for itself and for no other page', async () => {
    const saved: string[] = [];
    const app = await pagesOnly({
      demo: {
        publishableKey: service.publishableKey,
        async capture(token) {
          saved.push(token);
          return { customer: 'a customer', payment_method: { id: 'a method', card: { last4: '9017' } } };
        },
      },
    });
    const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });
    const post = (headers: Record<string, string>, body: object = { card_token: 'cct_one' }): Promise<Response> =>
      fetch(`${baseUrl}/demo/checkout/cards`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
    try {
      for (const headers of [{}, { origin: 'null' }, { origin: shop.origin }]) {
        assert.equal((await post(headers)).status, 400);
      }
      for (const body of [{}, { card_token: 1 }, []]) assert.equal((await post({ origin: baseUrl }, body)).status, 400);
      assert.deepEqual(saved, []);
      assert.equal((await post({ origin: baseUrl })).status, 201);
      assert.deepEqual(saved, ['cct_one']);

      const { policy, nonce } = await pageOf('/demo/checkout', baseUrl);
      assert.equal(policy['default-src'], "'none'");
      assert.equal(policy['script-src'], `'nonce-${nonce}'`);
      assert.equal(policy['frame-src'], "'self'");
      assert.equal(policy['frame-ancestors'], "'none'");

      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => complaints.push(message.text()));
      await page.route('**/v1/card_tokens', (route) => route.fulfill({ status: 201, json: demoToken }));
      await page.goto(`${baseUrl}/demo/checkout`);
      const fields = page.frameLocator('iframe');
      await fields.locator('#number').pressSequentially(card.number);
      await fields.locator('#expiry').pressSequentially(card.expiry);
      await fields.locator('#cvc').pressSequentially(card.cvc);
      assert.deepEqual(await violations(page), []);
      await page.keyboard.press('Enter');
      await page.locator('#saved').waitFor();
      assert.match((await page.locator('#saved').innerText()).replaceAll('\n', ' '), /Visa •••• 9017 .*a customer/);
      assert.match((await page.locator('#saved-method').textContent()) ?? '', /a method/);
      assert.deepEqual(await violations(page), []);
      assert.deepEqual(saved, ['cct_one', 'cct_demo']);
      assert.deepEqual(complaints, []);
      await page.close();
    } finally {
      await app.close();
    }
  });

  const demoToken = {
    id: 'cct_demo',
    card: { brand: 'visa', last4: '9017', exp_month: 11, exp_year: 2030 },
    expires_at: '2030-01-01T00:00:00Z',
  };
});

describe('a shopper', () => {
  test('types a card and the shop gets a token', () =>
    during({}, async (one) => {
      const request = one.page.waitForRequest('**/v1/card_tokens');
      await one.typeCard();
      assert.equal(await one.value('number'), '4000 1234 5678 9017');
      assert.equal(await one.frame.locator('#brand').getAttribute('aria-label'), 'Visa');
      const { token } = await one.pay();
      const year = 2000 + Number(card.expiry.slice(2));
      assert.match(token?.id ?? '', /^cct_/);
      assert.deepEqual(token?.card, { brand: 'visa', last4: '9017', exp_month: 11, exp_year: year });
      assert.ok(token?.expires_at);
      const sent = await request;
      assert.deepEqual(sent.postDataJSON(), {
        card: { number: card.number, exp_month: '11', exp_year: String(year), cvc: card.cvc },
      });
      assert.equal(await sent.headerValue('authorization'), `Bearer ${service.publishableKey}`);
      assert.equal(await sent.headerValue('cookie'), null);
      assert.equal(await sent.headerValue('origin'), service.baseUrl);
      assert.deepEqual(one.complaints, []);
    }));

  test('saves a card: the shop’s server attaches the token to a customer', () =>
    during({}, async (one) => {
      await one.typeCard();
      const { token } = await one.pay();
      const key = service.secretKey;
      const customer = await service.call('POST', '/v1/customers', { key, body: someCustomer() });
      const path = `/v1/customers/${customer.body.id}/payment_methods`;
      const attached = await service.call('POST', path, { key, body: { card_token: token?.id } });
      assert.equal(attached.status, 201, attached.text);
      assert.equal(attached.body.card.last4, '9017');
      const again = await service.call('POST', path, { key, body: { card_token: token?.id } });
      assert.equal(again.body.error.param, 'card_token');
    }));

  test('is moved to the next field when one is complete, and back by Backspace in an empty one', () =>
    during({}, async (one) => {
      await one.frame.locator('#number').focus();
      await one.page.keyboard.type(card.number);
      assert.equal(await one.focused(), 'expiry');
      await one.page.keyboard.type(card.expiry);
      assert.equal(await one.focused(), 'cvc');
      await one.page.keyboard.type('7');
      await one.page.keyboard.press('Backspace');
      assert.equal(await one.focused(), 'cvc');
      await one.page.keyboard.press('Backspace');
      assert.equal(await one.focused(), 'expiry');
      assert.equal(await one.value('expiry'), formatExpiry(card.expiry));
      for (let press = 0; press < 5; press += 1) await one.page.keyboard.press('Backspace');
      assert.equal(await one.focused(), 'number');
      assert.equal(await one.value('expiry'), '');
      assert.equal(await one.value('number'), '4000 1234 5678 9017');
    }));

  test('needs nothing but the keyboard: Tab through the fields, Enter to pay', () =>
    during({}, async (one) => {
      await one.page.focus('#name');
      await one.page.keyboard.press('Tab');
      assert.equal(await one.focused(), 'number');
      await one.page.keyboard.type(`${card.number}${card.expiry}`);
      await one.page.keyboard.press('Shift+Tab');
      await one.page.keyboard.press('Shift+Tab');
      assert.equal(await one.focused(), 'number');
      const outline = String(await one.frame.evaluate("getComputedStyle(document.querySelector('.number')).outline"));
      assert.match(outline, /solid 2px/);
      await one.page.keyboard.press('Tab');
      await one.page.keyboard.press('Tab');
      await one.page.keyboard.type(card.cvc);
      await one.page.keyboard.press('Enter');
      await until(one.page, 'outcomes.length === 1');
      assert.ok(await one.page.evaluate('outcomes[0].token.id'));
      assert.equal(await one.page.evaluate('submits'), 1);
      await one.page.keyboard.press('Tab');
      assert.equal(await one.page.evaluate('document.activeElement.id'), 'pay');
    }));

  test('edits in the middle of a number', () =>
    during({}, async (one) => {
      await one.frame.locator('#number').pressSequentially('40001234567890');
      for (let press = 0; press < 7; press += 1) await one.page.keyboard.press('ArrowLeft');
      assert.equal(await one.caret('number'), 10);
      await one.page.keyboard.press('Backspace');
      assert.equal(await one.value('number'), '4000 1235 6789 0');
      assert.equal(await one.caret('number'), 8);
      await one.page.keyboard.type('4');
      assert.equal(await one.value('number'), '4000 1234 5678 90');
      assert.equal(await one.caret('number'), 10);
    }));

  test('pastes a number as it is printed', () =>
    inContext({ permissions: ['clipboard-read', 'clipboard-write'] }, (own) =>
      during({ in: own }, async (one) => {
        await one.frame.locator('#number').focus();
        await paste(one.page, ' 4000-1234-5678-9017 ');
        assert.equal(await one.value('number'), '4000 1234 5678 9017');
        assert.equal(await one.focused(), 'expiry');
        await paste(one.page, '11/2031');
        assert.equal(await one.value('expiry'), '11 / 31');
        assert.equal(await one.focused(), 'cvc');
      }),
    ));

  async function paste(page: Page, text: string): Promise<void> {
    await page.evaluate(`navigator.clipboard.writeText('${text}')`);
    await page.keyboard.press('Control+v');
  }

  test('types an American Express card as it is printed, with a code of four digits', () =>
    during({ key: service.livePublishableKey }, async (one) => {
      await one.typeCard({ number: '378282246310005', cvc: '12345' });
      assert.equal(await one.value('number'), '3782 822463 10005');
      assert.equal(await one.value('cvc'), '1234');
      assert.equal(await one.frame.locator('#cvc').getAttribute('placeholder'), '1234');
      assert.equal(await one.frame.locator('#brand').getAttribute('aria-label'), 'American Express');
      assert.equal((await one.pay()).token?.card.last4, '0005');
    }));

  test('lets the browser fill the card in', () =>
    during({}, async (one) => {
      const hints = await one.frame.evaluate(
        "[...document.querySelectorAll('input')].map((input) => [input.autocomplete, input.inputMode])",
      );
      assert.deepEqual(hints, [
        ['cc-number', 'numeric'],
        ['cc-exp', 'numeric'],
        ['cc-csc', 'numeric'],
      ]);
      // What autofill does: sets the value and sends an event without an input type, outside the focused field.
      await one.frame.evaluate(`for (const [id, value] of [['number', '${card.number}'], ['expiry', '11/2031'], ['cvc', '738']]) {
        const input = document.getElementById(id);
        input.value = value;
        input.dispatchEvent(new Event('input', { bubbles: true }));
      }`);
      assert.equal(await one.value('number'), '4000 1234 5678 9017');
      assert.equal(await one.value('expiry'), '11 / 31');
      await until(one.page, 'changes.at(-1).complete');
    }));

  test('sees the error beside its field, and a screen reader announces it', () =>
    during({}, async (one) => {
      await one.frame.locator('#number').pressSequentially('4000 12');
      await one.page.keyboard.press('Tab');
      const number = one.frame.locator('#number');
      assert.equal(await one.text('number-error-text'), 'The card number is incomplete.');
      assert.equal(await one.frame.locator('#number-error').isVisible(), true);
      assert.equal(await number.getAttribute('aria-invalid'), 'true');
      assert.equal(await number.getAttribute('aria-describedby'), 'number-error-text');
      assert.equal(await one.frame.locator('[role=alert] #number-error').count(), 1);
      await number.pressSequentially('3');
      assert.equal(await one.frame.locator('#number-error').isVisible(), false);
      assert.equal(await number.getAttribute('aria-invalid'), 'false');
      assert.equal(await number.getAttribute('aria-describedby'), null);
    }));

  test('who leaves a wrong field by pressing the button below does press it: the message moves nothing', () =>
    during({}, async (one) => {
      await one.frame.locator('#number').pressSequentially('4000 12');
      const before = await one.page.locator('#pay').boundingBox();
      await one.press('#pay', async () => {
        assert.equal(await one.text('number-error-text'), 'The card number is incomplete.');
        assert.deepEqual(await one.page.locator('#pay').boundingBox(), before);
      });
      await until(one.page, 'submits === 1');
    }));

  test('presses the button also where one more message needs more room than is kept: it comes after the click', () =>
    during({}, async (one) => {
      await one.frame.locator('#number').pressSequentially('4000 12');
      await one.frame.locator('#expiry').pressSequentially('1');
      await one.frame.locator('#cvc').pressSequentially('7');
      const before = await one.page.locator('#pay').boundingBox();
      await one.press('#pay', async () => {
        assert.equal(await one.text('cvc-error-text'), 'The security code is incomplete.');
        assert.deepEqual(await one.page.locator('#pay').boundingBox(), before);
      });
      await until(one.page, 'submits === 1');
      const frameBottom = "document.querySelector('iframe').getBoundingClientRect().bottom";
      await until(one.page, `document.getElementById('pay').getBoundingClientRect().top > ${before?.y}`);
      const lines = Number(
        await one.frame.evaluate("document.querySelector('.errors').getBoundingClientRect().bottom"),
      );
      const frameTop = (await one.page.locator('iframe').boundingBox())?.y ?? 0;
      assert.ok(frameTop + lines <= Number(await one.page.evaluate(frameBottom)), 'all the messages can be read');
    }));

  test('is not scolded for a field that was only passed', () =>
    during({}, async (one) => {
      await one.frame.locator('#number').focus();
      await one.page.keyboard.press('Tab');
      await one.page.keyboard.press('Tab');
      assert.equal(await one.frame.locator('.error:visible').count(), 0);
    }));

  test('who pays without a card sees all that is missing, and nothing is sent', () =>
    during({}, async (one) => {
      const requests = countTokenRequests(one.page);
      const { error } = await one.pay();
      assert.equal(error?.name, 'SvcError');
      assert.equal(error?.code, 'validation_error');
      assert.equal(error?.param, 'card.number');
      assert.deepEqual(
        error?.field_errors.map(({ field, code }) => [field, code]),
        [
          ['card.number', 'required_field'],
          ['card.exp_month', 'required_field'],
          ['card.cvc', 'required_field'],
        ],
      );
      assert.deepEqual(await one.frame.locator('.error:visible').allInnerTexts(), [
        'Enter the card number.',
        'Enter the expiry date.',
        'Enter the security code.',
      ]);
      assert.equal(await one.focused(), 'number');
      assert.equal(requests(), 0);
    }));

  test('whose card has expired sees an error', () =>
    during({}, async (one) => {
      await one.typeCard({ expiry: '0124' });
      assert.equal(await one.text('expiry-error-text'), 'This card has expired.');
      const { error } = await one.pay();
      assert.deepEqual(
        error?.field_errors.map(({ field, code }) => [field, code]),
        [['card.exp_month', 'invalid_value']],
      );
      await one.frame.locator('#expiry').fill('1399');
      await one.page.keyboard.press('Tab');
      assert.equal(await one.text('expiry-error-text'), 'The month must be from 01 to 12.');
    }));

  test('with a mistyped number sees an error before anything is sent, in live mode', () =>
    during({ key: service.livePublishableKey }, async (one) => {
      const requests = countTokenRequests(one.page);
      await one.typeCard({ number: '4000123456789010' });
      assert.equal(await one.text('number-error-text'), 'This card number is not valid.');
      assert.equal((await one.pay()).error?.param, 'card.number');
      assert.equal(requests(), 0);
    }));
});

function countTokenRequests(page: Page): () => number {
  let count = 0;
  page.on('request', (request) => {
    if (request.url().endsWith('/v1/card_tokens')) count += 1;
  });
  return () => count;
}

describe('an answer of the service', () => {
  test('a wrong field is shown beside its input, and the shop gets the whole error', () =>
    during({}, async (one) => {
      const fieldErrors = [
        { field: 'card.exp_year', code: 'invalid_value', message: 'The card has expired by the shop’s clock.' },
        { field: 'card.cvc', code: 'invalid_format', message: 'Must be 3 digits.' },
      ];
      await answerTokens(one.page, (route) => route.fulfill(errorAnswer(400, 'validation_error', fieldErrors)));
      await one.typeCard();
      const { error } = await one.pay();
      assert.deepEqual(error, {
        name: 'SvcError',
        code: 'validation_error',
        message: 'The service says validation_error.',
        param: null,
        field_errors: fieldErrors,
        request_id: 'req_test',
        retry_after: null,
      });
      assert.equal(await one.text('expiry-error-text'), 'The card has expired by the shop’s clock.');
      assert.equal(await one.text('cvc-error-text'), 'Must be 3 digits.');
      assert.equal(await one.frame.locator('#expiry').getAttribute('aria-invalid'), 'true');
      assert.equal(await one.focused(), 'expiry');
      await one.page.unroute('**/v1/card_tokens');
      await one.frame.locator('#expiry').fill(card.expiry);
      assert.ok((await one.pay()).token);
      assert.equal(await one.frame.locator('.error:visible').count(), 0);
    }));

  const refusals: [status: number, code: string, text: string][] = [
    [429, 'rate_limit_exceeded', 'Too many attempts. Try again in 7 seconds.'],
    [401, 'invalid_api_key', 'Cards cannot be accepted here at the moment.'],
    [403, 'ip_not_allowed', 'Cards cannot be accepted here at the moment.'],
    [400, 'invalid_request', 'This card could not be accepted. Check the details or use another card.'],
    [503, 'service_unavailable', 'The connection failed. Please try again.'],
  ];
  test('a rejection is shown to the shopper in plain words, and the shop gets its code', () =>
    during({}, async (one) => {
      await one.typeCard();
      for (const [status, code, text] of refusals) {
        await answerTokens(one.page, (route) => route.fulfill(errorAnswer(status, code, [], { 'retry-after': '7' })));
        const { error } = await one.pay();
        assert.equal(error?.code, code);
        assert.equal(error?.request_id, 'req_test');
        assert.equal(error?.retry_after, 7);
        assert.equal(await one.frame.locator('[role=alert] .error:visible').innerText(), text);
        await one.page.unroute('**/v1/card_tokens');
      }
    }));

  test('no answer, or one that is not ours, can be tried again', () =>
    during({}, async (one) => {
      await one.typeCard();
      await answerTokens(one.page, (route) => route.abort());
      assert.equal((await one.pay()).error?.code, 'connection_failed');
      await one.page.unroute('**/v1/card_tokens');
      await answerTokens(one.page, (route) => route.fulfill({ status: 502, body: '<html>Bad gateway</html>' }));
      assert.equal((await one.pay()).error?.code, 'connection_failed');
      assert.equal(await one.text('general-error-text'), 'The connection failed. Please try again.');
      await one.page.unroute('**/v1/card_tokens');
      assert.ok((await one.pay()).token);
      assert.equal(await one.frame.locator('#general-error').isVisible(), false);
    }));

  test('paying twice asks for one token', () =>
    during({}, async (one) => {
      const requests = countTokenRequests(one.page);
      const looked = Promise.withResolvers<void>();
      await answerTokens(one.page, async (route) => {
        await looked.promise;
        await route.continue();
      });
      await one.typeCard();
      await one.page.evaluate('void Promise.all([pay(), pay()])');
      await one.page.click('#pay');
      assert.equal(await one.frame.locator('#form').getAttribute('aria-busy'), 'true');
      assert.equal(await one.frame.locator('#number').getAttribute('readonly'), '');
      looked.resolve();
      await until(one.page, 'outcomes.length === 3');
      assert.equal(requests(), 1);
      assert.equal(await one.page.evaluate('new Set(outcomes.map(({ token }) => token.id)).size'), 1);
      assert.equal(await one.frame.locator('#form').getAttribute('aria-busy'), 'false');
    }));

  test('billing details are passed on', () =>
    during({}, async (one) => {
      await one.typeCard();
      const request = one.page.waitForRequest('**/v1/card_tokens');
      await one.page.evaluate("void pay({ billing_details: { name: 'Ada', address: { country: 'GB' } } })");
      const sent = (await request).postDataJSON() as { billing_details: object };
      assert.deepEqual(sent.billing_details, { name: 'Ada', address: { country: 'GB' } });
    }));
});

describe('the page of the merchant', () => {
  test('cannot reach into the fields, and the SDK adds one name to it', () =>
    during({}, async (one) => {
      await one.typeCard();
      const reach = (expression: string): Promise<unknown> =>
        one.page.evaluate(`(() => { try { return String(${expression}); } catch (error) { return error.name; } })()`);
      assert.equal(await reach("document.querySelector('iframe').contentDocument"), 'null');
      assert.equal(await reach('frames[0].document'), 'SecurityError');
      assert.equal(await reach('frames[0].fields'), 'SecurityError');
      assert.equal(await reach('frames[0].location.href'), 'SecurityError');
      const added = await one.page.evaluate('globalsAfter.filter((name) => !globalsBefore.includes(name))');
      assert.deepEqual(
        (added as string[]).filter((name) => !['globalsAfter', 'pay', 'card', '0'].includes(name)),
        ['Svc'],
      );
    }));

  test('never gets the number or the code, in no message, address, storage or markup', () =>
    during({}, async (one) => {
      const addresses: string[] = [];
      one.page.on('request', (request) => addresses.push(request.url()));
      await one.typeCard();
      await one.frame.locator('#number').press('End');
      await one.frame.locator('#number').press('Backspace');
      await one.pay();
      await one.frame.locator('#number').pressSequentially('7');
      await one.pay();
      const messages = (await one.page.evaluate('messages')) as { type: string }[];
      const kinds = new Set(messages.map(({ type }) => type));
      for (const kind of ['svc:loaded', 'ready', 'height', 'change', 'token']) assert.ok(kinds.has(kind), kind);
      const places = {
        messages: JSON.stringify(messages, (key, value) => (['id', 'expires_at'].includes(key) ? '' : value)),
        addresses: addresses.join(' '),
        markup: await one.page.content(),
        'the frame’s address': one.frame.url(),
        'the page’s storage': String(await one.page.evaluate(storage)),
        'the frame’s storage': String(await one.frame.evaluate(storage)),
        console: one.complaints.join(' '),
      };
      for (const [place, found] of Object.entries(places)) {
        // Ports and keys are random, and could have the same digits.
        const text = found.replace(/(localhost|127\.0\.0\.1)(:|%3A)\d+/g, '').replaceAll(service.publishableKey, '');
        for (let start = 0; start + 5 <= card.number.length; start += 1) {
          assert.ok(!text.replaceAll(' ', '').includes(card.number.slice(start, start + 5)), place);
        }
        assert.ok(!text.includes(card.cvc), place);
      }
    }));

  const storage = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state])';

  test('is notified of brand, completeness and errors while the card is typed', () =>
    during({}, async (one) => {
      await one.frame.locator('#number').pressSequentially('37');
      await until(one.page, "changes.at(-1).brand === 'amex'");
      await one.page.keyboard.press('Tab');
      await until(one.page, 'changes.at(-1).errors.number');
      await one.page.evaluate('card.clear()');
      await until(one.page, 'changes.at(-1).empty');
      assert.deepEqual(await one.page.evaluate('changes.at(-1)'), {
        complete: false,
        empty: true,
        brand: 'unknown',
        errors: {},
      });
      assert.equal(await one.value('number'), '');
      await one.typeCard();
      await until(one.page, 'changes.at(-1).complete');
    }));

  test('can put the cursor into a field', () =>
    during({}, async (one) => {
      await one.page.evaluate("card.focus('cvc')");
      await until(one.frame, "document.activeElement.id === 'cvc'");
      await one.page.evaluate('card.focus()');
      await until(one.frame, "document.activeElement.id === 'number'");
      await one.page.keyboard.type('42');
      assert.equal(await one.value('number'), '42');
    }));

  test('keeps the frame as high as its content', () =>
    during({}, async (one) => {
      const heightPx = async (): Promise<number> => (await one.page.locator('iframe').boundingBox())?.height ?? 0;
      const emptyPx = await heightPx();
      await one.pay();
      await until(one.page, `document.querySelector('iframe').offsetHeight > ${emptyPx + 40}`);
      const innerPx = Number(await one.frame.evaluate('document.documentElement.scrollHeight'));
      assert.equal(await heightPx(), innerPx);
      await one.page.evaluate('card.clear()');
      await until(one.page, `document.querySelector('iframe').offsetHeight === ${emptyPx}`);
    }));

  test('is left clean by unmount, and can mount again', () =>
    during({}, async (one) => {
      assert.notEqual(await one.page.evaluate('listeners'), 0);
      await answerTokens(one.page, () => new Promise(() => undefined));
      await one.typeCard();
      await one.page.evaluate('void pay()');
      await one.page.evaluate('card.unmount()');
      await until(one.page, 'outcomes.length === 1');
      assert.equal(await one.page.evaluate('outcomes[0].error.code'), 'unmounted');
      assert.equal(await one.page.locator('iframe').count(), 0);
      assert.equal(await one.page.evaluate('listeners'), 0);
      await one.page.evaluate('pay()');
      assert.equal(await one.page.evaluate('outcomes[1].error.code'), 'not_mounted');
      await one.page.unroute('**/v1/card_tokens');
      await one.page.evaluate("void card.mount(document.getElementById('card'))");
      await until(one.page, 'ready === 2');
      await fieldsFrame(one.page).locator('#number').pressSequentially('42');
      assert.equal(await fieldsFrame(one.page).locator('#number').inputValue(), '42');
    }));

  test('may move the fields, which then start anew', () =>
    during({}, async (one) => {
      await answerTokens(one.page, () => new Promise(() => undefined));
      await one.typeCard();
      await one.page.evaluate('void pay()');
      await one.page.evaluate("document.body.append(document.getElementById('card'))");
      await until(one.page, 'ready === 2 && outcomes.length === 1');
      assert.equal(await one.page.evaluate('outcomes[0].error.code'), 'fields_reloaded');
      await one.page.unroute('**/v1/card_tokens');
      const moved = fieldsFrame(one.page);
      for (const id of ['number', 'expiry', 'cvc'] as const) await moved.locator(`#${id}`).pressSequentially(card[id]);
      await one.page.evaluate('pay()');
      assert.ok(await one.page.evaluate('outcomes[1].token.id'));
    }));

  test('gets an error at once for a wrong key, a missing element or a second mount', () =>
    during({}, async (one) => {
      const thrown = (expression: string): Promise<unknown> =>
        one.page.evaluate(`(() => { try { ${expression}; } catch (error) { return error.message; } })()`);
      assert.match(String(await thrown("Svc('svc_test_sk_secret')")), /secret key/);
      assert.match(String(await thrown("Svc('pk_123')")), /publishable key/);
      assert.match(String(await thrown("Svc('svc_test_pk_x').cardFields().mount('#nowhere')")), /#nowhere/);
      assert.match(String(await thrown("card.mount('#card')")), /already mounted/);
    }));

  test('may be isolated from other origins', () =>
    during({ isolated: true }, async (one) => {
      assert.equal(await one.page.evaluate('crossOriginIsolated'), true);
      await one.typeCard();
      assert.ok((await one.pay()).token);
    }));
});

describe('a hostile page', () => {
  const startMessage = JSON.stringify({
    type: 'svc:start',
    publishableKey: 'svc_test_pk_hostile',
    theme: {},
    texts: {},
    language: 'en',
    direction: 'ltr',
  });

  async function addFrame(page: Page, id: string, url: string): Promise<Frame> {
    await page.evaluate(`new Promise((resolve) => {
      const frame = document.createElement('iframe');
      Object.assign(frame, { id: '${id}', src: '${url}', onload: resolve });
      document.body.append(frame);
    })`);
    const frame = await (await page.locator(`#${id}`).elementHandle())?.contentFrame();
    assert.ok(frame);
    return frame;
  }

  const started = (frame: Frame): Promise<boolean> => frame.locator('#form').isVisible();
  const settle = (page: Page): Promise<void> => page.waitForTimeout(100);

  test('the fields take orders from the page around them only, and only if it has the named origin', async () => {
    const page = await context.newPage();
    await page.goto(`${shop.origin}/?bare&key=${service.publishableKey}`);
    const named = await addFrame(page, 'named', `${service.baseUrl}/card-fields#origin=${shop.origin}`);
    const other = await addFrame(page, 'other', `${service.baseUrl}/card-fields#origin=${shop.hostileOrigin}`);
    const anyone = await addFrame(page, 'anyone', `${service.baseUrl}/card-fields#origin=*`);
    const hostile = await addFrame(page, 'hostile', `${shop.hostileOrigin}/hostile`);

    const post = (index: number): string =>
      `frames[${index}].postMessage(${startMessage}, '*', [new MessageChannel().port2])`;
    for (const index of [0, 1, 2]) {
      await hostile.evaluate(`parent.${post(index)}`);
      if (index > 0) await page.evaluate(post(index));
    }
    await settle(page);
    assert.deepEqual([await started(named), await started(other), await started(anyone)], [false, false, false]);
    // Only the frame that was opened for this origin has spoken to it.
    assert.equal(await page.evaluate('messages.length'), 1);

    await page.evaluate(post(0));
    await named.locator('#form').waitFor();
    await page.close();
  });

  test('a running frame accepts no second start message', () =>
    during({}, async (one) => {
      await one.typeCard();
      const message = startMessage.replace('"texts":{}', '"texts":{"number":"Stolen"}');
      await one.page.evaluate(`frames[0].postMessage(${message}, '*', [new MessageChannel().port2])`);
      await settle(one.page);
      assert.equal(await one.text('number-label'), 'Card number');
    }));

  test('a false token from another frame is not believed, nor is a false start', () =>
    during({}, async (one) => {
      await answerTokens(one.page, async (route) => {
        await new Promise((resolve) => setTimeout(resolve, 200));
        await route.continue();
      });
      await one.typeCard();
      await one.page.evaluate('void pay()');
      const hostile = await addFrame(one.page, 'hostile', `${shop.hostileOrigin}/hostile`);
      for (const call of [0, 1, 2]) {
        await hostile.evaluate(`parent.postMessage({ type: 'token', call: ${call}, token: { id: 'cct_false' } }, '*')`);
      }
      await hostile.evaluate("parent.postMessage({ type: 'svc:loaded' }, '*')");
      await hostile.evaluate("parent.postMessage(null, '*')");
      // A frame of the service that the SDK did not make has the right origin, and still is not its own.
      await addFrame(one.page, 'second', `${service.baseUrl}/card-fields#origin=${shop.origin}`);
      await until(one.page, 'outcomes.length === 1');
      assert.notEqual(await one.page.evaluate('outcomes[0].token.id'), 'cct_false');
      assert.equal(await one.page.evaluate('channels'), 1);
      assert.deepEqual(one.complaints, []);
    }));

  test('another page in the frame gets neither the key nor a channel', () =>
    during({}, async (one) => {
      await one.page.evaluate(`document.querySelector('iframe').src = '${shop.hostileOrigin}/hostile'`);
      const hostile = await (await one.page.locator('iframe').elementHandle())?.contentFrame();
      await hostile?.waitForURL(/hostile/);
      await hostile?.evaluate("globalThis.heard = 0; addEventListener('message', () => { heard += 1; })");
      await hostile?.evaluate("parent.postMessage({ type: 'svc:loaded' }, '*')");
      await settle(one.page);
      assert.equal(await hostile?.evaluate('heard'), 0);
      assert.equal(await one.page.evaluate('channels'), 1);
    }));

  test('the fields alone in a window stay hidden', async () => {
    const page = await context.newPage();
    await page.goto(`${service.baseUrl}/card-fields#origin=${service.baseUrl}`);
    await page.evaluate(`postMessage(${startMessage}, '*', [new MessageChannel().port2])`);
    await settle(page);
    assert.equal(await page.locator('#form').isVisible(), false);
    await page.close();
  });

  test('a theme cannot carry anything but its values', () =>
    during(
      { options: { theme: { colors: { text: 'red; background: url(//evil)', border: 'rgb(1, 2, 3)' }, radius: '0' } } },
      async (one) => {
        const root = String(await one.frame.evaluate("document.documentElement.getAttribute('style')"));
        assert.equal(root, '--border: rgb(1, 2, 3); --radius: 0;');
      },
    ));
});

describe('the look', () => {
  const style = (one: Visit, selector: string, property: string): Promise<unknown> =>
    one.frame.evaluate(`getComputedStyle(document.querySelector('${selector}')).getPropertyValue('${property}')`);

  test('another language and writing direction', () =>
    during({ dir: 'rtl', options: { texts: foreignTexts, language: 'he' } }, async (one) => {
      assert.equal(await one.frame.locator('html').getAttribute('dir'), 'rtl');
      assert.equal(await one.frame.locator('html').getAttribute('lang'), 'he');
      assert.equal(await one.text('number-label'), foreignTexts.number);
      assert.equal(await one.page.locator('iframe').getAttribute('title'), foreignTexts.title);
      const numberBox = await one.frame.locator('.number').boundingBox();
      const cvcBox = await one.frame.locator('.cvc').boundingBox();
      assert.ok(numberBox && cvcBox && numberBox.x > cvcBox.x, 'the number is at the right');
      await one.frame.locator('#number').pressSequentially('٤٠٠٠12');
      assert.equal(await one.value('number'), '4000 12');
      assert.equal(await style(one, '#number', 'direction'), 'ltr');
      assert.equal(await style(one, '#number', 'text-align'), 'right');
      await one.page.keyboard.press('Tab');
      assert.equal(await one.text('number-error-text'), foreignTexts.numberIncomplete);
    }));

  test('a theme changes colours, font and corners', () => {
    const theme = {
      colors: { text: 'rgb(10, 20, 30)', background: 'rgb(250, 250, 200)', focus: 'rgb(0, 128, 0)' },
      fontFamily: 'Georgia, serif',
      fontSize: '20px',
      radius: '0px',
    };
    return during({ options: { theme } }, async (one) => {
      await one.frame.locator('#number').focus();
      assert.equal(await style(one, '#number', 'color'), theme.colors.text);
      assert.equal(await style(one, '.number', 'background-color'), theme.colors.background);
      assert.equal(await style(one, '.number', 'outline-color'), theme.colors.focus);
      assert.equal(await style(one, '#number', 'font-family'), theme.fontFamily);
      assert.equal(await style(one, '#number', 'font-size'), theme.fontSize);
      assert.equal(await style(one, '.number', 'border-top-left-radius'), theme.radius);
    });
  });

  test('dark by choice, or as the system is', async () => {
    const darkText = 'rgb(242, 244, 248)';
    await during({ options: { theme: { mode: 'dark' } } }, async (one) => {
      assert.equal(await style(one, '#number', 'color'), darkText);
      assert.equal(await style(one, 'html', 'color-scheme'), 'dark');
      assert.equal(await one.page.evaluate("getComputedStyle(document.querySelector('iframe')).colorScheme"), 'dark');
    });
    await inContext({ colorScheme: 'dark' }, async (own) => {
      const colorWith = async (mode: string): Promise<unknown> => {
        let color: unknown;
        await during({ in: own, options: { theme: { mode } } }, async (one) => {
          color = await style(one, '#number', 'color');
        });
        return color;
      };
      assert.equal(await colorWith('auto'), darkText);
      assert.notEqual(await colorWith('light'), darkText);
    });
  });

  test('one row where there is room, two on a screen of 320 pixels', () =>
    during({}, async (one) => {
      const top = async (selector: string): Promise<number> =>
        (await one.frame.locator(selector).boundingBox())?.y ?? -1;
      assert.equal(await top('.number'), await top('.cvc'));
      await one.page.setViewportSize({ width: 320, height: 500 });
      await until(one.page, "document.querySelector('iframe').offsetHeight > 100");
      assert.ok((await top('.expiry')) > (await top('.number')));
      assert.equal(await top('.expiry'), await top('.cvc'));
      await one.typeCard({ number: '4000123456789017' });
      const clipped = await one.frame.evaluate(
        "[...document.querySelectorAll('input')].filter((input) => input.scrollWidth > input.clientWidth).length",
      );
      assert.equal(clipped, 0);
      assert.ok(Number(await one.page.evaluate('document.documentElement.scrollWidth')) <= 320);
    }));

  for (const mode of ['light', 'dark'] as const) {
    test(`axe finds nothing to mend in the ${mode} theme, be it empty, filled or wrong`, () =>
      during({ options: { theme: { mode } } }, async (one) => {
        const dark = "Object.assign(document.body.style, { background: '#0f1216', color: 'white' })";
        // The frame too: axe does not see the page's background through it.
        if (mode === 'dark') for (const where of [one.page, one.frame]) await where.evaluate(dark);
        assert.deepEqual(await violations(one.page), [], 'empty');
        await one.typeCard();
        assert.deepEqual(await violations(one.page), [], 'filled');
        await one.page.evaluate('card.clear()');
        await one.frame.locator('#number').pressSequentially('4000');
        await one.pay();
        assert.deepEqual(await violations(one.page), [], 'wrong');
      }));
  }
});

describe('the npm package', () => {
  test('is built from the same source: a module, a script and types that work', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-browser-'));
    try {
      await run(process.execPath, [join(sdkFolder, 'build.ts'), folder]);
      const served = await (await fetch(`${service.baseUrl}/svc.js`)).text();
      assert.equal(await readFile(join(folder, 'svc.js'), 'utf8'), served);

      const module = (await import(pathToFileURL(join(folder, 'svc.mjs')).href)) as {
        Svc(key: string, options?: object): { cardFields(): object };
      };
      assert.equal(typeof module.Svc('svc_test_pk_x', { baseUrl: 'https://pay.example' }).cardFields(), 'object');
      await checkTypes(folder);
      await mountModule(await readFile(join(folder, 'svc.mjs'), 'utf8'));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  async function checkTypes(folder: string): Promise<void> {
    const example = `import { Svc, SvcError, type CardToken } from './svc.js';
      const card = Svc('svc_test_pk_x', { baseUrl: 'https://pay.example' })
        .cardFields({ theme: { mode: 'auto', colors: { text: 'red' } }, onChange: ({ brand }) => brand.length })
        .mount('#card');
      const token: CardToken = await card.createToken({ billing_details: { name: 'Ada' } });
      export const shown: string = token.card.last4 + token.card.exp_month.toFixed(0);
      export const code = (error: unknown) => (error instanceof SvcError ? error.code : undefined);\n`;
    await writeFile(join(folder, 'example.mts'), example);
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    const compiler = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')));
    const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022,dom'];
    await run(process.execPath, [compiler, ...flags, '--types', '', join(folder, 'example.mts')], { cwd: folder });
    assert.doesNotMatch(await readFile(join(folder, 'svc.d.ts'), 'utf8'), /\bany\b|svc:start|import /);
  }

  /** As a bundler would serve it: from the shop, under a name of its own. */
  async function mountModule(source: string): Promise<void> {
    const page = await context.newPage();
    shop.bundle = source;
    await page.goto(`${shop.origin}/bundled`);
    const started = `import('${shop.origin}/bundle.js').then(({ Svc }) => {
      try { Svc('svc_test_pk_x'); } catch (error) { globalThis.message = error.message; }
      Svc('svc_test_pk_x', { baseUrl: '${service.baseUrl}/' }).cardFields({ onReady: () => { ready = true; } }).mount('#card');
    })`;
    await page.evaluate(started);
    await until(page, 'globalThis.ready');
    assert.match(String(await page.evaluate('message')), /baseUrl/);
    await page.close();
  }
});
