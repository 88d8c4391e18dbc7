import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import S3rver from 's3rver';
import {
  assertError,
  form,
  type Image,
  imagesPath,
  keyOf,
  picture,
  startImagesService,
} from '../../../tests/support/images.ts';
import { type Reply, someProduct, startTestService, type TestService } from '../../../tests/support/service.ts';
import { fileStore } from '../../start/file-store.ts';
import { createDiskStore } from '../../platform/files/disk-store.ts';
import type { FileStore } from '../../platform/files/file-store.ts';
import type { RequestContext } from '../../request-context.ts';
import { addImage, storeImage } from './images.ts';
import { deleteUnreferencedFiles } from './jobs.ts';
import { Secret } from '../../platform/secret.ts';
import { originalKeys } from '../../platform/service-keys.ts';

/** Images that are stored: their links, their order, and the removal of their files. */

const stored = await startImagesService();
const { service, withHistory, newProduct, productWith, upload, uploaded, imagesOf } = stored;
const { reachable, filesIn, unreferenced } = stored;
after(() => service.stop());

async function statusOf(url: string): Promise<number> {
  const response = await fetch(reachable(url));
  await response.arrayBuffer();
  return response.status;
}

const disk = (): FileStore =>
  createDiskStore({
    root: join(service.config.dataDir, 'files'),
    baseUrl: 'http://service.test',
    signingKey: originalKeys(new Secret(Buffer.alloc(32)))['file-urls'],
  });

const sweep = (files: FileStore = disk()): Promise<number> => deleteUnreferencedFiles(service.db, files, 500);

describe('the presigned link', () => {
  test('needs no API key and lets a browser show a picture and nothing else', async () => {
    const { url } = await uploaded(await newProduct());
    const { headers } = await fetch(reachable(url));
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('content-security-policy'), "default-src 'none'; sandbox");
  });

  test('serves the type of the bytes, not the one that the client sent', async () => {
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

  test('is made again by each read', async () => {
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

  test('a bucket that does not answer gives 503, no image, and a file that stays registered', async (context) => {
    const offline = await startTestService({ settings: settingsFor(9) });
    context.after(() => offline.stop());
    const { productId, reply } = await uploadTo(offline, await picture());
    assert.deepEqual([reply.status, reply.body.error.code], [503, 'service_unavailable'], reply.text);
    assert.equal(reply.headers.get('retry-after'), '1');
    assert.match(reply.body.error.message, /file storage is unavailable/);
    const { body } = await offline.call('GET', `/v1/products/${productId}?expand=images`);
    assert.deepEqual(body.images, []);
    assert.equal((await offline.db.query('SELECT 1 FROM unreferenced_files')).length, 1);
    assert.deepEqual(await readdir(join(offline.config.dataDir, 'uploads')), []);
  });
});
