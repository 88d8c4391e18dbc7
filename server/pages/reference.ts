import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import { type Documented, openApiDocument } from '../http/openapi/document.ts';
import { latestVersion, supportedVersions } from '../http/versions/versions.ts';
import { once } from './assets.ts';
import type { Brand } from './brand.ts';
import { htmlType, sendDocs, type Shown, shown } from './docs/layout.ts';
import { describe } from './docs/openapi.ts';
import { type ReferenceEntry, type ReferencePages, referencePages } from './docs/reference-pages.ts';

/**
 * The API reference at `/docs/api/`, and the OpenAPI document of each version. Pages are written from the document when
 * they are first opened. Returns what the search finds.
 */
export function mountReference(
  app: FastifyInstance,
  documented: Documented,
  { name }: Brand,
): () => readonly ReferenceEntry[] {
  const latest = mountVersion(app, '/docs/api/', documented, latestVersion, name);
  mountDocument(app, '/openapi.json', documented, latestVersion);
  for (const version of supportedVersions) mountDocument(app, `/openapi/${version}.json`, documented, version);
  for (const version of supportedVersions.filter((one) => one !== latestVersion)) {
    mountVersion(app, `/docs/api/${version}/`, documented, version, name);
    app.get(`/docs/api/${version}`, (_request, reply) => reply.redirect(`/docs/api/${version}/`, 301));
  }
  app.get('/docs/api', (_request, reply) => reply.redirect('/docs/api/', 301));
  return () => latest().entries;
}

function mountVersion(
  app: FastifyInstance,
  path: string,
  documented: Documented,
  version: string,
  brandName: string,
): () => ReferencePages {
  const pages = once(() => referencePages(describe(documented, version), brandName));
  const known = new Map<string, Shown>();
  const send = (request: FastifyRequest, reply: FastifyReply, name: string): Promise<FastifyReply> => {
    const page = known.get(name) ?? write(pages(), name);
    known.set(name, page);
    return sendDocs(request, reply, page);
  };
  app.get(path, (request, reply) => send(request, reply, ''));
  app.get<{ Params: { page: string } }>(`${path}:page`, (request, reply) => send(request, reply, request.params.page));
  return pages;
}

function write(pages: ReferencePages, name: string): Shown {
  const page = pages.page(name);
  if (page === undefined) {
    throw new ApiError(
      'resource_not_found',
      'This page of the API reference does not exist. /docs/api/ lists all pages.',
    );
  }
  return shown(htmlType, page);
}

/** The document is created on first use, like the pages. */
function mountDocument(app: FastifyInstance, path: string, documented: Documented, version: string): void {
  const document = once(() =>
    shown('application/json; charset=utf-8', JSON.stringify(openApiDocument(documented, version))),
  );
  app.get(path, (request, reply) => {
    reply.header('Access-Control-Allow-Origin', '*');
    return sendDocs(request, reply, document());
  });
}
