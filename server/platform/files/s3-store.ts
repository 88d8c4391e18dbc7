import { AwsV4Signer } from 'aws4fetch';
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { inWords } from '../components.ts';
import { assertContentType, assertFileKey, assertUrlTtl, contentTypeOf } from './file-store.ts';
import type { FileStore } from './file-store.ts';
import { StorageError } from './storage-error.ts';

export interface S3StoreOptions {
  /** For example `https://s3.eu-central-1.amazonaws.com` or `http://minio:9000`. */
  endpoint: string;
  region: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** The URL at which clients reach the bucket, if it differs from the endpoint. Links are signed for this host. */
  publicEndpoint?: string;
  /** Uses `endpoint/bucket/key`, which every server understands, instead of `bucket.endpoint/key`. */
  forcePathStyle?: boolean;
}

interface S3Request {
  method: 'PUT' | 'GET' | 'DELETE';
  key: string;
  headers: Record<string, string>;
  upload?: Upload;
}

interface Upload {
  open(): Readable;
  sizeBytes: number;
}

interface Answer {
  status: number;
  body: string;
}

interface Failure {
  reason: string;
  retryable: boolean;
  cause?: unknown;
}

const triesMax = 3;
const firstBackOffMs = 100;
/** For all tries together, so that the caller gets an answer in time. */
const sendTimeoutMs = 30_000;
const connectTimeoutMs = 3_000;
const checkTimeoutMs = 5_000;

// The hash of an empty body.
const emptySha256 = createHash('sha256').digest('hex');

export interface ObjectStore extends FileStore {
  /** Writes, reads and deletes an object, as the service does with images. Fails if one of these fails. */
  check(): Promise<void>;
}

export function createS3Store(options: S3StoreOptions): ObjectStore {
  const ownBase = bucketUrl(options.endpoint, options);
  const publicBase = bucketUrl(options.publicEndpoint ?? options.endpoint, options);
  const credentials = {
    accessKeyId: options.accessKeyId,
    secretAccessKey: options.secretAccessKey,
    region: options.region,
    service: 's3',
    cache: new Map<string, ArrayBuffer>(),
  };

  // One for each process: a check that is cut off leaves at most one object behind.
  const markerKey = `health/${randomUUID()}`;

  async function attempt({ method, key, headers, upload }: S3Request, signal: AbortSignal): Promise<Failure | Answer> {
    // Each try gets a new signature, since a signature is valid for only a few minutes. `allHeaders` makes it cover
    // the content type.
    const signer = new AwsV4Signer({ ...credentials, method, url: `${ownBase}/${key}`, headers, allHeaders: true });
    const signed = await signer.sign();
    try {
      const answer = await exchange(method, signed.url, Object.fromEntries(signed.headers), signal, upload);
      return failureOf(answer) ?? answer;
    } catch (error) {
      return { reason: networkReason(error), retryable: true, cause: error };
    }
  }

  async function send(request: S3Request): Promise<void> {
    const signal = AbortSignal.timeout(sendTimeoutMs);
    for (let tryNumber = 1; ; tryNumber += 1) {
      const failure = await attempt(request, signal);
      if (!isFailure(failure)) return;
      if (!failure.retryable || tryNumber === triesMax || signal.aborted) {
        const { reason, cause } = failure;
        throw new StorageError(`S3 ${request.method} of ${request.key} failed: ${reason}`, { cause });
      }
      await sleep(backOffMs(tryNumber));
    }
  }

  return {
    origin: new URL(publicBase).origin,

    async put(key, sourcePath, contentType) {
      assertFileKey(key);
      assertContentType(key, contentType);
      // The hash lets the server reject a damaged upload; every S3 server supports it, also without TLS.
      const headers = { 'content-type': contentType, 'x-amz-content-sha256': await sha256Of(sourcePath) };
      const upload = { open: () => createReadStream(sourcePath), sizeBytes: (await stat(sourcePath)).size };
      await send({ method: 'PUT', key, headers, upload });
    },

    async delete(key) {
      assertFileKey(key);
      await send({ method: 'DELETE', key, headers: { 'x-amz-content-sha256': emptySha256 } });
    },

    async check() {
      await exercise(markerKey, attempt).catch((error: unknown) => {
        throw inPlainWords(error);
      });
    },

    async url(key, ttlSeconds, nowMs) {
      assertFileKey(key);
      assertUrlTtl(ttlSeconds);
      const url = new URL(`${publicBase}/${key}`);
      // The signature's time is truncated to whole seconds, which must not shorten the link.
      url.searchParams.set('X-Amz-Expires', String(ttlSeconds + 1));
      url.searchParams.set('response-content-type', contentTypeOf(key));
      const signer = new AwsV4Signer({ ...credentials, url: url.href, signQuery: true, datetime: amzDate(nowMs) });
      return (await signer.sign()).url.href;
    },
  };
}

