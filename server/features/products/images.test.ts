import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { Agent, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import S3rver from 's3rver';
import sharp from 'sharp';
import {
  type CallOptions,
  type Reply,
  someProduct,
  startTestService,
  type TestService,
} from '../../../tests/support/service.ts';
import { fileStore, usualReferences } from '../../app.ts';
import { createDiskStore } from '../../platform/files/disk-store.ts';
import type { FileStore } from '../../platform/files/file-store.ts';
import { idTimeMs } from '../../platform/ids.ts';
import { addImage, storeImage } from './images.ts';
import { deleteUnreferencedFiles } from './jobs.ts';
import type { RequestContext } from '../../request-context.ts';

const megabyte = 1024 * 1024;
const withHistory = new Set<string>();

let service: TestService;
before(async () => {
  service = await startTestService({
    references: { ...usualReferences, inArchivedPlans: async (_db, _companyId, id) => withHistory.has(id) },
  });
});
after(() => service.stop());

type Format = 'jpeg' | 'png' | 'gif' | 'webp';

function picture(format: Format = 'png'): Promise<Buffer> {
  const [r = 0, g = 0, b = 0] = randomBytes(3);
  return sharp({ create: { width: 8, height: 6, channels: 3, background: { r, g, b } } })
    .toFormat(format)
    .toBuffer();
}

/** A PNG of exactly so many bytes: the rest is in a chunk that viewers skip. */
async function pictureOf(bytes: number): Promise<Buffer> {
  const png = await picture();
  const end = png.subarray(-12);
  const chunk = Buffer.alloc(bytes - png.length);
  chunk.writeUInt32BE(chunk.length - 12);
  chunk.write('svCt', 4, 'latin1');
  chunk.writeUInt32BE(crc32(chunk.subarray(4, -4)), chunk.length - 4);
  return Buffer.concat([png.subarray(0, -12), chunk, end]);
}

type Part = readonly [name: string, content: Buffer | string];

async function form(...parts: readonly Part[]): Promise<{ raw: Buffer; headers: Record<string, string> }> {
  const data = new FormData();
  for (const [name, content] of parts) {
    if (typeof content === 'string') data.append(name, content);
    else data.append(name, new Blob([new Uint8Array(content)], { type: 'image/jpeg' }), 'picture.jpg');
  }
  const encoded = new Response(data);
  const raw = Buffer.from(await encoded.arrayBuffer());
  return { raw, headers: { 'content-type': encoded.headers.get('content-type') ?? '' } };
}

const imagesPath = (productId: string): string => `/v1/products/${productId}/images`;

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

interface Image {
  readonly id: string;
  readonly product_id: string;
  readonly url: string;
  readonly order: number;
  readonly created_at: string;
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

/** The service does not know its address in tests. */
const reachable = (url: string): string => url.replace('http://service.test', service.baseUrl);

async function statusOf(url: string): Promise<number> {
  const response = await fetch(reachable(url));
  await response.arrayBuffer();
  return response.status;
}

const keyOf = (image: Image): string => new URL(image.url).pathname.slice('/files/'.length);

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

const disk = (): FileStore =>
  createDiskStore({
    root: join(service.config.dataDir, 'files'),
    baseUrl: 'http://service.test',
    signingKey: Buffer.alloc(32),
  });

const sweep = (files: FileStore = disk()): Promise<number> => deleteUnreferencedFiles(service.db, files, 500);

function assertFileError(reply: Reply, code = 'invalid_value'): void {
  assert.equal(reply.status, 400, reply.text);
  assert.equal(reply.body.error.code, 'validation_error');
  assert.deepEqual(
    reply.body.error.field_errors.map((error: Record<string, string>) => [error.field, error.code]),
    [['file', code]],
  );
}

function assertError(reply: Reply, status: number, code: string, param: string | null): void {
  const { error } = reply.body;
  assert.deepEqual([reply.status, error?.code, error?.param], [status, code, param], reply.text);
}

/** Neither a picture, nor a file waiting to be removed, nor the received temporary file. */
async function assertNothingStored(work: () => Promise<void>): Promise<void> {
  const earlier = [await filesIn('files'), await unreferenced()];
  await work();
  assert.deepEqual([await filesIn('files'), await unreferenced()], earlier);
  assert.deepEqual(await filesIn('uploads'), []);
}

describe('an upload that cannot be stored', () => {
  // Nothing can be made there, also not by root: every system call fails as on a disk that is full or read-only.
  const unwritable = '/sys';
  for (const [folder, where] of Object.entries({ uploads: 'on its way', files: 'in its place' })) {
    test(`${where} is 503 with Retry-After, and the same key stores it when there is room`, async () => {
      if (process.platform !== 'linux') return;
      const dataDir = await mkdtemp(join(tmpdir(), 'svc-full-'));
      const other = await startTestService({ database: service.database, dataDir });
      try {
        const path = imagesPath(await newProduct());
        const sent = await form(['file', await picture()]);
        const again = (): Promise<Reply> =>
          other.call('POST', path, { key: service.key, idempotencyKey: `upload-${folder}`, ...sent });
        await rm(join(dataDir, folder), { recursive: true, force: true });
        await symlink(unwritable, join(dataDir, folder));
        const refused = await again();
        assert.deepEqual([refused.status, refused.body.error.code], [503, 'service_unavailable'], refused.text);
        assert.equal(refused.headers.get('retry-after'), '1');
        assert.ok(other.logLines.some((line) => line.includes('a file could not be stored')));
        await rm(join(dataDir, folder));
        await mkdir(join(dataDir, folder));
        const stored = await again();
        assert.equal(stored.status, 201, stored.text);
      } finally {
        await other.stop();
        await rm(dataDir, { recursive: true, force: true });
      }
    });
  }
});

describe('uploading an image', () => {
  for (const format of ['jpeg', 'png', 'gif'] as const) {
    test(`a ${format.toUpperCase()} gives 201, and its link gives the same bytes as image/${format}`, async () => {
      const [productId, bytes] = [await newProduct(), await picture(format)];
      const image = await uploaded(productId, bytes);
      assert.deepEqual([image.product_id, image.order], [productId, 0]);
      assert.equal(image.created_at, new Date(idTimeMs(image.id)).toISOString());
      const response = await fetch(reachable(image.url));
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('content-type'), `image/${format}`);
      assert.equal(response.headers.get('content-length'), String(bytes.length));
      assert.ok(Buffer.from(await response.arrayBuffer()).equals(bytes));
    });
  }

  test('images get the orders 0, 1, 2 in which they were sent', async () => {
    const { id, images } = await productWith(3);
    assert.deepEqual(
      images.map((image) => image.order),
      [0, 1, 2],
    );
    assert.deepEqual(
      (await imagesOf(id)).map((image) => image.id),
      images.map((image) => image.id),
    );
  });

  test('nothing of it is left in unreferenced_files or in the uploads folder', async () => {
    const image = await uploaded(await newProduct());
    assert.ok(!(await unreferenced()).includes(keyOf(image)));
    assert.deepEqual(await filesIn('uploads'), []);
  });

  test('an eleventh image is refused: 400', async () => {
    const { id } = await productWith(10);
    assertFileError(await upload(id));
    assert.equal((await imagesOf(id)).length, 10);
  });

  test('of 15 images sent at once exactly 10 stay, with the orders 0 to 9', async () => {
    const id = await newProduct();
    const replies = await Promise.all(Array.from({ length: 15 }, () => upload(id)));
    const statuses = replies.map((reply) => reply.status);
    assert.equal(statuses.filter((status) => status === 201).length, 10);
    assert.equal(statuses.filter((status) => status === 400).length, 5);
    assert.deepEqual(
      (await imagesOf(id)).map((image) => image.order),
      Array.from({ length: 10 }, (_, index) => index),
    );
  });

  test('a product that does not exist gives 404, and nothing is stored', async () => {
    await assertNothingStored(async () => {
      for (const id of [randomUUID(), 'nonsense']) assertError(await upload(id), 404, 'resource_not_found', 'id');
    });
  });

  test("another merchant's product gives the same 404, and nothing is stored", async () => {
    const { key } = await service.createMerchant();
    const foreign = await newProduct({ key });
    await assertNothingStored(async () => {
      assertError(await upload(foreign), 404, 'resource_not_found', 'id');
    });
  });

  test('a deleted product gets no images: 400', async () => {
    const id = await newProduct();
    withHistory.add(id);
    await service.call('DELETE', `/v1/products/${id}`);
    assertError(await upload(id), 400, 'invalid_request', 'id');
  });

  test('the same idempotency key gives the first answer and no second image', async () => {
    const [id, bytes, idempotencyKey] = [await newProduct(), await picture(), randomUUID()];
    const first = await upload(id, bytes, { idempotencyKey });
    const second = await upload(id, bytes, { idempotencyKey });
    assert.deepEqual([second.status, second.text], [201, first.text]);
    assert.equal(second.headers.get('svc-idempotent-replayed'), 'true');
    assert.equal((await imagesOf(id)).length, 1);
  });

  test('the same idempotency key with another file is idempotency_key_conflict', async () => {
    const [id, idempotencyKey] = [await newProduct(), randomUUID()];
    await upload(id, await picture(), { idempotencyKey });
    const reply = await upload(id, await picture('gif'), { idempotencyKey });
    assertError(reply, 422, 'idempotency_key_conflict', 'X-SVC-Idempotency-Key');
  });

  test('a replay answers from the store, also when the product is deleted by now', async () => {
    const [id, bytes, idempotencyKey] = [await newProduct(), await picture(), randomUUID()];
    const first = await upload(id, bytes, { idempotencyKey });
    await service.call('DELETE', `/v1/products/${id}`);
    const second = await upload(id, bytes, { idempotencyKey });
    assert.deepEqual([second.status, second.text], [201, first.text]);
  });
});

describe('the presigned link', () => {
  test('needs no API key and lets a browser show a picture and nothing else', async () => {
    const { url } = await uploaded(await newProduct());
    const { headers } = await fetch(reachable(url));
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('content-security-policy'), "default-src 'none'; sandbox");
  });

  test('serves the type of the bytes, whatever the client called them', async () => {
    const { url } = await uploaded(await newProduct(), await picture('gif'));
    const response = await fetch(reachable(url));
    assert.equal(response.headers.get('content-type'), 'image/gif');
    assert.match(url, /\.gif\?/);
  });

  test('works for 10 minutes and not longer', async () => {
    const { url } = await uploaded(await newProduct());
    const pass = async (ms: number): Promise<number> => {
      service.clock.advance(ms);
      return statusOf(url).finally(() => service.clock.advance(-ms));
    };
    assert.equal(await pass(590_000), 200);
    assert.equal(await pass(602_000), 400);
  });

  test('is valid for all of the 10 minutes from when it is returned', async () => {
    const { id } = await productWith(1);
    // In the middle of a second, where rounding down shows.
    const shift = (1500 - (service.clock.nowMs() % 1000)) % 1000;
    service.clock.advance(shift);
    try {
      const asked = service.clock.nowMs();
      const [image] = await imagesOf(id);
      const expiresMs = Number(new URL(image?.url ?? '').searchParams.get('expires')) * 1000;
      assert.ok(expiresMs >= asked + 600_000, `expires ${asked + 600_000 - expiresMs} ms too early`);
    } finally {
      service.clock.advance(-shift);
    }
  });

  test('is made anew by each read', async () => {
    const { id, images } = await productWith(1);
    service.clock.advance(602_000);
    try {
      const [again] = await imagesOf(id);
      assert.equal(await statusOf(images[0]?.url ?? ''), 400);
      assert.equal(await statusOf(again?.url ?? ''), 200);
    } finally {
      service.clock.advance(-602_000);
    }
  });

  test('is refused with another signature, expiry or path, or without them', async () => {
    const { images } = await productWith(2);
    const [{ url }, other] = images as [Image, Image];
    const key = keyOf(images[0] as Image);
    const signature = new URL(url).searchParams.get('signature') ?? '';
    const tampered = [
      url.replace(signature, `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`),
      url.replace(signature, ''),
      url.replace(/expires=\d+/, (expires) => `expires=${Number(expires.slice(8)) + 1}`),
      url.replace(key, keyOf(other)),
      url.replace(key, key.toUpperCase()),
      url.replace(key, `x/../${key}`.replaceAll('/', '%2f')),
      url.replace(key, '%2e%2e%2fmaster.secret'),
      url.replace(/\?.*/, ''),
    ];
    for (const link of tampered) assert.equal(await statusOf(link), 400, link);
    assert.equal(await statusOf(url), 200);
  });
});

