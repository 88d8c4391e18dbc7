import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import type { Frame, Page } from 'playwright-core';
import { answerTokens, card, openCheckout, until } from '../support/card-fields.ts';

/** The card fields as a page embeds them: what is served, what the page can do and cannot reach, the npm package. */

const { service, shop, context, fieldsFrame, during, stop } = await openCheckout();
after(stop);

const run = promisify(execFile);
const sdkFolder = fileURLToPath(new URL('../../sdk/browser/', import.meta.url));

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
      'font-src': "'self'",
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

  async function pageOf(path: string) {
    const response = await fetch(service.baseUrl + path);
    const html = await response.text();
    const header = response.headers.get('content-security-policy') ?? '';
    const policy = Object.fromEntries(header.split('; ').map((part) => part.split(/ (.*)/s).slice(0, 2)));
    return { headers: response.headers, html, policy, nonce: /nonce="([^"]+)"/.exec(html)?.[1] ?? '' };
  }
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

  test('may move the fields, which then start empty', () =>
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

  test('sessions and links of the service work on its own pages only', async () => {
    for (const credential of [{ page: 'checkout', token: 'x', live: false }, { session: 'x' }]) {
      const page = await context.newPage();
      await page.goto(`${shop.origin}/?bare&key=${service.publishableKey}`);
      await page.evaluate(`Svc(${JSON.stringify(credential)}).cardFields().mount('#card')`);
      await page.locator('iframe').waitFor();
      await page.waitForLoadState('networkidle');
      await settle(page);
      assert.equal(await started(fieldsFrame(page)), false);
      await page.close();
    }
  });

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
