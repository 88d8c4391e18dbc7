import scalar from '@scalar/fastify-api-reference';
import type { FastifyInstance } from 'fastify';
import { ApiError } from '../errors.ts';
import { openApiDocument } from './openapi.ts';
import type { Route } from './route.ts';

// The page's own script is served from here; it writes inline styles and reads its document by fetch.
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export async function mountReference(app: FastifyInstance, routes: readonly Route[], baseUrl: string): Promise<void> {
  const document = JSON.stringify(openApiDocument(routes, baseUrl));
  app.get('/openapi.json', (_request, reply) =>
    reply
      .header('Content-Type', 'application/json; charset=utf-8')
      .header('Access-Control-Allow-Origin', '*')
      .header('Cache-Control', 'public, max-age=60')
      .send(document),
  );
  await app.register(async (scope) => {
    // The page makes an address of the Host it was asked by.
    scope.addHook('onRequest', async (request) => {
      if (!URL.canParse(`http://${request.hostname}`))
        throw new ApiError('invalid_request', 'The Host header is malformed.');
    });
    scope.addHook('onSend', async (request, reply) => {
      reply.header('Content-Security-Policy', contentSecurityPolicy);
      if (request.url.endsWith('.js')) reply.header('Cache-Control', 'public, max-age=3600');
    });
    await scope.register(scalar, {
      routePrefix: '/docs',
      configuration: { url: '/openapi.json', pageTitle: 'Payments API', withDefaultFonts: false, telemetry: false },
    });
  });
}