describe('the size of an image', () => {
  test('may be exactly 10 MB', async () => {
    const bytes = await pictureOf(10 * megabyte);
    const { url } = await uploaded(await newProduct(), bytes);
    const stored = Buffer.from(await (await fetch(reachable(url))).arrayBuffer());
    // The picture without the chunk that made it so large.
    assert.ok(stored.length < megabyte && bytes.includes(stored.subarray(0, -12)));
    const [row] = await service.db.query<{ size_bytes: number }>(
      'SELECT size_bytes FROM product_images WHERE size_bytes = $1',
      [stored.length],
    );
    assert.ok(row, 'its size is that of what is stored');
  });

  test('one byte more is 413, and nothing is stored', async () => {
    const id = await newProduct();
    const bytes = await pictureOf(10 * megabyte + 1);
    await assertNothingStored(async () => assertError(await upload(id, bytes), 413, 'invalid_request', 'file'));
    assert.deepEqual(await imagesOf(id), []);
  });

  test('far more is 413 too, on a connection that is then closed', async () => {
    const id = await newProduct();
    await assertNothingStored(async () => {
      const reply = await upload(id, Buffer.alloc(30 * megabyte));
      assertError(reply, 413, 'invalid_request', 'file');
      assert.equal(reply.headers.get('connection'), 'close');
    });
  });

  test('a body of more than 10 MB and the overhead of a form is 413, wherever in it the bytes are', async () => {
    const id = await newProduct();
    const { raw, headers } = await form(['file', await picture()]);
    const padding = Buffer.alloc(11 * megabyte, 'x');
    for (const body of [
      [raw, padding],
      [padding, Buffer.from('\r\n'), raw],
    ]) {
      const reply = await service.call('POST', imagesPath(id), { raw: Buffer.concat(body), headers });
      assert.equal(reply.status, 413, reply.text);
    }
  });

  test('an upload that the client breaks off leaves no temporary file', async () => {
    const id = await newProduct();
    const { raw, headers } = await form(['file', Buffer.alloc(5 * megabyte)]);
    const request = httpRequest(service.baseUrl + imagesPath(id), {
      method: 'POST',
      headers: { ...headers, 'content-length': raw.length, authorization: `Bearer ${service.key}` },
    });
    request.on('error', () => undefined);
    request.write(raw.subarray(0, 2 * megabyte));
    for (let tries = 0; (await filesIn('uploads')).length === 0; tries += 1) {
      assert.ok(tries < 100, 'the upload never began');
      await sleep(20);
    }
    request.destroy();
    for (let tries = 0; (await filesIn('uploads')).length > 0; tries += 1) {
      assert.ok(tries < 100, 'the temporary file is still there');
      await sleep(20);
    }
    assert.deepEqual(await imagesOf(id), []);
  });
});

