import assert from 'node:assert/strict';
import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import S3rver from 's3rver';
import { listen } from '../../../tests/support/listen.ts';
import { createDiskStore, verifyFileUrl } from './disk-store.ts';
import type { DiskStore } from './disk-store.ts';
import type { FileStore } from './file-store.ts';
import { createS3Store } from './s3-store.ts';
import { StorageError } from './storage-error.ts';
import type { S3StoreOptions } from './s3-store.ts';
import { Secret } from '../secret.ts';
import { originalKeys, type ServiceKey } from '../service-keys.ts';

const testAccessKeyId = 'S3RVER';
const testSecret = 'S3RVER';
const hourMs = 60 * 60 * 1000;

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'file-store-test-'));
});
after(() => rm(folder, { recursive: true, force: true }));

function newKey(extension = 'jpg'): string {
  return `${randomUUID()}/${randomUUID()}/${randomUUID()}.${extension}`;
}

async function upload(bytes: Buffer | string, inFolder = folder): Promise<string> {
  const path = join(inFolder, `upload-${randomUUID()}`);
  await writeFile(path, bytes);
  return path;
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

function conformance(store: () => FileStore): void {
  test('a stored file can be fetched with its type', async () => {
    const bytes = randomBytes(300_000);
    const types = { jpg: 'image/jpeg', png: 'image/png', gif: 'image/gif' };
    for (const [extension, contentType] of Object.entries(types)) {
      const key = newKey(extension);
      await store().put(key, await upload(bytes), contentType);
      const response = await fetch(await store().url(key, 60, Date.now()));
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('content-type'), contentType);
      assert.ok(Buffer.from(await response.arrayBuffer()).equals(bytes));
    }
  });

  test('put replaces', async () => {
    const key = newKey();
    await store().put(key, await upload('first, and longer'), 'image/jpeg');
    await store().put(key, await upload('second'), 'image/jpeg');
    const response = await fetch(await store().url(key, 60, Date.now()));
    assert.equal(await response.text(), 'second');
  });

  test('put of a file that is not there fails', async () => {
    await assert.rejects(store().put(newKey(), join(folder, 'missing'), 'image/jpeg'), /ENOENT|no such file/i);
  });

  test('delete deletes, again and again', async () => {
    const key = newKey();
    await store().put(key, await upload('x'), 'image/jpeg');
    await store().delete(key);
    await store().delete(key);
    await store().delete(newKey());
    const response = await fetch(await store().url(key, 60, Date.now()));
    assert.equal(response.status, 404);
    await response.body?.cancel();
  });

  test('an altered, borrowed or unsigned link is refused', async () => {
    const [key, otherKey] = [newKey(), newKey()];
    await store().put(key, await upload('x'), 'image/jpeg');
    await store().put(otherKey, await upload('y'), 'image/jpeg');
    const url = await store().url(key, 60, Date.now());
    assert.equal(await statusOf(url), 200);
    const last = url.at(-1) === '0' ? '1' : '0';
    assert.equal(await statusOf(`${url.slice(0, -1)}${last}`), 403);
    assert.equal(await statusOf(url.replace(key, otherKey)), 403);
    assert.equal(await statusOf(url.replace(/(?<=expires=)\d+/i, (seconds) => String(Number(seconds) + 1))), 403);
    assert.equal(await statusOf(url.slice(0, url.indexOf('?'))), 403);
  });

  test('a link expires', async () => {
    const key = newKey();
    await store().put(key, await upload('x'), 'image/jpeg');
    assert.equal(await statusOf(await store().url(key, 3600, Date.now() - hourMs + 20_000)), 200);
    assert.equal(await statusOf(await store().url(key, 3600, Date.now() - hourMs - 2000)), 403);
  });

  test('bad keys, types and lifetimes are refused', async () => {
    const badPaths = ['', '/a.jpg', 'a/', 'a//b.jpg', '../a.jpg', 'a/../b.jpg', 'a/./b.jpg', 'a/.hidden', 'a./b'];
    const badLetters = ['A.jpg', 'a b.jpg', 'a%2f.jpg', 'a\\b.jpg', 'a\0.jpg', 'a.jpg\n', 'é.jpg'];
    const source = await upload('x');
    for (const key of [...badPaths, ...badLetters, 'a'.repeat(513)]) {
      await assert.rejects(store().put(key, source, 'image/jpeg'), TypeError);
      await assert.rejects(store().delete(key), TypeError);
      await assert.rejects(store().url(key, 60, 0), TypeError);
    }
    await assert.rejects(store().put(newKey('jpg'), source, 'text/html'), TypeError);
    for (const ttlSeconds of [0, -1, 1.5, NaN, 604_801]) {
      await assert.rejects(store().url(newKey(), ttlSeconds, Date.now()), RangeError);
    }
  });
}

