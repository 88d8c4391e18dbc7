import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { FastifyRequest } from 'fastify';
import { ApiError, invalidField } from '../errors.ts';
import type { RouteBase, UploadedFile } from './route.ts';

/** Streams the one file of a multipart request to disk, hashing on the way; never the whole file in memory. */
export async function receiveUpload(
  request: FastifyRequest,
  upload: NonNullable<RouteBase['upload']>,
  directory: string,
): Promise<{ file: UploadedFile; discard(): Promise<void> }> {
  if (!request.isMultipart()) {
    throw new ApiError('invalid_request', `Send multipart/form-data with one file in the field "${upload.field}".`);
  }
  const path = join(directory, randomUUID());
  const discard = (): Promise<void> => rm(path, { force: true });
  try {
    const hash = createHash('sha256');
    let sizeBytes = 0;
    let received = 0;
    for await (const part of request.parts({ limits: { fileSize: upload.maxBytes, files: 1, fields: 0, parts: 1 } })) {
      if (part.type !== 'file' || part.fieldname !== upload.field) {
        throw invalidField(
          part.fieldname.slice(0, 100),
          `is not expected; send one file in the field "${upload.field}"`,
        );
      }
      received += 1;
      const measure = new Transform({
        transform(chunk: Buffer, _encoding, done) {
          sizeBytes += chunk.length;
          hash.update(chunk);
          done(null, chunk);
        },
      });
      await pipeline(part.file, measure, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
      // The parser ends a file at the limit without an error: only this flag tells.
      if (part.file.truncated) throw tooLarge(upload);
    }
    if (received === 0) throw invalidField(upload.field, 'is required', 'required_field');
    return { file: { path, sizeBytes, sha256: hash.digest('hex') }, discard };
  } catch (error) {
    await discard();
    throw asApiError(error, upload);
  }
}

function tooLarge(upload: NonNullable<RouteBase['upload']>): ApiError {
  const message = `The file is larger than ${upload.maxBytes / 1024 / 1024} MB.`;
  return new ApiError('invalid_request', message, { status: 413, param: upload.field });
}

function asApiError(error: unknown, upload: NonNullable<RouteBase['upload']>): unknown {
  if (!(error instanceof Error) || error instanceof ApiError) return error;
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'FST_REQ_FILE_TOO_LARGE') return tooLarge(upload);
  if (/^FST_(FILES|PARTS|FIELDS)_LIMIT$/.test(code))
    return invalidField(upload.field, 'must be the only part of the form');
  const malformed =
    code.startsWith('FST_') ||
    code === 'ERR_STREAM_PREMATURE_CLOSE' ||
    /form|part|boundary|multipart/i.test(error.message);
  return malformed
    ? new ApiError('invalid_request', 'The multipart form is malformed or was cut off.', { param: upload.field })
    : error;
}