describe('the form', () => {
  const head = (disposition: string): string => `--X\r\nContent-Disposition: form-data${disposition}\r\n`;
  const crlf = '\r\n\r\n';
  const handMade = (productId: string, body: string, type = 'multipart/form-data; boundary=X'): Promise<Reply> =>
    service.call('POST', imagesPath(productId), { raw: body, headers: { 'content-type': type } });

  test('with another field name than file is 400 and names that field', async () => {
    const id = await newProduct();
    const reply = await send(id, [['image', await picture()]]);
    assertError(reply, 400, 'validation_error', 'image');
    assert.match(reply.body.error.message, /"file"/);
  });

  test('with two files is 400, and nothing is stored', async () => {
    const id = await newProduct();
    const file: Part = ['file', await picture()];
    await assertNothingStored(async () => assertFileError(await send(id, [file, file])));
  });

  test('with a further field, before or behind the file, is 400, and nothing is stored', async () => {
    const id = await newProduct();
    const file: Part = ['file', await picture()];
    const extra: Part = ['title', 'x'];
    await assertNothingStored(async () => {
      for (const parts of [
        [file, extra],
        [extra, file],
      ])
        assert.equal((await send(id, parts)).status, 400);
    });
  });

  test('without a file is 400 required_field', async () => {
    const id = await newProduct();
    assertFileError(await handMade(id, '--X--\r\n'), 'required_field');
    assertFileError(await handMade(id, ''), 'required_field');
  });

  test('with text in the field file is 400', async () => {
    assertFileError(await send(await newProduct(), [['file', 'picture.jpg']]));
  });

  test('with a part that has no name is 400', async () => {
    const body = `${head('; filename="a.png"')}Content-Type: image/png${crlf}abc\r\n--X--\r\n`;
    assert.equal((await handMade(await newProduct(), body)).status, 400);
  });

  test('with a field name from Object.prototype is 400', async () => {
    for (const name of ['toString', '__proto__', 'constructor']) {
      assert.equal((await send(await newProduct(), [[name, await picture()]])).status, 400);
    }
  });

  test('that was cut off anywhere is 400, and nothing is stored', async () => {
    const id = await newProduct();
    const { raw, headers } = await form(['file', await picture()]);
    await assertNothingStored(async () => {
      for (const kept of [10, 60, raw.length - 100, raw.length - 20]) {
        const reply = await service.call('POST', imagesPath(id), { raw: raw.subarray(0, kept), headers });
        assertError(reply, 400, 'invalid_request', 'file');
      }
    });
  });

  test('without a boundary, or with another one than it says, is 400', async () => {
    const id = await newProduct();
    const body = `${head('; name="file"; filename="a.png"')}${crlf}abc\r\n--X--\r\n`;
    assert.equal((await handMade(id, body, 'multipart/form-data')).status, 400);
    assert.equal((await handMade(id, body, 'multipart/form-data; boundary=Y')).status, 400);
  });

  test('cannot be JSON: 400, and the message says multipart/form-data', async () => {
    const reply = await service.call('POST', imagesPath(await newProduct()), { body: { file: 'aGVsbG8=' } });
    assertError(reply, 400, 'invalid_request', null);
    assert.match(reply.body.error.message, /multipart\/form-data/);
  });

  test('cannot be the bare picture: 400, and the message says multipart/form-data', async () => {
    const headers = { 'content-type': 'image/png' };
    const reply = await service.call('POST', imagesPath(await newProduct()), { raw: await picture(), headers });
    assertError(reply, 400, 'invalid_request', null);
    assert.match(reply.body.error.message, /multipart\/form-data/);
  });

  test('that is refused early does not block the connection for the next request', async (context) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    context.after(() => {
      agent.destroy();
      // A blocked connection would also hold up the end of the service.
      service.app.server.closeAllConnections();
    });
    const exchange = (method: string, path: string, headers: Record<string, string> = {}, body?: Buffer) =>
      new Promise<number>((resolve, reject) => {
        const authorization = `Bearer ${service.key}`;
        const request = httpRequest(service.baseUrl + path, { method, agent, headers: { ...headers, authorization } });
        request.on('response', (response) => {
          text(response).then(() => resolve(response.statusCode ?? 0), reject);
        });
        request.on('error', reject);
        request.end(body);
      });
    const id = await newProduct();
    const { raw, headers } = await form(['wrong', Buffer.alloc(2 * megabyte)]);
    assert.equal(await exchange('POST', imagesPath(id), headers, raw), 400);
    const next = exchange('GET', `/v1/products/${id}`).catch(() => 0);
    assert.equal(await Promise.race([next, sleep(2000, 'no answer')]), 200);
  });
});

