import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Fastify from 'fastify';
import type { BrowserContext, FrameLocator, Page } from 'playwright-core';
import { mountCardFields } from '../server/pages/card-fields.ts';
import { launchBrowser } from '../tests/support/browser.ts';

/** `node scripts/pictures.ts`: takes the pictures of the card fields in docs/pictures. */

const folder = fileURLToPath(new URL('../docs/pictures/', import.meta.url));
const marginPx = 24;
const publishableKey = 'svc_test_pk_pictures';
interface Picture {
  readonly name: string;
  readonly widthPx: number;
  readonly theme?: object;
  readonly background?: string;
  prepare?(fields: FrameLocator, page: Page): Promise<void>;
}

const darkBackground = '#0f1216';

const pictures: readonly Picture[] = [
  { name: 'empty', widthPx: 560 },
  { name: 'focus', widthPx: 560, prepare: (fields) => fields.locator('#number').focus() },
  { name: 'filled', widthPx: 560, prepare: (fields) => fillIn(fields) },
  {
    name: 'amex',
    widthPx: 560,
    prepare: (fields) => fillIn(fields, { number: '378282246310005', cvc: '9' }),
  },
  { name: 'error', widthPx: 560, prepare: (fields, page) => fillInWrongly(fields, page) },
  {
    name: 'dark',
    widthPx: 560,
    theme: { mode: 'dark' },
    background: darkBackground,
    prepare: (fields) => fillIn(fields),
  },
  {
    name: 'dark-error',
    widthPx: 560,
    theme: { mode: 'dark' },
    background: darkBackground,
    prepare: (fields, page) => fillInWrongly(fields, page),
  },
  { name: 'narrow', widthPx: 320, prepare: (fields) => fillIn(fields) },
  { name: 'narrow-error', widthPx: 320, prepare: (fields, page) => fillInWrongly(fields, page) },
];

async function fillIn(fields: FrameLocator, card: { number?: string; cvc?: string } = {}): Promise<void> {
  await fields.locator('#number').pressSequentially(card.number ?? '4242424242424242');
  await fields.locator('#expiry').pressSequentially('1231');
  await fields.locator('#cvc').pressSequentially(card.cvc ?? '999');
}

async function fillInWrongly(fields: FrameLocator, page: Page): Promise<void> {
  await fields.locator('#number').pressSequentially('4242424242');
  await fields.locator('#expiry').fill('0120');
  await page.evaluate('card.createToken().catch(() => undefined)');
}

function shopPage({ theme = {}, background = '#ffffff' }: Picture): string {
  const options = JSON.stringify({ theme });
  return `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">
    <title>Shop</title><style>body { margin: ${marginPx}px; background: ${background}; }</style><div id="card"></div>
    <script src="/svc.js"></script>
    <script>const card = Svc('${publishableKey}').cardFields({ ...${options}, onReady: () => { ready = true; } });
    let ready = false; card.mount('#card');</script>`;
}

async function takePicture(context: BrowserContext, serviceUrl: string, picture: Picture): Promise<void> {
  const page = await context.newPage();
  await page.setViewportSize({ width: picture.widthPx, height: 400 });
  await page.goto(`${serviceUrl}/shop/${picture.name}`);
  await page.waitForFunction('ready');
  const fields = page.frameLocator('iframe');
  await picture.prepare?.(fields, page);
  await page.waitForTimeout(250);
  // Without the reserved space for a message.
  const last = await fields.locator('#group, .error:visible').last().boundingBox();
  const bottomPx = last ? last.y + last.height : 0;
  const clip = { x: 0, y: 0, width: picture.widthPx, height: Math.ceil(bottomPx + marginPx) };
  await page.screenshot({ path: join(folder, `card-fields-${picture.name}.png`), clip, caret: 'initial' });
  await page.close();
}

const app = Fastify();
await mountCardFields(app);
for (const picture of pictures) {
  app.get(`/shop/${picture.name}`, (_request, reply) => reply.type('text/html').send(shopPage(picture)));
}
const serviceUrl = await app.listen({ host: '127.0.0.1', port: 0 });
const browser = await launchBrowser();
try {
  await mkdir(folder, { recursive: true });
  const context = await browser.newContext({ deviceScaleFactor: 2, colorScheme: 'light' });
  for (const picture of pictures) await takePicture(context, serviceUrl, picture);
} finally {
  await browser.close();
  await app.close();
}
