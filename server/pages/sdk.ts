import { existsSync, readFileSync } from 'node:fs';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import { ownCommand } from '../platform/own-command.ts';
import { programFolder } from '../platform/program-folder.ts';
import { once, scriptType } from './assets.ts';

/**
 * The SDKs and the `svc` command at `/sdk/`, so that a merchant needs nothing but the address of the installation. A release
 * contains them; in the sources, `scripts/install.mjs` builds them. Only files of their list are served.
 */

interface Listed {
  readonly file: string;
  readonly name: string;
  readonly about: string;
  /** How to install it. `{url}` is its address, `{base}` that of the installation. */
  readonly install: string;
  readonly size: number;
  readonly sha256: string;
  /** What the proxy for Go modules answers besides the file. */
  readonly module?: { readonly path: string; readonly version: string; readonly mod: string };
}

interface Packages {
  readonly version: string;
  readonly files: readonly Listed[];
}

const folder = new URL('dist/packages/', programFolder);
const contentTypes: Readonly<Record<string, string>> = {
  mjs: scriptType,
  tgz: 'application/gzip',
  gz: 'application/gzip',
  zip: 'application/zip',
  whl: 'application/zip',
};
const keptForever = 'public, max-age=31536000, immutable';

/** Undefined if they are not built. */
function readPackages(): Packages | undefined {
  const index = new URL('index.json', folder);
  return existsSync(index) ? (JSON.parse(readFileSync(index, 'utf8')) as Packages) : undefined;
}

function notBuilt(): ApiError {
  return new ApiError('service_unavailable', `The SDK is missing. ${ownCommand.restoreFiles} and restart the service.`);
}

function nothingHere(): ApiError {
  return new ApiError('resource_not_found', 'This file does not exist. /sdk lists all files.');
}

const installLine = ({ file, install }: Listed, baseUrl: string): string =>
  install.replace('{url}', `${baseUrl}/sdk/${file}`).replace('{base}', baseUrl);

export function mountSdk(app: FastifyInstance, baseUrl: string): void {
  const contents = once(() => {
    const packages = readPackages();
    if (!packages) return undefined;
    const files = packages.files.map((each) => [
      each.file,
      { ...each, body: readFileSync(new URL(each.file, folder)) },
    ]);
    return { packages, files: new Map(files as [string, Listed & { body: Buffer }][]) };
  });
  const isRelease = once(() => existsSync(new URL('release.json', programFolder)));

  const list = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    reply.header('Vary', 'Accept').header('Cache-Control', 'no-cache');
    if (request.headers.accept?.includes('text/html')) return reply.redirect('/docs/sdk');
    const built = contents();
    if (!built) throw notBuilt();
    const { version, files } = built.packages;
    const data = files.map((each) => ({
      name: each.name,
      version,
      url: `${baseUrl}/sdk/${each.file}`,
      size: each.size,
      sha256: each.sha256,
      install: installLine(each, baseUrl),
    }));
    return reply
      .header('Content-Type', 'application/json; charset=utf-8')
      .send(`${JSON.stringify({ data }, null, 2)}\n`);
  };
  app.get('/sdk', list);
  app.get('/sdk/', list);

  app.get<{ Params: { file: string } }>('/sdk/:file', (request, reply) => {
    const built = contents();
    if (!built) throw notBuilt();
    const found = built.files.get(request.params.file);
    if (!found) throw nothingHere();
    const { file, sha256, body } = found;
    const etag = `"${sha256}"`;
    // The files of a release never change under a name with its version.
    const isFixed = isRelease() && file.includes(built.packages.version);
    reply.header('Cache-Control', isFixed ? keptForever : 'no-cache').header('ETag', etag);
    if (request.headers['if-none-match']?.includes(etag)) return reply.code(304).send();
    return reply
      .header('Content-Type', contentTypes[file.split('.').at(-1) ?? ''] ?? 'application/octet-stream')
      .header('Content-Disposition', `attachment; filename="${file}"`)
      .send(body);
  });

  // GOPROXY: https://go.dev/ref/mod#goproxy-protocol
  app.get<{ Params: { '*': string } }>('/sdk/go/*', (request, reply) => {
    const built = contents();
    if (!built) throw notBuilt();
    const answers = [...built.files.values()].flatMap(moduleAnswers);
    const found = answers.find(({ path }) => path === request.params['*']);
    if (!found) throw nothingHere();
    return reply.header('Cache-Control', 'no-cache').header('Content-Type', found.type).send(found.body);
  });
}

interface Answer {
  readonly path: string;
  readonly type: string;
  readonly body: string | Buffer;
}

/** A proxy for Go modules that has one version of one module. */
function moduleAnswers({ module, body }: Listed & { body: Buffer }): Answer[] {
  if (!module) return [];
  const { path, version, mod } = module;
  const info = JSON.stringify({ Version: version });
  const text = 'text/plain; charset=utf-8';
  const json = 'application/json; charset=utf-8';
  return [
    { path: `${path}/@v/list`, type: text, body: `${version}\n` },
    { path: `${path}/@latest`, type: json, body: info },
    { path: `${path}/@v/${version}.info`, type: json, body: info },
    { path: `${path}/@v/${version}.mod`, type: text, body: mod },
    { path: `${path}/@v/${version}.zip`, type: 'application/zip', body },
  ];
}

/** How to install a package from this installation. */
export function installOf(name: string, baseUrl: string): string {
  const found = readPackages()?.files.find((each) => each.name === name);
  return found ? installLine(found, baseUrl) : `# ${notBuilt().message}`;
}

/** The table in `docs/sdk.md`. */
export function packagesTable(baseUrl: string): string {
  const packages = readPackages();
  if (!packages) return 'The files are not built on this installation. Ask its operator.';
  const rows = packages.files.map(
    (each) =>
      `| [${each.file}](/sdk/${each.file}) | ${packages.version} | \`${each.sha256}\` | \`${installLine(each, baseUrl)}\` |`,
  );
  return ['| File | Version | SHA-256 | Install |', '|---|---|---|---|', ...rows].join('\n');
}