describe('what is not a JPEG, PNG or GIF is 400 validation_error on file, and nothing is stored', () => {
  const cases: Record<string, () => Promise<Buffer>> = {
    'an empty file': async () => Buffer.alloc(0),
    text: async () => Buffer.from('not an image'),
    'an HTML page': async () => Buffer.from('<!doctype html><script>alert(1)</script>'),
    'an SVG image': async () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'),
    'a WebP image': () => picture('webp'),
    'the beginning of a PNG': async () => (await picture('png')).subarray(0, 60),
    'the beginning of a JPEG': async () => (await picture('jpeg')).subarray(0, 200),
    'the beginning of a GIF': async () => (await picture('gif')).subarray(0, -5),
    'a PNG with a page behind it': async () => Buffer.concat([await picture('png'), Buffer.from('<script>')]),
  };
  for (const [what, bytes] of Object.entries(cases)) {
    test(what, async () => {
      const id = await newProduct();
      await assertNothingStored(async () => assertFileError(await upload(id, await bytes())));
      assert.deepEqual(await imagesOf(id), []);
    });
  }
});

describe('deleting an image', () => {
  const remove = (productId: string, imageId: string): Promise<Reply> =>
    service.call('DELETE', `${imagesPath(productId)}/${imageId}`);

  test('returns id, deleted: true and a message; the images behind it move up', async () => {
    const { id, images } = await productWith(3);
    const [first, second, third] = images as [Image, Image, Image];
    const { status, body } = await remove(id, first.id);
    assert.deepEqual([status, body.id, body.deleted, typeof body.message], [200, first.id, true, 'string']);
    const rest = (await imagesOf(id)).map((image) => [image.id, image.order]);
    assert.deepEqual(rest, [
      [second.id, 0],
      [third.id, 1],
    ]);
    assert.equal((await uploaded(id)).order, 2);
  });

  test('the worker removes the file, and the link is dead', async () => {
    const { id, images } = await productWith(1);
    const [image] = images as [Image];
    await remove(id, image.id);
    await sweep();
    assert.equal(await statusOf(image.url), 404);
    assert.ok((await filesIn('files')).every((path) => !path.includes(image.id)));
    assert.ok(!(await unreferenced()).includes(keyOf(image)));
  });

  test('the file goes by real time, also when the sandbox clock is a month ahead', async () => {
    const { key, sandbox } = await service.createMerchant();
    await service.db.query('UPDATE companies SET clock_offset_ms = 30 * 86400000::bigint WHERE id = $1', [sandbox.id]);
    const id = await newProduct({ key });
    const image = (await upload(id, undefined, { key })).body as unknown as Image;
    await service.call('DELETE', `${imagesPath(id)}/${image.id}`, { key });
    await sweep();
    assert.equal(await statusOf(image.url), 404);
  });

  test("an image that does not exist, is gone, or is another product's: 404", async () => {
    const { id, images } = await productWith(1);
    const other = await productWith(1);
    await remove(id, images[0]?.id ?? '');
    for (const imageId of [randomUUID(), 'nonsense', images[0]?.id ?? '', other.images[0]?.id ?? '']) {
      const reply = await remove(id, imageId);
      assertError(reply, 404, 'resource_not_found', 'imageId');
      assert.equal(reply.body.error.message, 'No image with this ID exists.');
    }
    assert.equal((await imagesOf(other.id)).length, 1);
  });

  test('five deletions at once leave the rest without gaps', async () => {
    const { id, images } = await productWith(8);
    await Promise.all([0, 2, 3, 5, 7].map((index) => remove(id, images[index]?.id ?? '')));
    const rest = (await imagesOf(id)).map((image) => [image.id, image.order]);
    assert.deepEqual(
      rest,
      [1, 4, 6].map((index, order) => [images[index]?.id, order]),
    );
  });
});

