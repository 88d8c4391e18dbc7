import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BrowserContext, BrowserContextOptions, Frame, Page, Route } from 'playwright-core';
import { looksAt, violationsIn } from './axe.ts';
import { launchBrowser } from './browser.ts';
import { startTestService, type TestService } from './service.ts';

/**
 * Card capture as a shopper and a merchant meet it: a real browser, the fields on one site, the shop on another.
 * The service is the real one; what it must answer for a single test only is given by that test.
 */

export const card = {
  number: '4000123456789017',
  expiry: `11${String(new Date().getFullYear() + 3).slice(-2)}`,
  cvc: '738',
};

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

export interface Visit {
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

export async function answerTokens(page: Page, answer: (route: Route) => Promise<void>): Promise<void> {
  await page.route('**/v1/card_tokens', answer);
}

/** Playwright has this too, but asks the page to do it, which the pages' policies forbid. */
export async function until(where: Page | Frame, condition: string, timeoutMs = 15_000): Promise<void> {
  const endMs = Date.now() + timeoutMs;
  while (!(await where.evaluate(condition))) {
    assert.ok(Date.now() < endMs, `this never came true: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** What axe complains of in the page and in the fields it shows. */
export async function violations(page: Page): Promise<string[]> {
  const looksInside = await looksAt(page, '#cvc');
  assert.equal(looksInside, await page.locator('iframe').isVisible(), 'axe looks into a frame that is shown');
  return violationsIn(page);
}

export interface Checkout {
  readonly service: TestedService;
  readonly shop: Shop;
  readonly context: BrowserContext;
  fieldsFrame(page: Page): Frame;
  /** Opens the page for one test and closes it afterwards. */
  during(options: VisitOptions, body: (one: Visit) => Promise<void>): Promise<void>;
  inContext(options: BrowserContextOptions, body: (own: BrowserContext) => Promise<void>): Promise<void>;
  stop(): Promise<void>;
}

export async function openCheckout(): Promise<Checkout> {
  const service = await startService();
  const shop = await startShop(service.baseUrl);
  const browser = await launchBrowser();
  const context = await browser.newContext();

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

  async function during(options: VisitOptions, body: (one: Visit) => Promise<void>): Promise<void> {
    const one = await visit(options);
    try {
      await body(one);
    } finally {
      await one.page.close();
    }
  }

  async function inContext(
    options: BrowserContextOptions,
    body: (own: BrowserContext) => Promise<void>,
  ): Promise<void> {
    const own = await browser.newContext(options);
    try {
      await body(own);
    } finally {
      await own.close();
    }
  }

  return {
    service,
    shop,
    context,
    fieldsFrame,
    during,
    inContext,
    async stop() {
      await browser.close();
      await shop.stop();
      await service.stop();
    },
  };
}
