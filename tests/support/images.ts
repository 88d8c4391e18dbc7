import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { usualReferences } from '../../server/references.ts';
import { type CallOptions, type Reply, someProduct, startTestService, type TestService } from './service.ts';

/** Products with images, and the files that the service stores for them. */

type Format = 'jpeg' | 'png' | 'gif' | 'webp';

export function picture(format: Format = 'png'): Promise<Buffer> {
  const [r = 0, g = 0, b = 0] = randomBytes(3);
  return sharp({ create: { width: 8, height: 6, channels: 3, background: { r, g, b } } })
    .toFormat(format)
    .toBuffer();
}

export type Part = readonly [name: string, content: Buffer | string];

export async function form(...parts: readonly Part[]): Promise<{ raw: Buffer; headers: Record<string, string> }> {
  const data = new FormData();
  for (const [name, content] of parts) {
    if (typeof content === 'string') data.append(name, content);
    else data.append(name, new Blob([new Uint8Array(content)], { type: 'image/jpeg' }), 'picture.jpg');
  }
  const encoded = new Response(data);
  const raw = Buffer.from(await encoded.arrayBuffer());
  return { raw, headers: { 'content-type': encoded.headers.get('content-type') ?? '' } };
}

export const imagesPath = (productId: string): string => `/v1/products/${productId}/images`;

export interface Image {
  readonly id: string;
  readonly product_id: string;
  readonly url: string;
  readonly order: number;
  readonly created_at: string;
}

export const keyOf = (image: Image): string => new URL(image.url).pathname.slice('/files/'.length);

export function assertError(reply: Reply, status: number, code: string, param: string | null): void {
  const { error } = reply.body;
  assert.deepEqual([reply.status, error?.code, error?.param], [status, code, param], reply.text);
}

export interface ImagesService {
  readonly service: TestService;
  /** Products with a history: deleting one of these is a soft delete. */
  readonly withHistory: Set<string>;
  newProduct(options?: CallOptions): Promise<string>;
  productWith(count: number): Promise<{ id: string; images: Image[] }>;
  send(productId: string, parts: readonly Part[], options?: CallOptions): Promise<Reply>;
  upload(productId: string, bytes?: Buffer, options?: CallOptions): Promise<Reply>;
  /** One that must succeed. */
  uploaded(productId: string, bytes?: Buffer): Promise<Image>;
  imagesOf(productId: string): Promise<Image[]>;
  /** The link with the address of the service, which does not know it in tests. */
  reachable(url: string): string;
  filesIn(folder: 'files' | 'uploads'): Promise<string[]>;
  unreferenced(): Promise<string[]>;
}

export async function startImagesService(): Promise<ImagesService> {
  const withHistory = new Set<string>();
  const service = await startTestService({
    references: { ...usualReferences, inArchivedPlans: async (_db, _companyId, id) => withHistory.has(id) },
  });

  async function send(productId: string, parts: readonly Part[], options: CallOptions = {}): Promise<Reply> {
    return service.call('POST', imagesPath(productId), { ...(await form(...parts)), ...options });
  }

  const upload = async (productId: string, bytes?: Buffer, options?: CallOptions): Promise<Reply> =>
    send(productId, [['file', bytes ?? (await picture())]], options);

  async function newProduct(options: CallOptions = {}): Promise<string> {
    const reply = await service.call('POST', '/v1/products', {
      body: someProduct(),
      idempotencyKey: randomUUID(),
      ...options,
    });
    return reply.body.id;
  }

  async function uploaded(productId: string, bytes?: Buffer): Promise<Image> {
    const reply = await upload(productId, bytes);
    assert.equal(reply.status, 201, reply.text);
    return reply.body as unknown as Image;
  }

  async function productWith(count: number): Promise<{ id: string; images: Image[] }> {
    const id = await newProduct();
    const images: Image[] = [];
    for (let index = 0; index < count; index += 1) images.push(await uploaded(id));
    return { id, images };
  }

  async function imagesOf(productId: string): Promise<Image[]> {
    return (await service.call('GET', `/v1/products/${productId}?expand=images`)).body.images;
  }

  const reachable = (url: string): string => url.replace('http://service.test', service.baseUrl);

  async function filesIn(folder: 'files' | 'uploads'): Promise<string[]> {
    const entries = await readdir(join(service.config.dataDir, folder), { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  }

  async function unreferenced(): Promise<string[]> {
    const rows = await service.db.query<{ file_key: string }>(
      'SELECT file_key FROM unreferenced_files ORDER BY file_key',
    );
    return rows.map((row) => row.file_key);
  }

  return {
    service,
    withHistory,
    newProduct,
    productWith,
    send,
    upload,
    uploaded,
    imagesOf,
    reachable,
    filesIn,
    unreferenced,
  };
}