describe('reordering images', () => {
  const reorder = (productId: string, image_ids: unknown): Promise<Reply> =>
    service.call('PATCH', `${imagesPath(productId)}/reorder`, { body: { image_ids } });
  const idsOf = (images: readonly Image[]): string[] => images.map((image) => image.id);

  test('the position in the array is the new order, returned as {data: [{id, order}]}', async () => {
    const { id, images } = await productWith(3);
    const [first, second, third] = idsOf(images) as [string, string, string];
    const { status, body } = await reorder(id, [third, first, second]);
    assert.equal(status, 200);
    assert.deepEqual(body, {
      data: [
        { id: third, order: 0 },
        { id: first, order: 1 },
        { id: second, order: 2 },
      ],
    });
    assert.deepEqual(idsOf(await imagesOf(id)), [third, first, second]);
  });

  test('must name all of the images: 400 otherwise, and nothing changes', async () => {
    const { id, images } = await productWith(3);
    const [first, second] = idsOf(images) as [string, string];
    assertError(await reorder(id, [second, first]), 400, 'validation_error', 'image_ids');
    assert.deepEqual(idsOf(await imagesOf(id)), idsOf(images));
  });

  test('must name each image once: 400 otherwise, and nothing changes', async () => {
    const { id, images } = await productWith(2);
    const [first] = idsOf(images) as [string];
    assertError(await reorder(id, [first, first]), 400, 'validation_error', 'image_ids');
    assert.deepEqual(idsOf(await imagesOf(id)), idsOf(images));
  });

  test('an id in upper case is the same id, also as a repeat', async () => {
    const { id, images } = await productWith(2);
    const [first, second] = idsOf(images) as [string, string];
    assert.equal((await reorder(id, [second.toUpperCase(), first])).status, 200);
    assertError(await reorder(id, [first, first.toUpperCase()]), 400, 'validation_error', 'image_ids');
    assert.deepEqual(idsOf(await imagesOf(id)), [second, first]);
  });

  test('an image of another product, or of none, is 404 and named', async () => {
    const { id, images } = await productWith(2);
    const other = await productWith(1);
    for (const foreign of [randomUUID(), other.images[0]?.id]) {
      assertError(await reorder(id, [images[0]?.id, foreign]), 404, 'resource_not_found', 'image_ids[1]');
    }
  });

  test('image_ids is required, must be an array of ids, and not empty', async () => {
    const { id } = await productWith(1);
    const missing = await service.call('PATCH', `${imagesPath(id)}/reorder`, { body: {} });
    assert.equal(missing.body.error.field_errors[0].code, 'required_field');
    for (const [value, param] of [
      [[], 'image_ids'],
      ['x', 'image_ids'],
      [null, 'image_ids'],
      [['x'], 'image_ids[0]'],
    ] as const) {
      assertError(await reorder(id, value), 400, 'validation_error', param);
    }
  });

  test('a product that does not exist is 404', async () => {
    assertError(await reorder(randomUUID(), [randomUUID()]), 404, 'resource_not_found', 'id');
  });

  test('two opposite reorders at once leave one of the two orders', async () => {
    const { id, images } = await productWith(5);
    const forwards = idsOf(images);
    const backwards = forwards.toReversed();
    const replies = await Promise.all([reorder(id, forwards), reorder(id, backwards)]);
    assert.deepEqual(
      replies.map((reply) => reply.status),
      [200, 200],
    );
    const found = idsOf(await imagesOf(id)).join();
    assert.ok([forwards.join(), backwards.join()].includes(found));
  });
});

