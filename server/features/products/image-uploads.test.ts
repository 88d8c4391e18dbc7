import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { Agent, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import {
  assertError,
  form,
  imagesPath,
  keyOf,
  type Part,
  picture,
  startImagesService,
} from '../../../tests/support/images.ts';
import { type Reply, startTestService } from '../../../tests/support/service.ts';
import { idTimeMs } from '../../platform/ids.ts';

/** What may be uploaded as an image, and what an upload leaves behind that is refused or breaks off. */

const megabyte = 1024 * 1024;

const images = await startImagesService();
const { service, withHistory, newProduct, productWith, send, upload, uploaded, imagesOf } = images;
const { reachable, filesIn, unreferenced } = images;
after(() => service.stop());

/** A PNG of exactly this number of bytes: the rest is in a chunk that viewers skip. */
async function pictureOf(bytes: number): Promise<Buffer> {
  const png = await picture();
  const end = png.subarray(-12);
  const chunk = Buffer.alloc(bytes - png.length);
  chunk.writeUInt32BE(chunk.length - 12);
  chunk.write('svCt', 4, 'latin1');
  chunk.writeUInt32BE(crc32(chunk.subarray(4, -4)), chunk.length - 4);
  return Buffer.concat([png.subarray(0, -12), chunk, end]);
}

function assertFileError(reply: Reply, code = 'invalid_value'): void {
  assert.equal(reply.status, 400, reply.text);
  assert.equal(reply.body.error.code, 'validation_error');
  assert.deepEqual(
    reply.body.error.field_errors.map((error: Record<string, string>) => [error.field, error.code]),
    [['file', code]],
  );
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
