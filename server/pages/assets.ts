import { createHash, randomBytes } from 'node:crypto';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { acceptedEncoding, type Encoding } from '../http/compression.ts';

/** Scripts and styles of pages, and the documents that load them. */

interface Asset {
  readonly contentType: string;
  readonly etag: string;
  body(encoding: Encoding | undefined): Buffer;
}

export type AssetSource = () => Asset;

/**
 * Creates a value on first use and keeps it, so that a start does not wait for pages that most processes never serve.
 */
export function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

const compressions = {
  br: (bytes: Buffer): Buffer => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (bytes: Buffer): Buffer => gzipSync(bytes, { level: 9 }),
};

/** Bytes that are compressed on first use, and then kept. A build can bring them compressed. */
export function compressible(
  read: () => Buffer,
  readBrotli = () => compressions.br(read()),
): (encoding: Encoding | undefined) => Buffer {
  const plain = once(read);
  const compressed = { br: once(readBrotli), gzip: once(() => compressions.gzip(plain())) };
  return (encoding) => (encoding ? compressed[encoding]() : plain());
}

export const scriptType = 'text/javascript; charset=utf-8';
export const styleType = 'text/css; charset=utf-8';
const assetCacheControl = 'public, max-age=300';
const permissionsPolicy =
  'accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), ' +
  'midi=(), payment=(), usb=()';

export function asset(contentType: string, make: () => string): AssetSource {
  return once(() => {
    const body = Buffer.from(make());
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    return { contentType, body: compressible(() => body), etag };
  });
}

/** Makes a page load the matching script and style, not those that a cache still holds. */
export function versionOf(...assets: AssetSource[]): string {
  const joined = assets.map((of) => of().etag).join();
  return createHash('sha256').update(joined).digest('hex').slice(0, 12);
}

export function mountAsset(app: FastifyInstance, path: string, assetOf: AssetSource): void {
  app.get(path, (request, reply) => {
    const { body, contentType, etag } = assetOf();
    reply
      .header('Cache-Control', assetCacheControl)
      .header('ETag', etag)
      .header('Vary', 'Accept-Encoding')
      // Merchants' pages load the SDK from another origin, some of them with integrity checks.
      .header('Access-Control-Allow-Origin', '*')
      .header('Cross-Origin-Resource-Policy', 'cross-origin')
      .header('X-Content-Type-Options', 'nosniff');
    if (request.headers['if-none-match']?.includes(etag)) return reply.code(304).send();
    const encoding = acceptedEncoding(request);
    if (encoding) reply.header('Content-Encoding', encoding);
    return reply.header('Content-Type', contentType).send(body(encoding));
  });
}

interface PageOptions {
  /** Further directives of the content security policy. */
  readonly policy: string;
  /** Where its pictures come from. */
  readonly imageSources?: readonly string[];
}

/** Sends a document that runs its own scripts only. */
export function sendPage(reply: FastifyReply, page: string, { policy, imageSources = [] }: PageOptions): FastifyReply {
  const nonce = randomBytes(16).toString('base64');
  const whole =
    `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; connect-src 'self'; ` +
    `img-src ${[...imageSources, 'data:'].join(' ')}; base-uri 'none'; form-action 'none'; ${policy}`;
  return reply
    .header('Content-Type', 'text/html; charset=utf-8')
    .header('Content-Security-Policy', whole)
    .header('Referrer-Policy', 'no-referrer')
    .header('Permissions-Policy', permissionsPolicy)
    .header('X-Content-Type-Options', 'nosniff')
    .header('Cache-Control', 'no-store')
    .send(page.replaceAll('{{nonce}}', nonce));
}