describe('expand=images', () => {
  test('adds the images in their order to a single product', async () => {
    const { id, images } = await productWith(2);
    const expanded = await imagesOf(id);
    assert.deepEqual(
      expanded.map((image) => ({ ...image, url: '' })),
      images.map((image) => ({ ...image, url: '' })),
    );
    assert.equal(await statusOf(expanded[1]?.url ?? ''), 200);
  });

  test('adds them to each product of a list, and an empty array where there are none', async () => {
    const [withImages, without] = [await productWith(2), await newProduct()];
    const { body } = await service.call('GET', '/v1/products?expand=images&limit=2');
    const found = body.data.map((product: { id: string; images: Image[] }) => [product.id, product.images.length]);
    assert.deepEqual(found, [
      [without, 0],
      [withImages.id, 2],
    ]);
  });

  test('without it there is no property images', async () => {
    const { id } = await productWith(1);
    assert.ok(!('images' in (await service.call('GET', `/v1/products/${id}`)).body));
  });

  test('any other name is 400', async () => {
    assertError(await service.call('GET', '/v1/products?expand=pictures'), 400, 'validation_error', 'expand');
  });
});

describe('deleting the product', () => {
  test('removes the files of its images', async () => {
    const { id, images } = await productWith(3);
    assert.equal((await service.call('DELETE', `/v1/products/${id}`)).status, 200);
    await sweep();
    for (const image of images) assert.equal(await statusOf(image.url), 404);
    assert.ok((await filesIn('files')).every((path) => !path.includes(id)));
  });

  test('keeps the images of a product that is only soft-deleted', async () => {
    const { id, images } = await productWith(1);
    withHistory.add(id);
    await service.call('DELETE', `/v1/products/${id}`);
    await sweep();
    assert.equal(await statusOf(images[0]?.url ?? ''), 200);
    assert.equal((await imagesOf(id)).length, 1);
  });
});

