import type { FastifyInstance } from 'fastify';
import { ApiError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { type DiskStore, verifyFileUrl } from '../platform/files/disk-store.ts';
import type { ServiceKey } from '../platform/service-keys.ts';

/** Serves files with a signed link of the disk store. A browser may display them only as pictures. */
export function mountFiles(app: FastifyInstance, store: DiskStore, signingKey: ServiceKey, clock: Clock): void {
  app.get<{ Params: { '*': string }; Querystring: { expires?: unknown; signature?: unknown } }>(
    '/files/*',
    // Each link is signed, and many shoppers may share one address.
    { config: { rateLimit: 'none' } },
    async (request, reply) => {
      const key = request.params['*'];
      const { expires, signature } = request.query;
      if (!verifyFileUrl({ signingKey, key, expires, signature, nowMs: clock.nowMs() })) {
        throw new ApiError(
          'invalid_request',
          'This link has expired or is invalid. Retrieve the object again for a new link.',
        );
      }
      const file = await store.openForRead(key);
      if (!file) throw new ApiError('resource_not_found', 'The file does not exist.');
      return reply
        .header('Content-Type', file.contentType)
        .header('Content-Length', file.sizeBytes)
        .header('Cache-Control', 'private, max-age=600')
        .header('Content-Security-Policy', "default-src 'none'; sandbox")
        .header('Cross-Origin-Resource-Policy', 'cross-origin')
        .send(file.stream);
    },
  );
}