async function statusOf(url: string): Promise<number> {
  const response = await fetch(url);
  await response.arrayBuffer();
  return response.status;
}

describe('disk store', () => {
  const newSigningKey = (): ServiceKey => originalKeys(new Secret(randomBytes(32)))['file-urls'];
  const signingKey = newSigningKey();
  let store: DiskStore;
  let baseUrl = '';
  let root = '';
  const server = createServer((request, response) => void serve(request, response));

  before(async () => {
    root = join(folder, 'root');
    baseUrl = await listen(server);
    store = createDiskStore({ root, baseUrl: `${baseUrl}/`, signingKey });
  });
  after(() => close(server));

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', baseUrl);
    const key = pathname.slice('/files/'.length);
    const claim = { expires: searchParams.get('expires'), signature: searchParams.get('signature') };
    if (!verifyFileUrl({ signingKey, key, ...claim, nowMs: Date.now() })) return void response.writeHead(403).end();
    const file = await store.openForRead(key);
    if (!file) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': file.contentType, 'content-length': file.sizeBytes });
    file.stream.pipe(response);
  }

  conformance(() => store);

  test('opens no folders, no missing files and nothing outside', async () => {
    const key = newKey();
    await store.put(key, await upload('x'), 'image/jpeg');
    await writeFile(join(folder, 'secret.jpg'), 'x');
    for (const wrong of [newKey(), key.slice(0, 36), `${key}/more.jpg`, '../secret.jpg', '.incoming', '']) {
      assert.equal(await store.openForRead(wrong), null);
    }
  });

  test('expiry is exact, and another key or a lenient spelling does not do', async () => {
    const key = newKey();
    const { searchParams } = new URL(await store.url(key, 10, 5000));
    const [expires, signature] = [searchParams.get('expires'), searchParams.get('signature') ?? ''];
    const claim = { signingKey, key, expires, signature, nowMs: 14_999 };
    assert.equal(expires, '15');
    assert.equal(verifyFileUrl(claim), true);
    assert.equal(verifyFileUrl({ ...claim, nowMs: 15_000 }), false);
    assert.equal(verifyFileUrl({ ...claim, signingKey: newSigningKey() }), false);
    assert.equal(verifyFileUrl({ ...claim, signature: `${signature}=` }), false);
    assert.equal(verifyFileUrl({ ...claim, expires: '015' }), false);
    assert.equal(verifyFileUrl({ ...claim, expires: ['15', '15'] }), false);
    assert.equal(verifyFileUrl({ ...claim, signature: undefined }), false);
  });

  test('a file from another filesystem is copied whole, leaving nothing behind', async (context) => {
    const { dev } = await stat(folder);
    const isOther = async (path: string): Promise<boolean> =>
      ((await stat(path).catch(() => null))?.dev ?? dev) !== dev;
    const otherDisk = (await isOther('/dev/shm')) ? '/dev/shm' : '/var/tmp';
    if (!(await isOther(otherDisk))) return context.skip('needs two filesystems');
    const elsewhere = await mkdtemp(join(otherDisk, 'file-store-test-'));
    context.after(() => rm(elsewhere, { recursive: true, force: true }));
    const key = newKey();
    await store.put(key, await upload('from afar', elsewhere), 'image/jpeg');
    assert.equal(await (await fetch(await store.url(key, 60, Date.now()))).text(), 'from afar');
    assert.deepEqual(await readdir(join(root, '.incoming')), []);

    await mkdir(join(root, 'folder.jpg'));
    await assert.rejects(store.put('folder.jpg', await upload('x', elsewhere), 'image/jpeg'));
    assert.deepEqual(await readdir(join(root, '.incoming')), []);
  });
});