describe('a process that dies while it stores an image', () => {
  const context = (): RequestContext => ({
    requestId: 'req_test',
    company: service.company,
    nowMs: service.clock.nowMs(),
    db: service.db,
  });
  const links = () => ({ files: disk(), clock: service.clock });

  /** All that comes before the transaction that makes the image. */
  async function storedOnly(productId: string) {
    const path = join(service.config.dataDir, 'uploads', randomUUID());
    await writeFile(path, await picture());
    return storeImage(context(), links(), productId, { path, sizeBytes: 1, sha256: '' });
  }

  const makeDue = (fileKey: string): Promise<object[]> =>
    service.db.query(`UPDATE unreferenced_files SET due_at = now() - interval '1 second' WHERE file_key = $1`, [
      fileKey,
    ]);
  const isThere = async (fileKey: string): Promise<boolean> =>
    (await filesIn('files')).includes(join(service.config.dataDir, 'files', fileKey));

  test('leaves a file that the worker removes when it is due, and not before', async () => {
    const { fileKey } = await storedOnly(await newProduct());
    await sweep();
    assert.ok(await isThere(fileKey));
    assert.ok((await unreferenced()).includes(fileKey));
    await makeDue(fileKey);
    await sweep();
    assert.ok(!(await isThere(fileKey)));
    assert.ok(!(await unreferenced()).includes(fileKey));
  });

  test('an upload that is slower than that gets no image without a file: 503', async () => {
    const id = await newProduct();
    const stored = await storedOnly(id);
    await makeDue(stored.fileKey);
    await sweep();
    await assert.rejects(addImage(context(), links(), id, stored), { code: 'service_unavailable', status: 503 });
    assert.deepEqual(await imagesOf(id), []);
  });

  test('a worker that dies between file and entry does its work again', async () => {
    const { fileKey } = await storedOnly(await newProduct());
    await makeDue(fileKey);
    await disk().delete(fileKey);
    await sweep();
    assert.ok(!(await unreferenced()).includes(fileKey));
  });

  test('a file that cannot be deleted stays registered and does not hold up the others', async () => {
    const id = await newProduct();
    const [stuck, free] = [await storedOnly(id), await storedOnly(id)];
    await makeDue(stuck.fileKey);
    await makeDue(free.fileKey);
    const files: FileStore = {
      ...disk(),
      delete: async (key) => {
        if (key === stuck.fileKey) throw new Error('access denied');
        await disk().delete(key);
      },
    };
    await sweep(files).catch(() => undefined);
    const left = await unreferenced();
    await sweep();
    assert.ok(left.includes(stuck.fileKey));
    assert.ok(!left.includes(free.fileKey));
  });
});

