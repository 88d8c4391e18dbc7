import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import { type Documented, openApiDocument } from './openapi/document.ts';
import { latestVersion, supportedVersions } from './versions/versions.ts';

// The page's own script is served from here; it writes inline styles and reads its document by fetch.
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export async function mountReference(app: FastifyInstance, documented: Documented): Promise<void> {
  mountDocument(app, '/openapi.json', documented, latestVersion);
  for (const version of supportedVersions) mountDocument(app, `/openapi/${version}.json`, documented, version);
  let page: Promise<FastifyInstance> | undefined;
  const show = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    // The page makes an address of the Host it was asked by.
    if (!URL.canParse(`http://${request.hostname}`)) {
      throw new ApiError('invalid_request', 'The Host header is malformed.');
    }
    page ??= referencePage();
    const headers = { host: request.headers.host ?? '' };
    const answer = await (await page).inject({ method: 'GET', url: request.url, headers });
    for (const name of ['content-type', 'location']) {
      const value = answer.headers[name];
      if (value !== undefined) reply.header(name, value);
    }
    reply.header('Content-Security-Policy', contentSecurityPolicy);
    if (request.url.endsWith('.js')) reply.header('Cache-Control', 'public, max-age=3600');
    return reply.code(answer.statusCode).send(answer.rawPayload);
  };
  app.get('/docs/api', show);
  app.get('/docs/api/*', show);
}

/** Written when it is first asked for, as the page is. */
function mountDocument(app: FastifyInstance, path: string, documented: Documented, version: string): void {
  let document: string | undefined;
  app.get(path, (_request, reply) => {
    document ??= JSON.stringify(openApiDocument(documented, version));
    return reply
      .header('Content-Type', 'application/json; charset=utf-8')
      .header('Access-Control-Allow-Origin', '*')
      .header('Cache-Control', 'public, max-age=60')
      .send(document);
  });
}

/** It takes a fifth of a second and 25 MB, and most processes never show it. */
async function referencePage(): Promise<FastifyInstance> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const page = fastify();
  await page.register(scalar, {
    routePrefix: '/docs/api',
    configuration: { url: '/openapi.json', pageTitle: 'Payments API', withDefaultFonts: false, telemetry: false },
  });
  await page.ready();
  return page;
}