/** Writes, reads and deletes an object. */
async function exercise(
  key: string,
  attempt: (request: S3Request, signal: AbortSignal) => Promise<Failure | Answer>,
): Promise<void> {
  const signal = AbortSignal.timeout(checkTimeoutMs);
  const step = async (request: Omit<S3Request, 'key'>): Promise<string> => {
    const answer = await attempt({ ...request, key }, signal);
    if (!isFailure(answer)) return answer.body;
    throw new StorageError(`S3 ${request.method} failed: ${answer.reason}`, { cause: answer.cause });
  };
  const marker = randomUUID();
  const hash = createHash('sha256').update(marker).digest('hex');
  const upload = { open: () => Readable.from([Buffer.from(marker)]), sizeBytes: marker.length };
  const headers = { 'content-type': contentTypeOf(key), 'x-amz-content-sha256': hash };
  const withoutBody = { headers: { 'x-amz-content-sha256': emptySha256 } };
  await step({ method: 'PUT', headers, upload });
  try {
    const read = await step({ method: 'GET', ...withoutBody });
    if (read !== marker) throw new StorageError('S3 returned another object than was written');
  } finally {
    await step({ method: 'DELETE', ...withoutBody });
  }
}

function bucketUrl(endpoint: string, { bucket, forcePathStyle = true }: S3StoreOptions): string {
  const url = new URL(endpoint);
  if (!forcePathStyle) url.host = `${bucket}.${url.host}`;
  const path = url.pathname.replace(/\/+$/, '');
  return `${url.origin}${path}${forcePathStyle ? `/${bucket}` : ''}`;
}

function amzDate(nowMs: number): string {
  return new Date(nowMs).toISOString().replace(/[:-]|\.\d{3}/g, '');
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

// Not `fetch`: Node's `fetch` keeps all sent bytes of a file in memory until the upload is complete.
function exchange(
  method: string,
  url: URL,
  headers: Record<string, string>,
  signal: AbortSignal,
  upload?: Upload,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { request: start } = url.protocol === 'https:' ? https : http;
    const request = start(url, { method, headers, signal });
    let answered = false;
    request.on('socket', (socket) => {
      if (!socket.connecting) return;
      const timer = setTimeout(() => request.destroy(new Error('no connection')), connectTimeoutMs);
      for (const event of ['connect', 'close']) socket.once(event, () => clearTimeout(timer));
    });
    request.on('response', (response) => {
      answered = true;
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
    });
    // A server that rejects an upload may close the connection early, which must not hide its answer.
    const fail = (error: unknown) => answered || reject(error);
    request.on('error', fail);
    if (upload) {
      // S3 rejects an upload of unknown length.
      request.setHeader('content-length', upload.sizeBytes);
      pipeline(upload.open(), request).catch(fail);
    } else {
      request.end();
    }
  });
}

function failureOf({ status, body }: Answer): Failure | null {
  if (status >= 200 && status < 300) return null;
  const code = /<Code>([A-Za-z0-9.]{1,64})<\/Code>/.exec(body)?.[1];
  // S3 answers 204 whether or not the file existed; some compatible servers answer 404.
  if (status === 404 && code === 'NoSuchKey') return null;
  return { reason: code ? `${status} ${code}` : `${status}`, retryable: status >= 500 || status === 429 };
}

const isFailure = (result: Failure | Answer): result is Failure => 'reason' in result;

const isRefusal = (error: unknown): boolean => error instanceof StorageError && / failed: 40[13]\b/.test(error.message);
const inPlainWords = inWords(isRefusal, 'the object store refuses our credentials');

function networkReason(error: unknown): string {
  if (!(error instanceof Error)) return 'no response';
  if (error.name === 'AbortError') return 'no response in time';
  return 'code' in error ? `no response (${String(error.code)})` : 'no response';
}

// Random jitter, so that uploads that failed together are not repeated together.
function backOffMs(tryNumber: number): number {
  return firstBackOffMs * 2 ** (tryNumber - 1) * (0.5 + Math.random() / 2);
}
