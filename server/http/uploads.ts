import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { FastifyRequest } from 'fastify';
import { ApiError, invalidField, quoted } from '../errors.ts';
import { limits } from '../limits.ts';
import { hourMs } from '../platform/durations.ts';
import { errorCode } from '../platform/error-code.ts';
import { StorageError, storing } from '../platform/files/storage-error.ts';
import type { RouteBase, UploadedFile } from './route.ts';

type Upload = NonNullable<RouteBase['upload']>;

export function notMultipart(field: string): ApiError {
  return new ApiError('invalid_request', `Send multipart/form-data with one file in the field "${field}".`);
}

function tooLarge(upload: Upload): ApiError {
  const message = `The file is larger than ${upload.maxBytes / 1024 / 1024} MB.`;
  return new ApiError('invalid_request', message, { status: 413, param: upload.field });
}

/**
 * Streams the one file of a multipart request to disk and hashes it on the way; the file is never in memory as a
 * whole.
 */
export async function receiveUpload(
  request: FastifyRequest,
  upload: Upload,
  directory: string,
): Promise<{ file: UploadedFile; discard(): Promise<void> }> {
  if (!request.isMultipart()) throw notMultipart(upload.field);
  const path = join(directory, randomUUID());
  const discard = (): Promise<void> => rm(path, { force: true });
  const watch = watchForm(request, upload);
  try {
    const file = await storing(() => Promise.race([receiveFile(request, upload, path, watch), watch.promise]));
    return { file, discard };
  } catch (error) {
    // The rest of the request must be read, or the connection hangs.
    request.raw.unpipe();
    request.raw.resume();
    await discard().catch(() => undefined);
    throw asApiError(error, upload);
  } finally {
    watch.stop();
  }
}

const parserGraceMs = 250;

interface FormWatch {
  /** Rejects if the form is too large or never ends. */
  readonly promise: Promise<never>;
  readonly signal: AbortSignal;
  onPart(): void;
  stop(): void;
}

/** The parser limits the file, but neither the data around it nor the time. */
function watchForm(request: FastifyRequest, upload: Upload): FormWatch {
  const bytesMax = upload.maxBytes + limits.multipartOverheadBytes;
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) throw tooLarge(upload);
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined);
  const aborter = new AbortController();
  let bytes = 0;
  const count = (chunk: Buffer): void => {
    bytes += chunk.length;
    request.work.streamedBytes += chunk.length;
    if (bytes <= bytesMax) return;
    reject(tooLarge(upload));
    aborter.abort();
  };
  // The parser never ends if the form ends before or within the headers of its first part.
  let partBegan = false;
  let timer: NodeJS.Timeout | undefined;
  const giveUp = (): void => {
    if (!partBegan) timer = setTimeout(() => reject(malformed(upload)), parserGraceMs);
  };
  request.raw.on('data', count).once('end', giveUp);
  const stop = (): void => {
    clearTimeout(timer);
    request.raw.off('data', count).off('end', giveUp);
  };
  const onPart = (): void => {
    partBegan = true;
    clearTimeout(timer);
  };
  return { promise, signal: aborter.signal, onPart, stop };
}

async function receiveFile(
  request: FastifyRequest,
  upload: Upload,
  path: string,
  { signal, onPart }: FormWatch,
): Promise<UploadedFile> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  let received = 0;
  const measure = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sizeBytes += chunk.length;
      hash.update(chunk);
      done(null, chunk);
    },
  });
  // No limit of parts: the parser would throw the error of a truncated extra part where it cannot be caught.
  for await (const part of request.parts({ limits: { fileSize: upload.maxBytes, files: 1, fields: 1 } })) {
    onPart();
    if (received > 0) throw onlyPart(upload);
    const name = part.fieldname ?? '';
    if (name !== upload.field) {
      const field = name.slice(0, 100) || upload.field;
      throw invalidField(field, `is not expected. Send one file in the field "${upload.field}"`);
    }
    if (part.type !== 'file') throw invalidField(name, `must be a file. With curl: -F ${quoted(name)}=@picture.png`);
    received += 1;
    await pipeline(part.file, measure, createWriteStream(path, { flags: 'wx', mode: 0o600 }), { signal });
    // The parser ends a file at the limit without an error; only this flag shows it.
    if (part.file.truncated) throw tooLarge(upload);
  }
  if (received === 0) throw invalidField(upload.field, 'is required', 'required_field');
  return { path, sizeBytes, sha256: hash.digest('hex') };
}

const partLimit = /^FST_(FILES|FIELDS)_LIMIT$/;

function onlyPart(upload: Upload): ApiError {
  return invalidField(upload.field, 'must be the only part of the form');
}

function asApiError(error: unknown, upload: Upload): unknown {
  if (!(error instanceof Error) || error instanceof ApiError || error instanceof StorageError) return error;
  const code = errorCode(error) ?? '';
  if (code === 'FST_REQ_FILE_TOO_LARGE') return tooLarge(upload);
  if (partLimit.test(code)) return onlyPart(upload);
  // Any error of the parser means a malformed form.
  return malformed(upload);
}

function malformed(upload: Upload): ApiError {
  return new ApiError('invalid_request', 'The multipart form is malformed or incomplete.', { param: upload.field });
}

const abandonedAfterMs = hourMs;

/** Creates the folder for uploads in progress, and removes files that a killed process left in it. */
export async function prepareUploadDirectory(directory: string, nowMs: number): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: nowMs }));
    if (nowMs - mtimeMs > abandonedAfterMs) await rm(path, { force: true });
  }
}
