import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { builtFile, notBuilt } from './built.ts';
import { escaped } from '../platform/html.ts';
import { type Documented, openApiDocument } from '../http/openapi/document.ts';
import { latestVersion, supportedVersions } from '../http/versions/versions.ts';

// The page's script is served from this origin; it writes inline styles and fetches its document.
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// Without the features that would send the reader, or the document, to the vendor.
const configuration = {
  url: '/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  showDeveloperTools: 'never',
  hideClientButton: true,
  agent: { disabled: true },
  mcp: { disabled: true },
} as const;

// Configured by an attribute: an inline script would need a policy that also allows injected scripts.
const page = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Payments API</title></head>
<body><div id="api-reference" data-configuration="${escaped(JSON.stringify(configuration))}"></div><script src="js/scalar.js"></script></body>
</html>
`;

export function mountReference(app: FastifyInstance, documented: Documented): void {
  mountDocument(app, '/openapi.json', documented, latestVersion);
  for (const version of supportedVersions) mountDocument(app, `/openapi/${version}.json`, documented, version);
  let script: Buffer | undefined;
  app.get('/docs/api', (_request, reply) => reply.redirect('/docs/api/', 301));
  app.get('/docs/api/', (_request, reply) =>
    reply
      .header('Content-Type', 'text/html; charset=utf-8')
      .header('Content-Security-Policy', contentSecurityPolicy)
      .send(page),
  );
  app.get('/docs/api/js/scalar.js', (_request, reply) => {
    script ??= referenceScript();
    return reply
      .header('Content-Type', 'application/javascript; charset=utf-8')
      .header('Content-Security-Policy', contentSecurityPolicy)
      .header('Cache-Control', 'public, max-age=3600')
      .send(script);
  });
}

/** The document is created on first use, like the page. */
function mountDocument(app: FastifyInstance, path: string, documented: Documented, version: string): void {
  let document: Buffer | undefined;
  app.get(path, (_request, reply) => {
    document ??= Buffer.from(JSON.stringify(openApiDocument(documented, version)));
    return reply
      .header('Content-Type', 'application/json; charset=utf-8')
      .header('Access-Control-Allow-Origin', '*')
      .header('Cache-Control', 'public, max-age=60')
      .send(document);
  });
}

/** Read on first use, because it is 4 MB and most processes never serve it. */
function referenceScript(): Buffer {
  const file = builtFile('scalar.js');
  if (!file) throw notBuilt();
  return readFileSync(file);
}
