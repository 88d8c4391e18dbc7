import type { FastifyInstance, FastifyRequest } from 'fastify';
import { browserFile } from '../../sdk/browser/files.ts';
import { ApiError, invalidField } from '../errors.ts';
import { type AssetSource, asset, mountAsset, once, scriptType, sendPage, styleType, versionOf } from './assets.ts';

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
    return sendPage(reply, page(), {
      policy: "frame-ancestors *; require-trusted-types-for 'script'; trusted-types 'none'",
    });
  });
}

function mountDemo(app: FastifyInstance, sdk: AssetSource, options: CardFieldsOptions): void {
  const script = asset(scriptType, () => browserFile('checkout.js'));
  const style = asset(styleType, () => browserFile('checkout.css'));
  mountAsset(app, '/demo/checkout.js', script);
  mountAsset(app, '/demo/checkout.css', style);
  const template = once(() => browserFile('checkout.html').replaceAll('{{version}}', versionOf(sdk, script, style)));

  app.get('/demo/checkout', (_request, reply) => {
    const page = template().replaceAll('{{publishableKey}}', demoOf(options).publishableKey);
    return sendPage(reply, page, { policy: "frame-src 'self'; frame-ancestors 'none'" });
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