describe('with S3', () => {
  let s3rver: S3rver;
  let folder = '';
  let onS3: TestService;
  const settingsFor = (port: number): Record<string, string> => ({
    S3_ENDPOINT: `http://127.0.0.1:${port}`,
    S3_BUCKET: 'images',
    S3_ACCESS_KEY_ID: 'S3RVER',
    S3_SECRET_ACCESS_KEY: 'S3RVER',
  });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'images-test-'));
    const configureBuckets = [{ name: 'images' }];
    s3rver = new S3rver({ address: '127.0.0.1', port: 0, silent: true, directory: folder, configureBuckets });
    onS3 = await startTestService({ settings: settingsFor((await s3rver.run()).port) });
  });
  after(async () => {
    await onS3.stop();
    await s3rver.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function uploadTo(target: TestService, bytes: Buffer): Promise<{ productId: string; reply: Reply }> {
    const made = await target.call('POST', '/v1/products', { body: someProduct(), idempotencyKey: randomUUID() });
    const productId: string = made.body.id;
    return { productId, reply: await target.call('POST', imagesPath(productId), await form(['file', bytes])) };
  }

  test('an image is uploaded and read through a link to the bucket that lives 10 minutes', async () => {
    const bytes = await picture('jpeg');
    const { reply } = await uploadTo(onS3, bytes);
    assert.equal(reply.status, 201);
    const url = new URL(reply.body.url);
    assert.equal(url.origin, onS3.config.S3_ENDPOINT);
    const seconds = Number(url.searchParams.get('X-Amz-Expires'));
    assert.ok(seconds === 600 || seconds === 601, 'a second more makes up for a start that is rounded down');
    const response = await fetch(url);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'image/jpeg');
    assert.ok(Buffer.from(await response.arrayBuffer()).equals(bytes));
  });

  test('nothing of it stays on the local disk or in unreferenced_files', async () => {
    await uploadTo(onS3, await picture());
    const entries = await readdir(onS3.config.dataDir, { recursive: true });
    assert.deepEqual(entries.toSorted(), ['uploads', 'vault.keys']);
    assert.deepEqual(await onS3.db.query('SELECT 1 FROM unreferenced_files'), []);
  });

  test('a deleted image is removed from the bucket by the worker', async () => {
    const { productId, reply } = await uploadTo(onS3, await picture());
    await onS3.call('DELETE', `${imagesPath(productId)}/${reply.body.id}`);
    const files = fileStore(onS3.config);
    assert.ok(files);
    await deleteUnreferencedFiles(onS3.db, files, 500);
    const response = await fetch(reply.body.url);
    await response.arrayBuffer();
    assert.equal(response.status, 404);
  });

  test('a bucket that does not answer gives 5xx, no image, and a file that stays registered', async (context) => {
    const offline = await startTestService({ settings: settingsFor(9) });
    context.after(() => offline.stop());
    const { productId, reply } = await uploadTo(offline, await picture());
    assert.ok(reply.status >= 500, reply.text);
    const { body } = await offline.call('GET', `/v1/products/${productId}?expand=images`);
    assert.deepEqual(body.images, []);
    assert.equal((await offline.db.query('SELECT 1 FROM unreferenced_files')).length, 1);
    assert.deepEqual(await readdir(join(offline.config.dataDir, 'uploads')), []);
  });
});
