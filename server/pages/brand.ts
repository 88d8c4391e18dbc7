import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { pageFile } from '../../pages/page-files.ts';
import { ConfigurationError } from '../platform/configuration-error.ts';
import { programFolder } from '../platform/program-folder.ts';
import { asset, mountAsset } from './assets.ts';

/** The name and the logo of the installation, and the font and the card marks of its pages. */

export interface Brand {
  readonly name: string;
  readonly logo: { readonly contentType: string; readonly body: Buffer };
}

interface BrandSettings {
  readonly SVC_BRAND_NAME: string;
  readonly SVC_BRAND_LOGO: string | undefined;
}

const logoBytesMax = 100_000;
const svgType = 'image/svg+xml';
const pngSignature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

export function readBrand({ SVC_BRAND_NAME: name, SVC_BRAND_LOGO: file }: BrandSettings): Brand {
  return { name, logo: file === undefined ? ownLogo() : readLogo(file) };
}

const ownLogo = (): Brand['logo'] => ({ contentType: svgType, body: Buffer.from(pageFile('logo.svg')) });

function readLogo(file: string): Brand['logo'] {
  const body = contentOf(file);
  if (body.length > logoBytesMax) throw refused(file, `is larger than ${logoBytesMax / 1000} kB`);
  if (body.subarray(0, pngSignature.length).equals(pngSignature)) return { contentType: 'image/png', body };
  if (/<svg[\s>]/.test(body.toString('utf8'))) return { contentType: svgType, body };
  throw refused(file, 'is neither an SVG nor a PNG file');
}

function contentOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch {
    throw refused(file, 'cannot be read');
  }
}

const refused = (file: string, problem: string): ConfigurationError =>
  new ConfigurationError(`SVC_BRAND_LOGO: the file ${file} ${problem}.`);

/** Letters, and arrows and signs that Inter has but its Latin part lacks. */
const fontNames = ['inter-latin-5.3.0.woff2', 'inter-signs-4.1.1.woff2'];

export function mountBrand(app: FastifyInstance, { logo }: Brand): void {
  app.get('/logo', (_request, reply) =>
    reply
      .header('Content-Type', logo.contentType)
      .header('Cache-Control', 'public, max-age=3600')
      // An SVG file can contain scripts. A browser that opens it on its own runs none.
      .header('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox")
      .send(logo.body),
  );
  mountAsset(
    app,
    '/card-brands.svg',
    asset(svgType, () => pageFile('card-brands.svg')),
  );
  for (const name of fontNames) mountFont(app, name);
}

function mountFont(app: FastifyInstance, name: string): void {
  let font: Buffer | undefined;
  app.get(`/fonts/${name}`, (_request, reply) => {
    font ??= readFileSync(new URL(`server/fonts/${name}`, programFolder));
    return reply
      .header('Content-Type', 'font/woff2')
      .header('Cache-Control', 'public, max-age=31536000, immutable')
      .send(font);
  });
}