interface SignedRequest {
  method: string;
  /** Path and query, encoded as they were sent. */
  target: string;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
  nowMs: number;
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function sha256(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function parseAuthorization(header: string): Record<string, string> {
  const parts = header.replace('AWS4-HMAC-SHA256 ', '').split(', ');
  return Object.fromEntries(parts.map((part) => [`X-Amz-${part.split('=')[0]}`, part.slice(part.indexOf('=') + 1)]));
}

/** Checks a Signature Version 4 from first principles, sharing no code with the client. Returns an S3 error code. */
function signatureProblem(request: SignedRequest, secret: string): string | null {
  const [path = '', query = ''] = request.target.split('?');
  const pairs = query.split('&').filter((pair) => pair !== '' && !pair.startsWith('X-Amz-Signature='));
  const header = (name: string) => String(request.headers[name] ?? '');
  const inQuery = query.includes('X-Amz-Signature=');
  if (!inQuery && !header('authorization')) return 'AccessDenied';
  const claim: Record<string, string> = inQuery
    ? Object.fromEntries(new URLSearchParams(query))
    : parseAuthorization(header('authorization'));
  const [accessKeyId, ...scope] = (claim['X-Amz-Credential'] ?? '').split('/');
  if (accessKeyId !== testAccessKeyId && accessKeyId !== 'AKIAIOSFODNN7EXAMPLE') return 'InvalidAccessKeyId';
  const date = inQuery ? (claim['X-Amz-Date'] ?? '') : header('x-amz-date');
  const signedMs = Date.parse(date.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  const signedHeaders = claim['X-Amz-SignedHeaders'] ?? '';
  const payload = inQuery ? 'UNSIGNED-PAYLOAD' : header('x-amz-content-sha256');
  const canonicalHeaders = signedHeaders.split(';').map((name) => `${name}:${header(name)}\n`);
  const canonical = [
    request.method,
    path,
    pairs.toSorted().join('&'),
    canonicalHeaders.join(''),
    signedHeaders,
    payload,
  ];
  const text = ['AWS4-HMAC-SHA256', date, scope.join('/'), sha256(canonical.join('\n'))].join('\n');
  const signature = hmac(scope.reduce<string | Buffer>(hmac, `AWS4${secret}`), text).toString('hex');
  if (signature !== claim['X-Amz-Signature']) return 'SignatureDoesNotMatch';
  const expiresMs = inQuery ? signedMs + Number(claim['X-Amz-Expires']) * 1000 : signedMs + hourMs / 4;
  if (request.nowMs > expiresMs) return inQuery ? 'AccessDenied' : 'RequestTimeTooSkewed';
  return inQuery || payload === sha256(request.body) ? null : 'XAmzContentSHA256Mismatch';
}

test('the signature check of these tests agrees with the example in the documentation of AWS', () => {
  const target =
    '/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256' +
    '&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request' +
    '&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host' +
    '&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404';
  const headers = { host: 'examplebucket.s3.amazonaws.com' };
  const example = { method: 'GET', target, headers, body: Buffer.alloc(0), nowMs: Date.UTC(2013, 4, 24, 1) };
  const secret = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY';
  assert.equal(signatureProblem(example, secret), null);
  assert.equal(signatureProblem(example, `${secret}x`), 'SignatureDoesNotMatch');
  assert.equal(signatureProblem({ ...example, nowMs: Date.UTC(2013, 4, 25, 1) }, secret), 'AccessDenied');
});

describe('S3 store', () => {
  let s3rver: S3rver;
  let innerPort = 0;
  let endpoint = '';
  let seen: { method: string; headers: IncomingMessage['headers'] }[] = [];
  let faults: ('reset' | 'refuse' | number)[] = [];
  const gateway = createServer((request, response) => void checkAndForward(request, response));

  before(async () => {
    const directory = join(folder, 's3rver');
    await mkdir(directory);
    const configureBuckets = [{ name: 'images' }];
    s3rver = new S3rver({ address: '127.0.0.1', port: 0, silent: true, directory, configureBuckets });
    innerPort = (await s3rver.run()).port;
    endpoint = await listen(gateway);
  });
  after(async () => {
    await close(gateway);
    await s3rver.close();
  });

  // s3rver reads Version 4 signatures but takes any of them for good, so they are checked on the way to it. Like AWS,
  // and unlike s3rver, this also wants a length and checks the hash of the body.
  async function checkAndForward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: target = '', headers } = request;
    seen.push({ method, headers });
    const fault = faults.shift();
    if (fault === 'reset') return void request.socket.destroy();
    if (fault === 'refuse') return void response.writeHead(403, { connection: 'close' }).end();
    const body = await buffer(request);
    if (fault) return void response.writeHead(fault).end('<Error><Code>SlowDown</Code></Error>');
    if (method === 'PUT' && !headers['content-length']) return void response.writeHead(411).end();
    const code = signatureProblem({ method, target, headers, body, nowMs: Date.now() }, testSecret);
    if (code) return void response.writeHead(403).end(`<Error><Code>${code}</Code></Error>`);
    const inner = httpRequest({ host: '127.0.0.1', port: innerPort, method, path: target, headers, agent: false });
    inner.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    inner.end(body);
  }

  function storeWith(options: Partial<S3StoreOptions> = {}): FileStore {
    const credentials = { accessKeyId: testAccessKeyId, secretAccessKey: testSecret };
    return createS3Store({ endpoint, region: 'us-east-1', bucket: 'images', ...credentials, ...options });
  }

  conformance(() => storeWith());

  test('a wrong secret is rejected at once, and the secret is not in the error', async () => {
    const secretAccessKey = 'wrong-secret-value';
    const store = storeWith({ secretAccessKey });
    const key = newKey();
    const source = await upload('x');
    seen = [];
    await assert.rejects(store.put(key, source, 'image/jpeg'), (error: Error) => {
      assert.equal(error.message, `S3 PUT of ${key} failed: 403 SignatureDoesNotMatch`);
      assert.ok(!JSON.stringify([error.stack, error.cause]).includes(secretAccessKey));
      return true;
    });
    assert.equal(seen.length, 1);
    await assert.rejects(store.delete(key), /403 SignatureDoesNotMatch/);
    assert.equal(await statusOf(await store.url(key, 60, Date.now())), 403);
  });

  test('uploads are signed with their hash and type, and have a length', async () => {
    seen = [];
    await storeWith().put(newKey(), await upload('content'), 'image/jpeg');
    const headers = seen[0]?.headers;
    assert.equal(headers?.['content-length'], '7');
    assert.equal(headers?.['transfer-encoding'], undefined);
    assert.equal(headers?.['content-type'], 'image/jpeg');
    assert.equal(headers?.['x-amz-content-sha256'], sha256('content'));
    assert.match(String(headers?.authorization), /SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date,/);
  });

  test('server errors and lost connections are tried again, three times in all', async () => {
    const key = newKey();
    faults = [503, 'reset'];
    await storeWith().put(key, await upload('persistent'), 'image/jpeg');
    assert.equal(await (await fetch(await storeWith().url(key, 60, Date.now()))).text(), 'persistent');
    faults = ['reset', 500];
    await storeWith().delete(key);

    seen = [];
    faults = [503, 503, 503];
    await assert.rejects(storeWith().delete(key), { message: `S3 DELETE of ${key} failed: 503 SlowDown` });
    assert.equal(seen.length, 3);
  });

  test('a rejection in the middle of an upload is reported as one', async () => {
    const source = await upload(randomBytes(8_000_000));
    faults = ['refuse'];
    await assert.rejects(storeWith().put(newKey(), source, 'image/jpeg'), /failed: 403$/);
  });

  test('the error names a missing bucket and a missing server', async () => {
    const key = newKey();
    await assert.rejects(storeWith({ bucket: 'absent' }).delete(key), /failed: 404 NoSuchBucket$/);
    const source = await upload('x');
    await assert.rejects(storeWith({ bucket: 'absent' }).put(key, source, 'image/jpeg'), /failed: 404 NoSuchBucket$/);
    const missing = storeWith({ endpoint: 'http://127.0.0.1:1' }).put(key, source, 'image/jpeg');
    await assert.rejects(missing, StorageError, 'it may be there later');
    await assert.rejects(storeWith({ endpoint: 'http://127.0.0.1:1' }).delete(key), /no response \(ECONNREFUSED\)$/);
  });

  test('links name the public endpoint, in either style, and are signed for it', async () => {
    const nowMs = Date.UTC(2030, 0, 2, 3, 4, 5);
    const key = newKey('png');
    const cases: [Partial<S3StoreOptions>, string][] = [
      [{ publicEndpoint: 'https://cdn.example.com/' }, `https://cdn.example.com/images/${key}`],
      [{ publicEndpoint: 'https://cdn.example.com/s3' }, `https://cdn.example.com/s3/images/${key}`],
      [{ endpoint: 'https://s3.example.com:9000', forcePathStyle: false }, `https://images.s3.example.com:9000/${key}`],
    ];
    for (const [options, expected] of cases) {
      const url = new URL(await storeWith(options).url(key, 600, nowMs));
      assert.equal(`${url.origin}${url.pathname}`, expected);
      assert.equal(url.searchParams.get('X-Amz-Date'), '20300102T030405Z');
      assert.equal(url.searchParams.get('X-Amz-Expires'), '601');
      assert.equal(url.searchParams.get('response-content-type'), 'image/png');
      const target = `${url.pathname}${url.search}`;
      const request = { method: 'GET', target, headers: { host: url.host }, body: Buffer.alloc(0) };
      assert.equal(signatureProblem({ ...request, nowMs: nowMs + 599_000 }, testSecret), null);
      assert.equal(signatureProblem({ ...request, nowMs: nowMs + 602_000 }, testSecret), 'AccessDenied');
    }
  });
});
