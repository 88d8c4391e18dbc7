import { createHash, randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { browserFile } from '../../sdk/browser/files.ts';
import { ApiError, invalidField } from '../errors.ts';

/** Card capture in the browser: the SDK, the frame with the card fields, and a checkout page to try both. */

export interface DemoCheckout {
  readonly publishableKey: string;
  /** Attaches the token to a customer of the demo company. */
  capture(token: string): Promise<{ customer: string; payment_method: unknown }>;
}

export interface CardFieldsOptions {
  /** Read on each request: it may be set after the routes are mounted, when the demo company exists. */
  readonly demo?: DemoCheckout | undefined;
}

interface Asset {
  readonly body: string;
  readonly contentType: string;
  readonly etag: string;
}

/**
 * Creates a value on first use and keeps it, so that a start does not wait for pages that most processes never serve.
 */
function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

const scriptType = 'text/javascript; charset=utf-8';
const styleType = 'text/css; charset=utf-8';
const assetCacheControl = 'public, max-age=300';
const permissionsPolicy =
  'accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), ' +
  'midi=(), payment=(), usb=()';

export async function mountCardFields(app: FastifyInstance, options: CardFieldsOptions = {}): Promise<void> {
  const sdk = asset(scriptType, () => browserFile('svc.js'));
  mountAsset(app, '/svc.js', sdk);
  mountFields(app);
  mountDemo(app, sdk, options);
}

function mountFields(app: FastifyInstance): void {
  const script = asset(scriptType, () => browserFile('card-fields.js'));
  const style = asset(styleType, () => browserFile('card-fields.css'));
  mountAsset(app, '/card-fields.js', script);
  mountAsset(app, '/card-fields.css', style);

  const page = once(() => browserFile('card-fields.html').replaceAll('{{version}}', versionOf(script, style)));
  app.get('/card-fields', (_request, reply) => {
    // Any merchant may embed the fields; pages with cross-origin isolation require the last two headers.
    reply.header('Cross-Origin-Resource-Policy', 'cross-origin').header('Cross-Origin-Embedder-Policy', 'require-corp');
    return sendPage(reply, page(), "frame-ancestors *; require-trusted-types-for 'script'; trusted-types 'none'");
  });
}

function mountDemo(app: FastifyInstance, sdk: () => Asset, options: CardFieldsOptions): void {
  const script = asset(scriptType, () => browserFile('checkout.js'));
  const style = asset(styleType, () => browserFile('checkout.css'));
  mountAsset(app, '/demo/checkout.js', script);
  mountAsset(app, '/demo/checkout.css', style);
  const template = once(() => browserFile('checkout.html').replaceAll('{{version}}', versionOf(sdk, script, style)));

  app.get('/demo/checkout', (_request, reply) => {
    const page = template().replaceAll('{{publishableKey}}', demoOf(options).publishableKey);
    return sendPage(reply, page, "frame-src 'self'; frame-ancestors 'none'");
  });

  app.post('/demo/checkout/cards', async (request, reply) => {
    const demo = demoOf(options);
    checkSameOrigin(request);
    const token = (request.body as { card_token?: unknown } | null | undefined)?.card_token;
    if (typeof token !== 'string') throw invalidField('card_token', 'Must be a string.', 'required_field');
    const saved = await demo.capture(token);
    return reply.code(201).header('Content-Type', 'application/json; charset=utf-8').send(JSON.stringify(saved));
  });
}

function demoOf({ demo }: CardFieldsOptions): DemoCheckout {
  if (!demo) throw new ApiError('resource_not_found', 'This path does not exist. The API reference is at /docs/api.');
  return demo;
}

/** Hosts are compared, not schemes: behind a proxy that terminates TLS only the browser knows the scheme. */
function checkSameOrigin(request: FastifyRequest): void {
  const { origin = '' } = request.headers;
  if (URL.canParse(origin) && new URL(origin).host === request.host) return;
  throw new ApiError('invalid_request', 'This request must come from the checkout page.', { status: 400 });
}

function asset(contentType: string, make: () => string): () => Asset {
  return once(() => {
    const body = make();
    return { contentType, body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` };
  });
}

/** Makes a page load the matching script and style, whatever a cache still holds. */
function versionOf(...assets: (() => Asset)[]): string {
  const joined = assets.map((of) => of().etag).join();
  return createHash('sha256').update(joined).digest('hex').slice(0, 12);
}

function mountAsset(app: FastifyInstance, path: string, assetOf: () => Asset): void {
  app.get(path, (request, reply) => {
    const { body, contentType, etag } = assetOf();
    reply
      .header('Cache-Control', assetCacheControl)
      .header('ETag', etag)
      // Merchants' pages load the SDK from another origin, some of them with integrity checks.
      .header('Access-Control-Allow-Origin', '*')
      .header('Cross-Origin-Resource-Policy', 'cross-origin')
      .header('X-Content-Type-Options', 'nosniff');
    if (request.headers['if-none-match']?.includes(etag)) return reply.code(304).send();
    return reply.header('Content-Type', contentType).send(body);
  });
}

function sendPage(reply: FastifyReply, page: string, furtherPolicy: string): FastifyReply {
  const nonce = randomBytes(16).toString('base64');
  const policy =
    `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; connect-src 'self'; ` +
    `img-src data:; base-uri 'none'; form-action 'none'; ${furtherPolicy}`;
  return reply
    .header('Content-Type', 'text/html; charset=utf-8')
    .header('Content-Security-Policy', policy)
    .header('Referrer-Policy', 'no-referrer')
    .header('Permissions-Policy', permissionsPolicy)
    .header('X-Content-Type-Options', 'nosniff')
    .header('Cache-Control', 'no-store')
    .send(page.replaceAll('{{nonce}}', nonce));
}
