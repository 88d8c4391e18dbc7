import type { FastifyInstance } from 'fastify';
import { type ReceiveDependencies, receiveNotices } from '../features/processors/notices.ts';
import { isUuid } from '../platform/ids.ts';

const bodyBytesMax = 256 * 1024;

/** The URL that an owner enters at the processor. What arrives there is believed only if its signature is right. */
export async function mountNotices(app: FastifyInstance, dependencies: ReceiveDependencies): Promise<void> {
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    // A signature is over the bytes as they were sent.
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: bodyBytesMax }, (_request, bytes, done) => {
      done(null, bytes);
    });
    scope.post<{ Params: { connection: string } }>(
      '/processors/:connection/notices',
      // Processors send many at once, from few addresses.
      { config: { rateLimit: 'none' }, bodyLimit: bodyBytesMax },
      async (request, reply) => {
        const { connection } = request.params;
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
        const headers = Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [
            name,
            Array.isArray(value) ? value.join(', ') : value,
          ]),
        );
        const received = isUuid(connection)
          ? await receiveNotices(dependencies, connection.toLowerCase(), headers, body)
          : { status: 404, body: 'There is no such connection.' };
        return reply.code(received.status).type('text/plain').send(received.body);
      },
    );
  });
}
